"""Labels of natural steps: what becomes of continuations, what a judge says, and where the two agree."""

import asyncio

import pytest

from training.chains import LabelledChain
from training.rollouts import Rollouts, StepJudge, agreed, labelled, roll_out, roll_out_all
from ttc import prompts
from ttc.backends.scripted import Scripted
from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.judges.rules import Rules
from ttc.records import Gold, Question, Sampling
from ttc.session import Session

QUESTION = Question("q", "own", "open", "What is 5 more than 7?")
GOLD = Gold("q", ("12",))
WRONG_SECOND = ("It begins with 7.\n", "Then one goes on to add 5 and gets 11.\n", "Answer: 11")
RIGHT_REPLY = "It begins with 7.\nIt gets 12.\nAnswer: 12"


def chain(steps=WRONG_SECOND, is_right: bool | None = False) -> LabelledChain:
    nothing = (None,) * len(steps)
    return LabelledChain(QUESTION, tuple(steps), nothing, nothing, "natural", "own/m", "q", is_right)


def rolled(bank, replies, steps=WRONG_SECOND, n=2, is_right=False, max_tokens=64) -> Rollouts:
    async def run():
        async with Dispatcher(Scripted(replies=replies), Bank(bank)) as source:
            session = Session(
                QUESTION, source, lambda q, style: prompts.render(q, style=style), Sampling(max_tokens=max_tokens)
            )
            return await roll_out(session, chain(steps, is_right), GOLD, Rules(), n=n)

    return asyncio.run(run())


def test_a_step_behind_which_no_continuation_ends_right_is_the_first_error(tmp_path):
    # a scripted continuation goes on after as many tokens as the prefix has, so the long wrong step leaves it no room to answer
    found = rolled(tmp_path, (RIGHT_REPLY,))
    assert found == Rollouts((2, 2, 0, 0), (2, 2, 2, 1))
    assert labelled(chain(), found).labels == (True, False, None)
    assert labelled(chain(), found).first_error == 1


def test_one_right_continuation_is_enough(tmp_path):
    found = rolled(tmp_path, ("It begins with 7.\nNo.\nAnswer: 3", RIGHT_REPLY), steps=(WRONG_SECOND[0], "Answer: 11"))
    assert found.rates == (0.5, 0.5, 0.0)
    assert labelled(chain((WRONG_SECOND[0], "Answer: 11")), found).labels == (True, False)


def test_a_question_the_model_never_answers_says_nothing_about_steps(tmp_path):
    found = rolled(tmp_path, ("Answer: 3",))
    assert labelled(chain(), found).labels == (None, None, None)


def test_a_continuation_cut_at_its_limit_is_not_counted_as_wrong(tmp_path):
    found = rolled(tmp_path, ("Well, " * 99,), max_tokens=20)
    assert found.ended == (0, 0, 0, 1)
    assert found.rates == (None, None, None, 0.0)


def test_rollouts_are_read_from_the_bank_the_second_time(tmp_path):
    first = rolled(tmp_path, (RIGHT_REPLY,))
    count = Bank(tmp_path).stats()
    assert rolled(tmp_path, (RIGHT_REPLY,)) == first
    assert Bank(tmp_path).stats() == count


def test_many_chains_are_rolled_out_together_and_share_what_they_share(tmp_path):
    chains = [chain(), chain((WRONG_SECOND[0], "It gets 12.\n", "Answer: 12"), is_right=True)]
    backend = Scripted(replies=(RIGHT_REPLY,))
    found = roll_out_all(chains, {"q": GOLD}, backend, Bank(tmp_path), Sampling(max_tokens=64), n=2)
    assert [labelled(one, rolled).labels for one, rolled in zip(chains, found, strict=True)] == [
        (True, False, None),
        (True,) * 3,
    ]
    # the question and the first step are the same, so 4 prefixes were drawn from
    assert Bank(tmp_path).stats().samples == 2 * 4


@pytest.mark.parametrize(
    ("right", "labels"),
    [
        ((4, 3, 1, 0), (True, True, False)),
        ((4, 0, 1, 0), (True, True, False)),  # the way to a later success leads through the step
        ((4, 0, 0, 0), (False, None, None)),
        ((4, 0, 0, 1), (True, True, True)),
        ((0, 0, 0, 0), (None, None, None)),
    ],
)
def test_labels_follow_from_counts(right, labels):
    assert labelled(chain(), Rollouts(right, (4, 4, 4, 1))).labels == labels


def judged(bank, *replies, chains=None):
    judge = StepJudge(backend=Scripted(replies={"step judge": replies}))
    return judge.label(chains or [chain()], {"q": GOLD}, Bank(bank))


@pytest.mark.parametrize(
    ("reply", "labels"),
    [
        ("I added 7 and 5.\nFirst error: 2", (True, False, None)),
        ("**First error:** [1]", (False, None, None)),
        ("All fine. First error: 0", (True, True, True)),
        ("First error: 9", (None, None, None)),
        ("I am not sure.", (None, None, None)),
    ],
)
def test_a_judge_names_the_first_wrong_step_or_the_chain_stays_unlabelled(tmp_path, reply, labels):
    assert judged(tmp_path, reply)[0].labels == labels


def test_a_judge_reads_question_gold_and_numbered_steps(tmp_path):
    seen = Question("q", "own", "multiple-choice", "Which {one}?", ("a", "b"))
    one = LabelledChain(seen, ("x",), (None,), (None,), "natural", "own/m", "q")
    judge = StepJudge(
        backend=Scripted(replies=("First error: 0",), when={"Which {one}?\nA. a\nB. b\n\nRight answer: B": ("First error: 1",)})
    )
    assert judge.label([one], {"q": Gold("q", ("B",))}, Bank(tmp_path))[0].labels == (False,)


def test_only_chains_on_whose_first_error_both_agree_are_kept():
    def having(*labels):
        return LabelledChain(QUESTION, WRONG_SECOND, labels, (None,) * 3, "natural", "own/m", "q")

    one = [having(True, False, None), having(True, True, True), having(False, None, None), having(True, True, None)]
    other = [having(True, False, None), having(True, True, True), having(True, False, None), having(True, True, True)]
    assert agreed(one, other) == one[:2]
