"""Structural schemas, checked by a validator that others wrote."""

from __future__ import annotations

from typing import Any

from openapi_schema_validator import OAS30Validator

_OBJECT = ("apiVersion", "kind", "metadata")


def is_valid(data: Any, schema: Any) -> bool:
    """Whether a resource without nulls is what the schema wants, and nothing of it would be dropped."""
    return bool(validator(schema).is_valid(data))


def validator(schema: Any) -> OAS30Validator:
    return OAS30Validator(_closed(schema, is_object=True))


def _closed(schema: Any, *, is_object: bool = False) -> dict[str, Any]:
    """No other fields than those that there are; types for what is an integer or a text."""
    left_out = ("default", "format", "required")
    found = {key: value for key, value in schema.items() if not key.startswith("x-") and key not in left_out}
    if schema.get("x-kubernetes-int-or-string"):
        return {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    if "properties" in schema or schema.get("type") == "object" or is_object:
        fields = {key: _closed(value) for key, value in (schema.get("properties") or {}).items()}
        if is_object or schema.get("x-kubernetes-embedded-resource"):
            fields |= {key: {} for key in _OBJECT}
        found["properties"] = fields
        found["required"] = [
            key for key in schema.get("required") or () if "default" not in schema["properties"].get(key, {})
        ] or None
        if found["required"] is None:
            del found["required"]
        others = schema.get("additionalProperties")
        is_open = others is True or schema.get("x-kubernetes-preserve-unknown-fields")
        found["additionalProperties"] = _closed(others) if isinstance(others, dict) else bool(is_open)
    if "items" in schema:
        found["items"] = _closed(schema["items"])
    return found
