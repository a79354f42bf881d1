"""What the core asks of the world. ``edges`` implements it; tests do too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO, Protocol, TypeVar

from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Release, ReleaseManifests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.forge import Done, Question, Repository, Step
    from flux_upgrade.model.hosting import DeployKey, Hosted, NewRepository
    from flux_upgrade.model.kubernetes_objects import Kind, Object, Reference
    from flux_upgrade.model.oci.manifest import Descriptor, StoredManifest

T = TypeVar("T")
R = TypeVar("R")


class Timing(NamedTuple):
    """The clock (epoch seconds), the sleep (seconds) and the dice (in [0, 1)) of a run."""

    now: Callable[[], float]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]


class Releases(Protocol):
    """Where Flux's releases come from."""

    def list(self) -> tuple[Release, ...]:
        """Every release that the source has, drafts excluded, in the source's order.

        Raises SourceUnavailable.
        """
        ...

    def manifests(self, tag: str) -> ReleaseManifests:
        """The manifests of one release, checked against its checksums.

        Raises ReleaseNotFound, SourceUnavailable, UntrustedArchive.
        """
        ...

    def published(self, tag: str) -> str | None:
        """The ``gotk-components.yaml`` that Flux itself published for ``tag``.

        None: not there (yet). Raises SourceUnavailable, UntrustedArchive.
        """
        ...

    def generator_hashes(self, tag: str, paths: tuple[str, ...]) -> Mapping[str, str] | None:
        """sha256 of each of ``paths`` in Flux's own repository at ``tag``.

        None: the source does not hold Flux's code. A path that does not exist
        at the tag is left out. Raises SourceUnavailable.
        """
        ...

    def commit(self, tag: str) -> str:
        """The commit (40 hexadecimal digits) of Flux's own repository that a tag stands for.

        Empty where the source does not tell, whatever the reason: it is good to know, and no more.
        """
        ...


class FluxCli(Protocol):
    """Flux's own command line tool, where there is one."""

    def version(self) -> str:
        """Its version as a tag, ``v2.9.4``; empty where there is no such program."""
        ...

    def install_export(self, flags: Sequence[str]) -> str:
        """What ``flux install --export`` prints. Raises SourceUnavailable when it fails."""
        ...


class Artifacts(Protocol):
    """OCI artifacts in any registry, read only. ``repository``: ``ghcr.io/fluxcd/flux-manifests``."""

    def digest(self, repository: str, reference: str) -> str | None:
        """The digest (``sha256:…``) of the manifest that a tag stands for; None: there is no such tag.

        Raises SourceUnavailable, UntrustedArchive.
        """
        ...

    def digests(
        self, references: Iterable[tuple[str, str]]
    ) -> Mapping[tuple[str, str], str | FluxUpgradeError | None]:
        """What ``digest`` gives for each (repository, reference), or raises; asked for all at once."""
        ...

    def annotations(self, repository: str, reference: str) -> Mapping[str, str] | None:
        """The manifest's annotations, for a tag or a digest; None: there is no such manifest.

        Raises as ``digest``.
        """
        ...

    def tags(self, repository: str) -> tuple[str, ...]:
        """All tags; none where there is no such repository. Raises as ``digest``."""
        ...

    def listing(self, repository: str, reference: str) -> tuple[str, ...] | None:
        """Paths of the files in the artifact's one layer, sorted; None: there is no such manifest.

        Raises as ``digest``.
        """
        ...


class ArtifactRegistry(Protocol):
    """One repository of one registry, read and written. A ``reference`` is a tag or ``sha256:…``.

    All raise RegistryUnavailable, ForbiddenByRegistry; UntrustedArchive for bytes of another digest.
    """

    def manifest(self, reference: str) -> StoredManifest | None:
        """What a tag or a digest stands for; None: there is no such thing."""
        ...

    def digest(self, reference: str) -> str | None:
        """The digest of what a tag stands for now, asked for anew; None: there is no such tag."""
        ...

    def tags(self) -> tuple[str, ...]:
        """All tags, in the registry's order; none where there is no such repository."""
        ...

    def blob(self, descriptor: Descriptor) -> BinaryIO:
        """A blob in a temporary file of its own, at its beginning; size and digest are checked."""
        ...

    def is_signed(self, digest: str, tags: Sequence[str]) -> bool:
        """Whether there is a signature of the manifest ``digest``; ``tags``: all tags of the repository."""
        ...

    def put_blob(self, blob: BinaryIO, descriptor: Descriptor) -> None:
        """Upload a blob from its beginning to its end. Done twice, it is there once."""
        ...

    def put_manifest(self, manifest: StoredManifest, tag: str) -> None:
        """Have ``tag`` stand for a manifest; the digest that the registry answers with is checked."""
        ...


