"""What the API server refuses, whoever uses it."""

from __future__ import annotations

from flux_upgrade.values import NamedTuple


class Ran(NamedTuple):
    """A release that an installation was at, as the history of its file tells."""

    tag: str
    """Empty where the content does not tell; its CRDs do."""
    since: str
    """RFC 3339, UTC: when it was committed; empty where that is unknown."""
    storage: tuple[tuple[str, str], ...]
    """Name of each CRD of the installation, and the version that it stored; sorted."""


class Refused(NamedTuple):
    """A CRD of the target that lacks a version in which the cluster may hold objects.

    The API server answers ``status.storedVersions[0]: Invalid value: … must appear in spec.versions``
    (fluxcd/flux2 issues 5598, 3362, 2743), whether or not there are any such objects.
    """

    crd: str
    """``imagerepositories.image.toolkit.fluxcd.io``."""
    kind: str
    version: str
    """``v1beta2``."""
    ran: Ran
    """The first release that stored it, of those since which it was not migrated."""


class Stored(NamedTuple):
    """What the history of an installation tells about one jump."""

    refused: tuple[Refused, ...] = ()
    """What would be refused as the cluster may be now."""
    after_migrate: tuple[Refused, ...] = ()
    """What would be refused even if `flux migrate` ran at the current release: another stop is needed."""
    cli: str = ""
    """The minor of the Flux CLI to run `flux migrate` with: that of the current release, 2.7 at least."""
    unknown: str = ""
    """Why older releases may have run that nobody could look at: a shallow checkout; empty: none can."""
    said: tuple[Refused, ...] = ()
    """What would be refused, had people not said that `flux migrate` ran at the current release."""
