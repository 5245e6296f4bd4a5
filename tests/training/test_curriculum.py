"""Orders of training compared: the summary by hand, and two real runs on the pocket exam that stop and go on."""

from pathlib import Path

import pytest

from training.chain_files import write_chains
from training.config import ChainFiles, PocketReplies, StepVerifierTraining, validate
from training.curriculum import RESULT, Measured, compare, held_out, orders, summary
from training.pocket_planted import planted_chains
from ttc.benchmarks.pocket import Pocket
from ttc.errors import UserError

RIGHT = [True, False] * 20
UNITS = [f"q{place // 2}" for place in range(40)]
SOUND = [1.0, 0.0] * 20
HALF = [1.0, 0.0] * 10 + [0.0, 1.0] * 10


def measured(order, seed, scores):
    return Measured(order, seed, 10, scores, RIGHT, UNITS)


def test_an_order_counts_by_the_mean_of_its_seeds_and_by_its_distance_to_the_first():
    first, other = summary([measured("random", 0, HALF), measured("easy_first", 0, SOUND), measured("random", 1, SOUND)])
    assert first.aurocs == (0.5, 1.0)
    assert (first.auroc.mean, first.auroc.clusters, first.difference) == (0.75, 20, None)
    assert (other.auroc.mean, other.auroc.low, other.auroc.high) == (1.0, 1.0, 1.0)
    assert other.difference is not None
    assert other.difference.mean == 0.25
    assert other.difference.low == pytest.approx(1 - first.auroc.high)
    assert other.difference.high == pytest.approx(1 - first.auroc.low)


def test_differences_are_paired_so_that_equal_scores_differ_by_exactly_nothing():
    _, other = summary([measured("random", 0, HALF), measured("hard_first", 0, HALF)])
    assert other.auroc.low < other.auroc.high
    assert other.difference is not None
    assert (other.difference.mean, other.difference.low, other.difference.high) == (0.0, 0.0, 0.0)


def test_an_unknown_order_is_named_and_one_given_twice_runs_once():
    assert orders(["hard_first", "random", "hard_first"]) == ["hard_first", "random"]
    with pytest.raises(UserError, match="order 'easy' is none of random, easy_first"):
        orders(["easy"])


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> StepVerifierTraining:
    """Two steps over chains of four subjects; the fifth is in the dev file alone."""
    folder: Path = tmp_path_factory.mktemp("chains")
    exam = Pocket(split="train", size=40)
    images = [question for question in exam.load().questions if question.fields["subject"] != "Motion"]
    seen = [question for question in images[:-8] if question.fields["subject"] != "Dials"]
    write_chains(folder / "train.jsonl", planted_chains(seen, 8, 0))
    write_chains(folder / "dev.jsonl", planted_chains(images[-8:], 16, 0))
    files = ChainFiles(benchmarks=(exam,), train=folder / "train.jsonl", dev=folder / "dev.jsonl")
    content = {
        "base": {"model": "pocket"},
        "data": files.model_dump(),
        "rendering": {"form": "likelihood", "heading": ""},
        "lora": None,
        "optimisation": {"batch": 4, "micro_batch": 4, "by_length": True},
        "threads": 1,
    }
    checked = validate(content, "here")
    assert isinstance(checked, StepVerifierTraining)
    return checked


def test_runs_make_equal_steps_see_only_the_held_out_subject_and_are_not_made_twice(config, tmp_path):
    whole = compare(config, ("easy_first", "hard_first"), 1, tmp_path)
    made = [(run.order, run.seed, run.steps) for run in whole]
    assert made == [("easy_first", 0, 2), ("hard_first", 0, 2), ("untrained", 0, 0)]
    dials = {q.id for q in Pocket(split="train", size=40).load().questions if q.fields["subject"] == "Dials"}
    assert set(whole[0].units) <= dials
    assert whole[0].right == whole[1].right == whole[2].right
    assert len({tuple(run.scores) for run in whole}) == 3
    (tmp_path / "hard_first-0" / RESULT).unlink()
    written = (tmp_path / "easy_first-0" / RESULT).stat().st_mtime_ns
    again = compare(config, ("easy_first", "hard_first"), 1, tmp_path)
    assert (tmp_path / "easy_first-0" / RESULT).stat().st_mtime_ns == written
    assert (again[0], again[2]) == (whole[0], whole[2])
    assert again[1].scores == pytest.approx(whole[1].scores, abs=1e-5)
    other = config.model_copy(update={"max_tokens": 999})
    with pytest.raises(UserError, match="easy_first-0 holds a run with other settings"):
        compare(other, ("easy_first",), 1, tmp_path)


def test_part_of_an_epoch_is_refused_since_each_order_would_show_other_chains(config, tmp_path):
    short = config.model_copy(update={"optimisation": config.optimisation.model_copy(update={"epochs": 0.5})})
    with pytest.raises(UserError, match=r"optimisation\.epochs=0\.5: in a part of an epoch"):
        compare(short, ("random",), 1, tmp_path)


def test_without_a_subject_held_out_there_is_nothing_to_compare_on(tmp_path):
    with pytest.raises(UserError, match=r"0 dev chains .* hold one out"):
        held_out(PocketReplies(bank=tmp_path, train_questions=5, dev_questions=5), [], [])
