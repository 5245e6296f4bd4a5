"""Beam search, tree search and particle filter: what they draw, what it costs to the token, what they stand by."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyarrow import dataset

from experiments.config import strategy_name, validate
from experiments.plan import plan
from experiments.run import execute
from ttc import prompts
from ttc.backends.scripted import Scripted
from ttc.backends.transformers import Transformers
from ttc.bank import Bank
from ttc.benchmarks.pocket import Pocket
from ttc.compute import ModelShape
from ttc.dispatcher import Dispatcher
from ttc.draw import Draw
from ttc.errors import BudgetSpent, UserError
from ttc.records import Question, Sample, Sampling, Selection, Text, Usage
from ttc.scoring import Scoring
from ttc.session import Session
from ttc.strategies import DVTS, BeamSearch, ParticleFilter
from ttc.strategies.beam_search import best
from ttc.strategies.chains import Chain
from verifiers import AnyVerifier, Truth
from verifiers import Scripted as Told

QUESTION = Question("q", "pocket", "multiple-choice", "Which?", ("one", "two", "three"))
SHAPE = ModelShape(layers=2, width=16, query_heads=2, kv_heads=1, head_dim=8, mlp_weights=3000, vocabulary=100)

GOOD = "one two\nthree\nAnswer: B"
BAD = "four six\nfive\nAnswer: A"
STEPS = (3, 2, 2)
"""Tokens of the steps of either: words and newlines."""
LIKES_GOOD = {"one two": 0.9, "three": 0.8, "Answer: B": 0.7, "four six": 0.2, "five": 0.3, "Answer: A": 0.6, "Answer: C": 0.5}
PROMPT = len(
    " ".join(part.text for part in prompts.render(QUESTION, style="cot").messages[0].parts if isinstance(part, Text)).split()
)


class Ran:
    """One strategy on one question: what it stands by, what that is counted as, and what the engine drew."""

    def __init__(self, folder: Path, strategy, backend=None, scores: Mapping[str, float | None] = LIKES_GOOD, **settings):
        self.backend = backend or Scripted(replies=[GOOD, BAD])
        self.verifiers: dict[str, AnyVerifier] = {"v": settings.pop("verifier", Told(scores=scores, tokens_per_reply=10))}
        question, sampling = settings.pop("question", QUESTION), settings.pop("sampling", Sampling())
        settings.setdefault("budget_tokens", getattr(strategy, "budget_tokens", None))
        self.selection, self.usage, self.executed = asyncio.run(self._run(Bank(folder), strategy, question, sampling, settings))

    async def _run(self, bank: Bank, strategy, question, sampling, settings) -> tuple[Selection, Usage, Usage]:
        async with Dispatcher(self.backend, bank) as source:
            with Scoring(self.verifiers, bank, source.writer) as scoring:
                session = Session(question, source, _render, sampling, verification=scoring, **settings)
                return await strategy.solve(session), session.usage, source.executed + scoring.executed


def _render(question, style):
    return prompts.render(question, style=style)


def beam(**settings) -> BeamSearch:
    return BeamSearch(**{"verifier": "v", "width": 1, "expand": 2, **settings})


def answer(found: Ran) -> str | None:
    return found.selection.answer and found.selection.answer.value


def test_beam_search_follows_the_best_steps_and_counts_the_tokens_of_pruned_chains(tmp_path):
    found = Ran(tmp_path, beam())
    assert answer(found) == "B"
    assert found.usage == Usage(6, PROMPT, 2 * sum(STEPS), 6 * 10, None)
    assert (found.executed.samples, found.executed.completion_tokens) == (6, 2 * sum(STEPS))


def test_duplicates_are_kept_once_and_counted_every_time(tmp_path):
    found = Ran(tmp_path, beam(width=2), Scripted(replies=[GOOD]))
    first, second, third = STEPS
    # four equal first steps; the one that is kept gets two continuations, and so does the one kept of those
    assert found.usage == Usage(8, PROMPT, 4 * first + 2 * second + 2 * third, 8 * 10, None)


@pytest.mark.parametrize(("stop", "steps"), [("two\n", 1), ("two\nthree", 2)])
def test_a_stop_string_of_the_run_ends_a_chain_as_it_ends_a_whole_reply(tmp_path, stop, steps):
    found = Ran(tmp_path, beam(expand=1), Scripted(replies=[GOOD]), sampling=Sampling(stop=(stop,)))
    assert found.usage.samples == steps


def test_an_annealed_beam_keeps_fewer_chains_after_every_step(tmp_path):
    wide, narrow = (Ran(tmp_path / str(fall), beam(width=3, narrowing=fall), Scripted(replies=THREE)) for fall in (0, 1))
    # 3 x 2 first steps; of the 3, then 3 or 2, then 3 or 1 chains kept, each has two continuations
    assert (wide.usage.samples, narrow.usage.samples) == (6 + 6 + 6 + 6, 6 + 6 + 4 + 2)


THREE = [f"{word}\n{word} two\n{word} three\nAnswer: B" for word in ("red", "green", "blue")]


def test_a_second_search_draws_nothing_and_counts_the_same(tmp_path):
    for strategy in (beam(width=2), DVTS(verifier="v", subtrees=3, expand=2), ParticleFilter(verifier="v", particles=5)):
        first, second = Ran(tmp_path / strategy.kind, strategy), Ran(tmp_path / strategy.kind, strategy)
        assert (second.selection, second.usage) == (first.selection, first.usage)
        assert second.executed.samples == second.executed.verifier_tokens == 0


def test_a_reply_costs_the_same_flops_drawn_whole_or_step_by_step(tmp_path):
    found = Ran(tmp_path, beam(expand=1), verifier=Told(flops_per_token=0.0), shape=SHAPE)
    assert found.usage.flops == SHAPE.prompt_flops(PROMPT) + SHAPE.decode_flops(sum(STEPS), PROMPT)


def test_continuations_of_one_prefix_feed_its_last_token_once(tmp_path):
    found = Ran(tmp_path, beam(), verifier=Told(scores=LIKES_GOOD, flops_per_token=0.0), shape=SHAPE)
    flops = SHAPE.prompt_flops(PROMPT) + 2 * SHAPE.decode_flops(3, PROMPT)
    for cached in (PROMPT + 3, PROMPT + 5):
        flops += SHAPE.extend_flops(1, cached - 1, heads=1) + 2 * SHAPE.decode_flops(2, cached)
    assert found.usage.flops == flops


def test_a_spent_budget_ends_a_search_that_stands_by_the_best_it_has(tmp_path):
    replies = Scripted(replies=["Answer: C", GOOD])
    # one round: C's two tokens and the three of a better step, each scored for ten
    spent = Ran(tmp_path, beam(width=2, expand=1, budget_tokens=25), replies)
    assert (answer(spent), spent.usage.samples) == ("C", 2)
    more = Ran(tmp_path, beam(width=2, expand=1, budget_tokens=26), replies)
    assert more.usage.samples > 2
    unfinished = Ran(tmp_path, beam(budget_tokens=1))
    assert (unfinished.selection.answer, unfinished.usage.completion_tokens) == (None, 6)


def test_no_chain_grows_beyond_the_steps_or_tokens_of_a_reply(tmp_path):
    assert Ran(tmp_path, beam(expand=1, max_steps=2)).usage.completion_tokens == 5
    for most in (3, 4, 5, 6):
        found = Ran(tmp_path, beam(expand=1), sampling=Sampling(max_tokens=most))
        assert (found.usage.completion_tokens, found.selection.answer) == (most, None)


def test_a_stop_string_of_the_run_ends_a_chain_and_is_no_step(tmp_path):
    found = Ran(tmp_path, beam(expand=1), sampling=Sampling(stop=("three",)))
    assert (found.usage.samples, found.usage.completion_tokens) == (2, 4)


def test_a_step_without_a_score_loses_to_any(tmp_path):
    likes = {**LIKES_GOOD, "one two": None, "Answer: B": 0.0}
    assert answer(Ran(tmp_path, beam(), scores=likes)) == "A"


def test_equal_chains_are_one_and_the_earlier_of_two_equal_scores_wins():
    chains = [Chain(Sample("", i, "q", ""), ids, score=score) for i, (ids, score) in enumerate(_RANKED)]
    assert [chain.reply.index for chain in best(chains, 3)] == [2, 0, 4]
    copied = [Chain(Sample("", i, "q", ""), ids, score=0.5) for i, ids in enumerate([(1,), (2,), (1,)])]
    assert [chain.reply.index for chain in best(copied, 2)] == [0, 1]  # a copy behind it costs the first no place


_RANKED = [((1,), 0.5), ((1,), 0.5), ((2,), 0.9), ((3,), None), ((4,), 0.5)]


def test_subtrees_do_not_compete_so_the_same_answer_of_two_counts_twice(tmp_path):
    replies = Scripted(replies=["Answer: B", "Answer: A", "Answer: A"])
    likes = {"Answer: B": 0.7, "Answer: A": 0.5}
    tree = {"verifier": "v", "subtrees": 3, "expand": 1}
    assert answer(Ran(tmp_path, DVTS(**tree), replies, likes)) == "B"
    assert answer(Ran(tmp_path, DVTS(**tree, choose="weighted_vote"), replies, likes)) == "A"
    assert answer(Ran(tmp_path, beam(width=3, expand=1, choose="weighted_vote"), replies, likes)) == "B"


def test_tree_search_pays_the_prompt_once_and_every_subtree_in_full(tmp_path):
    found = Ran(tmp_path, DVTS(verifier="v", subtrees=2, expand=2))
    assert answer(found) == "B"
    assert found.usage == Usage(12, PROMPT, 4 * sum(STEPS), 12 * 10, None)


def test_copies_of_a_particle_go_on_apart_and_are_all_paid_for(tmp_path):
    found = Ran(tmp_path, ParticleFilter(verifier="v", particles=4, resampling_temperature=0.01))
    assert answer(found) == "B"
    assert found.usage == Usage(12, PROMPT, 4 * sum(STEPS), 12 * 10, None)
    assert found.executed.samples == 12


def test_a_particle_without_a_score_survives_only_where_all_are_without(tmp_path):
    few = ParticleFilter(verifier="v", particles=4)
    assert (
        answer(Ran(tmp_path, few, Scripted(replies=["Answer: B", "Answer: A"]), {"Answer: B": None, "Answer: A": 0.01})) == "A"
    )
    nothing = Ran(tmp_path, few, Scripted(replies=["Answer: B"]), {"Answer: B": None})
    assert answer(nothing) == "B"


def test_particles_survive_by_the_odds_of_their_scores():
    few = ParticleFilter(verifier="v", resampling_temperature=2.0)
    low, high = few._weights([Chain(Sample("", 0, "q", ""), score=score) for score in (0.2, 0.8)])
    assert high / low == pytest.approx(4)  # the square root of 4 / (1 / 4)


def test_an_engine_that_does_not_tell_token_ids_is_refused_in_one_line():
    class Mute:
        async def samples(self, question, prompt, sampling, n, prefix=()):
            return [Sample("k", i, "q", "so", finish="stop", completion_tokens=2, engine="server") for i in range(n)]

    session = Session(QUESTION, Mute(), _render, Sampling())
    with pytest.raises(UserError, match="server does not tell token ids"):
        asyncio.run(session.extend([()], "\n"))


def test_a_round_is_drawn_whole_or_not_at_all(tmp_path):
    async def run() -> Usage:
        async with Dispatcher(Scripted(replies=[GOOD, BAD]), Bank(tmp_path)) as source:
            session = Session(QUESTION, source, _render, Sampling(), budget_tokens=6)
            [[one, other]] = await session.extend([()], "\n", 2)
            assert (one.tail, other.tail) == ("\n", "\n")
            with pytest.raises(BudgetSpent):
                await session.extend([one.token_ids, other.token_ids], "\n")
            return session.usage

    assert asyncio.run(run()).samples == 2


def test_draws_at_the_same_time_get_samples_of_their_own(tmp_path):
    async def run() -> list[int]:
        async with Dispatcher(Scripted(replies=[GOOD, BAD]), Bank(tmp_path)) as source:
            session = Session(QUESTION, source, _render, Sampling())
            drawn = await asyncio.gather(session.draw(Draw(n=2)), session.draw(Draw(n=2)))
            assert session.usage.prompt_tokens == PROMPT
            return [sample.index for samples in drawn for sample in samples]

    assert asyncio.run(run()) == [0, 1, 2, 3]


def test_with_a_model_every_token_that_the_engine_drew_is_counted_and_no_step_loses_its_end(tmp_path):
    asked = Pocket(split="validation", subjects=("Tables", "Bars")).load().questions
    hard = next(question for question in asked if question.fields["topic_difficulty"] == "Hard")
    tree = DVTS(verifier="v", subtrees=2, expand=2)
    found = Ran(tmp_path, tree, Transformers(model="pocket"), question=hard, verifier=Truth(), sampling=Sampling(max_tokens=96))
    rows = dataset.dataset(tmp_path / "samples").to_table().to_pylist()
    assert found.usage.completion_tokens == found.executed.completion_tokens == sum(len(row["token_ids"]) for row in rows)
    assert found.usage.samples == found.executed.samples == len(rows)
    assert found.usage.prompt_tokens == rows[0]["prompt_tokens"]
    assert {row["tail"] for row in rows} == {"\n", ""}
    assert not any("\n" in row["text"] for row in rows)


def test_a_run_gives_a_search_its_budget_and_marks_one_that_knows_the_truth(tmp_path):
    search = {"kind": "beam_search", "verifier": "told", "width": 1, "expand": 2}
    content = {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
        "backend": {"kind": "scripted", "replies": [GOOD, BAD]},
        "verifiers": {"told": {"kind": "scripted", "tokens_per_reply": 10, "scores": LIKES_GOOD}, "true": {"kind": "truth"}},
        "strategies": [search, {**search, "budget_tokens": 26}, {**search, "verifier": "true"}],
        "bank": str(tmp_path),
        "limit": 3,
    }
    asked = validate(content, "test")
    found = execute(plan(asked), asked.backend, Bank(asked.bank))
    whole, cut, _ = (found.outcomes[strategy_name(one)].values() for one in asked.strategies)
    assert [outcome.samples for points in (whole, cut) for [(_, outcome)] in points] == [6, 6, 6, 2, 2, 2]
    assert [asked.uses_gold(one) for one in asked.strategies] == [False, False, True]
