"""What each verifier says of a reply."""

from math import exp, log

import pytest

from ttc.errors import UserError
from ttc.pocket import exam
from ttc.protocols import Verifier
from ttc.records import Question, Reply, Sample, StepScores
from verifiers import Confidence, Scripted, Truth
from verifiers.aggregate import aggregate

QUESTION = Question("q", "exam", "open", "What?")


def reply(text: str, question: Question = QUESTION, *, before: str = "", logprobs: tuple[float, ...] = ()) -> Reply:
    return Reply(question, Sample("k" * 64, 3, question.id, text, logprobs=logprobs), before)


def score(verifier: Verifier, *asked: Reply) -> list[StepScores]:
    return list(verifier.open().score(asked))


@pytest.mark.parametrize(
    ("how", "value"), [("last", 0.5), ("min", 0.25), ("product", 0.125), ("mean", 7 / 12), ("geometric_mean", 0.5)]
)
def test_steps_make_up_one_score(how, value):
    assert aggregate((1.0, 0.25, 0.5), how) == pytest.approx(value)
    assert aggregate((), how) is None


def test_a_step_that_is_surely_wrong_takes_the_geometric_mean_to_zero():
    assert aggregate((1.0, 0.0), "geometric_mean") == 0


def test_truth_scores_each_line_of_a_pocket_reply_and_a_gold_explanation_is_all_right():
    source = exam.problem("train", "Tables", 5)
    right = f"{exam.gold(source).explanation}\nAnswer: {exam.answer_text(source)}"
    lines = right.splitlines()
    wrong = "\n".join([f"{lines[0]}9", *lines[1:]])
    good, bad = score(Truth(), reply(right, exam.question(source)), reply(wrong, exam.question(source)))
    assert (good.steps, good.score) == ((1.0,) * len(lines), 1.0)
    assert (bad.steps[0], bad.score) == (0.0, 0.0)
    assert (bad.key, bad.index) == ("k" * 64, 3)
    assert Truth.uses_gold
    assert not Scripted.uses_gold
    assert not Confidence.uses_gold


def test_truth_refuses_questions_of_another_exam():
    with pytest.raises(UserError, match=r"question q is of exam.*pocket"):
        score(Truth(), reply("Answer: B"))


def test_truth_judges_a_continuation_behind_what_it_continues():
    source = exam.problem("train", "Tables", 5)
    lines = exam.gold(source).explanation.splitlines()
    [found] = score(Truth(), reply("\n".join(lines[1:]), exam.question(source), before=f"{lines[0]}\n"))
    assert found.steps == (1.0,) * len(lines)


def test_a_scripted_step_depends_on_what_came_before_it_and_on_nothing_behind():
    short, long, other = score(Scripted(), reply("a\nb"), reply("a\nb\nc"), reply("z\nb"))
    assert long.steps[:2] == short.steps
    assert other.steps[1] != short.steps[1]
    [again], [reseeded] = score(Scripted(), reply("a\nb")), score(Scripted(seed=1), reply("a\nb"))
    assert again == short
    assert reseeded.steps != short.steps


def test_scripted_scores_are_spread_evenly_over_0_to_1():
    found = sorted(score(Scripted(), *(reply(str(number)) for number in range(1000))), key=lambda one: one.steps)
    assert max(abs(one.steps[0] - place / 1000) for place, one in enumerate(found)) < 0.06  # Kolmogorov: p = 0.001


def test_told_scores_are_said_and_a_failing_one_is_a_status():
    told, failed = score(Scripted(scores={"a": 0.25, "b": None}), reply("a"), reply("a\nb"))
    assert (told.steps, told.score, told.status) == ((0.25,), 0.25, "ok")
    assert (failed.steps, failed.score, failed.status[:6]) == ((), None, "failed")


@pytest.mark.parametrize(
    ("over", "probability"),
    [("all", (0.9 * 0.1 * 0.2 * 0.8) ** 0.25), ("tail", (0.2 * 0.8) ** 0.5), ("lowest_window", (0.1 * 0.2) ** 0.5)],
)
def test_confidence_is_the_geometric_mean_probability_of_the_tokens_it_looks_at(over, probability):
    logprobs = tuple(map(log, (0.9, 0.1, 0.2, 0.8)))
    [found] = score(Confidence(over=over, window=2), reply("four words of text", logprobs=logprobs))
    assert found.score == pytest.approx(probability)


@pytest.mark.parametrize("over", ["all", "tail", "lowest_window"])
def test_a_window_longer_than_the_reply_is_the_reply(over):
    [found] = score(Confidence(over=over), reply("two words", logprobs=(-1.0, -2.0)))
    assert found.score == pytest.approx(exp(-1.5))


def test_a_sample_without_log_probabilities_has_no_confidence():
    [found] = score(Confidence(), reply("two words"))
    assert (found.score, found.status) == (None, "no log-probabilities")
