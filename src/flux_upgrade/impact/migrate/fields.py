"""The fields of a resource that goes to another version: what has to go with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flux_upgrade.impact.api_uses.flux_file import ApiUse, FluxFile, FluxObject, UsePlace
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.field_edits import Unsafe
from flux_upgrade.impact.migrate.result import Left, Reason
from flux_upgrade.impact.migrate.rules import TEMPLATES, Rule, rule_of
from flux_upgrade.impact.migrate.schema import Fault, Schema, What, dotted, faults, unknown
from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode, child, compose, construct
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import TextEdit
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.yaml_places import readable


class Fields(NamedTuple):
    edits: tuple[TextEdit, ...] = ()
    sentences: tuple[str, ...] = ()


class _Problem(NamedTuple):
    detail: str
    hint: str


def fields_of(file: FluxFile, use: ApiUse, goal: str, apis: Apis) -> Fields | Left:
    """What goes with the version; Left where a person has to decide."""
    if (use.group, use.kind) not in apis.target.kinds:
        return Fields()
    asked = _UseMigration(use, goal, apis)
    each = file.object_of(use)
    try:
        found = [*asked.changes(each), *asked.stalled(each)] if each else [*asked.operations(file)]
    except Unreadable as error:
        return Left(use, Reason.SPELLING, f"It is not readable: {error.message}.")
    problems = [one for one in found if isinstance(one, _Problem)]
    if problems:
        details, hints = (dict.fromkeys(filter(None, texts)) for texts in zip(*problems, strict=True))
        return Left(use, Reason.NEEDS_HAND, " ".join(details), " ".join(hints))
    done = [one for one in found if isinstance(one, Fields)]
    sentences = dict.fromkeys(sentence for one in done for sentence in one.sentences)
    return Fields(tuple(edit for one in done for edit in one.edits), tuple(sentences))


def faults_of(use: ApiUse, data: Any, schema: Schema) -> tuple[Fault, ...]:
    """What a version does not take; of a patch, as far as a part can be validated."""
    check = faults if use.place in (UsePlace.RESOURCE, UsePlace.EMBEDDED) else unknown
    return check(data, schema)


class _UseMigration(NamedTuple):
    use: ApiUse
    goal: str
    apis: Apis

    def changes(self, each: FluxObject) -> Iterator[Fields | _Problem]:
        """For each field that the new version has not, what its rule does."""
        for fault in self._new(each.data()):
            rule = rule_of(self.use.kind, fault.path)
            if rule is None or rule.edit is None:
                yield _Problem(self._sentence(fault), self._hint(fault, rule))
                continue
            try:
                edits = tuple(rule.edit(each, fault.path[: len(rule.path)]))
            except Unsafe as reason:
                detail = f"{self._sentence(fault)} It is not changed because {reason}."
                yield _Problem(detail, self._hint(fault, rule))
            else:
                yield Fields(edits, (f"{rule.done} See {rule.source}",))

    def operations(self, file: FluxFile) -> Iterator[_Problem]:
        """What the JSON patch for a selector says of fields that are gone is for a person."""
        if self.use.place is UsePlace.TARGET:
            for data in operated(file, self.use):
                for fault in self._new(data):
                    detail = f"An operation changes it: {self._sentence(fault)}"
                    yield _Problem(detail, self._hint(fault, rule_of(self.use.kind, fault.path)))

    def stalled(self, each: FluxObject) -> Iterator[_Problem]:
        """Texts that the target's controller does not take, and today's does."""
        current, target = self.apis.current, self.apis.target
        for template in TEMPLATES:
            text = each.text_at(*template.path)
            if self.use.kind != template.kind or not template.pattern.search(text):
                continue
            api = self.use.group, template.since, self.use.kind
            if target.serves(*api) and not (current is not None and current.serves(*api)):
                yield _Problem(template.detail, f"{template.instead} See {template.source}")

    def _new(self, data: Any) -> tuple[Fault, ...]:
        """What the new version does not take, and the old one did; all of it where that is not known."""
        found = faults_of(self.use, data, self.apis.wanted(self.use, self.goal))
        # The old schema may have to be fetched from a release that is not needed otherwise.
        old = self.apis.known(self.use) if found else None
        before = {each.identity for each in faults_of(self.use, data, old)} if old is not None else set()
        return tuple(each for each in found if each.identity not in before)

    def _sentence(self, fault: Fault) -> str:
        if fault.what is What.UNKNOWN:
            return f"{self.use.kind} {self.goal} has no {dotted(fault.path)}."
        return f"{dotted(fault.path)} {fault.detail} in {self.use.kind} {self.goal}."

    def _hint(self, fault: Fault, rule: Rule | None) -> str:
        if rule is not None:
            return f"{rule.instead} See {rule.source}"
        if fault.what is What.UNKNOWN:
            notes = f"https://github.com/fluxcd/flux2/releases/tag/{self.apis.target.tag}"
            return f"Check the release notes for its replacement: {notes}"
        return ""


def operated(file: FluxFile, use: ApiUse) -> Iterator[Any]:
    """For each operation of the patch beside a target, an object that has nothing but what it is about."""
    for each in readable(file.content):
        for entry in _mappings(each.node):
            target, patch = child(entry, "target"), child(entry, "patch")
            version = child(target, "version") if isinstance(target, MappingNode) else None
            if isinstance(version, ScalarNode) and each.document.value(version).start == use.start:
                yield from _parts(patch)


def _mappings(node: Node) -> Iterator[MappingNode]:
    below = node.value if isinstance(node, SequenceNode) else []
    if isinstance(node, MappingNode):
        yield node
        below = [value for _, value in node.value]
    for each in below:
        yield from _mappings(each)


def _parts(patch: Node | None) -> Iterator[Any]:
    """``patch`` is a text, in Flux's ``patchesJson6902`` the operations themselves, or stands elsewhere."""
    try:
        written = compose(patch.value) if isinstance(patch, ScalarNode) else patch
        operations = construct(written) if isinstance(written, SequenceNode) else []
    except Unreadable:
        return
    for each in operations:
        if isinstance(each, dict) and isinstance(each.get("path"), str):
            data = each.get("value") or ""
            for key in reversed(each["path"].strip("/").split("/")):
                data = [data] if key == "-" or key.isdigit() else {key: data}
            yield data
