"""The bank of another run as an engine: its samples are handed out again, and nothing is drawn."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from ttc import keys
from ttc.errors import UserError
from ttc.protocols import Inbox
from ttc.records import Request, Sample

if TYPE_CHECKING:
    from ttc.bank import Bank
    from ttc.compute import ModelShape


class Archive(BaseModel, frozen=True, extra="forbid"):
    """Samples of one model that another run drew, for a machine without that model.

    They keep their keys: questions, prompt, sampling and seed must be those that they were drawn with. The run copies what it
    uses into its own bank. What the archive lacks is an error, for no sample may stand in for another.
    """

    reads_media: ClassVar[bool] = False
    kind: Literal["bank"] = "bank"
    path: Path
    """Folder of the bank."""
    samples_of: Mapping[str, object] = Field(default_factory=dict)
    """In a bank with samples of several models: what the identity of the chosen one says, such as `dtype: float32`."""
    priced_as: str | None = None
    """Model whose config tells the FLOPs: a folder, a name on the hub, or `pocket`; none: they are unknown."""

    def identity(self) -> Mapping[str, object]:
        """That of the model whose samples they are. Raises UserError where it is not one, with those there are."""
        there = self._identities()
        chosen = [one for one in there if self.samples_of.items() <= one.items()]
        if len(chosen) == 1:
            return chosen[0]
        if not there:
            raise UserError(f"backend.path {self.path}: the bank describes no request; name the bank of a run")
        known = [{name: one.get(name) for name in _telling(there)} for one in there]
        raise UserError(
            f"backend.path {self.path}: it has samples of {len(there)} models, of {len(chosen)} of which "
            f"samples_of={json.dumps(dict(self.samples_of))} is true; tell one apart by " + " or ".join(map(json.dumps, known))
        )

    def shape(self) -> "ModelShape | None":
        """That of `priced_as`."""
        if self.priced_as is None:
            return None
        from ttc.backends.transformers import Transformers

        return Transformers(model=self.priced_as).shape()

    def open(self) -> "ArchiveEngine":
        """Raises UserError where there is no such bank."""
        return ArchiveEngine(self.path, self._bank())

    def check(self, draw: str, wanted: Mapping[str, int], own: "Bank") -> None:
        """See that the archive holds what a draw wants and the run's own bank lacks.

        Args:
            draw: its name, for the message.
            wanted: description of a request (`ttc.keys.description`) -> samples wanted.

        Raises:
            UserError: how many samples are missing, what is there instead, and the way out.
        """
        bank = self._bank()
        missing, held = 0, {}
        for described, n in wanted.items():
            here, there = ({i for gap in one.missing(keys.key_of(described), n) for i in gap} for one in (own, bank))
            if here & there:
                missing += len(here & there)
                held[described] = n - len(there)
        if not held:
            return
        most, least, highest = max(wanted.values()), min(held.values()), max(held.values())
        span = f"{least}" if least == highest else f"{least} to {highest}"
        raise UserError(
            f"backend.path {self.path}: {missing:,} of the {sum(wanted.values()):,} samples of draw {draw} are missing: it has "
            f"{span} of {most} for {len(held):,} of the {len(wanted):,} questions; "
            + (f"lower n to {least}" if least else self._elsewhere(bank, min(held, key=held.__getitem__)))
            + ", or draw the rest with the engine that they are from"
        )

    def _elsewhere(self, bank: "Bank", described: str) -> str:
        """What the bank holds on the question of a request that it does not have."""
        asked = json.loads(described)
        query = "SELECT description FROM requests WHERE json_extract(description, '$.question') = ?::JSON"
        question = json.dumps(asked["question"], sort_keys=True, separators=(",", ":"))
        with bank.sql() as connection:
            found = [json.loads(text) for (text,) in connection.execute(query, [question]).fetchall()]
        alike = [one for one in found if one["backend"] == asked["backend"] and one["prefix"] == asked["prefix"]]
        if not alike:
            return f"it knows nothing of {asked['question']['text'][:60]!r}, so name the bank of a run over these questions"
        return "take over its settings: " + min((_differences(asked, one) for one in alike), key=len)

    def _identities(self) -> list[dict[str, Any]]:
        query = "SELECT DISTINCT json_extract(description, '$.backend')::VARCHAR FROM requests ORDER BY 1"
        with self._bank().sql() as connection:
            return [json.loads(text) for (text,) in connection.execute(query).fetchall()]

    def _bank(self) -> "Bank":
        if not self.path.is_dir():
            raise UserError(f"backend.path {self.path} is not a folder; name the bank of a run, such as runs/bank")
        from ttc.bank import Bank  # needs pyarrow, which a machine that only measures may lack

        return Bank(self.path)


class ArchiveEngine:
    """See `ttc.protocols.Engine`. Samples keep the name of the engine that drew them."""

    def __init__(self, path: Path, bank: "Bank") -> None:
        self.name = f"bank {path.name}"
        self._path, self._bank = path, bank

    def close(self) -> None:
        """Nothing to free."""

    def serve(self, inbox: Inbox) -> Iterator[Sample]:
        """See `ttc.protocols.Engine`. Raises UserError for a sample that is not there."""
        while (first := inbox.take(wait=True)) is not None:
            waiting = [first]
            while (request := inbox.take(wait=False)) is not None:
                waiting.append(request)
            found = self._bank.samples({request.key for request in waiting})
            for request in waiting:
                yield from self._handed_out(request, found.get(request.key, {}))

    def _handed_out(self, request: Request, stored: Mapping[int, Sample]) -> Iterator[Sample]:
        for index in range(request.first, request.first + request.n):
            if index not in stored:
                raise UserError(
                    f"backend.path {self._path}: question {request.question_id} has {len(stored)} samples under this prompt, "
                    f"sampling and seed, and the run wants {request.first + request.n}; lower n, take over the settings that "
                    "they were drawn with, or use the engine that they are from"
                )
            # Two questions that are the same to the model share samples.
            yield replace(stored[index], question_id=request.question_id)


def _telling(identities: list[dict[str, Any]]) -> list[str]:
    """The entries in which they differ."""
    names = dict.fromkeys(name for one in identities for name in one)
    return [name for name in names if len({json.dumps(one.get(name), sort_keys=True) for one in identities}) > 1]


def _differences(asked: Mapping[str, Any], there: Mapping[str, Any]) -> str:
    """How a request in the bank differs from the one that is asked."""
    found = [
        f"sampling.{name}={there['sampling'].get(name)!r} (here {value!r})"
        for name, value in asked["sampling"].items()
        if there["sampling"].get(name) != value
    ]
    if there["run_seed"] != asked["run_seed"]:
        found.append(f"seed={there['run_seed']!r} (here {asked['run_seed']!r})")
    if there["prompt"] != asked["prompt"]:
        found.append("another prompt (see prompt, and the strategy's style)")
    return ", ".join(found)
