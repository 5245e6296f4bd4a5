"""Verifiers that ask a model in words: what it is shown, what is read from what it says, what is kept."""

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from pydantic import ValidationError

from ttc.backends import Scripted
from ttc.bank import Bank
from ttc.errors import BackendUnavailable, UserError
from ttc.media import media_from_file
from ttc.records import Media, Picture, Question, Reply, Sample, Sampling, StepScores, Text
from ttc.scoring import Scoring
from verifiers import Generative, LanguageModel
from verifiers.generative import verdict
from verifiers.instructions import SHIPPED, Shown, load

STEPS = ["The lens has 4 dioptres.\n", "So f is 0.25 m.\n", "Answer: B"]
SAYS = "Step 1: right\nStep 2: wrong, 1/4 is 0.25 but of which unit\nStep 3: right"
IMAGE = Media("image", 1, sha256="a" * 64, data=b"no image")
PICTURED = Question("seen", "exam", "multiple-choice", "See <image 1>. What is f?", ("1 m", "<image 1>"), (IMAGE,))


def reply(text: str = "".join(STEPS), id: str = "q", index: int = 0) -> Reply:
    return Reply(Question(id, "exam", "open", "What is f?"), Sample("k" * 64, index, id, text))


def judge(says: str | list[str] | dict[str, list[str]], **settings) -> LanguageModel:
    return LanguageModel(backend=backend(says), **settings)


def critic(says: str | list[str], **settings) -> Generative:
    return Generative(backend=backend(says), **settings)


def backend(says: str | list[str] | dict[str, list[str]], **settings) -> Scripted:
    return Scripted(replies=[says] if isinstance(says, str) else says, **settings)


def scores(verifier: LanguageModel | Generative, *replies: Reply) -> list[StepScores]:
    scorer = verifier.open()
    try:
        return sorted(scorer.score(replies), key=lambda found: (found.key, found.index))
    finally:
        scorer.close()


def test_each_step_gets_the_verdict_of_its_line():
    [found] = scores(judge(SAYS, aggregation="min"), reply())
    assert (found.steps, found.score, found.status) == ((1.0, 0.0, 1.0), 0.0, "ok")


def test_a_steps_score_is_the_share_of_votes_that_call_it_right():
    votes = [SAYS, SAYS.replace("wrong", "right"), "I cannot say.", SAYS]
    [found] = scores(judge(votes, votes=4, sampling=Sampling(max_tokens=99)), reply())
    assert found.steps == pytest.approx((1.0, 1 / 3, 1.0))


@pytest.mark.parametrize(
    "says",
    [
        "**Step 1**: Correct\n- Step 2: incorrect (unit)\n- Step 3 - right",
        "<think>Step 1: wrong</think>step 1: right\nstep 2: wrong\nstep 3: right",
        "Step 2: right\nOn second thoughts:\n" + SAYS,
    ],
)
def test_verdicts_are_read_whatever_stands_around_them(says):
    assert scores(judge(says), reply())[0].steps == (1.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("says", "why"),
    [("Step 1: right\nStep 3: right", "no verdict in its form"), ("", "no verdict"), ("Step 1: right\n" * 9, "cut at its")],
)
def test_a_verdict_that_leaves_a_step_out_is_a_failure_and_no_guess(says, why):
    [found] = scores(judge(says, sampling=Sampling(temperature=0, max_tokens=12)), reply())
    assert (found.steps, found.score) == ((), None)
    assert found.status.startswith("failed: ")
    assert why in found.status


def test_a_refusal_is_a_status_with_its_reason_and_spares_the_others():
    verifier = LanguageModel(backend=backend(SAYS, statuses={"bad": "refused"}))
    found = {scored.status: scored.score for scored in scores(verifier, reply("So.", id="bad"), reply(index=1))}
    assert found == {"failed: refused: the script says refused": None, "ok": pytest.approx(2 / 3)}


def test_what_a_rationale_says_last_is_its_verdict_and_thinking_is_not_read():
    assert verdict("Verdict: right? No.\n**Verdict:** wrong") is False
    assert verdict("<think>Verdict: wrong</think> Verdict: Correct.") is True
    assert verdict("The verdict is clear.") is None


def test_the_score_of_a_generative_verifier_is_the_share_of_its_votes():
    said = ["Fine. Verdict: right", "Verdict: wrong", "No idea.", "Verdict: right"]
    [found] = scores(critic(said, votes=4), reply())
    assert (found.score, found.steps) == (pytest.approx(2 / 3), ())


