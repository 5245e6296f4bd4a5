"""A finished run is shown again without computing, but only while everything that it follows from is as it was."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments import folder as folders
from experiments import unchanged
from experiments.cli import app
from experiments.config import RunConfig
from experiments.plan import plan
from ttc.bank import Bank
from ttc.records import Sample

RUN = """
benchmark: {kind: pocket, split: validation, subjects: [Dials]}
backend: {kind: scripted, replies: ["Answer: A", "Answer: B"]}
strategies: [{kind: vote, n: 2}]
limit: 3
"""


def run(path: Path) -> str:
    done = CliRunner().invoke(app, ["run", str(path / "run.yaml"), f"bank={path / 'bank'}", "--out", str(path / "out")])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and its bank."""
    path = tmp_path_factory.mktemp("unchanged")
    (path / "run.yaml").write_text(RUN, encoding="utf-8")
    assert "drew 6 samples" in run(path)
    return path


def config(path: Path) -> RunConfig:
    return folders.read_config(path / "out")


def holds(path: Path, checked: RunConfig | None = None) -> bool:
    return unchanged.holds(path / "out", unchanged.inputs(checked or config(path)))


def test_a_run_of_which_nothing_changed_is_shown_as_it_is(finished):
    page = finished / "out/report.html"
    written = page.stat().st_mtime_ns
    output = run(finished)
    assert "drew 0 samples: nothing changed" in output
    assert "vote" in output
    assert f"report: {page}" in output
    assert page.stat().st_mtime_ns == written


def test_another_config_or_other_code_is_computed(finished, monkeypatch, tmp_path):
    assert holds(finished)
    assert not holds(finished, config(finished).model_copy(update={"seed": 1}))
    (tmp_path / "more.py").write_text("A = 1", encoding="utf-8")
    ours = unchanged.sources()
    monkeypatch.setattr(unchanged, "sources", lambda: [*ours, tmp_path / "more.py"])
    assert not holds(finished)


def test_code_of_others_is_never_trusted(finished, monkeypatch):
    monkeypatch.setattr(unchanged, "OURS", ("ttc", "verifiers", "training"))
    assert unchanged.inputs(config(finished)) is None


def test_a_file_that_the_config_names_is_an_input(finished, tmp_path):
    words = tmp_path / "captions.json"
    words.write_text("{}", encoding="utf-8")
    checked = config(finished)
    checked = checked.model_copy(update={"prompt": checked.prompt.model_copy(update={"captions": words})})
    before = unchanged.inputs(checked)
    words.write_text("{ }", encoding="utf-8")
    assert unchanged.inputs(checked) != before


def test_a_run_without_its_page_or_with_new_samples_is_computed_and_then_shown_again(finished):
    (finished / "out/report.html").unlink()
    assert "nothing changed" not in run(finished)
    assert holds(finished)
    with Bank(finished / "bank").writer() as writer:
        writer.add(Sample("0" * 64, 0, "other", "Answer: C"))
    assert "nothing changed" not in run(finished)
    assert "nothing changed" in run(finished)


def test_parts_that_others_sealed_meanwhile_are_not_taken_for_read(finished):
    checked = config(finished)
    now = unchanged.inputs(checked)
    assert now is not None
    part = next(path for path in now.bank if path.endswith(".parquet"))
    stranger = Path(part).with_name("20260101T000000.000000Z-elsewhere-1-00000000.parquet")
    planned = plan(checked)
    wanted = planned.wanted(checked.backend.identity())
    stranger.write_bytes(Path(part).read_bytes())
    unchanged.remember(finished / "out", now, checked, planned, wanted)
    assert not holds(finished)
    stranger.unlink()
    fewer = replace(now, bank={path: at for path, at in now.bank.items() if path != part})
    unchanged.remember(finished / "out", fewer, checked, planned, wanted)
    assert holds(finished)  # it is this process that sealed the part
