"""Parts from packages of others: a config names them by `kind`, as it names ours.

A package declares a frozen pydantic model under one of the entry-point groups `ttc.strategies`, `ttc.verifiers`,
`ttc.benchmarks`, `ttc.backends` and `ttc.judges`, by the name that its `kind` has:

    [project.entry-points."ttc.strategies"]
    first = "my_package:First"

It is loaded only where a config names it. What it must offer stands in `ttc.protocols`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, get_args

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from ttc.errors import UserError

VERBS = {
    "ttc.strategies": ("solve",),
    "ttc.verifiers": ("open", "identity"),
    "ttc.benchmarks": ("load",),
    "ttc.backends": ("open", "identity"),
    "ttc.judges": ("judge_many",),
}
"""What a part of each group can do, at least."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Marks a union of parts that packages of others may join; stands last in its `Annotated`."""

    group: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The union's own schema, beside which a kind that only a package knows is looked up."""
        union = handler(source)
        own = {kind(model) for model in get_args(get_args(source)[0] if hasattr(source, "__metadata__") else source)}

        def validate(value: Any, ours: core_schema.ValidatorFunctionWrapHandler) -> Any:
            name = value.get("kind") if isinstance(value, Mapping) else kind(type(value))
            if not isinstance(name, str) or name in own or (entry := find(self.group, name)) is None:
                return ours(value)
            return load(entry).model_validate(value)

        def dump(value: Any, ours: core_schema.SerializerFunctionWrapHandler, info: core_schema.SerializationInfo) -> Any:
            if kind(type(value)) in own:
                return ours(value)
            return value.model_dump(mode=info.mode, exclude_defaults=info.exclude_defaults)

        return core_schema.no_info_wrap_validator_function(
            validate, union, serialization=core_schema.wrap_serializer_function_ser_schema(dump, info_arg=True, schema=union)
        )


def kind(model: Any) -> str | None:
    """The name of a part in configs."""
    field = getattr(model, "model_fields", {}).get("kind")
    return None if field is None else field.default


def find(group: str, name: str) -> EntryPoint | None:
    """The part of this name; None where no package has one. Raises UserError where several have."""
    found = list(entry_points(group=group, name=name))
    if len({entry.value for entry in found}) > 1:
        owners = ", ".join(str(entry.dist.name if entry.dist else entry.value) for entry in found)
        raise UserError(f"{group}: {name!r} is declared by several packages ({owners}); uninstall all but one")
    return found[0] if found else None


def load(entry: EntryPoint) -> type[BaseModel]:
    """The model behind an entry point.

    Raises:
        UserError: it cannot be imported, or is no part of this group; names the package.
    """
    owner = entry.dist.name if entry.dist else "a package"
    where = f"{entry.group}: {entry.name!r} of {owner} ({entry.value})"
    try:
        model = entry.load()
    except (ImportError, AttributeError, SyntaxError) as error:
        raise UserError(f"{where} does not load: {type(error).__name__}: {error}; mend or uninstall it") from error
    if not (isinstance(model, type) and issubclass(model, BaseModel) and model.model_config.get("frozen")):
        raise UserError(f"{where} is no frozen pydantic model; see ttc.protocols for what it must be")
    if kind(model) != entry.name:
        raise UserError(f"{where} has kind {kind(model)!r}; give its field `kind` the entry point's name as default")
    if lacking := [verb for verb in VERBS[entry.group] if not hasattr(model, verb)]:
        raise UserError(f"{where} has no {lacking[0]}; see ttc.protocols for what it must offer")
    return model


def parts(group: str) -> list[type[BaseModel]]:
    """All parts of a group, by name, for lists of what there is. Raises as `load`."""
    return [load(entry) for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)]
