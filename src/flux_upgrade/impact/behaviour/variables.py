"""Whom strict substitution concerns, variable by variable, where it is known what a Kustomization reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flux_upgrade.clusters.graph.variables import Variables
from flux_upgrade.clusters.graph.walk import ClusterReads
from flux_upgrade.impact.impact import Hit
from flux_upgrade.snapshot.snapshot import Snapshot

RULE = "strict-substitutions"
_UNKNOWN = " is not among the files that the cluster reads, so its variables are unknown"


def by_variable(hits: Iterable[Hit], clusters: Iterable[ClusterReads], tree: Snapshot) -> tuple[Hit, ...]:
    """``hits``, with one for each variable without a value in the place of one for its Kustomization.

    ``clusters``: those whose Kustomizations they may be.
    """
    known = [(each, Variables(each, tree)) for each in clusters if each.is_known]
    found: dict[tuple[str, int, str], Hit] = {}
    for hit in hits:
        for each in _of(hit, known) if hit.rule == RULE else [hit]:
            # A source that is not in Git is named once, whoever takes it.
            key = (
                ("", 0, each.what)
                if each.what.endswith(_UNKNOWN)
                else (f"{each.rule} {each.path}", each.line, each.what)
            )
            found.setdefault(key, each)
    return tuple(found.values())


def _of(hit: Hit, known: Iterable[tuple[ClusterReads, Variables]]) -> Iterator[Hit]:
    name = "/".join(filter(None, (hit.namespace, hit.name)))
    readers = [variables for reads, variables in known if hit.path in reads.files and variables.knows(name)]
    if not readers:
        yield hit  # of another source, or of a cluster of which that is unknown
    for each in dict.fromkeys(each for variables in readers for each in variables.missing(name)):
        if each.name:
            yield hit._replace(path=each.path, line=each.line, what=f"${{{each.name}}} has no value")
        else:
            yield hit._replace(what=f"{each.source}{_UNKNOWN}")
