"""Keys: the hash of everything that determines a sample but for its index, and the seed that follows from it.

Two requests with one key are served by the same samples, so whatever changes a completion must be in the key, and whatever
does not (field values, the question's id, the style's name) must not, or the same samples are drawn and paid for twice.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ttc.errors import UserError
from ttc.records import Clip, FrameRule, Part, Picture, Prompt, Question, Sampling, Text

VERSION = 1
"""Part of every key: raise it when the meaning of a description changes without a visible change in it."""


def request_key(
    question: Question,
    prompt: Prompt,
    identity: Mapping[str, object],
    sampling: Sampling,
    run_seed: int,
    prefix: tuple[int, ...] = (),
) -> str:
    """SHA-256 of `description` with the same arguments, as 64 hex digits."""
    return key_of(description(question, prompt, identity, sampling, run_seed, prefix))


def key_of(described: str) -> str:
    """The key of a request that is already described."""
    return hashlib.sha256(described.encode("ascii")).hexdigest()


def base_seed(key: str) -> int:
    """First 62 bits of the key: sample i is drawn with this plus i, which a signed 64-bit seed always holds."""
    return int(key[:16], 16) >> 2


def description(
    question: Question,
    prompt: Prompt,
    identity: Mapping[str, object],
    sampling: Sampling,
    run_seed: int,
    prefix: tuple[int, ...] = (),
) -> str:
    """All that determines the samples of a request, as canonical ASCII JSON: what is hashed, and what the bank keeps.

    Args:
        question: its type, text, options and media are covered; id, benchmark, fields and cluster are not.
        prompt: every part in order, media by their content; the style's name is not covered.
        identity: `Backend.identity()` of the engine.
        sampling: all of it, `logprobs` too: samples stored without log-probabilities cannot serve a request for them.
        run_seed: another one gives a replicate. Greedy requests have one sample whatever the seed, so it is left out of theirs.
        prefix: token ids of the reply so far, where the request continues one.

    Raises:
        UserError: the identity holds something that has no canonical JSON.
    """
    content = {
        "version": VERSION,
        "question": {
            "type": question.question_type,
            "text": question.text,
            "options": question.options,
            "media": [[media.kind, media.sha256] for media in question.media],
        },
        "prompt": [[message.role, [_part(part) for part in message.parts]] for message in prompt.messages],
        "backend": _canonical_map(identity, where="request.backend"),
        "sampling": _sampling(sampling),
        "run_seed": None if sampling.temperature == 0 else run_seed,
        "prefix": prefix,
    }
    # A search asks for thousands of keys, and texts and whole numbers are canonical as they are.
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _part(part: Part) -> dict[str, object]:
    match part:
        case Text(text):
            return {"text": text}
        case Picture(media, max_pixels):
            return {"image": media.sha256, "max_pixels": max_pixels}
        case Clip(media, rule, max_pixels):
            return {"video": media.sha256, "frames": _canonical_map(_frames(rule), "frames"), "max_pixels": max_pixels}


def _frames(rule: FrameRule) -> dict[str, object]:
    """The rule without `fps` where it has no effect."""
    return rule.model_dump(exclude=set() if rule.kind == "fps" else {"fps"})


@lru_cache(maxsize=1 << 10)
def _sampling(sampling: Sampling) -> Mapping[str, object]:
    """The settings that have an effect. Stop strings are a set: the earliest match ends a completion, whatever their order.

    A field that joins `Sampling` later must be left out while it has the value that earlier samples were drawn with:
    otherwise every bank loses its keys.
    """
    settings = sampling.model_dump(exclude={"top_p", "top_k"} if sampling.temperature == 0 else set())
    return _canonical_map(settings | {"stop": sorted(set(sampling.stop))}, "sampling")


def _canonical(value: object, where: str) -> object:
    """The same JSON for equal values: whole floats become integers, tuples become lists, names become text."""
    match value:
        case None | bool() | str() | int():
            return value
        case float() if math.isfinite(value):
            return int(value) if value.is_integer() else value
        case Mapping():
            return _canonical_map(value, where)
        case Sequence() if not isinstance(value, bytes):
            return [_canonical(item, f"{where}[{position}]") for position, item in enumerate(value)]
    raise UserError(
        f"{where}: {value!r} is {type(value).__name__}, which has no canonical JSON; use text, finite numbers, lists or maps"
    )


def _canonical_map(value: Mapping[str, object], where: str) -> dict[str, object]:
    return {str(name): _canonical(item, f"{where}.{name}") for name, item in value.items()}
