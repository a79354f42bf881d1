"""A cluster that follows the base branch, and its API server: a double, or a real one in tests/real_flux."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import yaml

from robot.installations import Installation
from robot.program import run_ours
from robot.releases import Flux, crds
from small_api_server import RefusedError, SmallApiServer


class Server(Protocol):
    """The API server of a cluster."""

    def install(self, flux: Flux) -> None:
        """Apply the CRDs of a release. Raises RefusedError."""

    def migrate(self, cli: str = "") -> None:
        """Run `flux migrate`. ``cli``: the minor of the Flux CLI; empty: no text names one."""

    def faults(self, resource: Mapping[str, Any]) -> Iterable[str]:
        """Apply a resource, and return the reasons why it is refused."""


@dataclass
class SmallServer:
    small: SmallApiServer = field(default_factory=SmallApiServer)

    def install(self, flux: Flux) -> None:
        self.small.apply(crds(flux))

    def migrate(self, cli: str = "") -> None:
        del cli  # One is as good as another
        self.small.migrate()

    def faults(self, resource: Mapping[str, Any]) -> Iterable[str]:
        return self.small.faults(resource)


@dataclass
class FollowingCluster:
    installation: Installation
    has_images: bool  # Whether the image controllers are installed
    source: Path  # Directory with the releases
    server: Server = field(default_factory=SmallServer)
    releases: list[str] = field(default_factory=list)  # Releases that ran, in order
    _rejected: list[Mapping[str, Any]] = field(default_factory=list)  # Resources that Flux tries to apply again
    _planned: str = ""  # Release in the files of the base
    log: list[str] = field(default_factory=list)  # Printed texts and deeds, for the reader of a failed test

    @property
    def told(self) -> str:
        return "\n".join(self.log)

    def flux(self, release: str) -> Flux:
        return Flux(release, self.has_images or self.installation.has_all, self.source)

    def reconcile(self, files: Mapping[str, str]) -> None:
        """Apply files, as Flux does. Raises AssertionError if the API server refuses a CRD."""
        self._planned = self.installation.release(files)
        if not self.releases or not self.installation.is_for_terraform:
            self._install(self._planned)
        self._rejected = list(_resources(files))
        self._apply()

    def run_terraform(self) -> None:
        """Apply what is merged, as Terraform does."""
        assert self.installation.is_for_terraform, f"{self.told}\nTerraform has nothing to apply"
        self.log.append("$ terraform apply")
        self._install(self._planned)
        self._apply()

    def _install(self, release: str) -> None:
        try:
            self.server.install(self.flux(release))
        except RefusedError as refused:
            raise AssertionError(f"{self.told}\n{release} is refused: {refused}") from refused
        if self.installation.is_operated:
            self.server.migrate()
        if self.releases[-1:] != [release]:
            self.releases.append(release)

    def wait(self) -> None:
        """Wait until Flux has reconciled. Raises AssertionError if the API server still rejects a resource."""
        faults = self._apply()
        assert not faults, "\n".join([self.told, *faults])

    def _apply(self) -> list[str]:
        """Apply the resources that were rejected so far, and return the reasons why some of them still are."""
        faults = [(resource, [*self.server.faults(resource)]) for resource in self._rejected]
        self._rejected = [resource for resource, reasons in faults if reasons]
        return [reason for _, reasons in faults for reason in reasons]

    def run_ours(self, words: list[str], directory: Path) -> str:
        """Return what the program prints in a directory."""
        self.wait()
        return run_ours(words, directory, self.source, self.log)

    def run_flux(self, words: list[str], cli: str = "") -> str:
        """Run the Flux CLI. ``cli``: its minor, if a text names one."""
        self.log.append(f"$ flux {' '.join(words)}")
        if words == ["migrate"]:
            self.server.migrate(cli)
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
