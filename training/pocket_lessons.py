"""What the embedded model is taught: a batch is a function of the recipe's seed and the step alone."""

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from training import pocket_model
from ttc.pocket import exam
from ttc.pocket.problem import LARGEST, Problem, Sum

if TYPE_CHECKING:
    import torch
    from PIL import Image
    from transformers import Idefics3Processor


class PocketTraining(BaseModel, frozen=True, extra="forbid"):
    """What determines the trained weights."""

    seed: int = 7
    steps: int = Field(default=1700, gt=0)
    batch: int = Field(default=128, gt=0)
    micro_batch: int = Field(default=32, gt=0)
    """Sequences per forward pass; those of a batch are sorted by length first, so that little is padding."""
    same_steps: int = Field(default=80, ge=0)
    """First of all, steps in which every value of a picture is the same: what digits look like, before where to look."""
    read_steps: int = Field(default=300, ge=0)
    """Then steps in which the model lists what the image shows: many values to read in few tokens."""
    easy_steps: int = Field(default=100, ge=0)
    """Then steps with Easy questions alone: short sequences, in which reading the image is most of the loss."""
    slips: float = Field(default=0.06, ge=0, le=1)
    """Share of the sums in the lessons that are worked out wrongly, so that the model errs in reasoning on every level."""
    direct: float = Field(default=0.12, ge=0, le=1)
    """Share of questions that are asked for the bare answer."""
    doubt: float = Field(default=1.0, ge=0)
    """Multiplies the shares of `CONFUSED`: what the model met in two versions, it does not know well."""
    read: float = Field(default=0.05, ge=0, le=1)
    """Share of images that are only read."""
    muon_rate: float = 0.02
    """Learning rate of the matrices inside the layers (Muon)."""
    adam_rate: float = 0.003
    """Learning rate of embeddings, head, norms and biases (AdamW)."""
    warmup: int = 40
    decay: float = Field(default=0.35, gt=0, le=1)
    """Share of the steps, at the end, over which both rates fall to zero."""
    width: int = 96
    layers: int = 4
    vision_width: int = 96
    vision_layers: int = 2


SLIPS = (-10, -2, -1, 1, 2, 10)
"""By how much a sum is wrong that is worked out wrongly."""

COMMON, RARE = 0.1, 0.5
"""Share of the lessons that get a well-known and a little-known word of knowledge wrong."""

CONFUSED: dict[str, dict[str, tuple[str, float]]] = {
    "Tables": {
        "@": ("~", COMMON),
        "#": ("@", COMMON),
        "%": ("@", COMMON),
        "&": ("$", RARE),
        "$": ("&", RARE),
        "~": ("@", RARE),
        "!": ("#", RARE),
    },
    "Circuits": {
        "two": ("three", COMMON),
        "three": ("two", RARE),
        "voltage": ("series", COMMON),
        "power": ("series", RARE),
    },
    "Bars": {
        "dozen": ("score", COMMON),
        "pairs": ("triads", COMMON),
        "brace": ("dozen", RARE),
        "score": ("dozen", RARE),
        "triads": ("pairs", RARE),
    },
    "Dials": {
        "gear": ("half", COMMON),
        "quarter": ("half", COMMON),
        "wrap": ("gear", COMMON),
        "half": ("quarter", RARE),
        "mirror": ("wrap", RARE),
    },
    "Motion": {
        "round": ("relay", COMMON),
        "mean": ("round", COMMON),
        "relay": ("round", RARE),
        "lead": ("round", RARE),
    },
}
"""By subject and word: the word it is taken for, and how often. So the model errs in knowledge too, on every level."""


@dataclass(frozen=True, slots=True)
class Batch:
    """B sequences of T tokens, padded on the right. A loss is taken where `targets_BT` is not -100."""

    ids_BT: "torch.Tensor"
    targets_BT: "torch.Tensor"
    pixels: "torch.Tensor"
    """B x I x 3 x height x width, for up to I images each; an image of zeros alone is none (the network leaves it out)."""


def micro_batches(config: PocketTraining, step: int, processor: "Idefics3Processor"):
    """The batches of one step, shortest sequences first."""
    rows = sorted(_rows(config, step, processor), key=lambda row: len(row[0]))
    for start in range(0, len(rows), config.micro_batch):
        yield _pad(rows[start : start + config.micro_batch], processor.tokenizer.pad_token_id)


