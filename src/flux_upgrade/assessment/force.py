"""Places that let Flux delete and recreate a CRD that the API server refuses.

kustomize-controller does so with all objects of the kind, for `spec.force` of the Kustomization and for the annotation
or label `kustomize.toolkit.fluxcd.io/force: enabled` of the CRD (its docs/spec/v1/kustomizations.md, "Force").
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from flux_upgrade.assessment.evidence import Evidence, Transition
from flux_upgrade.impact.overlay.pinned import Pinned
from flux_upgrade.model.text import is_below, repository_path
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.snapshot.yaml_places import Object

_ENABLED = re.compile(rb"kustomize\.toolkit\.fluxcd\.io/force[\"']?\s*:\s*[\"']?(?:[Ee]nabled|\$\{)")

_NOT_BY_KUSTOMIZE = ("flux-instance", "helm-chart")  # Kinds whose CRDs kustomize-controller does not apply


def forced(transition: Transition, reference: Pinned | Unknown | None, evidence: Evidence) -> tuple[str, ...]:
    """Return the places, `path:line`. ``reference``: None for a vendored manifest."""
    if transition.pin.kind in _NOT_BY_KUSTOMIZE:
        return ()
    return tuple(dict.fromkeys((*_by_field(transition, reference, evidence), *_by_annotation(transition, evidence))))


def _by_field(transition: Transition, reference: Pinned | Unknown | None, evidence: Evidence) -> Iterator[str]:
    others = evidence.others(transition.cluster)
    sources = {each.path for each in reference.overlays} if isinstance(reference, Pinned) else set[str]()
    for file, kustomization in evidence.tree.flux_kustomizations:
        if not _is_forced(kustomization) or others.is_theirs(file.path):
            continue
        if file.path in sources or _applies(kustomization, transition, evidence):
            yield f"{file.path}:{kustomization.line_at('spec', 'force')}"


def _is_forced(kustomization: Object) -> bool:
    """Return whether `force` is set; a variable or a template may come to `true`."""
    return kustomization.has("spec", "force") and kustomization.text_at("spec", "force").lower() != "false"


def _applies(kustomization: Object, transition: Transition, evidence: Evidence) -> bool:
    """Whether a Kustomization may apply the installation: its directory has it, or the graph says so."""
    name = kustomization.text_at("metadata", "name")
    applied = (each for reads in evidence.reads(transition.cluster) for each in reads.reconciliations)
    if any(transition.path in each.files and posixpath.basename(each.name) == name for each in applied):
        return True
    known, variable, _ = kustomization.text_at("spec", "path").partition("${")
    folder = repository_path(known.rpartition("/")[0] if variable else known)  # a variable may come to any directory
    installed = transition.path if transition.pin.folder is None else f"{transition.pin.folder}/flux-system"
    return is_below(installed, folder) and kustomization.text_at("spec", "sourceRef", "kind") != "OCIRepository"


def _by_annotation(transition: Transition, evidence: Evidence) -> Iterator[str]:
    folder = posixpath.dirname(transition.path)
    beside = (path for path in evidence.tree.candidates(folder) if posixpath.dirname(path) == folder)
    for file in filter(None, map(evidence.tree.at, beside)):
        match = _ENABLED.search(file.content)
        if match is not None:
            line = file.content.count(b"\n", 0, match.start()) + 1
            yield f"{file.path}:{line}"