class Charts(Protocol):
    """Helm charts in any repository, read only."""

    def versions(self, repository: str, chart: str) -> Mapping[str, str]:
        """Version of the chart → its ``appVersion`` (empty where it states none).

        ``repository``: ``https://…`` with an ``index.yaml``, or ``oci://…`` below which the chart
        stands. Empty where it has no such chart. Raises SourceUnavailable, UntrustedArchive; a value
        that is asked for only when it is looked at raises the same then.
        """
        ...


class Tree(Protocol):
    """The files of a repository, read only. Paths are relative, with ``/``."""

    def candidates(self) -> Iterator[str]:
        """Paths of the YAML files below the root, sorted; links out of the tree are not followed."""
        ...

    def named(self, suffixes: tuple[str, ...]) -> Iterator[str]:
        """Paths of the files whose name ends with one of ``suffixes``, sorted; found as candidates are.

        Of any size and kind of content. ``candidates`` and ``named`` share one walk.
        """
        ...

    def read(self, path: str) -> bytes:
        """A file's content. Raises Unreadable."""
        ...


class Past(NamedTuple):
    """A file as one commit left it."""

    commit: str
    """Its oid."""
    date: str
    """RFC 3339, UTC: when it was committed."""
    content: bytes
    is_aside: bool = False
    """It was so on a branch that was merged: the branch itself may never have been."""


class Pasts(NamedTuple):
    """What a file was."""

    versions: tuple[Past, ...] = ()
    """Oldest first, the present one too; a content that came back is there again."""
    missing: str = ""
    """Why there may be older ones: a shallow checkout, no repository; empty: these are all."""


class Mentions(NamedTuple):
    """Which manifests named a version of an API, in any commit."""

    paths: tuple[str, ...] = ()
    """Of YAML and JSON files, as they were called then; sorted."""
    missing: str = ""
    """Why there may be others: a shallow checkout, no repository; empty: these are all."""


class FileHistory(Protocol):
    """What the files of the repository were."""

    def mentions(self, versions: Sequence[str]) -> Mentions:
        """Files that had ``apiVersion:`` with one of ``versions``, such as ``helm.toolkit.fluxcd.io/v2``.

        Raises nothing: what cannot be searched is said in ``missing``.
        """
        ...

    def of(self, path: str) -> Pasts:
        """One file, renames followed where that can be done. ``path``: relative to the repository's root.

        Raises nothing: what cannot be had is said in ``missing``.
        """
        ...


class Builder(Protocol):
    """A program that builds kustomizations."""

    @property
    def name(self) -> str:
        """``kustomize``, ``kubectl`` or ``flux``."""
        ...

    def build(self, files: Mapping[str, bytes], folder: str, name: str) -> bytes:
        """Build the kustomization in ``folder``; YAML documents.

        ``files``: path relative to the repository's root → content, all that it may refer to.
        ``name``: of the Kustomization in its ``gotk-sync.yaml``. Raises ClusterUnfit.
        """
        ...


class Spread(Protocol):
    """Work on many things at once, as far as that is possible."""

    def __call__(self, work: Callable[[Sequence[T]], R], things: Sequence[T], chunk: int) -> Iterator[R]:
        """``work`` on ``things``, ``chunk`` of them at a time: what it gives for each, in their order.

        ``work`` reads and computes, and no more: it may be done by a copy of this process. It uses no
        connection, and what it gives can be pickled. What it raises is raised here.
        """
        ...


class Worktree(Protocol):
    """The one place that writes."""

    def write(self, path: str, content: bytes, old: bytes | None = None) -> None:
        """Replace a file atomically. Raises WriteFailed; then the old file is untouched.

        ``old``: what was read. A file that is something else by now is not replaced.
        """
        ...

    def require_room(self, paths: Iterable[str]) -> None:
        """That each of ``paths`` could be written, as far as it can be told. Raises WriteFailed."""
        ...

    def make(self, path: str, content: bytes) -> None:
        """Make a file that is not there yet, with the folders that it needs. Raises WriteFailed."""
        ...

    def remove(self, path: str, content: bytes) -> None:
        """Take back a file that was made, if it still is what it was made as, and its empty folders."""
        ...


