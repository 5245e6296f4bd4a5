"""The step verifier on random weights: what it is shown, where it reads, what it says."""

import io
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from PIL import Image
from torch import nn

from ttc.backends.chat import Chat, Rejected
from ttc.backends.checkpoint import Checkpoint
from ttc.errors import UserError
from ttc.media import media_from_bytes
from ttc.records import Question, Reply, Sample, StepScores
from verifiers import step_model
from verifiers.prm import StepVerifier
from verifiers.render import Renderer, Rendering
from verifiers.step_model import HEAD, add_head, save_head, step_logits

CONTEXTS = ["x", "x.", "x. ", "x\n", "x.\n\n", "x:", "x +", "x -", "x+", "$x$", r"\[x\]", "| x |", "5", "5 ", "5.0", "(x)"]
CONTEXTS += ["x\t", "é", "答", "x)."]
STEPS = ("Add them.\n\n", "3 + 2 = 5.\n\n", "So it is 5.\n\n", "Answer: 5")


def picture(brightness: int, size: tuple[int, int] = (56, 56)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (brightness, 30, 200)).save(buffer, "PNG")
    return buffer.getvalue()


def asked(*images: bytes, text: str = "How many are there in <image 1>?") -> Question:
    media = tuple(media_from_bytes(data, marker=place) for place, data in enumerate(images, start=1))
    return Question("q", "exam", "open", text, media=media)


SEEN = asked(picture(100))
UNSEEN = asked(text="How many are there?")


def reply(text: str, question: Question, index: int = 0) -> Reply:
    return Reply(question, Sample("k" * 64, index, question.id, text))


def renderer(folder: Path, rendering: Rendering, *, takes_images: bool) -> Renderer:
    return Renderer(Chat.load(Checkpoint(model=str(folder)), takes_images=takes_images), rendering, folder.name)


def score(config: StepVerifier, *replies: Reply) -> list[StepScores]:
    return sorted(config.open().score(replies), key=lambda one: one.index)


@pytest.fixture(scope="module")
def sees(tiny_qwen: Path) -> Renderer:
    return renderer(tiny_qwen, Rendering(), takes_images=True)


@pytest.fixture(scope="module")
def reads(tiny_llama: Path) -> Renderer:
    return renderer(tiny_llama, Rendering(), takes_images=False)


@pytest.fixture(scope="module")
def marks(tiny_llama: Path) -> Renderer:
    return renderer(tiny_llama, Rendering(form="marker", marker="<|mark|>"), takes_images=False)


@pytest.mark.parametrize("context", CONTEXTS)
def test_verdict_and_marker_are_one_token_of_their_own_behind_any_step(reads, marks, context):
    shown = reads.render(UNSEEN, [context, context, "end"])
    assert [shown.encoded.ids[slot + 1] for slot in shown.slots[:-1]] == [reads.word_id] * 2
    marked = marks.render(UNSEEN, [context, context, "end"])
    assert [marked.encoded.ids[slot] for slot in marked.slots] == [marks.word_id] * 3


def test_a_reply_of_four_steps_is_read_where_each_verdict_is_predicted(reads, tiny_llama):
    shown = reads.render(UNSEEN, STEPS)
    tokenizer = Chat.load(Checkpoint(model=str(tiny_llama)), takes_images=False).tokenizer
    before = [tokenizer.decode(shown.encoded.ids[: slot + 1]) for slot in shown.slots]
    assert [text[-21:] for text in before] == [f"{step.strip()}<|end|><|assistant|>"[-21:] for step in STEPS]
    assert before[-1].count("<|assistant|>+<|end|>") == 3
    assert before[0].endswith("### Question:\nHow many are there?" + before[0].partition("How many are there?")[2])
    assert shown.slots[-1] == shown.length - 1


def test_a_marker_within_the_text_is_refused(marks):
    with pytest.raises(Rejected, match="marker of verifier"):
        marks.render(UNSEEN, ["a<|mark|>b"])
    with pytest.raises(Rejected, match="marker of verifier"):
        marks.render(asked(text="What is <|mark|>?"), ["a"])


