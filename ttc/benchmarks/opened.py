"""Multiple choice asked as open questions: what is read and judged when a prompt shows no options."""

from dataclasses import replace

from ttc.benchmarks.markers import numbers
from ttc.records import Exam, Gold, Question


def opened(exam: Exam) -> Exam:
    """The exam without options, the text of the right one as gold. Its fingerprint stays: the data are the same.

    An option that is an image has no text to give as an answer. Such a question stays, can only be wrong, and is named.
    """
    by_id = {question.id: question for question in exam.questions}
    golds = {id: _text_gold(by_id[id], gold) for id, gold in exam.golds.items()}
    pictured = [
        f"{id}: the right option is an image, which no words can give"
        for id, gold in golds.items()
        if by_id[id].options and any(map(numbers, gold.answers))
    ]
    questions = tuple(replace(question, question_type="open", options=()) for question in exam.questions)
    return replace(exam, questions=questions, golds=golds, problems=(*exam.problems, *pictured))


def _text_gold(question: Question, gold: Gold) -> Gold:
    if not question.options:
        return gold
    texts = (question.options[question.letters.index(letter)] for letter in gold.answers)
    return replace(gold, answers=tuple(dict.fromkeys(texts)))
