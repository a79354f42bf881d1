"""Manifests that Flux does not apply, so that a merge changes nothing in the cluster."""

from __future__ import annotations

from flux_upgrade.assessment.assessment import NotApplied
from flux_upgrade.assessment.evidence import Evidence, Transition
from flux_upgrade.clusters.ownership.mentions import PROGRAMS, mentions


def not_applied(transition: Transition, evidence: Evidence) -> NotApplied | None:
    """Return why Flux does not apply the manifest; None if it does, or if the root of the cluster is unknown.

    What could not be followed does not count as applying the manifest.
    """
    path = transition.path
    known = [reads for reads in evidence.reads(transition.cluster) if reads.reconciliations]
    if not known:
        return None
    steps = [step for reads in known for step in reads.reconciliations if path in step.files]
    running = [step for step in steps if not step.is_suspended]
    others = evidence.others(transition.cluster).others
    if running or any(reader.reads(path, is_elsewhere=False) for reader in others):
        return None
    if evidence.once(("program", path), lambda: _is_named_by_program(path, evidence)):
        return None
    if steps:
        names = tuple(dict.fromkeys(step.name or step.folder or "." for step in steps))
        return NotApplied(path, suspended=names)
    roots = (root.folder or "." for reads in known for root in reads.roots)
    return NotApplied(path, roots=tuple(dict.fromkeys(roots)), unfollowed=sum(len(reads.troubles) for reads in known))


def _is_named_by_program(path: str, evidence: Evidence) -> bool:
    tree = evidence.tree
    return any(mentions(tree.content(place) or b"", place, path) for place in tree.named(PROGRAMS))