def test_words_that_the_tokenizer_splits_or_confuses_are_refused(tiny_llama):
    with pytest.raises(UserError, match="'good' is not one token"):
        renderer(tiny_llama, Rendering(good="good"), takes_images=False)
    with pytest.raises(UserError, match="for both verdicts"):
        renderer(tiny_llama, Rendering(bad="+"), takes_images=False)


def test_the_images_of_a_question_are_expanded_as_the_processor_expands_them(sees, tiny_qwen):
    two = asked(picture(10, (56, 56)), picture(200, (84, 28)), text="Compare <image 1> with <image 2>.")
    shown = sees.render(two, STEPS)
    chat = Chat.load(Checkpoint(model=str(tiny_qwen)), takes_images=True)
    text = chat.tokenizer.decode(shown.plain_ids)
    whole = chat._processor(text=[text], images=[[images[0] for images in sees.images(two)]], return_tensors="pt")
    assert list(shown.encoded.ids) == whole["input_ids"][0].tolist()
    assert shown.encoded.image_tokens == chat.count_images(shown.encoded.ids) == 4 + 3
    assert shown.encoded.tensors["pixel_values"].equal(whole["pixel_values"])


def test_an_image_placeholder_in_a_reply_is_a_status_and_not_an_image(tiny_qwen):
    config = StepVerifier(model=str(tiny_qwen), rendering=Rendering())
    [found] = score(config, reply("Look: <|image_pad|>\nAnswer: 5", SEEN))
    assert (found.score, found.steps, found.status[:8]) == (None, (), "rejected")


@pytest.mark.parametrize("question", [SEEN, UNSEEN], ids=["image", "text"])
def test_scores_do_not_depend_on_the_batch_and_later_steps_do_not_change_earlier_ones(tiny_qwen, question):
    config = StepVerifier(model=str(tiny_qwen), rendering=Rendering())
    texts = ["".join(STEPS), "".join(STEPS[:2]), "".join((*STEPS[:3], "Answer: 77 and much more of that"))]
    together = score(config, *(reply(text, question, index) for index, text in enumerate(texts)))
    alone = [score(config, reply(text, question))[0] for text in texts]
    assert [len(one.steps) for one in together] == [4, 2, 4]
    for one, other in zip(together, alone, strict=True):
        assert one.steps == pytest.approx(other.steps, abs=1e-5)
    assert together[1].steps == pytest.approx(together[0].steps[:2], abs=1e-5)
    assert together[2].steps[:3] == pytest.approx(together[0].steps[:3], abs=1e-5)
    assert together[2].steps[3] != pytest.approx(together[0].steps[3], abs=1e-5)


def test_another_image_gives_other_scores(tiny_qwen):
    config = StepVerifier(model=str(tiny_qwen), rendering=Rendering())
    dark, bright = score(config, reply("Answer: 5", asked(picture(0))), reply("Answer: 5", asked(picture(255)), 1))
    assert dark.steps != bright.steps


def test_tokens_are_counted_and_cost_a_forward_pass_with_the_images_in_it(tiny_qwen, sees):
    config = StepVerifier(model=str(tiny_qwen), rendering=Rendering())
    [found] = score(config, reply("".join(STEPS), SEEN))
    shown = sees.render(SEEN, STEPS)
    assert (found.tokens, found.image_tokens) == (shown.length, 4)
    shape = config.shape()
    assert config.flops(found) == shape.scorer_flops(shown.length, 4, 4) > shape.scorer_flops(shown.length, 4)


def test_a_reply_that_is_too_long_has_a_status_and_no_score(tiny_llama):
    config = StepVerifier(model=str(tiny_llama), rendering=Rendering(), max_context=200)
    long, short = score(config, reply("word " * 200, UNSEEN), reply("Yes.", UNSEEN, 1))
    assert (long.score, long.status.partition(":")[0]) == (None, "too long")
    assert short.status == "ok"


def test_a_picture_that_cannot_be_used_is_a_status(tiny_qwen, cut_jpeg):
    config = StepVerifier(model=str(tiny_qwen), rendering=Rendering())
    [found] = score(config, reply("Yes.", asked(cut_jpeg)))
    assert (found.score, found.status.partition(":")[0]) == (None, "media")


