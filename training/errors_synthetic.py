"""Labels that cost nothing: explanations with one known error put in, as wrong replies whose kind is known.

They teach a classifier before anybody has labelled; what it is worth on a model's own replies has to be measured there.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from training.corpora import gold_chains
from training.errors import OF_PLANTED, ErrorKind, WrongReply
from training.perturb import ErrorKind as PlantedKind
from training.perturb import perturb
from ttc.records import Answer, Exam, Gold, Question


def synthetic(exam: Exam, *, seed: int = 0, share: float = 0.3) -> tuple[list[WrongReply], list[ErrorKind]]:
    """Wrong replies made from the exam's explanations, and the kind of each one's error.

    Args:
        share: of wrong steps, as `training.perturb.perturb` has it: how many are made.
    """
    golds = {question.id: exam.golds[question.id] for question in exam.questions}
    made = perturb(gold_chains(exam), golds, seed=seed, share=share)
    replies = [_reply(one.chain.question, golds, one.chain.steps) for one in made]
    kinds: list[ErrorKind] = [OF_PLANTED[cast(PlantedKind, one.chain.kinds[one.place])] for one in made]
    return replies, kinds


def _reply(question: Question, golds: Mapping[str, Gold], steps: Sequence[str]) -> WrongReply:
    """An explanation states no final answer in a form to be read."""
    return WrongReply(question, golds[question.id], "".join(steps), Answer((), "unclear", "planted"))


def planted_replies(exam: Exam, count: int, *, seed: int = 0) -> tuple[list[WrongReply], list[ErrorKind]]:
    """As `synthetic` for the pocket exam, whose own planter goes on rightly after the error; kinds are the exam's.

    Args:
        count: chains planted; those that come out right are left out.
    """
    from training.errors import pocket_kind
    from training.pocket_planted import planted_chains
    from ttc.answers import extract

    replies = []
    for chain in planted_chains(exam.questions, count, seed):
        if not chain.is_right:
            text = "".join(chain.steps)
            replies.append(WrongReply(chain.question, exam.golds[chain.question.id], text, extract(chain.question, text)))
    return replies, [pocket_kind(reply) for reply in replies]
