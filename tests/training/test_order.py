from itertools import pairwise

import pytest

from training.chains import LabelledChain
from training.order import ordered
from ttc.errors import UserError
from ttc.records import Question

LEVELS = ("Easy", "Medium", "Hard")


def chain(number: int, level: str = "Easy", kind: str = "Diagrams", steps: int = 1) -> LabelledChain:
    question = Question(f"q{number}", "mmmu", "open", "?", fields={"topic_difficulty": level, "img_type": (kind,)})
    return LabelledChain(question, ("s",) * steps, (True,) * steps, (None,) * steps, "gold", "mmmu", f"q{number}")


CHAINS = [chain(n, LEVELS[n % 3], ("Photographs", "Chemical Structures")[n % 2], 1 + n % 4) for n in range(60)]


@pytest.mark.parametrize("order", ["random", "easy_first", "hard_first", "interleaved", "natural_first", "natural_last"])
def test_every_order_keeps_each_chain_once_and_is_the_same_for_a_seed_and_another_for_another(order):
    found = ordered(CHAINS, order, 1)
    assert sorted(one.group for one in found) == sorted(one.group for one in CHAINS)
    assert found == ordered(CHAINS[:], order, 1)
    assert found != ordered(CHAINS, order, 2)


def test_difficulty_rises_or_falls_level_by_level_and_within_a_level_by_steps():
    up = [(LEVELS.index(one.question.fields["topic_difficulty"]), len(one.steps)) for one in ordered(CHAINS, "easy_first", 0)]
    down = [(LEVELS.index(one.question.fields["topic_difficulty"]), len(one.steps)) for one in ordered(CHAINS, "hard_first", 0)]
    assert all(a <= b for a, b in pairwise(up))
    assert down == sorted(up, reverse=True)


def test_interleaved_levels_take_turns():
    assert [one.question.fields["topic_difficulty"] for one in ordered(CHAINS, "interleaved", 0)][:6] == [*LEVELS, *LEVELS]


def test_photographs_come_before_drawings_or_after_them():
    kinds = [one.question.fields["img_type"][0] for one in ordered(CHAINS, "natural_first", 0)]
    assert kinds == ["Photographs"] * 30 + ["Chemical Structures"] * 30
    assert [one.question.fields["img_type"][0] for one in ordered(CHAINS, "natural_last", 0)] == kinds[::-1]


def test_a_question_without_the_field_is_named():
    with pytest.raises(UserError, match="question q1: its difficulty is ''"):
        ordered([chain(1, "")], "easy_first", 0)
