"""Files of settings: YAML in, a checked model or one line of complaint out."""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from ttc.errors import UserError


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML's own rule is that a repeated key silently replaces the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} stands twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises:
        UserError: no such file, no YAML, a key given twice, or not a mapping.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
    except OSError as error:
        raise UserError(
            f"config {path}: {error.strerror or error}; give the path of a YAML file, such as those in configs/"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"config {path}: not UTF-8 text at byte {error.start}") from error
    except yaml.YAMLError as error:
        raise UserError(f"config {path}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise UserError(f"config {path}: expected a mapping of settings, found {type(content).__name__}")
    return content


def checked(form: Any, content: Mapping[str, Any], where: str) -> Any:
    """The settings in their form, a model or a union told apart by `kind`.

    Raises:
        UserError: the first thing that is wrong, with its place, its value and the way out.
    """
    try:
        return TypeAdapter(form).validate_python(content)
    except ValidationError as error:
        raise UserError(f"{where}: {explain(error, form)}") from error


def explain(error: ValidationError, form: Any) -> str:
    """The first error of a validation in one line: where, what, the value."""
    first = error.errors()[0]
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    names = first["loc"] if isinstance(form, type) else first["loc"][1:]  # a union puts the kind in front
    place = ".".join(map(str, names)) or "the whole"
    value = first.get("input")
    if first["type"] == "extra_forbidden":
        return f"unknown key {place!r}{_suggestion(str(first['loc'][-1]), form)}{more}"
    shown = f", got {value!r}" if isinstance(value, str | int | float | bool) or value is None else ""
    message = re.sub(r"^Value error, ", "", first["msg"])
    return f"{place}: {message[0].lower() + message[1:]}{shown}{more}"


def _suggestion(key: str, form: Any) -> str:
    """Known keys are taken from every model within, since the error does not say which one refused."""
    known: dict[str, str] = {}
    """Where each stands first, from the outside in."""
    seen: set[type] = set()
    queue: list[tuple[Any, str]] = [(form, "")]
    for annotation, above in queue:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in seen:
            seen.add(annotation)  # a verifier may hold verifiers
            for name, field in annotation.model_fields.items():
                known.setdefault(name, above + name)
                queue.append((field.annotation, f"{above}{name}."))
        queue += [(argument, above) for argument in getattr(annotation, "__args__", ()) if argument is not annotation]
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    if not close:
        return "; see `ttc list` for the settings"
    return f"; did you mean {known[key] if close[0] == key else close[0]!r}?"
