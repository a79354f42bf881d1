"""The shapes of ``config.keys`` as JSON Schema, and in the words of the reference."""

from __future__ import annotations

from typing import Any

from flux_upgrade.config import keys
from flux_upgrade.config.also_keys import ALSO
from flux_upgrade.config.install_flags import EXTRA, MEANINGS, default
from flux_upgrade.config.keys import ChoiceShape, Key, ListShape, MappingShape, PlainShape, Shape, TextShape
from flux_upgrade.config.known_keys import FACTS, KNOWN, VALUE, VARIABLE
from flux_upgrade.config.scalars import DATE, KUBERNETES_PATCH
from flux_upgrade.manifests.options import COMPONENTS, LOG_LEVELS, PATTERNS

Schema = dict[str, Any]


def described(key: Key) -> Schema:
    return {"description": key.meaning.replace("`", ""), **schema_of(key.shape)}


def schema_of(shape: Shape) -> Schema:
    """The JSON Schema of the values that ``config.values.read`` takes."""
    match shape:
        case TextShape():
            schema = {"type": "string", "pattern": f"^(?:{shape.pattern})$", "maxLength": shape.longest}
        case ChoiceShape():
            schema = {"enum": [*shape.words, *([False] if "off" in shape.words else [])]}
        case ListShape(are_patterns=True):
            item = schema_of(shape.item)
            first = {**item, "not": {"pattern": "^!"}}
            schema = {"type": "array", "prefixItems": [first], "items": item}
            schema |= {"minItems": shape.least} if shape.least else {}
            schema = {"anyOf": [{"const": shape.word}, schema]} if shape.word else schema
        case ListShape():
            schema = {"type": "array", "items": schema_of(shape.item), "uniqueItems": True}
            schema |= {"minItems": shape.least} if shape.least else {}
            schema = {"anyOf": [schema_of(shape.item), schema]} if shape.takes_one else schema
        case MappingShape():
            required = {"required": list(shape.required)} if shape.required else {}
            properties = {key.name: described(key) for key in shape.keys}
            schema = {"type": "object", "additionalProperties": False, **required, "properties": properties}
        case PlainShape():
            schema = _PLAIN[shape]
        case _:
            schema = shape.schema()
    return schema


def _flag_schema(flag: str) -> Schema:
    example = default(flag)
    if isinstance(example, bool):
        return {"type": "boolean"}
    if isinstance(example, list):
        return _flag_list_schema(flag)
    if flag == "log-level":
        return {"enum": list(LOG_LEVELS)}
    refused = "(?!.*://)" if flag == "registry" else ""
    optional = "" if flag == "cluster-domain" else "?"
    return {"type": "string", "pattern": f"^{refused}(?:{PATTERNS[flag]}){optional}$"}


def _flag_list_schema(flag: str) -> Schema:
    """A list, or its items with commas between them."""
    is_controller, least = flag in ("components", EXTRA), int(flag == "components")
    item = "|".join(COMPONENTS) if is_controller else PATTERNS[flag]
    items = {"enum": list(COMPONENTS)} if is_controller else {"type": "string", "pattern": f"^(?:{item})$"}
    unique = {"uniqueItems": True} if is_controller else {}
    array = {"type": "array", "items": items, **unique, **({"minItems": least} if least else {})}
    text = f"^(?:(?:{item})(?:,(?:{item}))*){'' if least else '?'}$"
    return {"anyOf": [array, {"type": "string", "pattern": text}]}


def type_of(shape: Shape) -> str:
    """What a value is, for the reference; Markdown."""
    match shape:
        case ChoiceShape():
            return ", ".join(f"`{word}`" for word in shape.words)
        case ListShape():
            if shape.word:
                return shape.items
            return f"list of {shape.items}" if shape.items else f"list, each {type_of(shape.item)}"
        case MappingShape():
            return "mapping of " + ", ".join(f"`{key.name}`" for key in shape.keys)
        case PlainShape():
            return shape.value
    return shape.description


_PLAIN: dict[PlainShape, Schema] = {
    PlainShape.BOOLEAN: {"type": "boolean"},
    # An editor that reads YAML 1.2 takes ``off`` for text.
    PlainShape.SWITCH: {"enum": [True, False, "on", "off"]},
    PlainShape.DURATION: {"anyOf": [{"type": "string", "pattern": "^(?:0|[0-9]{1,4}[hdw])$"}, {"const": 0}]},
    PlainShape.COUNT: {"type": "integer", "minimum": 0, "maximum": 9999},
    # A schema reads 1.30 as the number 1.3, and cannot tell the two apart.
    PlainShape.KUBERNETES_VERSION: {
        "anyOf": [
            {"type": "string", "pattern": rf"^v?1\.(?:1[6-9]|[2-9][0-9]){KUBERNETES_PATCH}$"},
            {"type": "number", "minimum": 1.16, "exclusiveMaximum": 2},
        ]
    },
    # docs/config_reference.py puts the schema of the room ``bootstrap`` here.
    PlainShape.BOOTSTRAP: {"type": "object"},
    PlainShape.INSTALL_FLAGS: {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            flag: {"description": meaning.replace("`", ""), **_flag_schema(flag)} for flag, meaning in MEANINGS.items()
        },
    },
}
_PLAIN[PlainShape.HEALTHY] = {"anyOf": [{"const": "soak"}, schema_of(keys.HEALTHY)]}
_PLAIN[PlainShape.DATE] = {"type": "string", "pattern": f"^{DATE}$"}
_PLAIN[PlainShape.VARIABLES] = {
    "type": "object",
    "minProperties": 1,
    "propertyNames": schema_of(VARIABLE),
    "additionalProperties": schema_of(VALUE),
}
_PLAIN[PlainShape.KNOWN] = {
    "type": "array",
    "items": {**schema_of(KNOWN), "anyOf": [{"required": [fact]} for fact in FACTS]},
}
_PLAIN[PlainShape.ALSO] = {"type": "array", "items": schema_of(ALSO)}
_PLAIN[PlainShape.GROUPS] = {
    "type": "object",
    "propertyNames": schema_of(keys.GROUP_NAME),
    "additionalProperties": schema_of(keys.GROUP),
}
