"""Revision, budget forcing and generative selection: what they ask, what it costs to the token, what they stand by."""

import asyncio
from contextlib import nullcontext
from pathlib import Path

import pytest
from pydantic import ValidationError

from experiments.config import validate
from experiments.plan import plan
from experiments.run import execute
from ttc import prompts
from ttc.backends.scripted import Scripted
from ttc.bank import Bank
from ttc.compute import ModelShape
from ttc.dispatcher import Dispatcher
from ttc.errors import UserError
from ttc.media import media_from_bytes
from ttc.prompts import turns
from ttc.records import Picture, Prompt, Question, Sampling, Selection, Text, Usage
from ttc.session import Session
from ttc.strategies import BudgetForcing, GenerativeSelection, Revision

QUESTION = Question("q", "pocket", "multiple-choice", "Which?", ("one", "two", "three"))
SHAPE = ModelShape(layers=2, width=16, query_heads=2, kv_heads=1, head_dim=8, mlp_weights=3000, vocabulary=100)
ASKED = prompts.render(QUESTION, style="cot")


def words(prompt: Prompt) -> int:
    return sum(len(part.text.split()) for message in prompt.messages for part in message.parts if isinstance(part, Text))


class Ran:
    """One strategy on one question: what it stands by, what that is counted as, and what the engine drew."""

    def __init__(self, folder: Path, strategy, backend: Scripted, *, question=QUESTION, shape=None, sampling=None):
        async def run() -> tuple[Selection, Usage, Usage]:
            async with Dispatcher(backend, Bank(folder)) as source:
                session = Session(
                    question,
                    source,
                    lambda asked, style: prompts.render(asked, style=style),
                    sampling or Sampling(),
                    shape=shape,
                    budget_tokens=strategy.budget_tokens,
                )
                return await strategy.solve(session), session.usage, source.executed

        self.selection, self.usage, self.executed = asyncio.run(run())

    @property
    def answer(self) -> str | None:
        return self.selection.answer and self.selection.answer.value


CHANGES = Scripted(
    replies=["so Answer: A"], when={"so Answer: A": ["no, Answer: B"], "no, Answer: B": ["yes, it is Answer: B"]}
)


def test_a_revision_that_keeps_the_answer_is_the_last_and_every_round_is_counted(tmp_path):
    found = Ran(tmp_path, Revision(rounds=5), CHANGES)
    first, second = (turns.revising(ASKED, reply) for reply in ("so Answer: A", "no, Answer: B"))
    assert found.answer == "B"
    assert found.usage == Usage(3, words(first) + words(second) - words(ASKED), 3 + 3 + 5, 0, None)
    assert found.executed.completion_tokens == found.usage.completion_tokens


def test_a_revision_costs_the_flops_of_what_is_new_to_the_model(tmp_path):
    found = Ran(tmp_path, Revision(rounds=1), CHANGES, shape=SHAPE)
    asked, shown = words(ASKED), words(turns.revising(ASKED, "so Answer: A"))
    flops = SHAPE.prompt_flops(asked) + SHAPE.decode_flops(3, asked)
    assert found.usage.flops == flops + SHAPE.extend_flops(shown - asked, asked, heads=1) + SHAPE.decode_flops(3, shown)


def test_revisions_go_on_where_told_to_and_a_vote_over_them_is_another_choice(tmp_path):
    wavers = {"Answer: A": ["Answer: B"], "Answer: B": ["Answer: B"]}
    script = Scripted(replies=["Answer: C"], when={"Answer: C": ["Answer: C!"], **wavers, "Answer: C!": ["Answer: A"]})
    assert Ran(tmp_path, Revision(rounds=4), script).usage.samples == 2
    assert Ran(tmp_path, Revision(rounds=4, stop_when_kept=False), script).usage.samples == 5
    turning = Scripted(replies=["Answer: A"], when={"so A, Answer: A": ["Answer: B"], "Answer: A": ["so A, Answer: A"]})
    last, vote = (Ran(tmp_path, Revision(rounds=2, stop_when_kept=False, choose=how), turning) for how in ("last", "vote"))
    assert (last.answer, vote.answer) == ("B", "A")


def test_a_round_without_an_answer_leaves_the_one_before_standing(tmp_path):
    silent = Scripted(replies=["Answer: A"], when={"Answer: A": ["I cannot say"]})
    found = Ran(tmp_path, Revision(rounds=1), silent)
    assert (found.answer, found.usage.samples) == ("A", 2)


def test_revision_ends_where_its_budget_is_spent(tmp_path):
    found = Ran(tmp_path, Revision(rounds=5, budget_tokens=4), CHANGES)
    assert (found.answer, found.usage.completion_tokens) == ("B", 6)


