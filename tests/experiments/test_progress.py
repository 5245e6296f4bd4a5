"""The bar counts what the plan wants; what strategies draw as they go has a line of its own."""

import pytest

from experiments.progress import drawing
from ttc.records import Sample


def test_what_strategies_draw_as_they_go_does_not_fill_the_bar_of_the_plan(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    with drawing("run", 3, {"planned": 3}) as on_sample:
        for key, index in (("planned", 0), ("planned", 1), ("searched", 0), ("planned", 7), ("searched", 1)):
            on_sample(Sample(key, index, "q", "", completion_tokens=5))
    plan, further = capsys.readouterr().err.strip().splitlines()
    assert ("run" in plan, "2/3" in plan) == (True, True)
    assert ("as strategies go" in further, "3/?" in further) == (True, True)


@pytest.mark.parametrize("wanted", [{}, {"planned": 3}])
def test_a_run_that_draws_nothing_shows_nothing(wanted, capsys):
    with drawing("run", 0, wanted):
        pass
    assert capsys.readouterr().err.strip() == ""
