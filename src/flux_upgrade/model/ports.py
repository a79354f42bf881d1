"""What the core needs from outside: Flux's releases and CLI, registries, forges and programs.

The adapters implement these ports; tests do too. The ports of files are in ``model.files``, the clock is in
``model.timing``, the port of a provider's API is in ``model.hosting``, that of a cluster in
``model.kubernetes_objects``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO, Protocol

from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.versions import Release, ReleaseManifests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.forge import Done, Question, Repository, Step
    from flux_upgrade.model.oci.manifest import Descriptor, StoredManifest


class Progress(Protocol):
    """Whoever waits for a run is told what it is doing."""

    def doing(self, what: str) -> None:
        """``asking api.github.com``; shown if it takes long, or if the user wants to know."""

    def waiting(self, why: str) -> None:
        """Why something is tried again, and when."""

    def clear(self) -> None:
        """Before something else is printed."""

    def close(self) -> None:
        """At the end."""


class Releases(Protocol):
    """Where Flux's releases come from."""

    def list(self) -> tuple[Release, ...]:
        """Every release that the source has, drafts excluded, in the source's order.

        Raises SourceUnavailable.
        """

    def manifests(self, tag: str) -> ReleaseManifests:
        """The manifests of one release, checked against its checksums.

        Raises ReleaseNotFound, SourceUnavailable, UntrustedArchive.
        """

    def published(self, tag: str) -> str | None:
        """The ``gotk-components.yaml`` that Flux itself published for ``tag``.

        None: not there (yet). Raises SourceUnavailable, UntrustedArchive.
        """

    def generator_hashes(self, tag: str, paths: tuple[str, ...]) -> Mapping[str, str] | None:
        """sha256 of each of ``paths`` in Flux's own repository at ``tag``.

        None: the source does not hold Flux's code. A path that does not exist
        at the tag is left out. Raises SourceUnavailable.
        """

    def commit(self, tag: str) -> str:
        """The commit (40 hexadecimal digits) of Flux's own repository that a tag stands for.

        Empty where the source does not tell, whatever the reason: it is good to know, and no more.
        """


class FluxCli(Protocol):
    """Flux's own command line tool, where there is one."""

    def version(self) -> str:
        """Its version as a tag, ``v2.9.4``; empty where there is no such program."""

    def install_export(self, flags: Sequence[str]) -> str:
        """What ``flux install --export`` prints. Raises SourceUnavailable when it fails."""


class Artifacts(Protocol):
    """OCI artifacts in any registry, read only. ``repository``: ``ghcr.io/fluxcd/flux-manifests``."""

    def digest(self, repository: str, reference: str) -> str | None:
        """The digest (``sha256:…``) of the manifest that a tag stands for; None: there is no such tag.

        Raises SourceUnavailable, UntrustedArchive.
        """

    def digests(self, references: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], str | FluxUpgradeError | None]:
        """What ``digest`` gives for each (repository, reference), or raises; asked for all at once."""

    def annotations(self, repository: str, reference: str) -> Mapping[str, str] | None:
        """The manifest's annotations, for a tag or a digest; None: there is no such manifest.

        Raises as ``digest``.
        """

    def tags(self, repository: str) -> tuple[str, ...]:
        """All tags; none where there is no such repository. Raises as ``digest``."""

    def listing(self, repository: str, reference: str) -> tuple[str, ...] | None:
        """Paths of the files in the artifact's one layer, sorted; None: there is no such manifest.

        Raises as ``digest``.
        """


class ArtifactRegistry(Protocol):
    """One repository of one registry, read and written. A ``reference`` is a tag or ``sha256:…``.

    All raise RegistryUnavailable, ForbiddenByRegistry; UntrustedArchive for bytes of another digest.
    """

    def manifest(self, reference: str) -> StoredManifest | None:
        """What a tag or a digest stands for; None: there is no such thing."""

    def digest(self, reference: str) -> str | None:
        """The digest of what a tag stands for now, asked for anew; None: there is no such tag."""

    def tags(self) -> tuple[str, ...]:
        """All tags, in the registry's order; none where there is no such repository."""

    def blob(self, descriptor: Descriptor) -> BinaryIO:
        """A blob in a temporary file of its own, at its beginning; size and digest are checked."""

    def is_signed(self, digest: str, tags: Sequence[str]) -> bool:
        """Whether there is a signature of the manifest ``digest``; ``tags``: all tags of the repository."""

    def put_blob(self, blob: BinaryIO, descriptor: Descriptor) -> None:
        """Upload a blob from its beginning to its end. Done twice, it is there once."""

    def put_manifest(self, manifest: StoredManifest, tag: str) -> None:
        """Have ``tag`` stand for a manifest; the digest that the registry answers with is checked."""


class Charts(Protocol):
    """Helm charts in any repository, read only."""

    def versions(self, repository: str, chart: str) -> Mapping[str, str]:
        """Version of the chart → its ``appVersion`` (empty where it states none).

        ``repository``: ``https://…`` with an ``index.yaml``, or ``oci://…`` below which the chart
        stands. Empty where it has no such chart. Raises SourceUnavailable, UntrustedArchive; a value
        that is asked for only when it is looked at raises the same then.
        """


class Builder(Protocol):
    """A program that builds kustomizations."""

    @property
    def name(self) -> str:
        """``kustomize``, ``kubectl`` or ``flux``."""

    def build(self, files: Mapping[str, bytes], folder: str, name: str) -> bytes:
        """Build the kustomization in ``folder``; YAML documents.

        ``files``: path relative to the repository's root → content, all that it may refer to.
        ``name``: of the Kustomization in its ``gotk-sync.yaml``. Raises ClusterUnfit.
        """


class Forge(Protocol):
    """A place with pull requests."""

    def fetch(self, question: Question) -> Repository:
        """Everything that the next step depends on, in one read where the forge can.

        Raises ForgeUnavailable, ForbiddenByForge, RepositoryUnfit.
        """

    def apply(self, step: Step) -> Done:
        """Do one step.

        Raises what ``fetch`` raises; Overtaken where somebody was faster (the branch moved,
        the pull request is there already) and nothing was overwritten: fetch again, and
        decide again; DraftsUnavailable where there are none for this repository.
        """

    @property
    def calls(self) -> int:
        """Calls made to the forge so far, for the report."""

    @property
    def exhausted(self) -> str:
        """What is nearly used up, a sentence: another step might end halfway. Empty: nothing."""

    def close(self) -> None:
        """Let go of connections and temporary files; nothing is asked of it afterwards."""