def test_what_failed_is_not_revised(tmp_path):
    found = Ran(tmp_path, Revision(), Scripted(replies=["x"], statuses={"q": "refused"}))
    assert (found.answer, found.usage.samples) == (None, 1)


def test_a_revised_reply_is_shown_below_the_question_with_its_images_and_without_its_thinking():
    media = media_from_bytes(b"x", marker=1)
    asked = prompts.render(Question("q", "x", "open", "What is in <image 1>?", media=(media,)), style="cot")
    shown = turns.revising(asked, "<think>perhaps a cat</think>A dog. Answer: dog")
    assert shown.messages[:-2] == asked.messages
    assert shown.media_parts == (Picture(media),)
    assert [message.role for message in shown.messages] == ["user", "assistant", "user"]
    assert shown.messages[1].parts == (Text("A dog. Answer: dog"),)


CANDIDATES = ["Answer: A", "Answer: B", "Answer: A"]


def test_the_candidate_that_is_picked_wins_over_the_majority_and_reading_is_counted(tmp_path):
    strategy = GenerativeSelection(n=3)
    order = strategy.order(QUESTION, 0, [0, 1, 2])
    pick = f"The others err. Best: {order.index(1) + 1}"
    found = Ran(tmp_path, strategy, Scripted(replies=CANDIDATES, when={"Solution 1": [pick]}))
    read = words(turns.choosing(ASKED, [CANDIDATES[place] for place in order]))
    assert (found.answer, found.selection.sample, found.selection.reason) == ("B", 1, "picked")
    assert found.usage == Usage(4, read, 3 * 2 + 5, 0, None)


def test_readings_see_the_candidates_in_orders_of_their_own_and_their_picks_are_counted(tmp_path):
    strategy = GenerativeSelection(n=3, readings=9)
    orders = [strategy.order(QUESTION, reading, [0, 1, 2]) for reading in range(9)]
    assert len(set(map(tuple, orders))) > 3
    found = Ran(tmp_path, strategy, Scripted(replies=CANDIDATES, when={"Solution 1": ["Best: 1"]}))
    firsts = [CANDIDATES[order[0]][-1] for order in orders]
    assert found.answer == max("AB", key=firsts.count)
    assert (found.usage.samples, found.usage.completion_tokens) == (12, 3 * 2 + 9 * 2)


@pytest.mark.parametrize(("reading", "why"), [("No idea", "unclear"), ("Best: 7", "unclear"), ("so " * 5, "cut")])
def test_a_reading_that_picks_nothing_is_a_failure_and_the_declared_fallback_decides(tmp_path, reading, why):
    script = Scripted(replies=CANDIDATES, when={"Solution 1": [reading]})
    found = Ran(tmp_path / "vote", GenerativeSelection(n=3), script, sampling=Sampling(max_tokens=4))
    assert (found.answer, found.selection.reason) == ("A", f"fallback: 1 {why}")
    abstains = GenerativeSelection(n=3, fallback="abstain")
    assert Ran(tmp_path / "abstain", abstains, script, sampling=Sampling(max_tokens=4)).selection.answer is None


def test_a_pick_without_an_answer_leaves_the_choice_to_the_fallback(tmp_path):
    seed = next(seed for seed in range(9) if GenerativeSelection(n=2, seed=seed).order(QUESTION, 0, [0, 1]) == [0, 1])
    found = Ran(
        tmp_path,
        GenerativeSelection(n=2, seed=seed),
        Scripted(replies=["dunno", "Answer: B"], when={"Solution 1": ["Best: 1"]}),
    )
    assert (found.answer, found.selection.reason) == ("B", "fallback: 1 no answer")


def test_nothing_is_read_of_candidates_that_all_failed_or_when_the_budget_is_spent(tmp_path):
    failed = Ran(tmp_path, GenerativeSelection(n=3), Scripted(replies=["x"], statuses={"q": "refused"}))
    assert (failed.answer, failed.usage.samples) == (None, 3)
    spent = Ran(tmp_path, GenerativeSelection(n=3, budget_tokens=6), Scripted(replies=CANDIDATES))
    assert (spent.answer, spent.usage.samples, spent.selection.reason) == ("A", 3, "fallback: 1 budget spent")


def test_candidates_cannot_smuggle_an_image_or_a_placeholder_into_the_prompt():
    shown = turns.choosing(ASKED, ["see <image 1> and {count}", "two"])
    assert "see <image 1> and {count}" in shown.messages[-1].parts[-1].text
    assert [message.role for message in shown.messages] == ["user"]


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("Best: 2", 2),
        ("**Best:** Solution 3", 3),
        ("Best: 1? No. best: (2)", 2),
        ("The best is 4", None),
        ("12", None),
        ("", None),
    ],
)
def test_what_a_reading_picks_is_read_and_never_guessed(reply, number):
    assert turns.chosen(reply, 3) == number


