"""Files that stay as they were written: what was chosen on some questions, with a hash of all that it says."""

import hashlib
import json
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ValidationError

from ttc.errors import UserError


class Sealed(BaseModel, frozen=True, extra="forbid"):
    """The content of such a file; one that was edited no longer has its own seal."""

    seal: str = ""
    """Hash of all the rest."""

    def content(self) -> dict[str, Any]:
        """All but the seal, as JSON values in an order that does not depend on the process."""
        return self.model_dump(mode="json", exclude={"seal"})

    def content_hash(self) -> str:
        """What the seal must be; 64 hex digits."""
        return hashlib.sha256(json.dumps(self.content(), sort_keys=True).encode()).hexdigest()

    def sealed(self) -> Self:
        """With its seal."""
        return self.model_copy(update={"seal": self.content_hash()})

    @property
    def is_intact(self) -> bool:
        """Whether it is as it was when it was sealed."""
        return self.seal == self.content_hash()

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**self.content(), "seal": self.seal}, indent=1) + "\n", encoding="utf-8")


File = TypeVar("File", bound=Sealed)


def read_sealed(path: Path, form: type[File], *, what: str, writer: str, made: str) -> File:
    """Such a file, as it was written.

    Args:
        what: name of such a file in messages.
        writer: the command that writes it.
        made: how it came about: `they were made`.

    Raises:
        UserError: there is none, it is something else, or it was edited.
    """
    try:
        found = form.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"{what} {path}: {error.strerror}; `{writer}` writes such a file") from error
    except ValidationError as error:
        first = error.errors()[0]
        wrong = ": ".join([*map(str, first["loc"]), first["msg"]])
        raise UserError(f"{what} {path}: not what `{writer}` writes ({wrong}); name a file that it wrote") from error
    if not found.is_intact:
        raise UserError(f"{what} {path}: changed since {made}; run `{writer}` again")
    return found
