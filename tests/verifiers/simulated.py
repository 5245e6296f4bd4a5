"""Replies and verifiers of known character: one that knows, a blind one, one that likes length, one that reads the answer."""

import io
from collections.abc import Callable

import numpy as np
from PIL import Image

from ttc.media import media_from_bytes
from ttc.records import Question, Reply, Sample
from verifiers.metrics import ScoredChain

Verdict = Callable[[np.random.Generator, list[bool], bool], list[float]]
"""Step scores from the truth of each step and of the answer."""


def picture(brightness: int = 100, size: tuple[int, int] = (56, 56)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (brightness, 30, 200)).save(buffer, "PNG")
    return buffer.getvalue()


def asked(id: str = "q", text: str = "How bright is <image 1>?", *images: bytes) -> Question:
    media = tuple(media_from_bytes(data, marker=place) for place, data in enumerate(images or (picture(),), 1))
    return Question(id, "exam", "open", text, media=media)


def replied(question: Question, text: str, index: int = 0) -> Reply:
    return Reply(question, Sample("k" * 64, index, question.id, text))


def knows(rng: np.random.Generator, right: list[bool], is_right: bool) -> list[float]:
    return [float(np.clip(rng.normal(0.75 if one else 0.25, 0.15), 0.01, 0.99)) for one in right]


def blind(rng: np.random.Generator, right: list[bool], is_right: bool) -> list[float]:
    return [float(score) for score in rng.uniform(0.3, 1, len(right))]


def likes_length(rng: np.random.Generator, right: list[bool], is_right: bool) -> list[float]:
    return [float(np.clip(rng.normal(0.4 + 0.05 * len(right), 0.05), 0.01, 0.99)) for _ in right]


def reads_answer(rng: np.random.Generator, right: list[bool], is_right: bool) -> list[float]:
    return [float(score) for score in rng.uniform(0.8, 1, len(right) - 1)] + [0.9 if is_right else 0.1]


def chains(verdict: Verdict, *, questions: int = 60, replies: int = 6, seed: int = 0) -> list[ScoredChain]:
    """2 to 9 steps, each wrong with a chance of its question's; a right answer follows from right steps, or by luck."""
    rng, found = np.random.default_rng(seed), []
    for number in range(questions):
        ease = rng.uniform(0.75, 1)
        level = "Easy" if ease > 0.9 else "Hard"
        for _ in range(replies):
            right = [bool(rng.random() < ease) for _ in range(rng.integers(2, 10))]
            is_right = all(right) or bool(rng.random() < 0.2)
            scores = verdict(rng, right, is_right)
            kinds = tuple(None if one else str(rng.choice(["perception", "reasoning"])) for one in right)
            steps = tuple(f"step {place} of {number}" for place in range(len(right)))
            mean = float(np.mean(scores))
            fields = {"topic_difficulty": level, "subject": ("Art", "Math")[number % 2]}
            found.append(ScoredChain(f"q{number}", steps, tuple(scores), tuple(right), kinds, mean, is_right, fields=fields))
    return found
