"""Which resources of the tree an upgrade concerns."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence

from flux_upgrade.impact.api_uses.flux_file import FluxFile, FluxObject, UsePlace
from flux_upgrade.impact.behaviour.break_rule import BreakRule, Path, Span
from flux_upgrade.impact.behaviour.table import BREAK_RULES
from flux_upgrade.impact.impact import Hit
from flux_upgrade.manifests.nodes import compose, construct
from flux_upgrade.model.versions import Version, is_tag


def find_breaks(
    files: Iterable[FluxFile], current: str, target: str, settled: Collection[str] = ()
) -> tuple[Hit, ...]:
    """By rule, then as the files come; nothing where it is unknown what runs today.

    ``settled``: feature gates that are set for a controller, see ``gates_in``: what they
    decide is decided already.
    """
    if not is_tag(current) or not is_tag(target):
        return ()
    entered = [(rule, span) for rule in BREAK_RULES if (span := rule.entered(current, target)) is not None]
    if not entered:
        return ()
    search = _Search(entered, target)
    for file in files:
        search.look_at(file)
    return search.hits(settled)


def gates_in(contents: Iterable[bytes]) -> frozenset[str]:
    """Feature gates that decide for a rule and that a file sets: a patch of a controller's arguments, say.

    As ``--feature-gates=NAME=true`` has it; the CRDs' descriptions name them, and set nothing.
    """
    gates = {rule.gate for rule in BREAK_RULES if rule.gate}
    return frozenset(gate for content in contents for gate in gates if f"{gate}=".encode() in content)


def _spelled(line: str, path: str) -> str:
    return json.dumps(construct(compose(line)))[1:-1] if line and path.endswith(".json") else line


class _Search:
    """What was seen so far. A later file may take back what an earlier one seemed to say."""

    def __init__(self, entered: Sequence[tuple[BreakRule, Span]], target: str) -> None:
        self._entered, self._target = entered, target
        self._found: dict[str, list[Hit]] = {rule.slug: [] for rule, _ in entered}
        self._resources: set[tuple[str, str]] = set()
        """Kind and name of everything that is no patch."""
        self._patched: set[tuple[str, str, Path]] = set()
        """Kind, name and field that a patch sets."""
        self._gates: frozenset[str] = frozenset()

    def look_at(self, file: FluxFile) -> None:
        self._gates |= gates_in([file.content])
        for rule, _ in self._entered:
            for path in rule.kept_by:
                # As an operation of a JSON patch has it; whom it patches, its target says.
                if f"/{'/'.join(path)}".encode() in file.content:
                    self._patched |= {(kind, "", path) for kind in rule.kinds}
        for resource in file.objects:
            self._note(resource)
            for rule, span in self._entered:
                if rule.concerns(resource, self._target):
                    self._found[rule.slug] += self._hits(rule, span, resource, file.path)

    def _note(self, resource: FluxObject) -> None:
        kind, name = resource.kind, resource.name
        if resource.place is not UsePlace.PATCH:
            self._resources.add((kind, name))
            return
        fields = {path for rule, _ in self._entered if kind in rule.kinds for path in rule.kept_by}
        self._patched |= {(kind, name, path) for path in fields if resource.has(*path)}

    def _hits(self, rule: BreakRule, span: Span, resource: FluxObject, path: str) -> Iterator[Hit]:
        for place in rule.match(resource):
            yield Hit(
                rule.slug,
                Version(span.first).minor,
                rule.change,
                rule.source,
                path,
                place.line,
                resource.kind,
                resource.name,
                resource.namespace,
                _spelled(rule.line_to_keep(place, self._target), path),
                rule.hint_for(self._target),
            )

    def hits(self, settled: Collection[str]) -> tuple[Hit, ...]:
        decided = {*self._gates, *settled}
        return tuple(
            hit
            for rule, _ in self._entered
            if rule.gate not in decided
            for hit in self._found[rule.slug]
            if not any(self._is_patched(hit, path) for path in rule.kept_by)
        )

    def _is_patched(self, hit: Hit, path: Path) -> bool:
        """Whether a patch sets the field: one by the resource's name, or one by a name that nothing has.

        The latter is how one is written that is for all resources that its target selects.
        """
        return any(
            kind == hit.kind and field == path and (name == hit.name or (kind, name) not in self._resources)
            for kind, name, field in self._patched
        )
