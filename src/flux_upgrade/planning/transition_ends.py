"""Both ends of a transition: what is installed before and after it, and what is patched over that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.manifests.crds import Crd, ReleaseApis, crds_of
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.errors import ReleaseNotFound, Unreadable
from flux_upgrade.pins.pin import Pin, Role
from flux_upgrade.planning.api_uses import Sources, Transition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.overlay.result import Overlay


class TransitionEnds(NamedTuple):
    old: bytes  # A manifest, before any patch
    new: bytes
    overlay: Overlay | None  # What becomes of the patches over it


def ends_of(transition: Transition, sources: Sources, is_read: Callable[[str], bool]) -> TransitionEnds | None:
    """None: what the installation consists of is unknown.

    ``is_read``: whether its cluster may read a file. Raises as ``ImpactAnalyzer.impact``.
    """
    manifest, context, found = transition.upgrade.change.manifest, sources.pin_context, transition.found
    follows = transition.cluster.members[0].pin
    if manifest is not None and not follows.is_manifest:
        return _of_artifact(follows, (found.content, manifest.new), transition, sources, is_read)
    if manifest is not None:
        from flux_upgrade.impact.overlay.check import check_overlay

        overlay = check_overlay(context.tree, transition.path, found.content, manifest.new, sources.builder)
        return TransitionEnds(found.content, manifest.new, overlay)
    from flux_upgrade.impact.overlay.pinned import check_pinned, manifest_at, pinned
    from flux_upgrade.pins.own_artifact import pin as own_artifact  # late: no manifest asks for it

    if found.kind == own_artifact.NAME:
        ends = own_artifact.manifests(found, transition.upgrade.target, context)
        return _of_artifact(found, ends, transition, sources, is_read) if ends is not None else None
    of = pinned(found, transition.path, context.tree, is_read)
    with suppress(ReleaseNotFound):  # a mirror need not have what runs
        old = manifest_at(of, found.version, context) if of is not None else None
        new = manifest_at(of, transition.upgrade.target, context) if of is not None and old else None
        if of is not None and old and new:
            return TransitionEnds(old, new, check_pinned(of, context.tree, old, new))
    return None


def _of_artifact(
    pin: Pin, ends: tuple[bytes, bytes], transition: Transition, sources: Sources, is_read: Callable[[str], bool]
) -> TransitionEnds:
    """Of an artifact that a pin names, or follows."""
    from flux_upgrade.impact.overlay.pinned import check_pinned, pinned

    of = pinned(pin, transition.path, sources.tree, is_read)
    return TransitionEnds(*ends, check_pinned(of, sources.tree, *ends) if of is not None else None)


def lacking_kinds(
    path: str, cluster: Cluster, manifests: Sequence[bytes], release: ReleaseApis
) -> frozenset[tuple[str, str]]:
    """Kinds of a release, with their API groups, that a cluster has no CRD of.

    ``manifests``: of the installation at ``path``. Others of the cluster may have what they lack.
    """
    others = [each.pin for each in cluster.members if each.pin.role is Role.INSTALLS and each.path != path]
    if not all(each.is_manifest for each in others):
        return frozenset()
    contents = (*manifests, *(each.content for each in others))
    try:
        installed = {crd.name for content in contents for crd in crd_list(content)}
    except Unreadable:  # it may have any
        return frozenset()
    # What has no CRDs at all is no measure: they come from somewhere else.
    released = release.crds.values() if installed else ()
    return frozenset((crd.group, crd.kind) for crd in released if crd.name not in installed)


@lru_cache(maxsize=8)  # equal manifests are many
def crd_list(manifest: bytes) -> Sequence[Crd]:
    """The CRDs of a manifest."""
    return tuple(crds_of(parse(manifest).documents).values())
