"""Whether the kustomization beside a manifest does what it did, with another manifest.

It is looked for in the manifest's folder and in the one above it: ``flux bootstrap`` puts one beside the
manifest, and who wants to patch Flux without touching that one does so from the folder that Flux reconciles.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from itertools import chain

from flux_upgrade.impact.diff.compare import manifest_changes
from flux_upgrade.impact.overlay.evaluation import evaluated
from flux_upgrade.impact.overlay.result import Overlay, OverlayVerdict
from flux_upgrade.kustomize.build_files import files_of
from flux_upgrade.kustomize.errors import CannotTell
from flux_upgrade.kustomize.kustomization import Kustomization, read
from flux_upgrade.manifests.documents import Document, parse
from flux_upgrade.manifests.parts import Part, split
from flux_upgrade.model.errors import FluxUpgradeError, Unreadable
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.snapshot.kustomize_files import NAMES
from flux_upgrade.snapshot.yaml_places import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.ports import Builder
    from flux_upgrade.snapshot.snapshot import Snapshot

_PLAIN = {"apiVersion", "kind", "metadata", "resources"}
UNREADABLE = Unknown("a kustomization cannot be read, or includes what is not in the repository")
ONLY_LISTS = {*_PLAIN, "bases"}


def check_overlay(  # noqa: PLR0913 an installation, and what it is judged with
    tree: Snapshot, path: str, old: bytes, new: bytes, builder: Builder | None, *, parts: Sequence[Part] = ()
) -> Overlay | Unknown | None:
    """Judge what is patched over the manifest at ``path``; None: no kustomization lists it.

    ``parts``: the files of an installation in several files, one of them at ``path``; ``old`` and ``new`` have all.
    """
    kustomizations = _kustomizations_with(tree, path)
    if not kustomizations:
        unreadable = _unreadable(tree, path)
        return Unknown(f"{unreadable} cannot be read") if unreadable else None
    try:
        before, after = (split(parts, each) if parts else {path: each} for each in (old, new))
    except Unreadable:
        return UNREADABLE
    if _changes_nothing(tree, kustomizations[0], (before, after)):
        return Overlay(kustomizations[0].path, ())
    others = {other: (before[other], after[other]) for other in before if other != path}
    found = evaluated(tree, path, before[path], after[path], kustomizations, others=others)
    if found is None:
        return UNREADABLE
    of, evaluation = found
    findings = evaluation.findings
    turned_off = tuple(evaluation.turned_off())
    overlay = Overlay(of.path, tuple(findings), turned_off=turned_off, left_out=evaluation.left_out)
    if builder is None or (not findings and ONLY_LISTS.issuperset(of.data)):
        return overlay
    return _built(overlay, tree, of, (before, after), builder)


def _kustomizations_with(tree: Snapshot, path: str) -> list[Kustomization]:
    """Those that take in the manifest, the one in the folder above first."""
    folder = posixpath.dirname(path)
    beside = read(tree, folder)
    if beside is not None and not beside.leads_to(path):
        beside = None
    above = read(tree, posixpath.dirname(folder)) if folder else None
    if above is not None and not above.leads_to(path) and not (beside and above.leads_to(folder)):
        above = None
    return [each for each in (above, beside) if each is not None]


def _unreadable(tree: Snapshot, path: str) -> str:
    """Return a kustomization that may take in the manifest, and that cannot be read; empty: all can."""
    folders = {posixpath.dirname(path), posixpath.dirname(posixpath.dirname(path))}
    names = (name for name in tree.named(NAMES) if posixpath.basename(name) in NAMES)
    beside = (name for name in names if posixpath.dirname(name) in folders)
    return next((name for name in beside if read(tree, posixpath.dirname(name)) is None), "")


def _changes_nothing(tree: Snapshot, of: Kustomization, sides: tuple[Mapping[str, bytes], Mapping[str, bytes]]) -> bool:
    """Whether it merely lists files of the repository, in which each object stands once.

    Then there is nothing to evaluate. False also where that is not certain.
    """
    if not _PLAIN.issuperset(of.data):
        return False
    others: list[Document] = []
    named: list[str] = []
    try:
        for name in of.data["resources"]:
            if not isinstance(name, str):
                return False
            if of.joined(name) in sides[0]:
                named.append(of.joined(name))
            else:
                others += parse(tree.read(of.joined(name))).documents
        objects = ([*others, *chain.from_iterable(parse(each).documents for each in side.values())] for side in sides)
        return sorted(named) == sorted(sides[0]) and all(map(_stand_once, objects))
    except (Unreadable, CannotTell):  # the evaluation says what cannot be read
        return False


def _stand_once(documents: list[Document]) -> bool:
    """Whether each is an object that no other one may be; in whatever version and namespace."""
    names = {(key.group, key.kind, key.name) for key in (each.key for each in documents)}
    are_objects = all(kind and name and not kind.endswith("List") for _, kind, name in names)
    return are_objects and len(names) == len(documents)


def _built(
    overlay: Overlay, tree: Snapshot, of: Kustomization, manifests: Sequence[Mapping[str, bytes]], builder: Builder
) -> Overlay:
    """Return an overlay with what a program builds. ``manifests``: the old and the new one, each with its path."""
    old, new = manifests
    try:
        files = files_of(tree, of)
    except CannotTell as error:
        return overlay._replace(unbuilt=error.message)
    name = _called(files.get(posixpath.join(of.folder, "gotk-sync.yaml"), b""))
    try:
        before = builder.build({**files, **old}, of.folder, name)
    except FluxUpgradeError as error:
        return overlay._replace(unbuilt=f"it does not build today either: {error.message}")
    try:
        after = builder.build({**files, **new}, of.folder, name)
    except FluxUpgradeError as error:
        return overlay._replace(builder=builder.name, failed=error.message)
    try:
        changes = manifest_changes(parse(before).documents, parse(after).documents)
    except Unreadable as error:
        return overlay._replace(unbuilt=f"what {builder.name} built cannot be read: {error.message}")
    # The program has the last word about what builds.
    findings = tuple(
        each._replace(
            verdict=OverlayVerdict.UNKNOWN,
            detail=f"{builder.name} builds it nevertheless: {each.detail}",
            hint="",
            fails=False,
        )
        if each.fails
        else each
        for each in overlay.findings
    )
    return overlay._replace(builder=builder.name, built=changes, findings=findings)


def _called(sync: bytes) -> str:
    """Return the name of the Kustomization in a ``gotk-sync.yaml``; of none, what `flux bootstrap` calls it."""
    found = (each for each in readable(sync) if each.text_at("apiVersion").startswith("kustomize.toolkit.fluxcd.io/"))
    return next((each.text_at("metadata", "name") for each in found), "") or "flux-system"
