"""A ``gotk-sync.yaml`` that is there: what it was made with, and what was done to it since."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flux_upgrade.bootstrap.sync import Sync, written
from flux_upgrade.errors import Unreadable
from flux_upgrade.manifests.documents import Document, Manifest, parse

_SOURCE_GROUP = "source.toolkit.fluxcd.io"
_SYNC_GROUP = "kustomize.toolkit.fluxcd.io"


@dataclass(frozen=True)
class Recovered:
    """The file with what it tells. A field of ``sync`` that it does not tell is empty."""

    manifest: Manifest
    source: Document
    kustomization: Document
    sync: Sync

    @cached_property
    def is_exact(self) -> bool:
        """Whether ``flux bootstrap`` of Flux 2 would write these bytes."""
        return self.manifest.pristine and written(self.sync) == self.manifest.text

    @property
    def others(self) -> tuple[Document, ...]:
        """What somebody put into the file besides, in order."""
        ours = (self.source, self.kustomization)
        return tuple(each for each in self.manifest.documents if each not in ours)


def recover_sync(content: bytes) -> Recovered:
    """Read a file back. Raises Unreadable, with the line, where it holds no such objects."""
    manifest = parse(content)
    sources = [each for each in manifest.documents if each.key[:2] == (_SOURCE_GROUP, "GitRepository")]
    syncs = [each for each in manifest.documents if each.key[:2] == (_SYNC_GROUP, "Kustomization")]
    if not sources or not syncs:
        missing = "Kustomization of Flux" if sources else "GitRepository"
        raise Unreadable(
            f"it holds no {missing}",
            hint="restore it from the history, or rename it: `flux bootstrap` would overwrite it",
        )
    source = sources[0]
    # Beside it may stand others of the same kind, which somebody added.
    own = [each for each in syncs if each.key[2:] == source.key[2:]]
    kustomization = (own or syncs)[0]
    return Recovered(manifest, source, kustomization, _sync(source.data, kustomization.data))


def _sync(source: Any, kustomization: Any) -> Sync:
    sparse = _at(source, "spec", "sparseCheckout")
    reference = _at(source, "spec", "ref")
    # Whatever stands beside a branch goes before it.
    follows_branch = isinstance(reference, dict) and set(reference) == {"branch"}
    return Sync(
        url=_text(source, "spec", "url"),
        branch=_text(source, "spec", "ref", "branch") if follows_branch else "",
        path=_text(kustomization, "spec", "path"),
        interval=_text(source, "spec", "interval"),
        secret_name=_text(source, "spec", "secretRef", "name"),
        namespace=_text(source, "metadata", "namespace"),
        # Any other is no flag's, but a person's.
        provider="github" if _text(source, "spec", "provider") == "github" else "",
        recurse_submodules=_at(source, "spec", "recurseSubmodules") is True,
        sparse_checkout=tuple(map(str, sparse)) if isinstance(sparse, list) else (),
        source_api=_text(source, "apiVersion"),
        sync_api=_text(kustomization, "apiVersion"),
    )


def _text(value: Any, *path: str) -> str:
    found = _at(value, *path)
    return found if isinstance(found, str) else ""


def _at(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