class Forge(Protocol):
    """A place with pull requests."""

    def fetch(self, question: Question) -> Repository:
        """Everything that the next step depends on, in one read where the forge can.

        Raises ForgeUnavailable, ForbiddenByForge, RepositoryUnfit.
        """
        ...

    def apply(self, step: Step) -> Done:
        """Do one step.

        Raises what ``look`` raises; Overtaken where somebody was faster (the branch moved,
        the pull request is there already) and nothing was overwritten: look again, and
        decide anew; DraftsUnavailable where there are none for this repository.
        """
        ...

    @property
    def calls(self) -> int:
        """Calls made to the forge so far, for the report."""
        ...

    def close(self) -> None:
        """Let go of connections and temporary files; nothing is asked of it afterwards."""
        ...


class Hosting(Protocol):
    """A provider's API, about one repository. All raise ForgeUnavailable, ForbiddenByForge."""

    def repository(self) -> Hosted | None:
        """The repository; None: there is none, or the token does not see it."""
        ...

    def create(self, wanted: NewRepository) -> Hosted:
        """Create the repository; one that is there already (somebody was faster) is given as it is."""
        ...

    def teams(self) -> Mapping[str, str]:
        """Slug of each team of the owner that has access → its permission, as ``--team`` spells it."""
        ...

    def grant(self, team: str, permission: str) -> None:
        """Give a team of the owner access. ``team``: its slug. Done twice, it is granted once."""
        ...

    def deploy_keys(self) -> tuple[DeployKey, ...]:
        """All that are registered."""
        ...

    def add_deploy_key(self, key: DeployKey) -> DeployKey:
        """Register a key."""
        ...

    def remove_deploy_key(self, key: DeployKey) -> None:
        """Remove a registered key; one that is gone already is no error."""
        ...

    def host_keys(self) -> tuple[str, ...]:
        """The provider's own SSH host keys, ``ssh-ed25519 AAAA…``; none where it does not publish them."""
        ...

    def require_secret(self, name: str, environment: str = "") -> None:
        """Refuse what ``put_secret`` would, as far as that can be told without a write."""
        ...

    def has_secret(self, name: str, environment: str = "") -> bool:
        """Whether there is a secret of GitHub Actions of that name, there or in an environment."""
        ...

    def put_secret(self, name: str, text: str, environment: str = "") -> None:
        """Seal a secret of GitHub Actions, of the repository or of one of its environments."""
        ...

    def may_write_workflows(self) -> bool | None:
        """Whether the token may change files below ``.github/workflows``; None: it cannot be told."""
        ...


class Remote(Protocol):
    """A repository on a server, by Git: one branch of it is read, and committed to."""

    @property
    def head(self) -> str:
        """Oid of the branch's head as it was fetched; empty where the repository is empty."""
        ...

    @property
    def tree(self) -> Tree:
        """The branch's files as they were fetched; none where the repository is empty."""
        ...

    def require_room(self, paths: Iterable[str]) -> None:
        """That each of ``paths`` is a plain file on the branch, or could be one. Raises WriteFailed."""
        ...

    def push(self, files: Mapping[str, bytes], message: str) -> str:
        """Commit ``files`` over the head (or as the first commit) and push. The new head's oid.

        Raises Overtaken where the branch has moved since, ForbiddenByForge, ForgeUnavailable.
        """
        ...

    def close(self) -> None:
        """Remove what is temporary."""
        ...


class Cluster(Protocol):
    """A Kubernetes cluster. All raise ClusterUnavailable."""

    @property
    def name(self) -> str:
        """What its owner calls it: the context of the kubeconfig."""
        ...

    def version(self) -> str:
        """``v1.34.1``, with what its provider appends."""
        ...

    def get(self, what: Reference) -> Object | None:
        """One object; None: there is none, or the cluster does not serve its kind."""
        ...

    def list(self, kind: Kind, namespace: str = "") -> tuple[Object, ...]:
        """All objects of a kind, of one namespace or of all; none where the kind is not served."""
        ...

    def apply(self, wanted: Object, manager: str) -> Object | None:
        """Apply an object server-side as ``manager``, conflicts forced. Done twice, it is applied once.

        The object as it is now; None: the cluster does not serve its kind (yet).
        """
        ...

    def changes(self, what: Reference, since: str, seconds: float) -> Iterator[Object | None]:
        """An object's states after the resource version ``since``, each as it comes; None: it is gone.

        Ends after ``seconds`` at the latest, and earlier where the cluster ends it, or offers no watch.
        """
        ...

    def close(self) -> None:
        """Let go of connections and temporary files; nothing is asked of it afterwards."""
        ...
