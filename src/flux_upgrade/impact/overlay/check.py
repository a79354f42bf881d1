"""Whether the kustomization beside a manifest does what it did, with another manifest.

It is looked for in the manifest's folder and in the one above it: ``flux bootstrap`` puts one beside the
manifest, and who wants to patch Flux without touching that one does so from the folder that Flux reconciles.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from flux_upgrade.impact.diff.changes import Changes
from flux_upgrade.impact.diff.compare import manifest_changes
from flux_upgrade.impact.overlay import kustomization
from flux_upgrade.impact.overlay.evaluation import Evaluation
from flux_upgrade.impact.overlay.items import items_of
from flux_upgrade.impact.overlay.kustomization import TAKES_IN, Kustomization
from flux_upgrade.impact.overlay.result import (
    CannotBuild,
    CannotTell,
    Overlay,
    OverlayFinding,
    OverlayVerdict,
)
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.errors import FluxUpgradeError, Unreadable
from flux_upgrade.model.files import Tree
from flux_upgrade.model.ports import Builder
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.yaml_places import readable

_MOST_FILES = 2_000
_SYNC = "gotk-sync.yaml"
_USUAL = "flux-system"
"""What `flux bootstrap` calls the Kustomization in it."""
# Fields that name files, and the key of an entry that does; an empty key: the entry itself.
_NAME_FILES = (
    *((field, "") for field in (*TAKES_IN, "crds", "configurations", "generators", "transformers")),
    *((field, "") for field in ("validators", "patchesStrategicMerge")),
    *((field, "path") for field in ("patches", "patchesJson6902", "replacements")),
)
_MADE_OF_FILES = ("configMapGenerator", "secretGenerator")
_ONLY_LISTS = {"apiVersion", "kind", "metadata", "resources", "bases"}


def check_overlay(tree: Tree, path: str, old: bytes, new: bytes, builder: Builder | None) -> Overlay | None:
    """``path``: of the manifest. None: there is no kustomization that lists it, or none that can be read."""
    found = _evaluated(tree, path, old, new)
    if found is None:
        return None
    of, evaluation = found
    overlay = Overlay(of.path, tuple(evaluation.findings))
    if builder is None or (not overlay.findings and _ONLY_LISTS.issuperset(of.data)):
        return overlay
    return _with_build(overlay, builder.name, build(tree, of, path, (old, new), builder))


def _evaluated(tree: Tree, path: str, old: bytes, new: bytes) -> tuple[Kustomization, Evaluation] | None:
    """The outermost of them that works today; else the one in the folder."""
    found = None
    try:
        manifests = items_of(old, is_release=True), items_of(new, is_release=True)
        for of in _kustomizations_with(tree, path):
            evaluation = Evaluation(tree, path, *manifests)
            evaluation.run(of)
            found = of, evaluation
            if not any(each.fails and each.already for each in evaluation.findings):
                break
    except (Unreadable, CannotTell):
        return None
    return found


def _kustomizations_with(tree: Tree, path: str) -> Sequence[Kustomization]:
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


def _believed(finding: OverlayFinding, builder: str) -> OverlayFinding:
    if not finding.fails:
        return finding
    detail = f"{builder} builds it nevertheless: {finding.detail}"
    return finding._replace(verdict=OverlayVerdict.UNKNOWN, detail=detail, hint="", fails=False)


class Built(NamedTuple):
    """The result of building a kustomization with the old and with the new manifest."""

    changes: Changes | None = None
    """In the result; None where it was not built."""
    failed: str = ""
    """What the program said where only the new build failed."""
    unbuilt: str = ""
    """Why there is nothing to compare."""


def build(tree: Tree, of: Kustomization, path: str, sides: tuple[bytes, bytes], builder: Builder) -> Built:
    """``path``: of the manifest; ``sides``: the old one and the new one."""
    try:
        files = files_of(tree, of)
    except CannotTell as error:
        return Built(unbuilt=error.message)
    name = _called(files.get(posixpath.join(of.folder, _SYNC), b""))
    old, new = ({**files, path: manifest} for manifest in sides)
    try:
        before = builder.build(old, of.folder, name)
    except FluxUpgradeError as error:
        return Built(unbuilt=f"it does not build today either: {error.message}")
    try:
        after = builder.build(new, of.folder, name)
    except FluxUpgradeError as error:
        return Built(failed=error.message)
    try:
        return Built(manifest_changes(parse(before).documents, parse(after).documents))
    except Unreadable as error:
        return Built(unbuilt=f"what {builder.name} built cannot be read: {error.message}")


def files_of(tree: Tree, of: Kustomization) -> dict[str, bytes]:
    """All files that a build of it reads. Raises CannotTell where some are not in the repository."""
    files: dict[str, bytes] = {}
    waiting = [of]
    while waiting:
        each = waiting.pop()
        if each.path in files:
            continue
        files[each.path] = each.content
        _add(tree, files, posixpath.join(each.folder, _SYNC))
        for name in _named(each):
            path = each.joined(name)
            below = None if _add(tree, files, path) else kustomization.read(tree, path)
            waiting += [below] if below is not None else []
        if len(files) > _MOST_FILES:
            raise CannotTell(f"it is made of more than {_MOST_FILES} files")
    return files


def _add(tree: Tree, files: dict[str, bytes], path: str) -> bool:
    try:
        files[path] = tree.read(path)
    except Unreadable:
        return False
    return True


def _named(of: Kustomization) -> Iterator[str]:
    for field, key in _NAME_FILES:
        for entry in _entries(of, field):
            name = entry.get(key) if key and isinstance(entry, dict) else entry
            # A patch may stand there itself.
            if isinstance(name, str) and name and "\n" not in name:
                yield name
    for field in _MADE_OF_FILES:
        for entry in _entries(of, field):
            yield from _sources(entry if isinstance(entry, dict) else {})
    schema = of.data.get("openapi")
    if isinstance(schema, dict) and isinstance(schema.get("path"), str):
        yield schema["path"]


def _entries(of: Kustomization, field: str) -> Iterator[object]:
    try:
        yield from (entry for _, entry in of.items(field))
    except CannotBuild:
        return


def _sources(entry: Mapping[str, object]) -> Iterator[str]:
    """Files that a ConfigMap or a Secret is made of: ``key=path``, or the path alone."""
    for field in ("files", "envs"):
        names = entry.get(field)
        for name in names if isinstance(names, list) else ():
            yield str(name).rpartition("=")[2]
    if isinstance(entry.get("env"), str):
        yield str(entry["env"])


def _called(sync: bytes) -> str:
    """The Kustomization in a ``gotk-sync.yaml``."""
    for each in readable(sync):
        if each.text_at("apiVersion").startswith("kustomize.toolkit.fluxcd.io/"):
            return each.text_at("metadata", "name") or _USUAL
    return _USUAL
