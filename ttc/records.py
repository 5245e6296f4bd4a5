"""The nouns of the framework: frozen records that flow from questions to verdicts.

    Question -> Prompt -> Request -> Sample -> Answer -> StepScores -> Selection -> Verdict

`Gold` stands apart: only judges and training see it, so that no strategy can read an answer by accident.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from PIL.Image import Image

QuestionType = Literal["multiple-choice", "open"]
Fields = Mapping[str, str | tuple[str, ...]]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Media:
    """An image or a video, known by its content. Exactly one of `data` and `path` is set unless `problem` is."""

    kind: Literal["image", "video"]
    marker: int
    """The N of the `<image N>` that refers to it, from 1; 0 for media without a marker, which come before the text."""
    sha256: str
    """Hash of the encoded bytes, in hex; empty where there are none."""
    data: bytes | None = None
    """The encoded file, where the benchmark holds it in memory."""
    path: Path | None = None
    """The file, where it lies on disk."""
    problem: str = ""
    """Why the media cannot be used, found at loading time; empty when nothing is known to be wrong."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. It holds no answer: see `Gold`."""

    id: str
    """Unique within the benchmark and split."""
    benchmark: str
    """Name of the benchmark, such as `mmmu_pro`."""
    question_type: QuestionType
    text: str
    """The question, with `<image N>` where an image belongs."""
    options: tuple[str, ...] = ()
    """Option texts in order, without letters; may hold `<image N>`; empty for an open question."""
    media: tuple[Media, ...] = ()
    """Exactly the media that text and options refer to, each once, and those without a marker."""
    fields: Fields = field(default_factory=dict)
    """Group names: subject, discipline, topic_difficulty, subfield, img_type (several values), and the benchmark's own."""
    cluster: str = ""
    """Questions that share an image, a video or a source have the same cluster, for intervals; empty means alone."""
    source: str = ""
    """Address of what it was made from, such as the page of its video; empty where the data do not say. Splits read it."""

    @property
    def letters(self) -> str:
        """The option letters, `A` first."""
        return LETTERS[: len(self.options)]

    @property
    def unit(self) -> str:
        """What is resampled as a whole: its cluster, or itself where it stands alone."""
        return self.cluster or self.id

    def values(self, field: str) -> tuple[str, ...]:
        """The values of a field, none or several; a question with several counts once under each."""
        value = self.fields.get(field, ())
        values = (value,) if isinstance(value, str) else value
        return tuple(one for one in dict.fromkeys(values) if one)


@dataclass(frozen=True, slots=True)
class Gold:
    """The answer key of one question. Only judges and training may hold it."""

    question_id: str
    answers: tuple[str, ...]
    """Accepted answers: option letters for multiple choice, texts for open questions; empty where the split is hidden."""
    explanation: str = ""
    """The released explanation or rationale, or empty."""
    knowledge: tuple[str, ...] = ()
    """Sources of knowledge the answer rests on, such as URLs."""


class FrameRule(BaseModel, frozen=True, extra="forbid"):
    """Which frames of a video are shown, and how large. Part of a sample's key."""

    kind: Literal["linspace", "fps"] = "linspace"
    """`linspace`: `frames` frames evenly from first to last (MMVU's rule); `fps`: one every 1/fps seconds, at most `frames`."""
    frames: int = Field(default=32, gt=0)
    """Number of frames, or the cap under `fps`; clamped to what exists, never repeated."""
    fps: float = Field(default=1.0, gt=0)
    """Frames per second, for `fps` only."""


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text in a message."""

    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """An image at its place in a message."""

    media: Media
    max_pixels: int | None = None
    """Images above this many pixels are shrunk to it before the processor sees them."""


@dataclass(frozen=True, slots=True)
class Clip:
    """A video at its place in a message, to be shown as frames."""

    media: Media
    rule: FrameRule
    max_pixels: int | None = None
    """As in `Picture`, for each frame."""


Part = Text | Picture | Clip


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked, before any engine renders it through its chat template."""

    messages: tuple[Message, ...]
    style: str = ""
    """Name of the template it was made from, for people; the messages themselves are hashed."""
    problem: str = ""
    """Why the question cannot be asked at all: its samples are then `rejected`, with this as the reason."""

    @property
    def media_parts(self) -> tuple[Picture | Clip, ...]:
        """Pictures and clips in the order in which the model meets them."""
        return tuple(part for message in self.messages for part in message.parts if not isinstance(part, Text))


