"""What an API server keeps in mind of CRDs, and what it says of resources: as much as upgrades depend on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from structural import validator

Crd = Mapping[str, Any]


class RefusedError(AssertionError):
    """The API server's answer to a CRD."""


@dataclass
class SmallApiServer:
    """Of one cluster."""

    crds: Mapping[str, Crd] = field(default_factory=dict)
    """By name."""
    stored: dict[str, set[str]] = field(default_factory=dict)
    """Name of each CRD → its ``status.storedVersions``."""

    def apply(self, manifest: bytes) -> None:
        """What Flux does with its own manifest. A CRD that is left out goes, with its objects.

        Raises RefusedError: each stored version must appear in ``spec.versions``
        (apiextensions-apiserver, ``ValidateCustomResourceDefinitionStoredVersions``).
        """
        new = {each["metadata"]["name"]: each for each in crds_in(manifest)}
        for name, crd in new.items():
            lost = self.stored.get(name, set()) - {each["name"] for each in crd["spec"]["versions"]}
            if lost:
                raise RefusedError(f"{name}: status.storedVersions: {sorted(lost)} must appear in spec.versions")
        self.crds = new
        self.stored = {name: self.stored.get(name, set()) | {_storage(crd)} for name, crd in new.items()}

    def migrate(self) -> None:
        """``flux migrate``: all objects are written once more, and the others forgotten."""
        self.stored = {name: {_storage(crd)} for name, crd in self.crds.items()}

    @property
    def served(self) -> set[tuple[str, str]]:
        """Groups with the versions that it answers for."""
        specs = [each["spec"] for each in self.crds.values()]
        return {(spec["group"], each["name"]) for spec in specs for each in spec["versions"] if each["served"]}

    def faults(self, resource: Mapping[str, Any]) -> Iterator[str]:
        """Why it would not be taken as it is; fields that it would drop are faults, too."""
        group, _, version = resource["apiVersion"].partition("/")
        kind, name = resource["kind"], (resource.get("metadata") or {}).get("name", "")
        who = f"{resource['apiVersion']} {kind}/{name}"
        crds = [
            each
            for each in self.crds.values()
            if (each["spec"]["group"], each["spec"]["names"]["kind"]) == (group, kind)
        ]
        found = [each for crd in crds for each in crd["spec"]["versions"] if each["name"] == version]
        if not [each for each in found if each["served"]]:
            yield f"{who}: no matches for kind"
            return
        for error in validator(found[0]["schema"]["openAPIV3Schema"]).iter_errors(resource):
            yield f"{who} {error.json_path}: {error.message}"


def crds_in(manifest: bytes) -> Iterator[Crd]:
    """The CRDs of a manifest."""
    for each in yaml.load_all(manifest, yaml.CSafeLoader):
        if each is not None and each["kind"] == "CustomResourceDefinition":
            yield each


def _storage(crd: Crd) -> str:
    (stored,) = [each["name"] for each in crd["spec"]["versions"] if each["storage"]]
    return str(stored)
