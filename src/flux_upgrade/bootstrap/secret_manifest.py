"""Kubernetes Secrets as text, and read again."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from flux_upgrade.errors import UsageError
from flux_upgrade.hosting import Secret

if TYPE_CHECKING:
    from typing import Any

_OPAQUE = "Opaque"
_KEYS = {"apiVersion", "kind", "metadata", "type", "stringData"}
_NOT_ASCII = re.compile(r"[^\x20-\x7e]")


def manifest(secrets: tuple[Secret, ...]) -> str:
    """Documents for ``kubectl apply``. Every value is a string in double quotes, whatever is in it."""
    return "".join(map(_document, secrets))


def parse(text: str) -> tuple[Secret, ...]:
    """What ``manifest`` wrote. Raises UsageError for anything else, encrypted ones included."""
    import yaml

    try:
        documents = list(yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        return tuple(map(_read, documents))
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(
            "the file is not a manifest of Secrets with stringData as flux-upgrade writes it",
            hint="name another file, or move this one away",
        ) from None  # its words may quote what is secret


def _document(secret: Secret) -> str:
    lines = [
        "---",
        "apiVersion: v1",
        "kind: Secret",
        "metadata:",
        f"  name: {_quoted(secret.name)}",
        f"  namespace: {_quoted(secret.namespace)}",
        f"type: {secret.type}",
        "stringData:",
        *(f"  {_quoted(name)}: {_quoted(value)}" for name, value in secret.string_data.items()),
    ]
    return "\n".join(lines) + "\n"


def _read(document: Any) -> Secret:
    data, metadata = document["stringData"], document["metadata"]
    if (document["apiVersion"], document["kind"]) != ("v1", "Secret") or not data:
        raise ValueError("another kind")
    if not set(document) <= _KEYS or set(metadata) != {"name", "namespace"}:
        raise ValueError("somebody else's, or encrypted")
    every = (*data, *data.values(), metadata["name"], metadata["namespace"])
    if not all(isinstance(text, str) for text in every):
        raise ValueError("no strings")
    return Secret(metadata["name"], metadata["namespace"], data, document.get("type", _OPAQUE))


def _quoted(text: str) -> str:
    # YAML has JSON's escapes but for pairs of surrogates, and not every character may stand there itself.
    return _NOT_ASCII.sub(lambda c: f"\\U{ord(c[0]):08x}", json.dumps(text, ensure_ascii=False))