class Sampling(BaseModel, frozen=True, extra="forbid"):
    """How completions are drawn. Every field is part of a sample's key."""

    temperature: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """0 is greedy decoding: one sample, whatever the seed."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=0, ge=0)
    """0 leaves all tokens in."""
    max_tokens: int = Field(default=1024, gt=0)
    """Completion tokens after which a sample ends with finish `length`."""
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Strings that end a completion; they are not part of its text."""
    logprobs: bool = False
    """Keep the log-probability of each drawn token."""


@dataclass(frozen=True, slots=True)
class Request:
    """An order to an engine: samples `first` to `first + n - 1` of one prompt."""

    key: str
    """Hash of everything that determines the samples, but for their index; 64 hex digits."""
    question_id: str
    prompt: Prompt
    images: tuple[tuple["Image", ...], ...]
    """For each of `prompt.media_parts`, the decoded RGB images: one for a picture, one per frame for a clip."""
    sampling: Sampling
    first: int
    n: int
    seed: int
    """Seed of sample `first`; sample `first + j` has `seed + j`."""
    prefix: tuple[int, ...] = ()
    """Token ids of the reply so far, where this continues one."""


SampleStatus = Literal["ok", "refused", "rejected", "media"]
Finish = Literal["stop", "length", ""]


@dataclass(frozen=True, slots=True)
class Sample:
    """One completion, or the permanent reason why there is none. An infrastructure failure is not a sample."""

    key: str
    """The request's key: together with `index` the sample's identity."""
    index: int
    """0-based number of the sample under its key; its seed is the key's base seed plus this."""
    question_id: str
    text: str
    """The reply without special tokens (and without `prefix`)."""
    status: SampleStatus = "ok"
    """`refused`: by a filter of the provider; `rejected`: can never work, such as a prompt over the context length; `media`: an
    image or a video cannot be used."""
    reason: str = ""
    """What happened, where the status is not `ok`."""
    finish: Finish = ""
    """`stop`: the model ended it; `length`: cut at `max_tokens`; empty where nothing was generated."""
    prompt_tokens: int = 0
    """Prompt length in the engine's own token ids, images included after merging."""
    image_tokens: int = 0
    """Those of `prompt_tokens` that are image placeholders; 0 where the engine does not say."""
    completion_tokens: int = 0
    """Drawn tokens, the end token included, reasoning included."""
    reasoning_tokens: int = 0
    """Those of `completion_tokens` that a server counted as reasoning."""
    cached_tokens: int = 0
    """Those of `prompt_tokens` that a server billed as cached."""
    token_ids: tuple[int, ...] = ()
    """The drawn ids; empty where the engine does not say."""
    logprobs: tuple[float, ...] = ()
    """Natural log-probability of each drawn token under the sampled distribution before temperature; empty unless asked for."""
    engine: str = ""
    """Engine and version that drew it."""
    seconds: float = 0.0
    """Wall time from submission to completion; shared batches are not divided."""
    tail: str = ""
    """What the drawn tokens say from the stop string on, which `text` leaves out; empty where no stop string ended it, and of a
    server, which does not say."""
    image_spans: tuple[int, ...] = ()
    """Tokens of each image or frame, in the prompt's order: `image_tokens` in parts; empty where the engine does not say."""
    counted: bool = True
    """Whether the numbers of tokens are known; where not, as in most outputs of other programs, they stand at 0 here and are
    unknown on every axis."""
    device_seconds: float | None = None
    """Time that the engine was at work since it finished the sample before, times its devices. One sample's says little; the
    sum over samples is the engine's device time. None where the devices are not ours, such as a server's."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Compute of one question under one strategy, in tokens and FLOPs. Adding two sums every field."""

    samples: int = 0
    prompt_tokens: int = 0
    """Prompt and image tokens, counted once per distinct prompt."""
    completion_tokens: int = 0
    verifier_tokens: int = 0
    flops: float | None = 0.0
    """None where the model's shape is unknown: an API's FLOPs are not guessed."""

    def __add__(self, other: "Usage") -> "Usage":
        flops = None if self.flops is None or other.flops is None else self.flops + other.flops
        return Usage(
            self.samples + other.samples,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.verifier_tokens + other.verifier_tokens,
            flops,
        )


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The critical path of one question under one strategy: tokens of which none can begin before the one ahead of it.

    Of what runs side by side the longest counts, round by round; adding two puts one behind the other.
    """

    prompt_tokens: int = 0
    """Of prompts that had to be read on the way."""
    completion_tokens: int = 0
    verifier_tokens: int = 0

    def __add__(self, other: "CriticalPath") -> "CriticalPath":
        return CriticalPath(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.verifier_tokens + other.verifier_tokens,
        )

    def beside(self, other: "CriticalPath") -> "CriticalPath":
        """Both at once: the longer of each kind of work."""
        return CriticalPath(
            max(self.prompt_tokens, other.prompt_tokens),
            max(self.completion_tokens, other.completion_tokens),
            max(self.verifier_tokens, other.verifier_tokens),
        )


AnswerStatus = Literal["answered", "empty", "refused", "abstained", "truncated", "unclear", "failed"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What extraction read from a reply, and why."""

    values: tuple[str, ...]
    """One option letter, or the value or values an open reply stands by; empty where it names none."""
    status: AnswerStatus
    """`failed`: the sample itself has no reply; the others say what the reply was."""
    rule: str
    """Name of the extraction rule that decided, answered or not."""

    @property
    def value(self) -> str | None:
        """The first value, or None."""
        return self.values[0] if self.values else None


