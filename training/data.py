"""The chains that a training config asks for: training and dev, and the questions they are about."""

from training.chain_files import read_chains
from training.chains import LabelledChain
from training.config import AnyChains
from ttc.benchmarks.pocket import Pocket
from ttc.errors import UserError
from ttc.records import Question


def load(data: AnyChains) -> tuple[list[LabelledChain], list[LabelledChain]]:
    """Training and dev chains.

    Raises:
        UserError: a file is missing or not of this form, or one group of chains stands on both sides.
    """
    if data.kind == "pocket":
        from training import pocket_replies

        return pocket_replies.load(data)
    questions = [question for benchmark in data.benchmarks for question in benchmark.load().questions]
    train, dev = read_chains(data.train, questions), read_chains(data.dev, questions)
    if shared := sorted({chain.group for chain in train} & {chain.group for chain in dev}):
        raise UserError(
            f"{len(shared)} groups of chains are in {data.train} and in {data.dev}, {shared[0]} the first: dev would be known "
            "by heart; split by group"
        )
    return train, dev


def questions(data: AnyChains) -> list[Question]:
    """All questions that training and dev chains are about; draws nothing. Raises UserError as `load`."""
    if data.kind == "pocket":
        return list(Pocket(split="train", size=data.train_questions + data.dev_questions).load().questions)
    train, dev = load(data)
    return list({(chain.question.benchmark, chain.question.id): chain.question for chain in [*train, *dev]}.values())
