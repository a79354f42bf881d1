"""Validation of a resource by the structural schema of its CRD, as the API server validates it.

What Flux's CRDs state, and nothing else: fields, types, required fields, enumerations,
patterns, bounds. Rules in CEL are left to the API server, formats of text as well.
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from flux_upgrade.model.patterns import BadPattern, search
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.yaml_places import is_variable

Path = tuple[str | int, ...]
Schema = Mapping[str, Any]

_OBJECT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
"""Fields of every object: the API server knows them without a schema, and validates them by itself."""
_DIRECTIVE = "$"  # how the keys of a strategic merge patch begin that are for whoever applies it: `$patch`


class What(StrEnum):
    UNKNOWN = "unknown"  # There is no such field: server-side apply refuses it, anything else drops it in silence
    MISSING = "missing"
    TYPE = "type"
    VALUE = "value"


class Fault(NamedTuple):
    """One thing that the API server would not take as it is."""

    path: Path  # of the field; of one that is missing, too
    what: What
    detail: str  # what follows the name of the field in a sentence: `must be one of none, client`

    @property
    def identity(self) -> tuple[Path, What]:
        """By which the same fault is found in another version's schema."""
        return self.path, self.what


def faults(data: Any, schema: Schema) -> tuple[Fault, ...]:
    """Those of a whole resource, in the order of its fields. Variables stand for any value."""
    return tuple(_faults((), data, schema, is_object=True))


def unknown(data: Any, schema: Schema) -> tuple[Fault, ...]:
    """Fields of a patch that are not in the schema: of a part of an object, no more can be validated.

    A null takes a field away, if it is there, so that it may be of any name.
    """
    return tuple(
        each for each in _faults((), _without_directives(data), schema, is_object=True) if each.what is What.UNKNOWN
    )


def undeclared_default(data: Any, old: Schema, new: Schema, path: Path = ()) -> Path | None:
    """The first field that ``new`` gives a default to, and that ``old`` does not have; None: there is none.

    ``data``: a resource; what it states itself gets no default. The API server adds defaults to what it reads
    (Kubernetes, "Defaulting" of the page above).
    """
    if isinstance(data, list):
        found = (undeclared_default(each, old.get("items", {}), new.get("items", {}), path) for each in data)
        return next((each for each in found if each is not None), None)
    if not isinstance(data, dict) or "properties" not in old:
        return None
    for name, schema in new.get("properties", {}).items():
        if not path and name in _OBJECT_FIELDS:
            continue
        known = old["properties"].get(name)
        if name not in data and "default" in schema and known is None:
            return (*path, name)
        if name in data and known is not None:
            below = undeclared_default(data[name], known, schema, (*path, name))
            if below is not None:
                return below
    return None


def dotted(path: Path) -> str:
    """``spec.postRenderers[0].kustomize``, as Flux's documentation spells a path."""
    parts = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
    return "".join(parts).removeprefix(".")


def _faults(path: Path, value: Any, schema: Schema, *, is_object: bool = False) -> Iterator[Fault]:
    if value is None and schema.get("nullable"):
        return
    if isinstance(value, str) and is_variable(value):
        return
    problem = _type_problem(value, schema)
    if problem:
        yield Fault(path, What.TYPE, problem)
        return
    yield from (Fault(path, What.VALUE, each) for each in _value_problems(value, schema))
    if isinstance(value, dict):
        is_object = is_object or bool(schema.get("x-kubernetes-embedded-resource"))
        yield from _of_fields(path, value, schema, is_object=is_object)
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from _faults((*path, index), item, schema["items"])


def _of_fields(path: Path, value: dict[str, Any], schema: Schema, *, is_object: bool) -> Iterator[Fault]:
    fields: Mapping[str, Schema] = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    is_open = others is True or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    for key, item in value.items():
        of_item = fields.get(key, others if isinstance(others, dict) else None)
        if is_object and key in _OBJECT_FIELDS:
            continue
        if of_item is not None:
            # A null is dropped before anything else is looked at, unless the field may be null.
            if item is not None:
                yield from _faults((*path, key), item, of_item)
        elif not is_open:
            yield Fault((*path, key), What.UNKNOWN, "is not a field of it")
    for key in schema.get("required") or ():
        if value.get(key) is None and "default" not in fields.get(key, {}):
            yield Fault((*path, key), What.MISSING, "is required")


def _type_problem(value: Any, schema: Schema) -> str:
    """Why the value is of another type than the schema's; empty where it is not."""
    wanted = "integer or string" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "")
    fits = {
        "": True,
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "integer": _is_integer(value),
        "number": _is_number(value),
        "integer or string": _is_integer(value) or isinstance(value, str),
    }
    return "" if fits.get(wanted, True) else f"must be of type {wanted}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return _is_number(value) and value == int(value)


def _value_problems(value: Any, schema: Schema) -> Iterator[str]:
    if "enum" in schema and not any(type(value) is type(each) and value == each for each in schema["enum"]):
        yield f"must be one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, str):
        yield from _bounds(len(value), schema, "minLength", "maxLength", " characters")
        if not _is_match(schema.get("pattern") or "", value):
            yield f"must match {schema['pattern']}"
    elif _is_number(value):
        yield from _bounds(value, schema, "minimum", "maximum", "")
    elif isinstance(value, list):
        yield from _bounds(len(value), schema, "minItems", "maxItems", " items")
    elif isinstance(value, dict):
        yield from _bounds(len(value), schema, "minProperties", "maxProperties", " fields")


def _bounds(value: float, schema: Schema, least: str, most: str, unit: str) -> Iterator[str]:
    if least in schema and value < schema[least]:
        yield f"must be at least {schema[least]}{unit}"
    if most in schema and value > schema[most]:
        yield f"must be at most {schema[most]}{unit}"


def _is_match(pattern: str, text: str) -> bool:
    """True for what is no pattern, too: then the API server has the word."""
    try:
        return search(pattern, text) is not None
    except BadPattern:
        return True


def _without_directives(data: Any) -> Any:
    if isinstance(data, dict):
        kept = {key: each for key, each in data.items() if each is not None and not key.startswith(_DIRECTIVE)}
        return {key: _without_directives(each) for key, each in kept.items()}
    return [_without_directives(each) for each in data] if isinstance(data, list) else data
