"""Places that let Flux delete and recreate a CRD that the API server refuses.

kustomize-controller does so with all objects of the kind, for `spec.force` of the Kustomization and for the annotation
or label `kustomize.toolkit.fluxcd.io/force: enabled` of the CRD (its docs/spec/v1/kustomizations.md, "Force").
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress

from flux_upgrade.assessment import uninstalling
from flux_upgrade.assessment.assessment import Forced
from flux_upgrade.assessment.evidence import Evidence, Transition
from flux_upgrade.assessment.overlays import overlays_of
from flux_upgrade.impact.overlay.pinned import Pinned, is_same
from flux_upgrade.kustomize.errors import CannotTell
from flux_upgrade.kustomize.kustomization import named_in
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import decoded, is_below, repository_path
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import Object

_ENABLED = re.compile(
    r"kustomize\.toolkit\.fluxcd\.io(?:/force\\*[\"']?\s*:\s*\\*[\"']?(?:[Ee]nabled|\$\{)|~1force)"
)  # In YAML or JSON, quoted or not, or by JSON Pointer
_MAY_BE_FOR_CRDS = re.compile(r"|CustomResourceDefinition|Kustomization|Component|\w*List")  # Kinds of objects
_MARK = re.compile(rb"kustomize\.toolkit\.fluxcd\.io(?:/|~1)force")

_NOT_BY_KUSTOMIZE = ("flux-instance", uninstalling.KIND)  # Kinds whose CRDs kustomize-controller does not apply


class _Applying(NamedTuple):
    """A Kustomization that may apply the installation."""

    path: str
    line: int  # 1-based, of its first line
    is_forced: bool
    spec: str  # The text of its `spec`


def forced(transition: Transition, reference: Pinned | Unknown | None, evidence: Evidence) -> Forced:
    """Return the places. ``reference``: None for a vendored manifest."""
    if transition.pin.kind == uninstalling.KIND:
        return Forced(uninstalling.SETTING, tuple(uninstalling.uninstalling(transition, evidence)))
    if transition.pin.kind in _NOT_BY_KUSTOMIZE:
        return Forced()
    applying = [*_as_written(transition, reference, evidence), *_as_built(transition, reference, evidence)]
    places = [_place(each, evidence) for each in applying if each.is_forced or _ENABLED.search(each.spec)]
    return Forced(places=tuple(dict.fromkeys((*places, *_by_annotation(transition, evidence)))))


def _place(applying: _Applying, evidence: Evidence) -> str:
    """Return the place of the setting in a Kustomization; its first line if a patch or a template has it."""
    file, line = evidence.tree.at(applying.path), applying.line
    written = next((each for each in file.readable if each.line == line), None) if file is not None else None
    if written is not None and _is_forced(written):
        line = written.line_at("spec", "force")
    elif written is not None:
        line += max(_line(written.text) - 1, 0)
    return f"{applying.path}:{line}"


def _line(text: str) -> int:
    """Return the line of the annotation or label in a text, 1-based; 0 without one."""
    match = _ENABLED.search(text)
    return 0 if match is None else text.count("\n", 0, match.start()) + 1


def _as_written(transition: Transition, reference: Pinned | Unknown | None, evidence: Evidence) -> Iterator[_Applying]:
    others = evidence.others(transition.cluster)
    for file, kustomization in evidence.tree.flux_kustomizations:
        is_forced, spec = _is_forced(kustomization), kustomization.below("spec")
        text = spec.text if spec is not None else ""
        if not (is_forced or _ENABLED.search(text)) or others.is_theirs(file.path):
            continue
        if _applies(file, kustomization, transition, reference, evidence):
            yield _Applying(file.path, kustomization.line, is_forced, text)


def _is_forced(kustomization: Object) -> bool:
    """Return whether `force` is set; a variable or a template may come to `true`."""
    return kustomization.has("spec", "force") and kustomization.text_at("spec", "force").lower() != "false"


def _applies(
    file: File, kustomization: Object, transition: Transition, reference: Pinned | Unknown | None, evidence: Evidence
) -> bool:
    """Return whether a Kustomization may apply the installation, by its own text."""
    if isinstance(reference, Pinned) and reference.source is not None and reference.overlays:
        return (file.path, kustomization.line) in {(each.path, each.object.line) for each in reference.overlays}
    known, variable, _ = kustomization.text_at("spec", "path").partition("${")
    folder = repository_path(known.rpartition("/")[0] if variable else known)  # a variable may come to any directory
    if kustomization.text_at("spec", "sourceRef", "kind") == "OCIRepository":
        return False
    if transition.pin.folder is not None:
        return is_below(f"{transition.pin.folder}/flux-system", folder)
    return is_below(transition.path, folder) or transition.path in evidence.graph.builds.of(folder, {}).files


def _as_built(transition: Transition, reference: Pinned | Unknown | None, evidence: Evidence) -> Iterator[_Applying]:
    """Yield the Kustomizations that the graph has, with patches over them and variables in them."""
    source = reference.source if isinstance(reference, Pinned) else None
    for reads in evidence.graph.clusters:
        if transition.path not in reads.files:
            continue
        for built in (*reads.reconciliations, *reads.others):
            is_applying = transition.path in built.files if source is None else is_same(built.source, source)
            if is_applying and built.path:
                is_forced = "force" in built.spec and str(built.spec["force"]).lower() != "false"
                yield _Applying(built.path, built.line, is_forced, json.dumps(built.spec, default=str))


def _by_annotation(transition: Transition, evidence: Evidence) -> Iterator[str]:
    """Yield the places in the same directory, and in kustomizations that take it in, with their patches."""
    folder = posixpath.dirname(transition.path)
    beside = (path for path in evidence.tree.candidates(folder) if posixpath.dirname(path) == folder)
    for file in filter(None, map(evidence.tree.at, dict.fromkeys((*beside, *_overlays(transition, evidence))))):
        line = _annotated(file)
        if line:
            yield f"{file.path}:{line}"


def _annotated(file: File) -> int:
    """Return the line of the first annotation or label that may be one of a CRD, 1-based; 0 without one."""
    text = decoded(file.content)
    others = [
        range(item.line, item.line + item.text.count("\n") + 1)
        for item in file.readable_where(lambda document: _ENABLED.search(document) is not None)
        if not _MAY_BE_FOR_CRDS.fullmatch(item.text_at("kind"))
    ]
    for match in _ENABLED.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if not any(line in lines for lines in others):
            return line
    return 0


def _overlays(transition: Transition, evidence: Evidence) -> Iterator[str]:
    """Yield the files of the kustomizations in other directories that take in the installation."""
    tree, others = evidence.tree, evidence.others(transition.cluster)
    if not any(_MARK.search(tree.content(path) or b"") for path in tree.candidates()):
        return
    for overlay in overlays_of(transition.path, tree).values():
        if not others.is_theirs(overlay.path):
            yield overlay.path
            with suppress(Unreadable):  # `kustomize build` rejects it
                for name in named_in(overlay.data):
                    with suppress(CannotTell):  # A patch of another repository
                        yield overlay.joined(name)