@pytest.mark.parametrize("form", ["verdicts", "marker"])
def test_an_older_transformers_gives_the_same_scores(form, tiny_llama, tmp_path, monkeypatch):
    text = StepVerifier(model=str(tiny_llama), rendering=Rendering())
    config = text if form == "verdicts" else with_head(tiny_llama, tmp_path / "verifier")
    replies = [reply("".join(STEPS[:count]), UNSEEN, count) for count in (1, 4, 2)]
    scored = {}
    for knows in (True, False):
        monkeypatch.setattr(step_model, "EACH_ROW_ITS_OWN", knows and step_model.EACH_ROW_ITS_OWN)
        scored[knows] = [one.steps for one in score(config, *replies)]
    assert [len(steps) for steps in scored[False]] == [1, 2, 4]
    assert scored[False] == scored[True]


@pytest.mark.parametrize("gap", [18.0, 95.0, 105.0, 60_000.0])
def test_saturated_half_precision_logits_give_certainty_and_not_nan(gap):
    class Saturated(nn.Module):
        def forward(self, **inputs: object) -> object:
            return SimpleNamespace(logits=torch.tensor([[[gap / 2, -gap / 2], [-gap / 2, gap / 2]]], dtype=torch.float16))

    right, wrong = step_logits(Saturated(), {}, 0, 1)[0].double().sigmoid().tolist()
    assert right == pytest.approx(1, abs=1e-7)
    assert wrong == pytest.approx(0, abs=1e-7)


def test_a_half_precision_verifier_scores_every_step(tiny_qwen):
    config = StepVerifier(model=str(tiny_qwen), rendering=Rendering(), dtype="float16")
    [found] = score(config, reply("".join(STEPS), SEEN))
    assert len(found.steps) == 4
    assert all(0 <= step <= 1 for step in found.steps)


def test_the_aggregation_is_chosen_after_scoring_and_each_gives_another_score(tiny_llama):
    config = StepVerifier(model=str(tiny_llama), rendering=Rendering())
    [found] = score(config, reply("".join(STEPS), UNSEEN))
    hows = ("last", "min", "product", "mean", "geometric_mean")
    others = [config.model_copy(update={"aggregation": how}) for how in hows]
    assert len({other.response_score(found) for other in others}) == 5
    assert len({json.dumps(other.identity(), sort_keys=True) for other in others}) == 1


def with_head(folder: Path, to: Path) -> StepVerifier:
    """A copy of a text model with a head of ones, in the marker form."""
    from transformers import AutoModelForCausalLM

    shutil.copytree(folder, to)
    model = AutoModelForCausalLM.from_pretrained(folder)
    add_head(model)
    save_head(torch.ones_like(model.get_output_embeddings().weight), to)
    return StepVerifier(model=str(to), rendering=Rendering(form="marker", marker="<|mark|>"))


def test_the_marker_form_reads_its_head_at_each_marker(tiny_llama, tmp_path):
    from transformers import AutoModelForCausalLM

    config = with_head(tiny_llama, tmp_path / "verifier")
    [found] = score(config, reply("".join(STEPS), UNSEEN))
    shown = renderer(tiny_llama, config.shown, takes_images=False).render(UNSEEN, STEPS)
    with torch.inference_mode():
        states = AutoModelForCausalLM.from_pretrained(tiny_llama).model(torch.tensor([shown.encoded.ids])).last_hidden_state
    assert found.steps == pytest.approx(states[0, list(shown.slots)].sum(-1).sigmoid().tolist(), abs=1e-5)
    assert config.flops(found) == config.shape().scorer_flops(shown.length, 0)


def test_a_missing_or_foreign_head_is_refused(tiny_llama, tmp_path):
    config = with_head(tiny_llama, tmp_path / "verifier")
    save_head(torch.ones(1, 7), tmp_path / "verifier")
    with pytest.raises(UserError, match="a head of width 7 on a model of width 32"):
        config.open()
    (tmp_path / "verifier" / HEAD).unlink()
    with pytest.raises(UserError, match=r"no head\.safetensors"):
        config.open()


