"""Files of settings: YAML in, a checked model or one line of complaint out."""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

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
    """The most telling error of a validation in one line: where, what, the value, the way out."""
    found = error.errors()
    places = [one["loc"] for one in found]
    # Pydantic calls a list too short that it could not read an item of.
    found = [one for one in found if not any(place[: len(one["loc"])] == one["loc"] != place for place in places)]
    meant = {one["loc"]: _meant(str(one["loc"][-1]), form) for one in found if one["type"] == "extra_forbidden"}
    first = min(found, key=lambda one: not meant.get(one["loc"]))  # a misspelt key explains others
    found = [one for one in found if one["type"] != "missing" or one["loc"][-1] != meant.get(first["loc"])]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    names = first["loc"] if isinstance(form, type) else first["loc"][1:]  # a union puts the kind in front
    place = ".".join(map(str, names))
    if first["type"] == "extra_forbidden":
        close = meant[first["loc"]]
        return f"unknown key {place!r}; " + (f"did you mean {close!r}?" if close else "see `ttc list` for the settings") + more
    return f"{place}: {_said(first)}{more}" if place else _said(first) + more


def _said(error: ErrorDetails) -> str:
    """What is wrong, in our words where the library's name its own types."""
    value, context = error.get("input"), error.get("ctx", {})
    plain = isinstance(value, str | int | float | bool) or value is None
    shown = f", got {value!r}" if plain else ""
    match error["type"]:
        case "too_short":
            return f"give at least {'one' if context['min_length'] == 1 else context['min_length']}"
        case "tuple_type" | "list_type":
            return f"expected a list{f', such as [{value}]' if isinstance(value, str) else ''}{shown}"
        case "model_type" | "model_attributes_type" | "dict_type" | "mapping_type":
            told_apart = error["type"] == "model_attributes_type" and isinstance(value, str)
            return f"expected a mapping{f' such as {{kind: {value}}}' if told_apart else ''}{shown}"
        case "union_tag_not_found":
            return f"{context['discriminator'].strip(chr(39))} is missing; see `ttc list` for those there are"
        case "union_tag_invalid":
            known = [tag.strip("'") for tag in context["expected_tags"].split(", ")]
            close = difflib.get_close_matches(context["tag"], known, n=1)
            way_out = f"did you mean {close[0]!r}?" if close else f"use {', '.join(known)}"
            return f"unknown {context['discriminator'].strip(chr(39))} {context['tag']!r}; {way_out}"
    message = re.sub(r"^Value error, ", "", error["msg"])
    repeated = error["type"] == "value_error" and repr(value) in message
    return message[0].lower() + message[1:] + ("" if repeated else shown)


def _meant(key: str, form: Any) -> str:
    """The known key that is most like this one; empty where none is.

    Known keys are taken from every model within, since the error does not say which one refused.
    """
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
    return (known[key] if close[0] == key else close[0]) if close else ""