def test_votes_that_say_nothing_are_a_failure():
    [found] = scores(critic("No idea.", votes=3), reply())
    assert (found.score, found.status) == (None, "failed: no verdict in its form")


def test_the_prompt_is_paid_once_and_every_word_of_every_vote():
    [one], [three] = scores(critic("Verdict: right", votes=1), reply()), scores(critic("Verdict: right", votes=3), reply())
    assert three.tokens - one.tokens == 2 * 2
    assert one.tokens > sum(len(step.split()) for step in STEPS)


def test_replies_that_were_asked_about_are_not_asked_about_again(tmp_path):
    broken = backend(SAYS, unavailable_after=2)
    asked = [reply(index=0), reply(id="other", index=1)]
    for verifier in (LanguageModel(backend=broken), LanguageModel(backend=broken, aggregation="min")):
        bank = Bank(tmp_path)
        with bank.writer() as writer, Scoring({"v": verifier}, bank, writer) as scoring:
            assert [len(found.steps) for found in scoring.score_all("v", asked)] == [3, 3]


def test_what_was_said_before_the_model_broke_down_is_kept(tmp_path):
    asked = [reply(id=str(number), text=f"{number} is it") for number in range(4)]
    verifier = judge("Step 1: right")
    first = verifier.model_copy(update={"backend": backend("Step 1: right", unavailable_after=3)})
    bank = Bank(tmp_path)
    scorer = first.open_in(bank, bank.writer())
    with pytest.raises(BackendUnavailable):
        list(scorer.score(asked))
    scorer.close()
    assert bank.stats().samples == 3
    second = verifier.model_copy(update={"backend": backend("Step 1: right", unavailable_after=1)}).open_in(bank, bank.writer())
    assert len(list(second.score(asked))) == 4
    second.close()


def test_the_question_is_shown_with_its_images_and_a_reply_brings_none():
    [system, user] = judge(SAYS).prompt(PICTURED, ["See <image 1> again."]).messages
    pictures = [place for place, part in enumerate(user.parts) if isinstance(part, Picture)]
    last = user.parts[-1]
    assert len(pictures) == 2
    assert isinstance(last, Text)
    assert "Step 1: See <image 1> again." in last.text
    assert "Step 1: right" in "".join(part.text for part in system.parts if isinstance(part, Text))


def test_a_model_without_eyes_is_told_the_numbers_of_the_images():
    verifier = judge(SAYS, shown=Shown(media=False))
    prompt = verifier.prompt(PICTURED, ["So."])
    assert prompt.media_parts == ()
    assert "See [image 1]." in "".join(part.text for part in prompt.messages[1].parts if isinstance(part, Text))


def test_other_words_are_another_verifier_wherever_their_file_lies(tmp_path):
    shipped = judge(SAYS)
    same, other = tmp_path / "same.yaml", tmp_path / "other.yaml"
    text = Path(SHIPPED / "language_model.yaml").read_text()
    same.write_text(text)
    other.write_text(text.replace("You check", "You kindly check"))
    assert judge(SAYS, instructions=same).identity() == shipped.identity()
    assert judge(SAYS, instructions=other).identity() != shipped.identity()


@pytest.mark.parametrize(
    ("content", "message"),
    [("a: [", "not YAML"), ("source: us", "system: Field required"), (None, "No such file")],
)
def test_a_file_of_instructions_that_cannot_be_used_is_named(tmp_path, content, message):
    path = tmp_path / "x.yaml"
    if content:
        path.write_text(content)
    with pytest.raises(UserError, match=rf"instructions .*x\.yaml: .*{message}"):
        load(path)


def test_many_greedy_votes_are_refused():
    with pytest.raises(ValidationError, match="votes=3 at temperature 0 would be one vote"):
        judge(SAYS, votes=3)


def test_each_image_is_counted_by_itself_in_what_a_verdict_costs(tmp_path):
    files = [tmp_path / f"{shade}.png" for shade in (1, 200)]
    for shade, file in zip((1, 200), files, strict=True):
        Image.new("L", (8, 8), shade).save(file)
    media = tuple(media_from_file(file.name, root=tmp_path, marker=number) for number, file in enumerate(files, start=1))
    seen = Question("two", "exam", "open", "<image 1> or <image 2>?", media=media)
    [found] = scores(LanguageModel(backend=backend(SAYS, tokens_per_image=16)), replace(reply(), question=seen))
    assert (found.image_tokens, found.image_spans) == (32, (16, 16))
    assert found.tokens > 32
