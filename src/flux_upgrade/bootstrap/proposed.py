"""What a bootstrap proposes: for each cluster its files, and what became of its access. Values only."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from flux_upgrade.bootstrap.access import Access
from flux_upgrade.bootstrap.addresses import url_of
from flux_upgrade.bootstrap.files import FileChange, FilesPlan
from flux_upgrade.bootstrap.options import COMPONENTS_FILE, BootstrapOptions
from flux_upgrade.bootstrap.request import BootstrapCluster
from flux_upgrade.clusters.groups import branch_name, slug_of
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version

SUBJECT = "bootstrap"
"""The last part of the branch, and the subject in markers: none of ``BumpKind``, so that runs
that upgrade leave it alone."""
_SEVERAL = "clusters"
_OF_THE_SOURCE = ("url", "branch", "secret-name", "token-auth", "provider")  # Flags that the Secret has to fit


class PlaceKind(StrEnum):
    """Where the Secret is that lets the cluster get at its source."""

    NOWHERE = "nowhere"
    ACTIONS = "actions-secret"
    FILE = "file"  # Its manifest is in a file on the machine of whoever ran the bootstrap
    CLUSTER = "cluster"


class Handover(NamedTuple):
    """What became of a cluster's access. Public parts only."""

    place: PlaceKind = PlaceKind.NOWHERE
    actions_secret: str = ""
    actions_environment: str = ""
    public_key: str = ""
    is_registered: bool = False
    is_fresh: bool = False  # The Secret was put there now, and has to go on to the cluster
    lacks_source: bool = False  # What is at the place is not what lets the cluster get at its source
    access: Access = Access()  # All that is known of it, less where a file is: that is for the log of its machine alone


class ProposedCluster(NamedTuple):
    """One cluster of a bootstrap. ``cluster_of`` makes it."""

    name: str  # In the config file, or its folder; for people. Empty: the root of the repository.
    options: BootstrapOptions
    files: FilesPlan
    handover: Handover = Handover()
    commands: tuple[str, ...] = ()
    """Of an artifact: what brings it into the cluster by hand, from the folder with its files. Empty: the
    files are in the repository."""
    configured: tuple[str, ...] | None = None
    """Where a config file says what it is: the words of a command that say the rest."""

    @property
    def changes(self) -> tuple[FileChange, ...]:
        return self.files.changes

    @property
    def is_new(self) -> bool:
        """Whether Flux is not in its folder yet, or nobody can tell."""
        path = f"{self.options.folder}/{COMPONENTS_FILE}"
        return bool(self.commands) or any(each.path == path and not each.before for each in self.changes)

    @property
    def moves_source(self) -> bool:
        return any(each.flag in _OF_THE_SOURCE for each in self.files.shown)


def cluster_of(each: BootstrapCluster, name: str, files: FilesPlan, commands: tuple[str, ...] = ()) -> ProposedCluster:
    """With the version that the files come to, and the address that stands in them. Raises UsageError."""
    options = each.options
    install = options.install._replace(version=files.version)
    url = options.url if options.oci is not None else url_of(options)
    settled = options._replace(install=install, url=url)
    return ProposedCluster(name, settled, files, commands=commands, configured=each.configured)


class Bootstrap(NamedTuple):
    slug: str
    branch: str
    clusters: tuple[ProposedCluster, ...]  # At least one
    workflow: FileChange | None = None
    repository: str = ""  # `owner/name`, for commands; empty where the provider has no such name
    is_asked: bool = True  # A person started the run. Otherwise what people answered to an earlier pull request stands.

    @property
    def changes(self) -> tuple[FileChange, ...]:
        every = [change for cluster in self.clusters for change in cluster.changes]
        every += [self.workflow] if self.workflow is not None else []
        by_path = {each.path: each for each in every if each.before != each.after}
        return tuple(by_path[path] for path in sorted(by_path))

    @property
    def changed(self) -> tuple[ProposedCluster, ...]:
        return tuple(cluster for cluster in self.clusters if cluster.changes)

    @property
    def moving(self) -> tuple[ProposedCluster, ...]:
        """Those with changes, and the ones that are brought about by hand from an artifact."""
        return tuple(cluster for cluster in self.clusters if cluster.changes or cluster.commands)

    @property
    def target(self) -> str:
        return max((cluster.options.install.version for cluster in self.clusters), key=Version)


def bootstrap_of(
    clusters: Sequence[ProposedCluster],
    prefix: str,
    *,
    workflow: FileChange | None = None,
    repository: str = "",
    is_asked: bool = True,
) -> Bootstrap:
    """Under the name that its branch has; ``prefix``: what branches of ours begin with, up to a slash."""
    slug = slug_of(f"{clusters[0].options.folder}/{COMPONENTS_FILE}") if len(clusters) == 1 else _SEVERAL
    branch = branch_name(prefix, slug, SUBJECT)
    return Bootstrap(slug, branch, tuple(clusters), workflow, repository, is_asked)


def handover_of(access: Access, *, in_cluster: bool = False, secret: str = "", environment: str = "") -> Handover:
    """The public part of access that was arranged.

    ``secret`` and ``environment``: of GitHub Actions; both empty: a file, if there is any place.
    """
    place = PlaceKind.NOWHERE
    if access.where and (in_cluster or access.at_place):
        place = PlaceKind.CLUSTER if in_cluster else PlaceKind.ACTIONS if secret else PlaceKind.FILE
    is_fresh = bool(access.handed_over) and place is not PlaceKind.CLUSTER
    lacks_source = place in (PlaceKind.ACTIONS, PlaceKind.FILE) and not access.has_source
    known = access._replace(where="")
    # Of several clusters, each has a secret of its own.
    name, within = (access.where, environment) if place is PlaceKind.ACTIONS else ("", "")
    return Handover(place, name, within, access.public, access.is_registered, is_fresh, lacks_source, known)
