"""What a curve costs: one pass at the largest N against a run at every N, in tokens that runs really drew."""

from pathlib import Path

from experiments.bench.pairs import Line
from experiments.config import RunConfig
from experiments.plan import plan
from experiments.run import execute, powers_of_two
from ttc.backends.scripted import Scripted
from ttc.bank import Bank
from ttc.benchmarks.pocket import Pocket
from ttc.records import Sampling
from ttc.strategies.oracle import Oracle
from ttc.strategies.vote import Vote

REPLIES = tuple(
    f"{'so it goes on, ' * words}Answer: {letter}" for words, letter in zip(range(0, 40, 5), "ABCDABCD", strict=True)
)
"""Of many lengths, so that the tokens of N samples are not just N times those of one."""


def cost_of_a_curve(folder: Path, *, questions: int, largest: int) -> list[Line]:
    """Completion tokens of vote and oracle at N = 1, 2, 4 ... up to `largest`: all N, or the largest alone, or a run for each.

    Args:
        folder: for the banks. Reruns have banks and seeds of their own, as runs of other harnesses have.
    """
    budgets = powers_of_two(largest)

    def drawn(ks: tuple[int, ...], seed: int) -> int:
        config = RunConfig(
            benchmark=Pocket(split="validation"),
            backend=Scripted(replies=REPLIES, pick="seeded"),
            sampling=Sampling(max_tokens=200),
            strategies=(Vote(n=max(ks)), Oracle(n=max(ks))),
            ks=ks,
            limit=questions,
            seed=seed,
        )
        results = execute(plan(config), config.backend, Bank(folder / f"curve-{len(ks)}-{seed}"))
        drawn_ks = {tuple(k for k, _ in points) for by_id in results.outcomes.values() for points in by_id.values()}
        assert drawn_ks == {ks}, f"asked for {ks}, got {drawn_ks}"
        return results.executed.completion_tokens

    alone = drawn((largest,), seed=0)
    whole = drawn(tuple(budgets), seed=0)
    again = sum(drawn((n,), seed=n) for n in budgets)
    what = f"vote and oracle at N = 1, 2, 4 ... {largest}, {questions} questions"
    against = f"N = {largest} alone"
    return [
        Line(f"{what}, from one pass", whole, "tokens", against, alone, whole / alone),
        Line(f"{what}, rerun at each N", again, "tokens", against, alone, again / alone),
    ]
