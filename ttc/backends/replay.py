"""Replies that another program wrote, as an engine: a run over them puts them in the bank, for all later analysis."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import BaseModel

from ttc.errors import UserError
from ttc.protocols import Inbox
from ttc.records import Request, Sample

if TYPE_CHECKING:
    from ttc.compute import ModelShape


class Replay(BaseModel, frozen=True, extra="forbid"):
    """Outputs of one model under one prompt, in any form that `ttc score` reads.

    Sample i of a question is its i-th reply in the file. Curves take the replies to a question for independent samples of one
    model under one prompt: replies pooled from several models, prompts or temperatures are not, and a vote over them is another
    method. Token counts are not in such files: they are unknown, and accuracy can be drawn over samples only. The run's prompt
    and sampling settings do not change the replies: set them to what the file was drawn with, for the record.
    Questions with equal text, options and media share samples, as in every run: load the benchmark with its images, or let the
    benchmark `outputs` tell them apart.
    """

    reads_media: ClassVar[bool] = False
    kind: Literal["replay"] = "replay"
    outputs: Path
    """File or folder of outputs."""
    benchmark: Literal["mmmu", "mmmu_pro", "mmvu", "jsonl"] = "jsonl"
    """Whose questions they answer; ids must be those of the run's benchmark."""
    form: str | None = None
    """Form of the outputs, where it is not told by their content."""

    def identity(self) -> Mapping[str, object]:
        """Hash of the outputs' content, and the form that they are read in where not the one that it tells."""
        files = sorted(self.outputs.rglob("*.json")) if self.outputs.is_dir() else [self.outputs]
        digest = hashlib.sha256()
        try:
            for file in files:
                digest.update(hashlib.sha256(file.read_bytes()).digest())
        except OSError as error:
            raise UserError(f"backend.outputs {self.outputs}: {error.strerror}") from error
        return {"outputs": digest.hexdigest(), **self._form()}

    def _form(self) -> Mapping[str, object]:
        from ttc.outputs import form_for, form_of

        if self.form:
            return {"form": self.form}
        told = form_of(self.outputs)
        form = form_for(told, self.benchmark)
        return {} if form == told else {"form": form}

    def shape(self) -> "ModelShape | None":
        """None: the file does not say which model it was."""
        return None

    def open(self) -> "ReplayEngine":
        """Read the outputs. Raises UserError as `ttc.outputs.read` does."""
        from ttc.outputs import read

        found: dict[str, list[Sample | str]] = {}
        for reply in read(self.outputs, self.benchmark, form=self.form).replies:
            found.setdefault(reply.id, []).append(reply.sample or reply.failure)
        return ReplayEngine(self.outputs, found)


class ReplayEngine:
    """See `ttc.protocols.Engine`."""

    def __init__(self, outputs: Path, replies: Mapping[str, list[Sample | str]]) -> None:
        """Args: replies: by question id, each a sample or the reason why there is none."""
        self.name = f"replay {outputs.name}"
        self._outputs, self._replies = outputs, replies

    def close(self) -> None:
        """Nothing to free."""

    def serve(self, inbox: Inbox) -> Iterator[Sample]:
        """See `ttc.protocols.Engine`. Raises UserError for a reply that the outputs do not hold: no sample may stand for it."""
        while (request := inbox.take(wait=True)) is not None:
            for index in range(request.first, request.first + request.n):
                yield self._sample(request, index)

    def _sample(self, request: Request, index: int) -> Sample:
        if request.prefix:
            raise UserError(
                f"outputs {self._outputs}: whole replies cannot be continued; use an engine, or parallel strategies"
            )
        replies = self._replies.get(request.question_id, [])
        if index >= len(replies):
            raise UserError(
                f"outputs {self._outputs}: {len(replies)} replies to question {request.question_id}, and the run wants "
                f"{request.first + request.n}; " + ("lower n" if replies else "ask only what they answer")
            )
        held = replies[index]
        if isinstance(held, Sample):
            return replace(held, key=request.key, index=index, engine=self.name, counted=held.completion_tokens > 0)
        failed = Sample(request.key, index, request.question_id, "", status="rejected", reason=held, engine=self.name)
        return replace(failed, counted=False)