def test_words_of_ones_own_are_read_and_wrong_ones_refused_in_one_line(tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("{source: me, revise: 'Sure?', choose: '{candidates}', candidate: '{number}. {reply}'}")
    assert turns.revising(ASKED, "x", own).messages[-1].parts == (Text("Sure?"),)
    assert turns.choosing(ASKED, ["x", "y"], own).messages[-1].parts[-1] == Text("1. x\n\n2. y")
    own.write_text("{source: me}")
    turns.load.cache_clear()
    with pytest.raises(UserError, match=r"own\.yaml: revise"):
        turns.revising(ASKED, "x", own)


THINKS = Scripted(replies=["a b </think> c d </think> Answer: B"])
"""Each end of thinking is one token, and so is the word put in its place."""


def thinking(**settings) -> BudgetForcing:
    return BudgetForcing(**{"end": "</think>", "continuation": " Wait", "cue": " </think> Answer:", **settings})


def test_thinking_that_ends_too_early_goes_on_with_a_word_in_place_of_its_end(tmp_path):
    freely, longer = Ran(tmp_path, thinking(), THINKS), Ran(tmp_path, thinking(min_thinking=4), THINKS)
    # a b </think>, then the rest
    assert freely.usage == Usage(2, words(ASKED), 3 + 5, 0, None)
    # a b </think>, taken back; a b Wait c d </think>; Answer: B; of which Wait was not drawn
    assert longer.usage == Usage(3, words(ASKED) + 1, 3 + 3 + 2, 0, None)
    assert longer.answer == "B"


def test_only_so_many_ends_are_taken_back(tmp_path):
    found = Ran(tmp_path, thinking(min_thinking=4, most_continuations=0), THINKS)
    assert found.usage == Ran(tmp_path, thinking(), THINKS).usage


def test_thinking_is_cut_at_its_maximum_and_the_answer_asked_for(tmp_path):
    # a, then the cue's two tokens stand where b and </think> would; c is then the answer, and it is none
    found = Ran(tmp_path, thinking(max_thinking=1, answer_tokens=1), THINKS)
    assert found.usage == Usage(2, words(ASKED) + 2, 1 + 1, 0, None)
    cut = Scripted(replies=["a b c B"])
    assert Ran(tmp_path, thinking(max_thinking=1, answer_tokens=2), cut).answer == "B"


def test_what_is_put_into_a_reply_costs_the_flops_of_reading_it(tmp_path):
    found, asked = Ran(tmp_path, thinking(max_thinking=1, answer_tokens=1), THINKS, shape=SHAPE), words(ASKED)
    flops = SHAPE.prompt_flops(asked) + SHAPE.decode_flops(1, asked)
    assert found.usage.flops == flops + SHAPE.extend_flops(3, asked, heads=1) + SHAPE.decode_flops(1, asked + 3)


@pytest.mark.parametrize(("minimum", "fits"), [(4, True), (2, False)])
def test_two_lengths_that_fall_on_one_point_of_the_curve_are_not_shown_as_one(tmp_path, minimum, fits):
    content = {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables"]},
        "backend": THINKS.model_dump(mode="json"),
        "strategies": [thinking(min_thinking=tokens).model_dump() for tokens in (0, minimum)],
        "bank": str(tmp_path),
        "limit": 1,
    }
    run = plan(validate(content, "test"))
    with nullcontext() if fits else pytest.raises(UserError, match="its setting of 0 took 2 samples, and its setting of 2"):
        [points] = next(iter(execute(run, run.config.backend, Bank(tmp_path)).outcomes.values())).values()
        assert [k for k, _ in points] == [2, minimum]


def test_a_reply_that_ends_by_itself_is_lengthened_too(tmp_path):
    # where a b has ended the reply, Wait stands third, and the reply goes on behind it
    short = Scripted(replies=["a b", "x"])
    found = Ran(tmp_path, thinking(min_thinking=3, most_continuations=1), short)
    assert found.usage.samples == 2
    assert Ran(tmp_path, thinking(), short).usage == Usage(1, words(ASKED), 2, 0, None)


def test_forcing_again_draws_nothing_and_counts_the_same(tmp_path):
    for strategy in (thinking(min_thinking=4), Revision(), GenerativeSelection(n=3, readings=2)):
        first, second = Ran(tmp_path, strategy, THINKS), Ran(tmp_path, strategy, THINKS)
        assert (second.selection, second.usage, second.executed.samples) == (first.selection, first.usage, 0)


def test_a_spent_budget_leaves_forced_thinking_without_an_answer(tmp_path):
    assert Ran(tmp_path, thinking(budget_tokens=3), THINKS).selection.answer is None


def test_a_minimum_above_the_maximum_is_refused():
    with pytest.raises(ValidationError, match="min_thinking=9 is above max_thinking=4"):
        thinking(min_thinking=9, max_thinking=4)
