"""Which resources of the tree an upgrade concerns, and which variables where it is known what is read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator

from flux_upgrade.clusters.graph.reads import ClusterReads
from flux_upgrade.clusters.graph.variables import Variables
from flux_upgrade.impact.api_uses.flux_file import FluxFile, FluxObject, UsePlace
from flux_upgrade.impact.behaviour.rules import BreakRule, Path, Span
from flux_upgrade.impact.behaviour.table import BREAK_RULES
from flux_upgrade.impact.impact import Hit
from flux_upgrade.manifests.nodes import compose, construct
from flux_upgrade.model.versions import Version, is_tag
from flux_upgrade.snapshot.snapshot import Snapshot

_UNKNOWN = " is not among the files that the cluster reads, so its variables are unknown"


def find_breaks(files: Iterable[FluxFile], current: str, target: str, settled: Collection[str] = ()) -> tuple[Hit, ...]:
    """By rule, then as the files come; nothing where it is unknown what runs today.

    ``settled``: feature gates that are set for a controller, see ``gates_in``: what they
    decide is decided already.
    """
    if not is_tag(current) or not is_tag(target):
        return ()
    entered = [(rule, span) for rule in BREAK_RULES if (span := rule.entered(current, target)) is not None]
    if not entered:
        return ()
    found: dict[str, list[Hit]] = {rule.slug: [] for rule, _ in entered}
    resources: set[tuple[str, str]] = set()  # kind and name of everything that is no patch
    patched: set[tuple[str, str, Path]] = set()  # kind, name and field that a patch sets
    gates = set(settled)
    for file in files:
        gates |= gates_in([file.content])
        for rule, _ in entered:
            # As an operation of a JSON patch has it; whom it patches, its target says.
            operated = [path for path in rule.kept_by if f"/{'/'.join(path)}".encode() in file.content]
            patched.update((kind, "", path) for path in operated for kind in rule.kinds)
        for resource in file.objects:
            kind, name = resource.kind, resource.name
            if resource.place is not UsePlace.PATCH:
                resources.add((kind, name))
            for rule, span in entered:
                if resource.place is UsePlace.PATCH and kind in rule.kinds:
                    patched.update((kind, name, path) for path in rule.kept_by if resource.has(*path))
                if rule.concerns(resource, target):
                    found[rule.slug] += _hits(rule, span, resource, file.path, target)

    loose = {(kind, path) for kind, name, path in patched if (kind, name) not in resources}
    # A later file may take back what an earlier one seemed to say.
    return tuple(
        hit
        for rule, _ in entered
        if rule.gate not in gates
        for hit in found[rule.slug]
        # A patch sets the field: one by the resource's name, or one by a name that nothing has, as for all that its
        # target selects.
        if not any((hit.kind, hit.name, path) in patched or (hit.kind, path) in loose for path in rule.kept_by)
    )


def gates_in(contents: Iterable[bytes]) -> frozenset[str]:
    """Feature gates that decide for a rule and that a file sets: a patch of a controller's arguments, say.

    As ``--feature-gates=NAME=true`` has it; the CRDs' descriptions name them, and set nothing.
    """
    gates = {rule.gate for rule in BREAK_RULES if rule.gate}
    return frozenset(gate for content in contents for gate in gates if f"{gate}=".encode() in content)


def _hits(rule: BreakRule, span: Span, resource: FluxObject, path: str, target: str) -> Iterator[Hit]:
    for place in rule.match(resource):
        line = rule.line_to_keep(place, target)
        if line and path.endswith(".json"):
            line = json.dumps(construct(compose(line)))[1:-1]
        who, hint = (resource.kind, resource.name, resource.namespace), rule.hint_for(target)
        known = rule.slug, Version(span.first).minor, rule.change, rule.source
        yield Hit(*known, path, place.line, *who, line, hint, harm=rule.harm)


def by_variable(hits: Iterable[Hit], clusters: Iterable[ClusterReads], tree: Snapshot) -> tuple[Hit, ...]:
    """Return ``hits``, with one for each variable without a value in the place of one for its Kustomization.

    ``clusters``: those whose Kustomizations they may be.
    """
    known = [(each, Variables(each, tree)) for each in clusters if each.is_known]
    found: dict[tuple[str, int, str], Hit] = {}
    for hit in hits:
        for each in _variables(hit, known) if hit.rule == "strict-substitutions" else [hit]:
            # Name a source that is not in Git once, for all that use it.
            place = ("", 0) if each.what.endswith(_UNKNOWN) else (f"{each.rule} {each.path}", each.line)
            found.setdefault((*place, each.what), each)
    return tuple(found.values())


def _variables(hit: Hit, known: Iterable[tuple[ClusterReads, Variables]]) -> Iterator[Hit]:
    name = "/".join(filter(None, (hit.namespace, hit.name)))
    readers = [variables for reads, variables in known if hit.path in reads.files and variables.knows(name)]
    if not readers:
        yield hit  # of another source, or of a cluster of which that is unknown
    for each in dict.fromkeys(each for variables in readers for each in variables.missing(name)):
        if each.name:
            yield hit._replace(path=each.path, line=each.line, what=f"${{{each.name}}} has no value")
        else:
            yield hit._replace(what=f"{each.source}{_UNKNOWN}")
