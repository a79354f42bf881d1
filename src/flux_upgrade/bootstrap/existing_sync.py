"""A ``gotk-sync.yaml`` that is there, taken to other flags; what somebody added to it stays.

``flux bootstrap`` writes the file anew. What stands in it besides would be gone then, and Flux
would prune it from the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flux_upgrade.bootstrap.changes import FlagChange
from flux_upgrade.bootstrap.go_formats import nanoseconds
from flux_upgrade.bootstrap.sync import GENERATED, Sync, written
from flux_upgrade.manifests.comments import extract, insert
from flux_upgrade.manifests.documents import Document, Manifest, parse
from flux_upgrade.manifests.infer import value_at
from flux_upgrade.manifests.merge import Conflict, Merge
from flux_upgrade.manifests.nodes import MappingNode, Node, child, clone, compose, serialize
from flux_upgrade.manifests.options import spell
from flux_upgrade.manifests.proof import object_edits
from flux_upgrade.model.errors import ResidueConflict, Unreadable
from flux_upgrade.model.text import repository_path

_SOURCE_GROUP = "source.toolkit.fluxcd.io"
_SYNC_GROUP = "kustomize.toolkit.fluxcd.io"


@dataclass(frozen=True)
class RecoveredSync:
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


def recover_sync(content: bytes) -> RecoveredSync:
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
    return RecoveredSync(manifest, source, kustomization, _sync(source.data, kustomization.data))


def _sync(source: Any, kustomization: Any) -> Sync:
    sparse = value_at(source, "spec", "sparseCheckout")
    reference = value_at(source, "spec", "ref")
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
        recurse_submodules=value_at(source, "spec", "recurseSubmodules") is True,
        sparse_checkout=tuple(map(str, sparse)) if isinstance(sparse, list) else (),
        source_api=_text(source, "apiVersion"),
        sync_api=_text(kustomization, "apiVersion"),
    )


def _text(value: Any, *path: str) -> str:
    found = value_at(value, *path)
    return found if isinstance(found, str) else ""


_FLAGS = {
    "namespace": "namespace",
    "url": "url",
    "branch": "branch",
    "interval": "interval",
    "secret_name": "secret-name",
    "provider": "provider of the GitRepository",
    "recurse_submodules": "recurse-submodules",
    "sparse_checkout": "sparse-checkout",
    "source_api": "apiVersion of the GitRepository",
    "sync_api": "apiVersion of the Kustomization",
}
"""Field of ``Sync`` → what a person calls it. Another path is refused before."""
_OPTIONAL = ("branch", "secret_name")
"""Fields that somebody may have taken out or replaced: an empty one is theirs."""
_GONE = ("gitImplementation", "validation")
"""Fields of ``spec`` that ``flux bootstrap`` wrote before Flux 2, whose API does not have them."""


def shown(recovered: RecoveredSync, wanted: Sync) -> tuple[FlagChange, ...]:
    """Flag by flag what differs; nothing where the file says what is wanted."""
    old, new = _complete(recovered.sync, wanted)._asdict(), wanted._asdict()
    if nanoseconds(recovered.sync.interval) == nanoseconds(wanted.interval):
        old["interval"] = new["interval"]
    return tuple(
        FlagChange(flag, _spelled(old[field]), _spelled(new[field]))
        for field, flag in _FLAGS.items()
        if old[field] != new[field]
    )


def edits(recovered: RecoveredSync) -> tuple[str, ...]:
    """What was done to the file by hand."""
    if recovered.is_exact:
        return ()
    base = parse(written(recovered.sync).encode()).documents
    lines = [
        f"{each.object} {each.where or each.new or ''}".rstrip()
        for old, mine in zip(base, (recovered.source, recovered.kustomization), strict=True)
        for each in object_edits(mine.key, old, mine, ())
        if each.path[-1:] not in [(name,) for name in _GONE]
    ]
    return (*lines, *(str(each.key) for each in recovered.others))


def resynced(recovered: RecoveredSync, wanted: Sync) -> bytes:
    """The file with what is wanted, and with what was edited by hand. Raises ResidueConflict."""
    if recovered.is_exact:
        return written(wanted).encode()
    base = parse(written(_complete(recovered.sync, wanted)).encode()).documents
    target = parse(written(wanted).encode()).documents
    conflicts: list[Conflict] = []
    mine = (recovered.source, recovered.kustomization)
    own = {id(sides[0]): _merged(*sides, conflicts) for sides in zip(mine, base, target, strict=True)}
    if conflicts:
        named = ", ".join(f"{each.object} {each.where}" for each in conflicts)
        raise ResidueConflict(
            f"what was edited by hand would be overwritten: {named}",
            hint="give the flag the value that stands there, or take the edit out",
        )
    texts = [own.get(id(each), each.text) for each in recovered.manifest.documents]
    head = recovered.manifest.comments_above + GENERATED + recovered.manifest.comments_below
    return recovered.manifest.encode("---\n".join([head, *texts]))


def _complete(old: Sync, wanted: Sync) -> Sync:
    """``old`` with the fields of ``wanted`` that the file does not tell, and its path."""
    filled = {field: getattr(wanted, field) for field in _OPTIONAL if not getattr(old, field)}
    return old._replace(**filled, path=wanted.path)


def _merged(mine: Document, base: Document, target: Document, conflicts: list[Conflict]) -> str:
    merge = Merge(mine.key)
    node = merge.merge(base.node, _current(mine.node), target.node)
    conflicts += merge.conflicts
    text = serialize(node)
    comments = extract(mine.text, mine.node)
    return insert(text, compose(text), comments) if comments else text


def _current(node: Node) -> Node:
    """Without what the API has no more."""
    copy: Node = clone(node)
    spec = child(copy, "spec") if isinstance(copy, MappingNode) else None
    if isinstance(spec, MappingNode):
        spec.value = [(key, value) for key, value in spec.value if key.value not in _GONE]
    return copy


def same_path(one: str, other: str) -> bool:
    """Whether two ``spec.path`` are one folder, as Flux's command line compares them."""
    return repository_path(one) == repository_path(other)


def _spelled(value: Any) -> str:
    return spell(list(value) if isinstance(value, tuple) else value)
