import pytest

from ttc.benchmarks.pocket import Pocket
from ttc.errors import UserError


def test_the_sizes_are_those_promised():
    assert len(Pocket().load().questions) == 600
    assert len(Pocket(split="validation").load().questions) == 300


def test_a_subject_alone_holds_the_same_questions_as_in_the_whole():
    whole, part = Pocket(split="validation").load(), Pocket(split="validation", subjects=("Circuits",)).load()
    assert set(part.golds) == {id for id in whole.golds if "Circuits" in id}
    assert part.golds.items() <= whole.golds.items()


def test_an_unknown_subject_is_refused_with_the_known_ones():
    with pytest.raises(UserError, match="Tables, Circuits"):
        Pocket(subjects=("Clocks",)).load()


def test_train_is_as_long_as_one_wants_and_begins_alike():
    short, long = Pocket(split="train", size=50).load(), Pocket(split="train", size=100).load()
    assert (len(short.questions), len(long.questions)) == (50, 100)
    assert short.questions == long.questions[:50]


@pytest.mark.parametrize("config", [{"split": "train"}, {"split": "test", "size": 50}])
def test_a_size_belongs_to_train_alone(config):
    with pytest.raises(ValueError, match="no end"):
        Pocket(**config)