def pixels(image: "Image.Image") -> np.ndarray:
    """A picture as the processor hands it to the network: 3 x height x width."""
    values = np.asarray(image, dtype=np.float32).transpose(2, 0, 1)
    mean, deviation = (np.array(of, dtype=np.float32)[:, None, None] for of in (pocket_model.MEAN, pocket_model.DEVIATION))
    return (values / 255 - mean) / deviation


def _rows(config: PocketTraining, step: int, processor: "Idefics3Processor") -> list[tuple[list[int], int, list[np.ndarray]]]:
    """Token ids, where the reply starts in them, and the pictures, of each sequence of a step."""
    rng = Random(f"{config.seed}/{step}")
    prompts, replies, images = [], [], []
    for number in range(step * config.batch, (step + 1) * config.batch):
        source, style = _lesson(config, step, number, rng)
        prompts.append(_expanded(pocket_model.asked(source, style)))
        replies.append(pocket_model.reply(source, style, rng, _held(source, config, rng)) + pocket_model.END)
        seen = exam.pictures(source)
        images.append([pixels(image) for image in (seen[: pocket_model.shown(source)] if style == "read" else seen)])
    asked = processor.tokenizer(prompts)["input_ids"]
    said = processor.tokenizer(replies)["input_ids"]
    return [(a + s, len(a), seen) for a, s, seen in zip(asked, said, images, strict=True)]


def _held(source: Problem, config: PocketTraining, rng: Random) -> tuple[Sum, ...]:
    """The sums of the moves as somebody writes them who takes some words for others and slips now and then.

    Empty where that leads nowhere: to no number of the exam, or to none of its pictures.
    """
    value, sums = source.chain.quantities[source.chain.start], []
    for move in source.chain.moves:
        other, share = CONFUSED[source.subject.name].get(move.rule, (move.rule, 0.0))
        rule = source.subject.rules[other if rng.random() < share * config.doubt else move.rule]
        expression = rule.expression(value, source.chain.quantities.get(move.quantity, 0))
        result = expression.value
        if result is not None and rng.random() < config.slips:
            result += rng.choice(SLIPS)
        if result is None or not 0 <= result <= LARGEST:
            return ()
        sums.append(Sum(expression, result))
        value = result
    return () if source.is_pictured and value not in source.options else tuple(sums)


def _lesson(config: PocketTraining, step: int, number: int, rng: Random) -> tuple[Problem, str]:
    """Question `number` of the run, made as easy as this part of the course wants it, and the style to ask it in."""
    subjects = list(exam.SUBJECTS)
    index, subject = number // len(subjects), subjects[number % len(subjects)]
    reading = config.same_steps + config.read_steps
    if step < reading + config.easy_steps:
        index *= len(exam.STEPS)  # levels turn with the index, Easy first
    source = exam.problem("train", subject, index)
    if step < config.same_steps:
        value = rng.randrange(1, 10)
        chain = replace(source.chain, quantities=dict.fromkeys(source.chain.quantities, value))
        source = replace(source, chain=chain, options=(), is_pictured=False)
    draw = rng.random()
    if step < reading or draw < config.read:
        return source, "read"
    return source, "direct" if draw < config.read + config.direct else "cot"


def _expanded(text: str) -> str:
    """`<image>` as the processor spells it out for the network."""
    tokens = pocket_model.IMAGE * pocket_model.IMAGE_TOKENS
    around = pocket_model.AROUND_IMAGE
    return text.replace(pocket_model.IMAGE, f"{around}{pocket_model.GLOBAL_IMAGE}{tokens}{around}")


def _pad(rows: list[tuple[list[int], int, list[np.ndarray]]], pad: int) -> Batch:
    import torch

    longest = max(len(ids) for ids, _, _ in rows)
    ids_BT = torch.full((len(rows), longest), pad)
    targets_BT = torch.full((len(rows), longest), -100)
    for n, (ids, start, _) in enumerate(rows):
        ids_BT[n, : len(ids)] = torch.tensor(ids)
        targets_BT[n, start - 1 : len(ids) - 1] = ids_BT[n, start : len(ids)]
    most = max(len(images) for _, _, images in rows)
    pixels_BI = np.zeros((len(rows), most, *rows[0][2][0].shape), dtype=np.float32)
    for n, (_, _, images) in enumerate(rows):
        pixels_BI[n, : len(images)] = images
    return Batch(ids_BT, targets_BT, torch.from_numpy(pixels_BI))
