"""From a reply to the answer it stands by. Nothing here guesses: a reply that names no answer, or two, has none, and a reason.

    extract(question, reply) -> Answer
    classes(question, answers) -> one class per answer, for votes

The rules never see a gold answer, a prompt or another reply.
"""

from ttc.answers.choice import closing_line, read_choice
from ttc.answers.classes import classes
from ttc.answers.opens import read_open
from ttc.answers.thinking import final_part, may_think
from ttc.records import Answer, Question, Sample

__all__ = ["classes", "extract"]

_EMPTY = Answer((), "empty", "empty-reply")


def extract(question: Question, reply: Sample | str) -> Answer:
    """Read the answer out of a sample, or out of a bare text that is taken to be complete.

    Multiple choice yields one option letter. Open questions yield the value as it stands in the reply; several where the reply
    gives one value in several forms.
    """
    if isinstance(reply, str):
        text, cut = reply, False
    elif reply.status == "ok":
        text, cut = reply.text, reply.finish == "length"
    else:
        return Answer((), "refused" if reply.status == "refused" else "failed", f"sample-{reply.status}")
    if question.options and not may_think(text) and (fast := closing_line(question.options, text)):
        return fast
    part = final_part(text)
    if part.unfinished:
        return Answer((), "truncated", "unfinished-thinking")
    if not part.text or part.text.isspace():
        return Answer((), "truncated", "empty-reply") if cut else _EMPTY
    if question.options:
        return read_choice(question.options, part.text, cut)
    return read_open(question.text, part.text, cut)
