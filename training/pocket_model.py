"""The embedded model before training: its tokenizer, its processor and the shape of its network."""

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from ttc.pocket import exam, motion
from ttc.pocket.drawing import CELL, SIDE
from ttc.pocket.problem import LARGEST, Problem, Sum
from ttc.prompts import render
from ttc.records import LETTERS, Clip, Media, Part, Prompt, Text

if TYPE_CHECKING:
    from transformers import Idefics3ForConditionalGeneration, Idefics3Processor

PAD, UNKNOWN, END = "<pad>", "<unk>", "<end_of_utterance>"
IMAGE, AROUND_IMAGE, GLOBAL_IMAGE = "<image>", "<fake_token_around_image>", "<global-img>"
ROLES = ("<|system|>", "<|user|>", "<|assistant|>")

WORDS = r" ?\w+:?| ?[^\w\s]:?|\s"
"""One token per match. A word keeps the space before it and a colon after it, so that tokens joined together are the text."""

TEMPLATE = (
    "{%- for message in messages -%}<|{{ message['role'] }}|>"
    "{%- if message['content'] is string -%}{{ message['content'] }}{%- else -%}"
    "{%- for part in message['content'] -%}"
    "{%- if part['type'] == 'image' -%}<image>{%- else -%}{{ part['text'] }}{%- endif -%}"
    "{%- endfor -%}{%- endif -%}"
    "{%- if message['role'] == 'assistant' -%}<end_of_utterance>{%- endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)

VOCABULARY_SAMPLE = 200
"""Training questions a subject from which the words are collected."""

VERDICTS = {"+", "-"}
"""What a verifier of this shape says about a step; the model itself never does."""

MEAN, DEVIATION = (0.88,) * 3, (0.25,) * 3
"""Of pixels, from 0 to 1: paper comes out near zero, so that ink is what a patch is about."""

POSITION_SCALE = 0.3
"""Size of the first position embeddings of patches: with the usual 0.02 the model sees no places for hundreds of steps."""

IMAGE_TOKENS = (SIDE // CELL) ** 2


def processor() -> "Idefics3Processor":
    """Tokenizer, image processor and chat template: a function of the exam's wording alone."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import Idefics3ImageProcessorPil, Idefics3Processor, PreTrainedTokenizerFast

    special = [PAD, UNKNOWN, END, IMAGE, AROUND_IMAGE, GLOBAL_IMAGE, *ROLES]
    splitter = pre_tokenizers.Split(Regex(WORDS), behavior="isolated")
    words = {word for text in _texts() for word, _ in splitter.pre_tokenize_str(text)}
    words |= {f" {number}" for number in range(LARGEST + 1)} | VERDICTS
    vocabulary = {word: n for n, word in enumerate([*special, *sorted(words)])}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    core.pre_tokenizer = splitter
    core.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PAD,
        unk_token=UNKNOWN,
        eos_token=END,
        additional_special_tokens=[IMAGE, AROUND_IMAGE, GLOBAL_IMAGE, *ROLES],
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_max_length=512,
    )
    images = Idefics3ImageProcessorPil(
        size={"longest_edge": SIDE},
        max_image_size={"longest_edge": SIDE},
        do_image_splitting=False,
        image_mean=list(MEAN),
        image_std=list(DEVIATION),
    )
    return Idefics3Processor(images, tokenizer, image_seq_len=IMAGE_TOKENS, chat_template=TEMPLATE)


def spoken(prompt: Prompt) -> str:
    """A prompt as the chat template writes it, up to where the reply begins; images as `<image>`."""
    turns = (f"<|{message.role}|>" + "".join(map(_spelled, message.parts)) for message in prompt.messages)
    return "".join(turns) + "<|assistant|>"


def _spelled(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    return IMAGE * (len(motion.SECONDS) if isinstance(part, Clip) else 1)


def asked(source: Problem, style: str) -> str:
    """What the model hears: a question in one of the exam's styles, or for `read` only what stands in its pictures."""
    if style == "read":
        return f"<|user|>{IMAGE * shown(source)} Read.<|assistant|>"
    film = (Media("video", 0, sha256=""),) if source.subject.is_video else ()
    return spoken(render(replace(exam.worded(source), media=film), style=style))


def shown(source: Problem) -> int:
    """Pictures of the question itself, without those of its options."""
    return len(motion.SECONDS) if source.subject.is_video else source.chain.text.count("<image ")


def reply(source: Problem, style: str, rng: Random, sums: tuple[Sum, ...] = ()) -> str:
    """What the model is taught to say, without the end token; `rng` mixes the values of `read`.

    The answer is a number also where options are written, since a network of this size does not learn to look up the letter;
    where they are pictures it says whether each shows the result, and the letter of the one that does.

    Args:
        sums: what is held to be the sums of the moves; empty for the right ones.
    """
    if style == "read":
        # in a fixed order the model would count lines instead of looking up names
        values = list(source.chain.quantities.items())
        return "\n".join(f"{name}: {value}" for name, value in rng.sample(values, k=len(values)))
    steps = exam.explanation(source, sums) if style == "cot" else []
    answer: int | str = (sums or source.sums)[-1].value
    if source.is_pictured:
        answer = LETTERS[source.options.index(int(answer))]
    return "\n".join([*steps, f"Answer: {answer}"])


def network(tokenizer, *, width: int, layers: int, vision_width: int, vision_layers: int) -> "Idefics3ForConditionalGeneration":
    """A fresh network; its weights come from torch's global generator, which the caller seeds."""
    import torch
    from transformers import Idefics3Config, Idefics3ForConditionalGeneration

    ids = {name: tokenizer.convert_tokens_to_ids(name) for name in (PAD, END, IMAGE)}
    config = Idefics3Config(
        vision_config={
            "hidden_size": vision_width,
            "intermediate_size": 2 * vision_width,
            "num_hidden_layers": vision_layers,
            "num_attention_heads": vision_width // 32,
            "image_size": SIDE,
            "patch_size": CELL,
        },
        text_config={
            "model_type": "llama",
            "vocab_size": len(tokenizer),
            "hidden_size": width,
            "intermediate_size": 3 * width,
            "num_hidden_layers": layers,
            "num_attention_heads": width // 32,
            "num_key_value_heads": width // 32,
            "head_dim": 32,
            "max_position_embeddings": 512,
            "pad_token_id": ids[PAD],
            "bos_token_id": None,
            "eos_token_id": ids[END],
            "tie_word_embeddings": False,
        },
        scale_factor=1,
        image_token_id=ids[IMAGE],
        **{"pad_token_id": ids[PAD], "bos_token_id": None, "eos_token_id": ids[END], "tie_word_embeddings": False},
        dtype="float32",
    )
    model: Any = Idefics3ForConditionalGeneration(config)
    torch.nn.init.normal_(model.model.vision_model.embeddings.position_embedding.weight, std=POSITION_SCALE)
    model.generation_config.update(eos_token_id=ids[END], pad_token_id=ids[PAD], bos_token_id=None)
    return model


def _texts() -> list[str]:
    texts = []
    for subject in exam.SUBJECTS:
        for index in range(VOCABULARY_SAMPLE):
            source = exam.problem("train", subject, index)
            for style in ("direct", "cot", "read"):
                texts += [asked(source, style), reply(source, style, Random(0))]
    return [text.replace(IMAGE, "").replace("<|user|>", "").replace("<|assistant|>", "") for text in texts]
