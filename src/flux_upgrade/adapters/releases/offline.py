"""Ports without content or network: for commands that only read files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

from flux_upgrade.model.errors import FluxUpgradeError, ReleaseNotFound
from flux_upgrade.model.versions import Release


class NoReleases:
    """The port Releases, without any."""

    def list(self) -> tuple[Release, ...]:
        """See the port."""
        return ()

    def manifests(self, tag: str) -> NoReturn:
        """See the port."""
        raise ReleaseNotFound(f"{tag} is not looked up", hint="run `flux-upgrade inspect`")

    def published(self, tag: str) -> None:
        """See the port."""

    def generator_hashes(self, tag: str, paths: tuple[str, ...]) -> None:
        """See the port."""

    def commit(self, tag: str) -> str:
        """See the port."""
        del tag
        return ""


class NoArtifacts:
    """The port Artifacts, without any."""

    def digest(self, repository: str, reference: str) -> None:
        """See the port."""

    def digests(
        self, references: Iterable[tuple[str, str]]
    ) -> Mapping[tuple[str, str], str | FluxUpgradeError | None]:
        """See the port."""
        return dict.fromkeys(references)

    def annotations(self, repository: str, reference: str) -> None:
        """See the port."""

    def tags(self, repository: str) -> tuple[str, ...]:
        """See the port."""
        del repository
        return ()

    def listing(self, repository: str, reference: str) -> None:
        """See the port."""


class NoCharts:
    """The port Charts, without any."""

    def versions(self, repository: str, chart: str) -> Mapping[str, str]:
        """See the port."""
        del repository, chart
        return {}
