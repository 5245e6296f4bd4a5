"""A file of words in YAML, in the form of a pydantic model: prompts, turns and instructions are read alike."""

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from ttc.errors import UserError

Words = TypeVar("Words", bound=BaseModel)


def read_words(path: Path, form: type[Words], *, what: str, example: str) -> Words:
    """A file as its model.

    Args:
        what: name of such a file in messages.
        example: a file that shows the form.

    Raises:
        UserError: it is missing, is not YAML, or has other keys than `form`.
    """
    try:
        return form.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UserError(f"{what} {path}: {error.strerror}; name a file in the form of {example}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{what} {path}: not YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise UserError(f"{what} {path}: {place}: {first['msg']}; see {example} for the form") from error