@dataclass(frozen=True, slots=True)
class StepScores:
    """A verifier's scores of one sample."""

    key: str
    index: int
    verifier: str
    """Name and content hash of the verifier."""
    steps: tuple[float, ...]
    """Probability that each step is right, in [0, 1]; empty for outcome verifiers."""
    score: float | None
    """The response's score; None where scoring failed (it then loses to any score)."""
    status: str = "ok"
    tokens: int = 0
    """Verifier tokens spent, prompt included."""
    image_tokens: int = 0
    """Those of `tokens` that are image placeholders: what the verifier's eyes cost follows from them."""
    image_spans: tuple[int, ...] = ()
    """Tokens of each image or frame: `image_tokens` in parts; empty where the verifier does not say."""
    flops: float | None = None
    """Of scoring, where they do not follow from the tokens, as an ensemble's: None elsewhere, and where they are unknown."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a verifier reads: a question and a sample of it."""

    question: Question
    sample: Sample
    before: str = ""
    """The text that the sample continues; empty where it is a whole reply."""
    steps: tuple[str, ...] = ()
    """Its steps as people labelled them, to be scored as they are; empty where the verifier is to find them itself."""

    @property
    def text(self) -> str:
        """The reply up to the sample's end."""
        return self.before + self.sample.text

    def scored(
        self,
        score: float | None,
        steps: Sequence[float] = (),
        *,
        tokens: int = 0,
        image_tokens: int = 0,
        image_spans: Sequence[int] = (),
        flops: float | None = None,
        status: str = "ok",
    ) -> StepScores:
        """The record of its scores. The verifier's identity is filled in where it is stored."""
        key, index, spans = self.sample.key, self.sample.index, tuple(image_spans)
        return StepScores(key, index, "", tuple(steps), score, status, tokens, image_tokens, spans, flops)


@dataclass(frozen=True, slots=True)
class Selection:
    """What a strategy stands by for one question."""

    answer: Answer | None
    """None where it abstains."""
    sample: int | None = None
    """Index of a sample that gave the answer, where one did."""
    reason: str = ""
    """How it was decided: `plurality`, `tie`, `abstain`, `fallback` ..."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer against the gold."""

    credit: float
    """In [0, 1]; 0 for anything without an answer."""
    status: Literal["graded", "ungraded"] = "graded"
    """`ungraded`: the judge failed; stays in the denominator with credit 0 and is reported apart."""
    rule: str = ""
    """The judge and the rule that decided."""


@dataclass(frozen=True, slots=True)
class Exam:
    """A loaded benchmark: what strategies may see, what only judges may see, and where both come from."""

    name: str
    split: str
    questions: tuple[Question, ...]
    golds: Mapping[str, Gold]
    """By question id."""
    revision: str
    """Revision of the data set, or `local`."""
    fingerprint: str
    """Hash of all questions, media and golds: two runs with different ones are not comparable."""
    problems: tuple[str, ...] = ()
    """What was wrong with single rows, one line each; such questions stay in the exam."""
