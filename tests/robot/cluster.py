"""A cluster that follows the base branch: its API server, with what it keeps in mind of CRDs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from robot.installations import Installation
from robot.releases import Flux, crds
from small_api_server import RefusedError, SmallApiServer


@dataclass
class FollowingCluster:
    installation: Installation
    has_images: bool  # Whether the image controllers are installed
    source: Path  # Directory with the releases
    server: SmallApiServer = field(default_factory=SmallApiServer)
    releases: list[str] = field(default_factory=list)  # Releases that ran, in order
    log: list[str] = field(default_factory=list)  # Printed texts and deeds, for the reader of a failed test

    @property
    def told(self) -> str:
        return "\n".join(self.log)

    def flux(self, release: str) -> Flux:
        return Flux(release, self.has_images or self.installation.has_all, self.source)

    def reconcile(self, files: Mapping[str, str]) -> None:
        """Apply files, as Flux does. Raises AssertionError if the API server refuses any of them."""
        release = self.installation.release(files[self.installation.place])
        try:
            self.server.apply(crds(self.flux(release)))
        except RefusedError as refused:
            raise AssertionError(f"{self.told}\n{release} is refused: {refused}") from refused
        if self.installation.is_operated:
            self.server.migrate()
        faults = [fault for each in _resources(files) for fault in self.server.faults(each)]
        assert not faults, "\n".join([self.told, *faults])
        if self.releases[-1:] != [release]:
            self.releases.append(release)

    def run_flux(self, words: list[str]) -> str:
        """Run the Flux CLI."""
        self.log.append(f"$ flux {' '.join(words)}")
        if words == ["migrate"]:
            self.server.migrate()
        else:
            assert words == ["version"], words
        return ""


def _resources(files: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """Yield the resources of Flux's groups, without those of Flux's manifest."""
    for path, content in files.items():
        if path.endswith(".yaml") and "# Flux Version: " not in content[:1000]:
            for resource in yaml.load_all(content, yaml.CSafeLoader):
                if resource and str(resource.get("apiVersion", "")).partition("/")[0].endswith(".toolkit.fluxcd.io"):
                    yield resource
