"""Ports without content or network: for commands that only read files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

from flux_upgrade.model.errors import FluxUpgradeError, ReleaseNotFound
from flux_upgrade.model.versions import Release


class NoReleases:
    """The port Releases, without any."""

    def list(self) -> tuple[Release, ...]:
        return ()

    def manifests(self, tag: str) -> NoReturn:
        raise ReleaseNotFound(f"{tag} is not looked up", hint="run `flux-upgrade inspect`")

    def published(self, tag: str) -> None:
        """None: nothing is looked up."""

    def generator_hashes(self, tag: str, paths: tuple[str, ...]) -> None:
        """None: nothing is looked up."""

    def commit(self, tag: str) -> str:
        del tag
        return ""


class NoArtifacts:
    """The port Artifacts, without any."""

    def digest(self, repository: str, reference: str) -> None:
        """None: nothing is looked up."""

    def digests(
        self, references: Iterable[tuple[str, str]]
    ) -> Mapping[tuple[str, str], str | FluxUpgradeError | None]:
        return dict.fromkeys(references)

    def annotations(self, repository: str, reference: str) -> None:
        """None: nothing is looked up."""

    def tags(self, repository: str) -> tuple[str, ...]:
        del repository
        return ()

    def listing(self, repository: str, reference: str) -> None:
        """None: nothing is looked up."""


class NoCharts:
    """The port Charts, without any."""

    def versions(self, repository: str, chart: str) -> Mapping[str, str]:
        del repository, chart
        return {}
