import pytest

from ttc.pocket import exam
from ttc.pocket.checker import check
from ttc.pocket.problem import Chain, Move, Problem


def kinds(source, *lines):
    return [step.kind for step in check(source, "\n".join(lines))]


@pytest.fixture
def table():
    """q1 = 8, doubled, plus r2 = 5, digits added: 16, 21, 3."""
    chain = Chain({"q1": 8, "r2": 5, "p3": 4}, "q1", (Move("@"), Move("+", "r2"), Move("$")), "")
    return Problem("train", exam.SUBJECTS["Tables"], 0, "Medium", chain, options=(7, 3, 12, 21))


@pytest.fixture
def circuit():
    """R1 = 4, R3 = 6 in series, two in parallel, current 3: 10, 5, 15, 45."""
    moves = (Move("series", "R3"), Move("two"), Move("voltage", "I"), Move("power", "I"))
    return Problem("train", exam.SUBJECTS["Circuits"], 0, "Medium", Chain({"R1": 4, "R3": 6, "I": 3}, "R1", moves, ""))


@pytest.mark.parametrize("subject", exam.SUBJECTS)
def test_every_step_of_a_gold_explanation_is_right(subject):
    for index in range(1000):
        source = exam.problem("train", subject, index)
        steps = check(source, f"{exam.gold(source).explanation}\nAnswer: {exam.answer_text(source)}")
        looked_at = source.options.index(source.answer) + 1 if source.is_pictured else 0
        assert len(steps) == len(source.chain.moves) + 2 + looked_at
        assert all(step.on_track for step in steps)


def test_a_right_chain(table, circuit):
    assert set(kinds(table, "q1: 8", "@: 8 * 2 = 16", "r2: 16 + 5 = 21", "$: 2 + 1 = 3", "Answer: B")) == {"right"}
    right = ("R1: 4", "R3: 4 + 6 = 10", "two: 10 / 2 = 5", "I: 5 * 3 = 15", "I: 15 * 3 = 45", "Answer: 45")
    assert set(kinds(circuit, *right)) == {"right"}


def test_a_value_read_wrongly_is_perception(table, circuit):
    assert kinds(table, "q1: 3") == ["perception"]
    assert kinds(table, "q1: 8", "@: 8 * 2 = 16", "r2: 16 + 6 = 22") == ["right", "right", "perception"]
    assert kinds(circuit, "R1: 4", "R3: 4 + 5 = 9") == ["right", "perception"]


def test_another_symbol_or_law_is_knowledge(table, circuit):
    assert kinds(table, "q1: 8", "@: 8 * 3 = 24") == ["right", "knowledge"]
    assert kinds(table, "q1: 8", "@: 8 + 10 = 18") == ["right", "knowledge"]
    assert kinds(circuit, "R1: 4", "R3: 4 * 6 = 24") == ["right", "knowledge"]
    assert kinds(circuit, "R1: 4", "R3: 4 + 6 = 10", "two: 10 * 2 = 20") == ["right", "right", "knowledge"]


def test_a_sum_worked_out_wrongly_is_reasoning(table):
    assert kinds(table, "q1: 8", "@: 8 * 2 = 18") == ["right", "reasoning"]


@pytest.fixture
def dials():
    """w = 7, y = 8 added: 15, the last digit: 5; the options are pictures of 3, 5, 8 and 1."""
    chain = Chain({"w": 7, "y": 8}, "w", (Move("+", "y"), Move("wrap")), "<image 1> ")
    return Problem("train", exam.SUBJECTS["Dials"], 0, "Medium", chain, options=(3, 5, 8, 1), is_pictured=True)


READ = ("w: 7", "y: 7 + 8 = 15", "wrap: 15 mod 10 = 5")


def test_pictured_options_are_compared_one_by_one(dials):
    assert set(kinds(dials, *READ, "A: 3 no", "B: 5 yes", "Answer: B")) == {"right"}
    assert kinds(dials, *READ, "A: 4 no")[3:] == ["perception"]
    assert kinds(dials, *READ, "A: 3 yes")[3:] == ["reasoning"]
    assert kinds(dials, *READ, "B: 5 yes")[3:] == ["reasoning"]
    assert kinds(dials, READ[0], "A: 3 no")[1:] == ["reasoning"]
    assert kinds(dials, *READ, "A: 3 no", "B: 5 yes", "Answer: C")[5:] == ["reasoning"]


def test_a_picture_taken_for_the_result_is_followed(dials):
    assert kinds(dials, *READ, "A: 5 yes", "Answer: A")[3:] == ["perception", "right"]


def test_a_value_carried_wrongly_is_reasoning(table):
    assert kinds(table, "q1: 8", "@: 8 * 2 = 16", "r2: 15 + 5 = 20") == ["right", "right", "reasoning"]


def test_a_sign_given_in_the_question_is_not_knowledge(table):
    assert kinds(table, "q1: 8", "@: 8 * 2 = 16", "r2: 16 - 5 = 11") == ["right", "right", "reasoning"]


def test_a_step_left_out_repeated_or_made_up_is_reasoning(table):
    assert kinds(table, "q1: 8", "r2: 8 + 5 = 13") == ["right", "reasoning"]
    assert kinds(table, "q1: 8", "@: 8 * 2 = 16", "@: 16 * 2 = 32") == ["right", "right", "reasoning"]
    assert kinds(table, "q1: 8", "p3: 8 + 4 = 12") == ["right", "reasoning"]
    assert kinds(table, "q1: 8", "hm") == ["right", "reasoning"]


def test_an_answer_before_the_last_step_is_reasoning(table):
    assert kinds(table, "q1: 8", "@: 8 * 2 = 16", "Answer: B") == ["right", "right", "reasoning"]


def test_later_steps_are_judged_on_the_value_the_reply_has_but_are_off_track(table):
    steps = check(table, "q1: 6\n@: 6 * 2 = 12\nr2: 12 + 5 = 17\n$: 1 + 7 = 8\nAnswer: A")
    assert [step.kind for step in steps] == ["perception", "right", "right", "right", "reasoning"]
    assert not any(step.on_track for step in steps)


def test_steps_that_say_what_is_shown_are_known_from_those_that_only_work_with_it(table, dials):
    read = [step.reads for step in check(table, "q1: 9\ndoubled: 9 * 2 = 18\nr2: 18 + 5 = 23\nIt is 23.\nAnswer: 23")]
    assert read == [True, False, True, False, False]
    assert [step.reads for step in check(dials, "A: 3 no\nAnswer: A")] == [True, False]


def test_a_bare_answer_is_held_against_the_truth(table, circuit):
    assert kinds(table, "Answer: B") == ["right"]
    assert kinds(table, "Answer: A") == ["reasoning"]
    assert kinds(circuit, "Answer: 45") == ["right"]
    assert kinds(circuit, "Answer: x") == ["reasoning"]


def test_any_text_at_all_is_judged(table):
    assert kinds(table) == []
    assert set(kinds(table, "²: ³", "Answer: ²", "q9: 99999999999999999999", "@: 1 / 0 = 0")) == {"reasoning", "knowledge"}
