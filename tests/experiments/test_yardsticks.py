"""What stands beside an accuracy."""

from experiments.yardsticks import reference_lines, unanswered_lines, yardsticks
from ttc.grading import Job, grade
from ttc.judges.rules import Rules
from ttc.records import Exam, Gold, Question, Sample, SampleStatus

ASKED = Question("q", "mmvu", "multiple-choice", "Which?", ("one", "two", "three", "four"))
EXAM = Exam("mmvu", "validation", (ASKED,), {"q": Gold("q", ("B",))}, "local", "f")


def sample(index: int, text: str = "", *, status: SampleStatus = "ok", finish: str = "stop") -> Sample:
    return Sample("k" * 64, index, "q", text, status=status, finish=finish)  # type: ignore[arg-type]


def test_every_sample_without_an_answer_is_counted_under_its_reason():
    replies = [
        sample(0, "Answer: B"),
        sample(1, "First I look at", finish="length"),
        sample(2, status="refused"),
        sample(3, status="media"),
        sample(4, status="rejected"),
        sample(5),
        sample(6, "Answer: B", finish="length"),
    ]
    graded = grade(Job(ASKED, EXAM.golds["q"], tuple(replies)), Rules())
    assert unanswered_lines({"cot": {"q": graded}}) == [
        "cot: 5 of 7 samples unanswered: truncated 1, refused 1, failed 2 (media 1, rejected 1), empty 1; cut at the limit 2"
    ]


def test_truncated_refused_and_failed_are_said_even_where_there_are_none():
    graded = grade(Job(ASKED, Gold("q", ()), (sample(0, "Answer: B"),)), Rules())
    line = "cot: 0 of 1 samples unanswered: truncated 0, refused 0, failed 0; ungraded 1"
    assert unanswered_lines({"cot": {"q": graded}}) == [line]


def test_guessing_and_people_stand_beside_the_accuracy():
    guess, *people = reference_lines(EXAM)
    assert guess.startswith("without looking: uniform guess 25.00 %, always B 100.00 %")
    assert [line.partition(" %")[0] for line in people] == ["people: 49.7", "people: 86.8", "people: 95.3"]
    assert "Healthcare 42.7" in people[0]
    assert [one["accuracy"] for one in yardsticks(EXAM)["baselines"]] == [0.25, 1.0, 1.0]


def test_questions_without_a_gold_among_others_are_counted_aloud():
    other = Question("r", "jsonl", "multiple-choice", "And?", ("one", "two"))
    golds = {"q": Gold("q", ("B",)), "r": Gold("r", ())}
    mixed = Exam("jsonl", "test", (ASKED, other), golds, "local", "f")
    _, *lines = reference_lines(mixed)
    assert lines == ["1 of 2 questions have no gold: nothing is right there, and they count"]


def test_a_split_without_golds_says_so_instead_of_a_baseline():
    hidden = Exam("pocket", "test", (ASKED,), {"q": Gold("q", ())}, "local", "f")
    (line,) = reference_lines(hidden)
    assert line.startswith("the golds are hidden: nothing is graded")
    assert yardsticks(hidden) == {"baselines": [], "people": []}
