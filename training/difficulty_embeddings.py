"""Sentence embeddings of questions by any encoder in a local folder: mean pooling over tokens, each field by itself.

Encoders cut long texts (MiniLM at 256 tokens), so question and options are embedded apart and stand side by side.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ttc import keys
from ttc.backends.folder import fingerprint
from ttc.errors import UserError
from ttc.records import Question

FloatArray = NDArray[np.float64]
MOST_TOKENS = 256
BATCH = 32


def embed_questions(questions: Sequence[Question], encoder: Path, *, kept: Path | None = None) -> FloatArray:
    """One row per question: its text's unit vector, and its options'.

    Args:
        encoder: folder of a model and its tokenizer.
        kept: folder where the vectors stay, so that the same texts are embedded once.

    Raises:
        UserError: the folder holds no encoder.
    """
    texts = [question.text for question in questions]
    options = ["\n".join(question.options) for question in questions]
    return np.hstack([_embed(column, encoder, kept) for column in (texts, options)])


def _embed(texts: Sequence[str], encoder: Path, kept: Path | None) -> FloatArray:
    if not (encoder / "config.json").is_file():
        raise UserError(
            f"embedder {encoder}: no model is there; give the folder of an encoder with its tokenizer, or leave it out"
        )
    if kept is None:
        return embed(texts, encoder)
    path = kept / f"{keys.key_of(json.dumps([fingerprint(encoder), MOST_TOKENS, *texts]))[:24]}.npy"
    if not path.is_file():
        kept.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.stem}.{os.getpid()}.npy")
        np.save(part, embed(texts, encoder))
        part.replace(path)
    return np.load(path)


def embed(texts: Sequence[str], encoder: Path) -> FloatArray:
    """A unit vector for each text: the mean of its tokens' last states. An empty text is the zero vector."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    try:
        tokenizer, model = AutoTokenizer.from_pretrained(encoder), AutoModel.from_pretrained(encoder).eval()
    except (OSError, ValueError) as error:
        raise UserError(f"embedder {encoder}: it does not load: {str(error).splitlines()[0]}") from error
    order = sorted((place for place, text in enumerate(texts) if text.strip()), key=lambda place: len(texts[place]))
    vectors = np.zeros((len(texts), model.config.hidden_size))
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        inputs = tokenizer(
            [texts[row] for row in rows], padding=True, truncation=True, max_length=MOST_TOKENS, return_tensors="pt"
        )
        with torch.inference_mode():
            states_BTH = model(**inputs).last_hidden_state.double()
        mask_BT1 = inputs["attention_mask"][..., None]
        mean_BH = (states_BTH * mask_BT1).sum(dim=1) / mask_BT1.sum(dim=1)
        vectors[rows] = torch.nn.functional.normalize(mean_BH, dim=1).numpy()
    return vectors