def test_a_folder_that_does_not_say_how_replies_are_shown_is_refused(tiny_llama):
    with pytest.raises(UserError, match="set `rendering`"):
        StepVerifier(model=str(tiny_llama)).identity()


def test_another_rendering_is_another_verifier(tiny_llama):
    one, other = (StepVerifier(model=str(tiny_llama), rendering=Rendering(heading=heading)) for heading in ("", "Q: "))
    assert one.identity() != other.identity()


def test_a_change_of_the_chat_template_moves_the_slots_with_it(tiny_llama, tmp_path):
    wordy = tmp_path / "template.jinja"
    wordy.write_text(
        "{% for m in messages %}<|{{ m.role }}|>Turn {{ loop.index }}: {{ m.content }}.<|end|>\n{% endfor %}<|assistant|>Turn"
    )
    chat = Chat.load(Checkpoint(model=str(tiny_llama), chat_template=wordy), takes_images=False)
    shown = Renderer(chat, Rendering(), "wordy").render(UNSEEN, STEPS)
    before = [chat.tokenizer.decode(shown.encoded.ids[: slot + 1]) for slot in shown.slots]
    assert [text[-8:] for text in before] == ["Turn 2: ", "Turn 4: ", "Turn 6: ", "Turn 8: "]


def test_a_verifier_of_the_config_is_told_apart_by_kind(tiny_llama):
    from pydantic import TypeAdapter

    from verifiers import AnyVerifier

    config = StepVerifier(model=str(tiny_llama), rendering=Rendering(heading=""))
    assert TypeAdapter(AnyVerifier).validate_python(json.loads(config.model_dump_json())) == config


LIKELIHOOD = Rendering(form="likelihood", heading="")


@pytest.mark.parametrize("knows", [True, False], ids=["own places", "older transformers"])
def test_under_likelihood_a_step_is_as_right_as_the_model_would_have_written_it(tiny_llama, monkeypatch, knows):
    from transformers import AutoModelForCausalLM

    monkeypatch.setattr(step_model, "EACH_ROW_ITS_OWN", knows and step_model.EACH_ROW_ITS_OWN)
    config = StepVerifier(model=str(tiny_llama), rendering=LIKELIHOOD)
    short, whole = score(config, *(reply("".join(STEPS[:count]), UNSEEN, count) for count in (2, 4)))
    shown = renderer(tiny_llama, LIKELIHOOD, takes_images=False).render(UNSEEN, STEPS)
    ids = torch.tensor(shown.encoded.ids)
    with torch.inference_mode():
        logits = AutoModelForCausalLM.from_pretrained(tiny_llama)(ids[None]).logits[0].log_softmax(-1)
    foretold = logits[:-1].gather(-1, ids[1:, None])[:, 0]
    starts = [shown.first, *(slot + 1 for slot in shown.slots[:-1])]
    expected = [foretold[a - 1 : b].sum().exp().item() for a, b in zip(starts, shown.slots, strict=True)]
    assert whole.steps == pytest.approx(expected, rel=1e-3)
    assert short.steps[0] == pytest.approx(expected[0], rel=1e-3)


def test_under_likelihood_the_reply_is_read_as_it_stands(tiny_llama):
    tokenizer = Chat.load(Checkpoint(model=str(tiny_llama)), takes_images=False).tokenizer
    shown = renderer(tiny_llama, LIKELIHOOD, takes_images=False).render(UNSEEN, STEPS)
    assert tokenizer.decode(shown.encoded.ids[shown.first :]) == "\n".join(step.strip() for step in STEPS)
    ends = [tokenizer.decode(shown.encoded.ids[shown.first : slot + 1]) for slot in shown.slots]
    assert [end.count("\n") for end in ends] == [1, 2, 3, 3]


def test_a_certain_or_impossible_step_has_finite_log_odds():
    logits = torch.tensor([[[0.0, 400.0], [0.0, 400.0]]])
    z_BS = step_model._log_odds(logits, torch.tensor([[1, 0]]), torch.tensor([[0, 1]]))
    assert z_BS.isfinite().all()
    assert z_BS[0, 0] > 10
    assert z_BS[0, 1] < -100
