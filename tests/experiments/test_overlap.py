"""Overlap between models, against enumeration of every pair of samples."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from experiments.overlap import overlap
from ttc.errors import UserError

RIGHT = {
    "a": {"q1": [1, 1, 0], "q2": [1, 0, 0], "q3": [0, 0, 0]},
    "b": {"q1": [1, 0], "q2": [0, 0], "q3": [0, 1]},
    "c": {"q1": [1]},
}


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., Path]:
    def write(right: dict[str, dict[str, list[float]]]) -> Path:
        ids = dict.fromkeys(id for by_id in right.values() for id in by_id)
        rows = [
            {
                "id": id,
                "samples": [{"model": m, "answer": "x", "score": s} for m, by_id in right.items() for s in by_id.get(id, [])],
            }
            for id in ids
        ]
        path = tmp_path / "judged.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def pairs(first: str, second: str) -> float:
    """Both over either, each a mean over questions of a mean over all pairs of different samples."""
    both = either = 0.0
    for id in RIGHT[first].keys() & RIGHT[second].keys():
        places = [
            (one, other)
            for (i, one), (j, other) in product(enumerate(RIGHT[first][id]), enumerate(RIGHT[second][id]))
            if first != second or i != j
        ]
        both += sum(one and other for one, other in places) / len(places)
        either += sum(one or other for one, other in places) / len(places)
    return both / either


def test_what_two_models_share_is_the_mean_over_all_pairs_of_their_samples(judged):
    found = overlap(judged(RIGHT))
    names = [member.model for member in found.members]
    assert names == ["c", "a", "b"]
    for (row, first), (column, second) in product(enumerate(names), repeat=2):
        if first == second == "c":
            assert found.shared[row][column] is None
        else:
            assert found.shared[row][column] == pytest.approx(pairs(first, second))


def test_each_model_has_its_accuracy_what_it_reaches_and_what_it_alone_reaches(judged):
    found = overlap(judged(RIGHT))
    shown = {one.model: (one.questions, one.samples, one.accuracy, one.reached, one.alone) for one in found.members}
    assert shown["a"] == (3, 9, pytest.approx(1 / 3), pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert shown["b"] == (3, 6, pytest.approx(1 / 3), pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert shown["c"] == (1, 1, 1.0, 1.0, 0.0)
    assert found.reached == 1.0


def test_the_ten_models_of_real_data_solve_more_together_than_any_alone(shared: Path, ttc: Callable[..., Any]):
    file = shared / "data/samples/reasoning_gym_easy.jsonl"
    found = overlap(file)
    assert len(found.members) == 10
    assert sum(member.samples for member in found.members) == 12_800
    assert found.reached > max(member.reached for member in found.members)
    shown = ttc("overlap", file)
    assert shown.code == 0
    assert all(member.model in shown.out for member in found.members)


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ({"answer": "x", "model": "a"}, "samples without a verdict"),
        ({"answer": "x", "correct": True}, "samples of 0 named models"),
    ],
)
def test_outputs_that_cannot_be_compared_are_refused(tmp_path: Path, sample: dict[str, Any], message: str):
    path = tmp_path / "judged.jsonl"
    path.write_text(json.dumps({"id": "q", "samples": [sample]}))
    with pytest.raises(UserError, match=message):
        overlap(path)
