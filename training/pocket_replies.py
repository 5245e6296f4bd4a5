"""A model's own replies to the pocket exam as training chains: drawn where the bank lacks them, labelled by the exam itself."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from training.asking import draw
from training.chains import LabelledChain
from training.corpora import pocket_chains, pocket_labels
from training.pocket_planted import planted_chains
from ttc import prompts
from ttc.bank import Bank
from ttc.benchmarks.pocket import Pocket
from ttc.records import Media, Question
from verifiers.probes import blank

if TYPE_CHECKING:
    from training.config import PocketReplies


def load(data: "PocketReplies") -> tuple[list[LabelledChain], list[LabelledChain]]:
    """Training and dev chains, of different questions of the train split.

    Raises:
        BackendUnavailable: the engine gave up or the run was stopped; the same call goes on from the bank.
    """
    exam = Pocket(split="train", size=data.train_questions + data.dev_questions).load()
    last = {question.id for question in exam.questions[-data.dev_questions :]}
    asked = [question for question in exam.questions if question.fields["subject"] not in data.leave_out]
    requests = [(question, prompts.render(question, style="cot")) for question in asked]
    drawn = draw(data.backend, Bank(data.bank), requests, data.sampling, data.samples, run="train")
    samples = dict(zip((question.id for question in asked), drawn, strict=True))
    chains = pocket_chains(asked, exam.golds, samples, model=data.backend.model)
    # one reply is often drawn many times, and teaches once; dev chains are weighed as they are drawn
    train = list({(chain.group, chain.steps): chain for chain in chains if chain.group not in last}.values())
    train += planted_chains([question for question in asked if question.id not in last], data.planted, data.seed)
    return train + blinded(train, data.blind), [chain for chain in chains if chain.group in last]


def blinded(chains: Sequence[LabelledChain], share: float) -> list[LabelledChain]:
    """Copies of a share of the chains, evenly spread, with nothing to see; steps that read the image are not labelled there.

    Every other label stays: a verifier learns from them that sums and rules can be judged whatever is shown. Whether the answer
    is right cannot be seen any more, and is not said.
    """
    count = round(share * len(chains))
    blanks: dict[str, Question] = {}
    copies = []
    for chain in (chains[place * len(chains) // count] for place in range(count)):
        if chain.group not in blanks:
            blanks[chain.group] = replace(chain.question, media=tuple(_blank(media) for media in chain.question.media))
        _, _, reads = pocket_labels(chain.question, chain.steps)
        labels = tuple(None if reading else label for label, reading in zip(chain.labels, reads, strict=True))
        copies.append(replace(chain, question=blanks[chain.group], labels=labels, is_right=None))
    return copies


def _blank(media: Media) -> Media:
    """Of a brightness that the image's hash decides: no one shade shall mean `blank`."""
    sheet = blank(media, int(media.sha256[:2], 16))
    assert sheet is not None, "the exam's media can be read"
    return sheet
