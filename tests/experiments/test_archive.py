"""The bank of one run as the engine of another."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments.config import validate
from experiments.plan import plan
from experiments.run import Results, execute
from ttc.backends.archive import Archive
from ttc.bank import Bank
from ttc.errors import UserError

SCRIPTED = {"kind": "scripted", "replies": ["so\nAnswer: A", "Answer: B", "no\nidea"], "pick": "seeded", "tokens_per_image": 3}
SEARCH = {"kind": "beam_search", "verifier": "v", "width": 2, "expand": 2}


def settings(bank: Path, **changes: Any) -> dict[str, Any]:
    return {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
        "strategies": [{"kind": "vote", "n": 8}, SEARCH],
        "verifiers": {"v": {"kind": "scripted", "tokens_per_reply": 5}},
        "limit": 6,
        "bank": str(bank),
        **changes,
    }


def run(bank: Path, **changes: Any) -> Results:
    config = validate(settings(bank, **changes), "test")
    return execute(plan(config), config.backend, Bank(bank))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A run with a vote and a search."""
    return run(tmp_path_factory.mktemp("there"), backend=SCRIPTED)


@pytest.fixture
def there(first: Results) -> Path:
    """Its bank."""
    return first.plan.config.bank


@pytest.fixture
def write(tmp_path: Path, there: Path) -> Callable[..., Path]:
    """Writes a run with a vote over that bank, and returns its path."""

    def config(**changes: Any) -> Path:
        vote = {"strategies": [{"kind": "vote", "n": 8}], "backend": {"kind": "bank", "path": str(there)}}
        path = tmp_path / "run.yaml"
        path.write_text(yaml.safe_dump(settings(tmp_path / "here", **{**vote, **changes})), encoding="utf-8")
        return path

    return config


def test_a_run_over_the_bank_of_another_has_its_samples_and_its_results_a_search_too(first: Results, there: Path, tmp_path):
    second = run(tmp_path, backend={"kind": "bank", "path": str(there)})
    query = "SELECT * EXCLUDE (run, part) FROM samples ORDER BY key, index"
    samples, copied = (Bank(folder).sql().sql(query).fetchall() for folder in (there, tmp_path))
    assert samples == copied
    assert second.executed.samples == len(samples) > 6 * 8
    again = run(tmp_path, backend={"kind": "bank", "path": str(there)})
    assert again.executed.samples == 0
    assert first.outcomes == second.outcomes == again.outcomes


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"strategies": [{"kind": "vote", "n": 20}]}, ["72 of the 120 samples of draw cot", "has 8 of 20", "lower n to 8"]),
        ({"strategies": [{"kind": "direct"}]}, ["6 of the 6 samples of draw direct, greedy", "has 0 of 1", "another prompt"]),
        ({"sampling": {"temperature": 0.5}}, ["48 of the 48 samples of draw cot", "sampling.temperature=1 (here 0.5)"]),
        ({"seed": 7}, ["48 of the 48", "seed=0 (here 7)"]),
        ({"limit": 12}, ["48 of the 96 samples", "has 0 of 8 for 6 of the 12 questions", "knows nothing of"]),
        (
            {"strategies": [{"kind": "budget_forcing"}]},
            ["budget_forcing puts words into replies", "backend bank takes no tokens"],
        ),
        ({"backend": {"kind": "bank", "path": "no/such"}}, ["backend.path no/such", "name the bank of a run"]),
    ],
)
def test_a_dry_run_tells_in_one_line_what_the_other_bank_lacks_and_what_it_has(ttc, write, changes, words):
    ended = ttc("run", write(**changes), "--dry-run")
    assert (ended.code, len(ended.err.strip().splitlines())) == (2, 1)
    assert all(word in ended.err for word in words), ended.err


def test_a_run_that_the_other_bank_cannot_serve_ends_before_it_begins(ttc, write, tmp_path: Path):
    ended = ttc("run", write(limit=12), "--out", tmp_path / "second")
    assert (ended.code, len(ended.err.strip().splitlines())) == (2, 1)
    assert not (tmp_path / "here").exists()
    assert not (tmp_path / "second").exists()


def test_what_its_own_bank_has_the_other_need_not_have(tmp_path: Path, there: Path):
    run(tmp_path, backend=SCRIPTED, strategies=[{"kind": "vote", "n": 10}])
    run(tmp_path, backend={"kind": "bank", "path": str(there)}, strategies=[{"kind": "vote", "n": 10}])


def test_what_a_search_lacks_is_told_when_it_asks(there: Path, tmp_path: Path):
    wider = [{**SEARCH, "expand": 4}]
    with pytest.raises(UserError, match="has 4 samples under this prompt, sampling and seed, and the run wants 8; lower n"):
        run(tmp_path, backend={"kind": "bank", "path": str(there)}, strategies=wider)


def test_of_several_models_one_is_chosen_by_what_its_identity_says(tmp_path: Path):
    for reply in ("Answer: A", "Answer: B"):
        run(tmp_path, backend={"kind": "scripted", "replies": [reply]}, strategies=[{"kind": "cot"}], limit=1)
    with pytest.raises(
        UserError, match=r'samples of 2 models, of 2 of which samples_of=\{\} is true; .* \{"script": .*\} or \{'
    ):
        Archive(path=tmp_path).identity()
    for one in Archive(path=tmp_path)._identities():
        assert Archive(path=tmp_path, samples_of=one).identity() == one
    with pytest.raises(UserError, match="of 0 of which"):
        Archive(path=tmp_path, samples_of={"script": "x"}).identity()


def test_flops_are_those_of_the_model_that_is_named(there: Path):
    shape = Archive(path=there, priced_as="pocket").shape()
    assert shape is not None
    assert shape.vision is not None
    assert Archive(path=there).shape() is None
