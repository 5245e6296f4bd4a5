"""Public process reward models: what each is shown and read from, beside a plain rendering of its published recipe.

The tokenizers and weights are made here; what they share with the real ones is what can go wrong: marks that join with what
stands before them, words that are other tokens behind a blank, templates that trim.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoProcessor,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from ttc.errors import UserError
from ttc.media import media_from_bytes
from ttc.records import Question, Reply, Sample, StepScores
from verifiers.families import PublicVerifier, families

STEPS = ["We add 2 and 3.", "That is 5.", "Twice that is 10 - so far.", "So the sum + is 10."]
TEXT = "\n\n".join(STEPS)
ASKED = "What is twice 2 + 3?"
QUESTION = Question("q", "exam", "open", ASKED)
CORPUS = ["What is twice 2 + 3?\n", " + - ки\nStep 1: ", *(f"{step} ки\n" for step in STEPS), "5.\n\n", "10.\n"] * 20
QWEN_SPLIT = Regex(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TRIMMED = (
    "{{ bos_token }}{% for m in messages %}<|head|>{{ m.role }}<|/head|>\n\n{{ m.content | trim }}<|eot|>{% endfor %}"
    "{% if add_generation_prompt %}<|head|>assistant<|/head|>\n\n{% endif %}"
)


def byte_level(special: list[str], template: str, **names: str) -> Any:
    """Splits as Qwen2's and Llama 3's do: a full stop and the line's end behind it are one token."""
    inner = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(QWEN_SPLIT, "isolated")
    inner.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    inner.train_from_iterator(CORPUS, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=inner, extra_special_tokens=special, chat_template=template, **names)


