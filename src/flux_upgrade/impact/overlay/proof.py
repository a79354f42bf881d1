"""Whether the kustomization beside a manifest does what it did, with another manifest.

It is looked for in the manifest's folder and in the one above it: ``flux bootstrap`` puts one beside the
manifest, and who wants to patch Flux without touching that one does so from the folder that Flux reconciles.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from flux_upgrade.errors import Unreadable
from flux_upgrade.overlay import builds, kustomization
from flux_upgrade.overlay.builds import Built
from flux_upgrade.overlay.evaluation import Evaluation
from flux_upgrade.overlay.faults import CannotTell
from flux_upgrade.overlay.items import items_of
from flux_upgrade.overlay.kustomization import Kustomization
from flux_upgrade.overlay.values import Finding, Overlay, Verdict
from flux_upgrade.ports import Builder, Tree

_ONLY_LISTS = {"apiVersion", "kind", "metadata", "resources", "bases"}


def proof(tree: Tree, path: str, old: bytes, new: bytes, builder: Builder | None) -> Overlay | None:
    """``path``: of the manifest. None: there is no kustomization that lists it, or none that can be read."""
    found = _evaluated(tree, path, old, new)
    if found is None:
        return None
    of, evaluation = found
    overlay = Overlay(of.path, tuple(evaluation.findings))
    if builder is None or (not overlay.findings and _ONLY_LISTS.issuperset(of.data)):
        return overlay
    return _with_build(overlay, builder.name, builds.build(tree, of, path, (old, new), builder))


def _evaluated(tree: Tree, path: str, old: bytes, new: bytes) -> tuple[Kustomization, Evaluation] | None:
    """The outermost of them that works today; else the one in the folder."""
    found = None
    try:
        manifests = items_of(old, is_release=True), items_of(new, is_release=True)
        for of in _around(tree, path):
            evaluation = Evaluation(tree, path, *manifests)
            evaluation.run(of)
            found = of, evaluation
            if not any(each.fails and each.already for each in evaluation.findings):
                break
    except (Unreadable, CannotTell):
        return None
    return found


def _around(tree: Tree, path: str) -> Sequence[Kustomization]:
    """Those that take in the manifest, the one in the folder above first."""
    folder = posixpath.dirname(path)
    beside = kustomization.read(tree, folder)
    if beside is not None and not beside.leads_to(path):
        beside = None
    above = kustomization.read(tree, posixpath.dirname(folder)) if folder else None
    if above is not None and not above.leads_to(path) and not (beside and above.leads_to(folder)):
        above = None
    return [each for each in (above, beside) if each is not None]


def _with_build(overlay: Overlay, builder: str, built: Built) -> Overlay:
    if built.unbuilt:
        return overlay._replace(unbuilt=built.unbuilt)
    overlay = overlay._replace(builder=builder, failed=built.failed, built=built.changes)
    if built.failed:
        return overlay
    # The program has the last word about what builds.
    return overlay._replace(findings=tuple(_believed(each, builder) for each in overlay.findings))


def _believed(finding: Finding, builder: str) -> Finding:
    if not finding.fails:
        return finding
    detail = f"{builder} builds it nevertheless: {finding.detail}"
    return finding._replace(verdict=Verdict.UNKNOWN, detail=detail, hint="", fails=False)
