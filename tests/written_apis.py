"""The APIs that releases of Flux serve, as far as ``tests/migration/apis.yaml`` has them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from flux_upgrade.manifests.crds import ReleaseApis, crds_of
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.versions import Version

FOLDER = Path(__file__).resolve().parent / "migration"
_DURATION = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
_SIMPLE: dict[str, dict[str, Any]] = {
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "boolean": {"type": "boolean"},
    "duration": {"type": "string", "pattern": _DURATION},
    "httpOrOci": {"type": "string", "pattern": r"^(http|https|oci)://.*$"},
    "integer": {"type": "integer"},
    "string": {"type": "string"},
}


@cache
def served(tag: str) -> ReleaseApis:
    """The APIs of a release, whose CRDs have the fields of ``apis.yaml`` and no others."""
    texts = [
        json.dumps(_crd(group, kind, versions, tag), sort_keys=True)
        for group, kinds in _written().items()
        for kind, versions in kinds.items()
        if any(_is_served(each, tag) for each in versions.values())
    ]
    return ReleaseApis(tag, crds_of(parse("\n---\n".join(texts).encode()).documents))


def schema(group: str, kind: str, version: str) -> dict[str, Any] | None:
    """The schema of a version, also of one that no release serves any more."""
    found = _written().get(group, {}).get(kind, {}).get(version)
    return None if found is None else _schema(found["fields"])


@cache
def _written() -> dict[str, Any]:
    text = (FOLDER / "apis.yaml").read_text()
    found: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 safe
    return found


def _is_served(version: dict[str, Any], tag: str) -> bool:
    until = version.get("until")
    return Version(version["since"]) <= Version(tag) and (until is None or Version(tag) < Version(until))


def _crd(group: str, kind: str, versions: dict[str, Any], tag: str) -> dict[str, Any]:
    names = [name for name, each in versions.items() if _is_served(each, tag)]
    newest = max(names, key=lambda name: Version(versions[name]["since"]))
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": name == newest,
                    "schema": {"openAPIV3Schema": _schema(versions[name]["fields"])},
                }
                for name in names
            ],
        },
    }


def _schema(written: Any) -> dict[str, Any]:
    if isinstance(written, list):
        return {"type": "array", "items": _schema(written[0])}
    if isinstance(written, str):
        return _scalar(written)
    if "most" in written:
        return {"type": "array", "items": _schema(written["items"]), "maxItems": written["most"]}
    if "*" in written:
        return {"type": "object", "additionalProperties": _schema(written["*"])}
    fields = {key.removesuffix("!"): _schema(value) for key, value in written.items()}
    required = [key.removesuffix("!") for key in written if key.endswith("!")]
    return {"type": "object", "properties": fields} | ({"required": required} if required else {})


def _scalar(written: str) -> dict[str, Any]:
    name, _, most = written.partition("<=")
    if most:
        return _SIMPLE[name] | {"maxLength": int(most)}
    return _SIMPLE.get(written) or {"type": "string", "enum": re.split(r"\|", written)}