def sentencepiece_like() -> Any:
    """Blanks are part of words, as in Mistral's: "+" at the beginning of a word is another token than within one."""
    inner = Tokenizer(models.BPE(unk_token="<unk>"))
    line = pre_tokenizers.Split("\n", "isolated")  # a byte of its own there, so that nothing joins it
    inner.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(prepend_scheme="first"), line])
    inner.decoder = decoders.Metaspace(prepend_scheme="first")
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False)
    inner.train_from_iterator(CORPUS, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


def saved(folder: Path, tokenizer: Any, config_class: Any, model_class: Any, head: dict[str, Tensor] | None = None) -> Path:
    """A model of random weights; with a head, in the form that the family publishes: without its vocabulary's layer."""
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = config_class(
        vocab_size=len(tokenizer),
        num_key_value_heads=2,
        max_position_embeddings=1024,
        initializer_range=0.3,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=tokenizer.bos_token_id,
        pad_token_id=None,
        **sizes,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model_class(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if head is not None:
        (file,) = folder.glob("*.safetensors")
        weights = {name: tensor for name, tensor in load_file(file).items() if name != "lm_head.weight"}
        save_file(weights | head, file, metadata={"format": "pt"})
    return folder


def random(*sizes: int) -> Tensor:
    return 0.2 * torch.randn(*sizes, generator=torch.Generator().manual_seed(len(sizes)))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, tiny_qwen: Path) -> dict[str, Path]:
    place = tmp_path_factory.mktemp
    qwen = byte_level(["<|im_start|>", "<|im_end|>", "<extra_0>"], CHAT, eos_token="<|im_end|>", pad_token="<|im_end|>")
    llama = byte_level(["<|begin|>", "<|head|>", "<|/head|>", "<|eot|>"], TRIMMED, bos_token="<|begin|>", eos_token="<|eot|>")
    two = {"0.weight": random(32, 32), "0.bias": random(32), "2.weight": random(2, 32), "2.bias": random(2)}
    one = {"v_head.summary.weight": random(1, 32), "v_head.summary.bias": random(1)}
    return {
        "math_shepherd": saved(place("shepherd"), sentencepiece_like(), LlamaConfig, LlamaForCausalLM),
        "rlhflow": saved(place("rlhflow"), llama, LlamaConfig, LlamaForCausalLM),
        "skywork": saved(place("skywork"), qwen, Qwen2Config, Qwen2ForCausalLM, one),
        "qwen_math": saved(
            place("qwen"), qwen, Qwen2Config, Qwen2ForCausalLM, {f"score.{name}": tensor for name, tensor in two.items()}
        ),
        "visual_prm": tiny_qwen,
    }


def scores(folder: Path, family: str, *texts: str, question: Question = QUESTION, **settings: Any) -> list[StepScores]:
    scorer = PublicVerifier(model=str(folder), family=family, **settings).open()  # type: ignore[arg-type]
    replies = [Reply(question, Sample("k" * 64, index, "q", text)) for index, text in enumerate(texts)]
    found = sorted(scorer.score(replies), key=lambda one: one.index)
    scorer.close()
    return found


def math_shepherd(folder: Path) -> list[float]:
    """The recipe of its card: where the mark's id stands, the softmax over two words."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    said = "\n".join(f"Step {place}: {step} ки" for place, step in enumerate(STEPS, 1))
    ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer.encode(f"{ASKED} {said}", add_special_tokens=False)]])
    mark = tokenizer.encode("ки", add_special_tokens=False)[-1]
    words = tokenizer.encode("+ -", add_special_tokens=False)
    return model(ids).logits[..., words].softmax(-1)[..., 0][ids == mark].tolist()


def rlhflow(folder: Path) -> list[float]:
    """The recipe of its evaluation: a pass for each step, read three tokens before the end."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    words = [tokenizer.encode(word)[-1] for word in "+-"]
    talk, found = [], []
    for place, step in enumerate(STEPS):
        talk += [{"role": "user", "content": step if place else f"{ASKED} {step}"}, {"role": "assistant", "content": "+"}]
        ids = tokenizer.apply_chat_template(talk, return_tensors="pt")["input_ids"]
        found.append(model(ids).logits[0, -3, words].softmax(-1)[0].item())
    return found


def skywork(folder: Path) -> list[float]:
    """The recipe of its repository: each line tokenised alone, and a flag at the token that ends it."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids, flagged = tokenizer.encode(f"{ASKED}\n"), []
    for step in STEPS:
        ids += tokenizer.encode(step) + tokenizer.encode("\n")
        flagged.append(len(ids) - 1)
    weights = load_file(next(folder.glob("*.safetensors")))
    hidden = AutoModelForCausalLM.from_pretrained(folder).model(torch.tensor([ids])).last_hidden_state[0, flagged]
    return (hidden @ weights["v_head.summary.weight"].T + weights["v_head.summary.bias"]).sigmoid()[:, 0].tolist()


def qwen_math(folder: Path) -> list[float]:
    """The recipe of its card: the second of two classes where the mark stands."""
    tokenizer, weights = AutoTokenizer.from_pretrained(folder), load_file(next(folder.glob("*.safetensors")))
    system = "Please reason step by step, and put your final answer within \\boxed{}."
    said = "<extra_0>".join(STEPS) + "<extra_0>"
    talk = zip(("system", "user", "assistant"), (system, ASKED, said), strict=True)
    text = tokenizer.apply_chat_template([{"role": role, "content": words} for role, words in talk], tokenize=False)
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    hidden = AutoModelForCausalLM.from_pretrained(folder).model(ids).last_hidden_state
    hidden = torch.relu(hidden @ weights["score.0.weight"].T + weights["score.0.bias"])
    logits = hidden @ weights["score.2.weight"].T + weights["score.2.bias"]
    return logits.softmax(-1)[..., 1][ids == tokenizer.convert_tokens_to_ids("<extra_0>")].tolist()


RECIPES: dict[str, Callable[[Path], list[float]]] = {
    "math_shepherd": math_shepherd,
    "rlhflow": rlhflow,
    "skywork": skywork,
    "qwen_math": qwen_math,
}


@pytest.mark.filterwarnings("ignore:.*(MISSING|UNEXPECTED|newly initialized)")
@pytest.mark.parametrize("family", RECIPES)
def test_four_steps_get_the_four_scores_of_the_published_recipe(folders, family):
    [found] = scores(folders[family], family, TEXT)
    expected = RECIPES[family](folders[family])
    assert (len(found.steps), found.status) == (4, "ok")
    assert found.steps == pytest.approx(expected, abs=1e-5)
    assert len({round(step, 3) for step in expected}) == 4


def test_visual_prm_is_shown_the_image_and_one_step_a_turn(folders):
    from PIL import Image

    pixels = Image.new("RGB", (56, 56), (10, 200, 30))
    asked = pictured(pixels)
    [found] = scores(folders["visual_prm"], "visual_prm", TEXT, question=asked)
    processor = AutoProcessor.from_pretrained(folders["visual_prm"])
    image, plus = [{"type": "image"}], [{"type": "text", "text": "+"}]
    first = [{"type": "text", "text": f"\nGlow?\n\n### Solution Process:\n{STEPS[0]}"}]
    talk: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "### Question:\n"}, *image, *first]}]
    for step in STEPS[1:]:
        talk += [{"role": "assistant", "content": plus}, {"role": "user", "content": [{"type": "text", "text": step}]}]
    text = processor.apply_chat_template([*talk, {"role": "assistant", "content": plus}], tokenize=False)
    inputs = processor(text=[text], images=[[pixels]], return_tensors="pt")
    model = AutoModelForImageTextToText.from_pretrained(folders["visual_prm"])
    ids = inputs["input_ids"][0].tolist()
    good, bad = processor.tokenizer.convert_tokens_to_ids(["+", "-"])
    turn = processor.tokenizer.encode("<|im_start|>assistant\n+")
    slots = [end for end in range(len(ids)) if ids[end - len(turn) + 2 : end + 2] == turn]
    expected = model(**inputs).logits[0, slots][:, [good, bad]].softmax(-1)[:, 0].tolist()
    assert len(slots) == 4
    assert found.steps == pytest.approx(expected, abs=1e-5)
    [other] = scores(folders["visual_prm"], "visual_prm", TEXT, question=pictured(Image.new("RGB", (56, 56))))
    assert other.steps != pytest.approx(found.steps, abs=1e-4)


def pictured(pixels: Any) -> Question:
    import io

    buffer = io.BytesIO()
    pixels.save(buffer, "PNG")
    return Question("q", "exam", "open", "<image 1>\nGlow?", media=(media_from_bytes(buffer.getvalue(), marker=1),))


@pytest.mark.parametrize("family", ["math_shepherd", "rlhflow", "skywork", "qwen_math", "visual_prm"])
def test_a_batch_of_lengths_scores_as_each_alone_and_later_steps_change_nothing(folders, family):
    texts = [TEXT, "\n\n".join(STEPS[:2]), "\n\n".join([*STEPS[:3], "Other end."])]
    whole, short, other = scores(folders[family], family, *texts)
    assert whole.steps[:2] == pytest.approx(short.steps, abs=1e-5)
    assert whole.steps[:3] == pytest.approx(other.steps[:3], abs=1e-5)
    assert whole.steps == pytest.approx(scores(folders[family], family, TEXT)[0].steps, abs=1e-5)


class Saturated(nn.Module):
    """An output layer in half precision whose two outputs lie `gap` apart, whatever it reads."""

    def __init__(self, outputs: int, good: int, bad: int, gap: float) -> None:
        super().__init__()
        logits = torch.zeros(outputs, dtype=torch.float16)
        logits[bad] = 0
        logits[good] = gap  # of one output, both are it
        self.logits = nn.Parameter(logits)
        self.weight = nn.Parameter(torch.zeros(outputs, 32, dtype=torch.float16))

    def forward(self, hidden: Tensor) -> Tensor:
        return self.logits.expand(*hidden.shape[:-1], -1)


@pytest.mark.parametrize("gap", [18, -18, 95, -95, 105, -105, 60_000])
@pytest.mark.parametrize("family", ["math_shepherd", "rlhflow", "skywork", "qwen_math", "visual_prm"])
def test_saturated_logits_in_half_precision_are_sure_and_no_nan(folders, family, gap):
    scorer = PublicVerifier(model=str(folders[family]), family=family, dtype="float16").open()
    good, bad = scorer._renderer.word_id, scorer._renderer.bad_id
    outputs = {"skywork": 1, "qwen_math": 2}.get(family, scorer._model.config.get_text_config().vocab_size)
    scorer._model.set_output_embeddings(Saturated(outputs, good, bad, gap))
    [found] = scorer.score([Reply(QUESTION, Sample("k" * 64, 0, "q", TEXT))])
    assert found.steps == pytest.approx([1 if gap > 0 else 0] * 4, abs=1e-7)
    assert found.status == "ok"


def test_a_word_of_the_reply_that_is_the_mark_is_refused_rather_than_scored(folders):
    [found] = scores(folders["math_shepherd"], "math_shepherd", "So ки it is.")
    assert (found.score, found.status[:9]) == (None, "rejected:")
    [found] = scores(folders["qwen_math"], "qwen_math", "So<extra_0> it is.")
    assert (found.score, found.status[:9]) == (None, "rejected:")


def test_a_reply_that_numbers_its_steps_is_not_numbered_twice(folders):
    numbered = "\n".join(f"**Step {place}:** {step}" for place, step in enumerate(STEPS, 1))
    [plain], [found] = (scores(folders["math_shepherd"], "math_shepherd", text) for text in (TEXT, numbered))
    assert found.steps == plain.steps


def test_a_missing_head_is_refused(folders):
    for family in ("skywork", "qwen_math"):
        with pytest.raises(UserError, match=r"no weights (v_head.summary|score)\.\* among its tensors"):
            scores(folders["rlhflow"], family, TEXT)


def test_a_model_without_the_words_of_a_family_is_refused(folders):
    with pytest.raises(UserError, match=r"not one token|no words"):
        scores(folders["visual_prm"], "math_shepherd", TEXT)


def test_replies_are_aggregated_as_each_family_publishes_it_unless_told_otherwise():
    assert {name: PublicVerifier(model="m", family=name).aggregation for name in families()} == {  # type: ignore[arg-type]
        "math_shepherd": "min",
        "rlhflow": "mean",
        "skywork": "mean",
        "qwen_math": "product",
        "visual_prm": "mean",
    }
    assert PublicVerifier(model="m", family="qwen_math", aggregation="last").aggregation == "last"


def test_scores_of_one_folder_under_two_families_are_kept_apart(folders):
    one, other = (PublicVerifier(model=str(folders["rlhflow"]), family=name) for name in ("rlhflow", "visual_prm"))
    assert one.identity() != other.identity()
    assert one.identity() == one.model_copy(update={"aggregation": "last"}).identity()


def test_more_steps_than_the_family_takes_are_merged(folders):
    assert len(scores(folders["skywork"], "skywork", TEXT, at_most=2)[0].steps) == 2
