"""What an exam gives away without a look: guessing, a fixed letter; and what human experts reach."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from ttc.records import Exam, Gold, Question


@dataclass(frozen=True, slots=True)
class Baseline:
    """Credit of a policy that reads no question. Open questions count, with credit 0."""

    name: str
    accuracy: float
    """Expected share of right answers, in [0, 1]."""
    deviation: float
    """Standard deviation of one run's accuracy; 0 for policies without chance."""
    right: float
    """Expected number of right answers."""
    n: int
    """Questions with a known gold."""


@dataclass(frozen=True, slots=True)
class HumanBand:
    """Accuracy of human experts, as a paper reports it."""

    benchmark: str
    who: str
    low: float
    """Accuracy in [0, 1] of the worst; equal to `high` where one number is reported."""
    high: float
    """Of the best."""
    median: float | None
    discipline: str
    """Empty for all of the benchmark."""
    source: str


def baselines(exam: Exam) -> tuple[Baseline, ...]:
    """All of them. An exam without a known gold has none."""
    if not any(_keyed(exam)):
        return ()
    return uniform_guess(exam), most_frequent_letter(exam), most_frequent_letter_by_subject(exam)


def uniform_guess(exam: Exam) -> Baseline:
    """A letter at random out of each question's own options: the exact expectation, of which a single run is one draw."""
    chances = [
        Fraction(len(set(gold.answers) & set(question.letters)), max(len(question.options), 1))
        for question, gold in _keyed(exam)
    ]
    right, n = sum(chances), len(chances)
    variance = float(sum(chance * (1 - chance) for chance in chances))
    return Baseline("uniform guess", float(right / n), variance**0.5 / n, float(right), n)


def always(exam: Exam, letter: str) -> Baseline:
    """The same letter everywhere."""
    keyed = list(_keyed(exam))
    return _certain(f"always {letter}", _counts(keyed)[letter], len(keyed))


def most_frequent_letter(exam: Exam) -> Baseline:
    """The letter that is right most often in this very exam, so a bound rather than a method; ties go to the first letter."""
    return always(exam, _most_frequent(_counts(_keyed(exam))))


def most_frequent_letter_by_subject(exam: Exam) -> Baseline:
    """The same, with another letter for each subject."""
    by_subject: defaultdict[object, list[tuple[Question, Gold]]] = defaultdict(list)
    for question, gold in _keyed(exam):
        by_subject[question.fields.get("subject")].append((question, gold))
    counts = map(_counts, by_subject.values())
    right = sum(count[_most_frequent(count)] for count in counts)
    return _certain("most frequent letter of each subject", right, sum(map(len, by_subject.values())))


def _keyed(exam: Exam) -> Iterator[tuple[Question, Gold]]:
    for question in exam.questions:
        gold = exam.golds.get(question.id)
        if gold is not None and gold.answers:
            yield question, gold


def _counts(keyed: Iterable[tuple[Question, Gold]]) -> Counter[str]:
    """How often each letter is right, over multiple-choice questions."""
    return Counter(
        letter for question, gold in keyed if question.question_type == "multiple-choice" for letter in set(gold.answers)
    )


def _most_frequent(counts: Counter[str]) -> str:
    return min(counts, key=lambda letter: (-counts[letter], letter), default="A")


def _certain(name: str, right: int, n: int) -> Baseline:
    return Baseline(name, right / n, 0.0, right, n)


_MMMU_PAPER = "Yue et al. 2023, arXiv:2311.16502"
_MMVU_PAPER = "Zhao et al. 2025, arXiv:2501.12380"
_MMVU_DISCIPLINES = ("", "Science", "Healthcare", "Humanities and Social Science", "Engineering")
_MMVU_ACCURACY = {
    "experts, closed book": (0.497, 0.547, 0.427, 0.447, 0.567),
    "experts, open book": (0.868, 0.867, 0.847, 0.927, 0.833),
    "experts, oracle sources": (0.953, 0.953, 0.933, 0.960, 0.967),
}

HUMANS: tuple[HumanBand, ...] = (
    HumanBand("mmmu", "90 seniors in their own subject, with textbooks", 0.762, 0.886, 0.826, "", f"{_MMMU_PAPER}, validation"),
    *(
        HumanBand("mmvu", who, accuracy, accuracy, None, discipline, f"{_MMVU_PAPER}, 120 test questions")
        for who, accuracies in _MMVU_ACCURACY.items()
        for discipline, accuracy in zip(_MMVU_DISCIPLINES, accuracies, strict=True)
    ),
)
"""Human experts of MMMU's validation split and of MMVU."""
