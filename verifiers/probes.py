"""Does a verifier judge what it should? Replies are changed in a way whose effect is known, and scored again.

    replies -> changed replies -> scores -> finding with a verdict

A changed reply is other content and is scored and stored as such. A verdict holds a figure against a threshold that was set
before any verifier was seen.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from random import Random
from typing import Literal

from ttc.answers import extract
from ttc.errors import MediaError
from ttc.keys import key_of
from ttc.media import decode_image, encoded, media_from_bytes
from ttc.records import Media, Question, Reply, Sample
from verifiers.steps import split

Name = Literal["blank image", "shuffled image", "question dropped", "answer swapped", "junk steps", "neutral padding"]
"""Those that change replies; length and large N are read off the scores that there are."""

GRAY = 128
"""Of blank images."""

NEUTRAL_STEP = "Let us keep this in mind and go on.\n"
"""Says nothing that could be wrong."""


@dataclass(frozen=True, slots=True)
class Case:
    """A reply with what is known of it, as probes read it."""

    reply: Reply
    is_right: bool
    answer: str | None
    """What extraction read from it: a letter, or a value."""


class Changes:
    """Changed copies of replies; every choice depends on the seed and the question alone."""

    def __init__(self, cases: Sequence[Case], *, seed: int = 0) -> None:
        self._seed = seed
        self._questions = list({case.reply.question.id: case.reply.question for case in cases}.values())
        self._cases = cases

    def changed(self, name: Name, case: Case) -> Reply | None:
        """The reply as the probe changes it; None where it does not apply."""
        rng = Random(f"{self._seed}/{name}/{case.reply.question.id}/{case.reply.sample.index}")
        match name:
            case "blank image":
                return self._with_question(case, name, self._with_media(case.reply.question, blank))
            case "shuffled image":
                return self._shuffled(case, rng)
            case "question dropped":
                return self._with_question(case, name, dropped(case.reply.question))
            case "answer swapped":
                text = swapped(case, self._answers_elsewhere(case), rng) if case.is_right else None
            case "junk steps":
                text = self._junk(case, rng) if case.is_right else None
            case "neutral padding":
                text = padded(case.reply.text) if case.reply.question.benchmark != "pocket" else None
        return None if text is None else rewritten(case.reply, name, case.reply.question, text)

    def _with_question(self, case: Case, name: Name, question: Question | None) -> Reply | None:
        return None if question is None else rewritten(case.reply, name, question, case.reply.text)

    def _with_media(self, question: Question, change: Callable[[Media], Media | None]) -> Question | None:
        """None where nothing is shown, or something that cannot be changed."""
        media = [found for one in question.media if (found := change(one)) is not None]
        return replace(question, media=tuple(media)) if media and len(media) == len(question.media) else None

    def _shuffled(self, case: Case, rng: Random) -> Reply | None:
        """The media of another question of the same subject with as many of each kind."""
        own = case.reply.question
        form, subject = [one.kind for one in own.media], own.fields.get("subject")
        others = [
            other
            for other in self._questions
            if other.id != own.id
            and [one.kind for one in other.media] == form
            and {one.sha256 for one in other.media}.isdisjoint(one.sha256 for one in own.media)
        ]
        alike = [other for other in others if other.fields.get("subject") == subject] or others
        if not own.media or not alike:
            return None
        shown = rng.choice(alike).media
        media = tuple(replace(new, marker=old.marker) for new, old in zip(shown, own.media, strict=True))
        return rewritten(case.reply, "shuffled image", replace(own, media=media), case.reply.text)

    def _answers_elsewhere(self, case: Case) -> list[str]:
        """Other answers that were given to the same question."""
        own = case.reply.question.id
        given = (other.answer for other in self._cases if other.reply.question.id == own)
        return sorted({answer for answer in given if answer is not None and answer != case.answer})

    def _junk(self, case: Case, rng: Random) -> str | None:
        """All steps but the last from a reply to another question, so that nothing leads to the right answer."""
        steps, own = split(case.reply.text), case.reply.question.id
        others = [leading for question_id, leading in self._leading if question_id != own]
        return rng.choice(others) + steps[-1].text if len(steps) > 1 and others else None

    @cached_property
    def _leading(self) -> list[tuple[str, str]]:
        """Question and all steps but the last, of every reply of several steps."""
        cut = [(case.reply.question.id, split(case.reply.text)) for case in self._cases]
        return [(question_id, "".join(step.text for step in steps[:-1])) for question_id, steps in cut if len(steps) > 1]


def blank(media: Media, shade: int = GRAY) -> Media | None:
    """An even gray image of the same size, or a video of as many such frames; None for what cannot be read.

    Args:
        shade: brightness, 0 to 255.
    """
    try:
        data = encoded(media)
        shown = _blank_video(data, shade) if media.kind == "video" else _blank_image(data, shade)
    except MediaError:
        return None
    return media_from_bytes(shown, kind=media.kind, marker=media.marker)


def _blank_image(data: bytes, shade: int) -> bytes:
    from PIL import Image

    buffer = BytesIO()
    Image.new("RGB", decode_image(data).size, (shade,) * 3).save(buffer, "PNG")
    return buffer.getvalue()


def _blank_video(data: bytes, shade: int) -> bytes:
    """As many frames at the same rate, so that the same ones are sampled."""
    import av
    import numpy as np
    from av.error import FFmpegError

    try:
        with av.open(BytesIO(data), "r") as source:
            if not source.streams.video:
                raise MediaError("the file holds no video")
            frames = [(frame.width, frame.height) for frame in source.decode(video=0)]
            rate = source.streams.video[0].average_rate or 1
    except FFmpegError as error:
        raise MediaError(f"not a video that can be read ({error.strerror})") from error
    if not frames:
        raise MediaError("no frame of the video can be decoded")
    width, height = frames[0]
    buffer = BytesIO()
    with av.open(buffer, "w", format="mp4") as target:
        made = target.add_stream("libx264", rate=rate)
        # the codec takes even sizes only
        made.width, made.height, made.pix_fmt = max(2, width // 2 * 2), max(2, height // 2 * 2), "yuv420p"
        frame = av.VideoFrame.from_ndarray(np.full((made.height, made.width, 3), shade, np.uint8), format="rgb24")
        for index in range(len(frames)):
            frame.pts = index
            target.mux(made.encode(frame))
        target.mux(made.encode())
    return buffer.getvalue()


def dropped(question: Question) -> Question:
    """Nothing is asked any more; its images stay."""
    markers = " ".join(f"<image {one.marker}>" for one in question.media if one.marker)
    return replace(question, text=markers, options=(), question_type="open")


def swapped(case: Case, others: Sequence[str], rng: Random) -> str | None:
    """The same steps ending in another answer; None where the answer does not stand in the last step as it was read."""
    steps, question = split(case.reply.text), case.reply.question
    options, letters = question.options, question.letters
    if not steps or case.answer is None:
        return None
    wrong = [letter for letter in letters if letter != case.answer] if options else others
    if not wrong:
        return None
    instead, last = rng.choice(wrong), steps[-1]
    pairs = [(case.answer, instead)]
    if options:
        pairs.append((options[letters.index(case.answer)], options[letters.index(instead)]))
    for old, new in pairs:
        start = _last_word(last.text, old)
        text = case.reply.text[: last.start] + last.text[:start] + new + last.text[start + len(old) :]
        # an `A` may be an article, and the answer stand elsewhere
        if start >= 0 and extract(question, text).value != case.answer:
            return text
    return None


def _last_word(text: str, said: str) -> int:
    """Where `said` stands last as a word of its own, or -1."""
    places = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(said)}(?!\w)", text)] if said else []
    return places[-1] if places else -1


def padded(text: str) -> str | None:
    """A step that says nothing behind the first one; None for a reply of one step."""
    steps = split(text)
    if len(steps) < 2:
        return None
    gap = "" if steps[0].text.endswith("\n") else "\n"
    blank_line = "\n" if "\n\n" in text else ""
    return steps[0].text + gap + NEUTRAL_STEP + blank_line + text[steps[1].start :]


def rewritten(reply: Reply, made_by: str, question: Question, text: str, *, steps: tuple[str, ...] = ()) -> Reply:
    """The changed reply, under a key of its content: its scores are kept apart from those of the sample it came from.

    Args:
        steps: those that it is to be scored by, see `Reply`.
    """
    content = {
        "benchmark": question.benchmark,
        "question": [question.id, question.text, list(question.options)],
        "media": [[one.kind, one.sha256, one.marker] for one in question.media],
        "reply": text,
    } | ({"steps": steps} if steps else {})
    key = key_of(json.dumps(content, sort_keys=True))
    return Reply(question, Sample(key, 0, question.id, text, finish=reply.sample.finish, engine=made_by), steps=steps)
