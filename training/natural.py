"""Natural errors: a model's own replies, whose steps are labelled by what becomes of replies that go on from them.

questions -> replies -> chains -> rollouts -> labels -> those with which a judge, if there is one, agrees
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from training.asking import draw
from training.chains import LabelledChain
from training.corpora import natural_chain
from training.rollouts import StepJudge, agreed, labelled, roll_out_all
from ttc import prompts
from ttc.answers import extract
from ttc.backends import AnyBackend
from ttc.bank import Bank
from ttc.judges.rules import Rules
from ttc.records import Gold, Question, Sample, Sampling


class NaturalErrors(BaseModel, frozen=True, extra="forbid"):
    """Whose replies, and how they are labelled (`training.rollouts`)."""

    backend: AnyBackend
    """It writes the replies, and goes on from their beginnings."""
    sampling: Sampling = Sampling()
    replies: int = Field(default=4, gt=0)
    """Of each question; equal ones teach once."""
    rollouts: int = Field(default=8, gt=0)
    """Continuations from each step; 8 to 16 are usual."""
    judge: StepJudge | None = None
    """Keeps the chains on whose first error it agrees."""

    def chains(
        self, questions: Sequence[Question], golds: Mapping[str, Gold], bank: Bank
    ) -> tuple[list[LabelledChain], Counter[str]]:
        """Labelled chains, and why replies are none.

        Raises:
            UserError: the engine does not take or tell token ids.
            BackendUnavailable: the model cannot be asked; the same call goes on from the bank.
        """
        asked = [question for question in questions if golds[question.id].answers]
        requests = [(question, prompts.render(question, style="cot")) for question in asked]
        drawn = draw(self.backend, bank, requests, self.sampling, self.replies, run="natural")
        written, failed = self._written(asked, golds, drawn)
        rolled = roll_out_all(written, golds, self.backend, bank, self.sampling, n=self.rollouts)
        found = [labelled(chain, rollouts) for chain, rollouts in zip(written, rolled, strict=True)]
        known = [chain for chain in found if any(label is not None for label in chain.labels)]
        failed["no continuation tells"] = len(found) - len(known)
        if self.judge is None:
            return known, failed
        judged = self.judge.label(known, golds, bank)
        kept = agreed(known, judged)
        failed["the judge names no step"] = sum(chain.labels.count(None) == len(chain.labels) for chain in judged)
        failed["the judge does not agree"] = len(known) - len(kept) - failed["the judge names no step"]
        return kept, failed

    def _written(
        self, questions: Sequence[Question], golds: Mapping[str, Gold], drawn: Sequence[Sequence[Sample]]
    ) -> tuple[list[LabelledChain], Counter[str]]:
        """The replies as unlabelled chains, equal ones once."""
        model, judge = str(getattr(self.backend, "model", self.backend.kind)), Rules()
        chains: dict[tuple[str, tuple[str, ...]], LabelledChain] = {}
        failed = Counter[str]()
        for question, samples in zip(questions, drawn, strict=True):
            for sample in samples:
                verdict = judge.judge(question, golds[question.id], extract(question, sample))
                chain = natural_chain(question, sample, model=model, verdict=verdict)
                if chain is None or sample.finish == "length":  # a cut reply has no last step
                    failed["no whole reply"] += 1
                else:
                    chains.setdefault((question.id, chain.steps), chain)
        return list(chains.values()), failed
