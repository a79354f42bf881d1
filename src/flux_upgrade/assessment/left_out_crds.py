"""CRDs that patches leave out of a build, and that the cluster does not get from anything else it reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.assessment.evidence import Evidence, Transition, crd_list
from flux_upgrade.impact.overlay.result import LeftOut
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.unknown import Unknown, known_or


def to_bring(transition: Transition, result: Assessment, evidence: Evidence) -> tuple[LeftOut, ...]:
    """Return the CRDs that have to be brought to the target by another way, because the upgrade changes them."""
    overlay = known_or(result.overlay, None)
    left_out = overlay.left_out if overlay is not None else ()
    if left_out and not isinstance(result.changes, Unknown):
        changed = {*result.changes.crds_added, *(crd.name for crd in result.changes.crds)}
        left_out = tuple(crd for crd in left_out if crd.name in changed)
    if not left_out:
        return ()
    served = set(_served_elsewhere({crd.name for crd in left_out}, transition, evidence))
    return tuple(crd for crd in left_out if (crd.name, crd.stored) not in served)


def _served_elsewhere(names: set[str], transition: Transition, evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield names of CRDs and the versions that they serve, in other files that the cluster is known to read."""
    files = frozenset[str]().union(*(reads.files for reads in evidence.reads(transition.cluster)))
    for path in sorted(files - {transition.path}):
        content = evidence.tree.content(path) or b""
        if b"CustomResourceDefinition" in content and any(name.encode() in content for name in names):
            with suppress(Unreadable):  # a file that cannot be parsed brings no CRD
                yield from ((crd.name, version) for crd in crd_list(content) for version in crd.served)
