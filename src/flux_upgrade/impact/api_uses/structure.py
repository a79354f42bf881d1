"""The versions that a YAML file names by its structure, and Flux's resources in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence

from flux_upgrade.impact.api_uses.flux_file import ApiUse, FluxObject, UsePlace
from flux_upgrade.impact.api_uses.mappings import (
    NamedVersion,
    NodeContext,
    entries_of,
    is_list,
    named_versions,
    role_in,
    role_of,
    selected,
)
from flux_upgrade.impact.api_uses.mentions import METRICS, ApiGroups, Mention, Subject, subject
from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.passages import Passage
from flux_upgrade.snapshot.yaml_places import Step, Value, YamlDocument, documents, documents_of

_MANIFEST = re.compile(r"(?:[ \t]*(?:#.*|---.*)?\n)*(?:apiVersion|kind|metadata):\s")
_APPLIES = re.compile(r"\bkubectl\b[^\n]*\b(?:apply|create|patch|replace)\b")
_OTHERS = "another program reads it and must support the new version"
_UNFOLLOWED = "its text has line breaks or escapes that cannot be followed"


class UnreadableSpan(NamedTuple):
    """A document, or a text in one, that cannot be read."""

    begin: int  # offset in the file
    end: int
    message: str
    is_yaml: bool = True  # whether others may read it
    is_rest: bool = False  # After more documents than are read of a file


class _PendingNode(NamedTuple):
    document: YamlDocument
    node: Node
    context: NodeContext
    is_promising: bool  # Whether it may name a version without a mention in it: by aliases, by group and version apart
    is_shared: bool = False  # an anchor or an alias stands for it, or for something that it is a part of


class Structure:
    def __init__(  # noqa: PLR0913, PLR0917  (what a file is read with)
        self,
        path: str,
        content: bytes,
        file: Passage,
        groups: ApiGroups,
        mentions: list[Mention],
        role: UsePlace,
        leaves_out: Callable[[str], bool],
    ) -> None:
        self.file = file
        self.mentions = mentions
        self.uses: dict[int, ApiUse] = {}  # by their offsets
        self.claimed: set[int] = set()
        """Offsets of the mentions that these cover. The others stand in comments, or in what is broken."""
        self.objects: list[FluxObject] = []
        self.broken: list[UnreadableSpan] = []
        self._path, self._groups, self._leaves_out = path, groups, leaves_out
        self._starts = [each.start for each in mentions]
        self._seen: set[tuple[int, int]] = set()  # Shared nodes, each with the offset of its document
        self._waiting: list[_PendingNode] = []  # what comes first in the file is put in last
        self._read(documents_of(content), NodeContext((), role, Subject()))
        while self._waiting:
            self._look(self._waiting.pop())

    def _read(self, parts: Sequence[YamlDocument], context: NodeContext) -> None:
        for document in reversed(parts):
            begin, end = document.offset(0), document.offset(len(document.text))
            are_apart = self._groups.are_apart(document.text)
            if not are_apart and not self._between(begin, end):
                continue
            if not context.path and self._leaves_out(document.text):
                self.claimed.update(each.start for each in self._between(begin, end))
                continue
            try:
                root = document.root
            except Unreadable as error:
                # It may only be too odd for this program: by depth, aliases, keys that are given twice.
                is_yaml = error.__cause__ is None or isinstance(error.__cause__, RecursionError)
                if context.role is not UsePlace.TEXT:
                    self.broken.append(UnreadableSpan(begin, end, error.message, is_yaml, document.is_rest))
                continue
            # A text that is nothing but a text would be read for ever.
            role = UsePlace.TEXT if isinstance(root, ScalarNode) else context.role
            is_promising = are_apart or bool(document.shared)
            self._waiting.append(_PendingNode(document, root, context._replace(role=role), is_promising))

    def _look(self, spot: _PendingNode) -> None:
        node = spot.node
        if not spot.is_promising and not self._of(spot, node):
            return
        if id(node) in spot.document.shared:
            seen = spot.document.offset(0), id(node)
            if seen in self._seen:
                return
            self._seen.add(seen)
            spot = spot._replace(is_shared=True)
        if isinstance(node, MappingNode):
            self._mapping(spot, node)
        elif isinstance(node, SequenceNode):
            for index, item in reversed([*enumerate(node.value)]):
                self._wait(spot, index, item, spot.context.role, spot.context.target)
        elif isinstance(node, ScalarNode) and not self._is_read(spot, node):
            self._rest(spot, node)

    def _wait(self, spot: _PendingNode, step: Step, node: Node, role: UsePlace | None, target: Subject) -> None:
        path = (*spot.context.path, step)
        by_path = role_of(path)
        role = by_path if by_path is UsePlace.METRIC else role or by_path
        context = NodeContext(path, role, target)
        self._waiting.append(_PendingNode(spot.document, node, context, spot.is_promising, spot.is_shared))

    def _mapping(self, spot: _PendingNode, node: MappingNode) -> None:
        entries = entries_of(node)
        role = role_in(entries, spot.context)
        if role is not UsePlace.TEXT:
            for each in named_versions(entries, spot.context, self._groups):
                self._say(spot, node, each)
        items, target = entries["items"] if is_list(entries) else None, selected(entries)
        for key, value in reversed(node.value):
            self._rest(spot, key)
            self._wait(spot, key.value, value, spot.context.role if value is items else role, target)

    def _say(self, spot: _PendingNode, mapping: MappingNode, each: NamedVersion) -> None:
        """The use that a scalar is, or each mention in it."""
        mentions = self._of(spot, each.node)
        self.claimed.update(mention.start for mention in mentions)
        if not each.group:
            for mention in mentions:
                self._add(spot, mention, each)
            return
        value = spot.document.value(each.node, is_shared=spot.is_shared)
        start, end = self._span(value, each.version, mentions)
        is_shared = spot.is_shared or id(each.node) in spot.document.shared
        if is_shared or self.file.text[start:end] != each.version:
            each = each._replace(why=value.reason)
        self._add(spot, Mention(each.group, each.version, value.start, start, end), each)
        if each.is_object:
            self.objects.append(FluxObject(spot.document, mapping, each.group, each.version, each.place, start))

    def _span(self, value: Value, version: str, mentions: list[Mention]) -> tuple[int, int]:
        """The version alone, where it stands there once as it is; else all of the scalar."""
        file = self.file.text
        if file[value.start : value.end] == value.text:
            return value.end - len(version), value.end
        if len(mentions) == 1 and mentions[0].version == version:
            return mentions[0].start, mentions[0].end
        start = file.find(version, value.start, value.end)
        is_alone = start >= 0 and file.find(version, start + 1, value.end) < 0
        return (start, start + len(version)) if is_alone else (value.start, value.end)

    def _is_read(self, spot: _PendingNode, node: ScalarNode) -> bool:
        """Whether a text is YAML itself, and is looked at as that."""
        role = spot.context.role
        if role is None and spot.context.is_item and _MANIFEST.match(node.value):
            # Charts take whole resources as texts, in lists of many names (`extraObjects`, `extraDeploy`).
            role = UsePlace.EMBEDDED
        if role is None and METRICS.search(node.value):
            role = UsePlace.TEXT
        elif role in (None, UsePlace.TEXT):
            return False
        if not (self._of(spot, node) or self._groups.are_apart(node.value)):
            return False
        passage = spot.document.passage.within(spot.document.begin, node)
        if passage is not None:
            self._read([*documents(passage)], spot.context._replace(role=role))
        elif role is UsePlace.TEXT:
            return False
        else:
            self.broken.append(UnreadableSpan(*self._span_of(spot, node), _UNFOLLOWED))
        return True

    def _rest(self, spot: _PendingNode, node: ScalarNode) -> None:
        """Mentions in a scalar that no use covers yet."""
        for each in self._of(spot, node):
            if each.start in self.claimed or each.is_put_in:
                continue
            self.claimed.add(each.start)
            kind = node.value.removeprefix(f"{each.group}/{each.version}/")
            if spot.context.role is None and spot.context.is_item and kind.isalnum():
                what = NamedVersion(node, each.group, each.version, UsePlace.REFERENCE, Subject(kind), _OTHERS)
            else:
                who = subject(self.file.text, each.begin, each.end)
                place = UsePlace.SCRIPT if who.kind and _APPLIES.search(node.value) else UsePlace.TEXT
                what = NamedVersion(node, each.group, each.version, place, who, "it is part of a text")
            self._add(spot, each, what)

    def _add(self, spot: _PendingNode, mention: Mention, each: NamedVersion) -> None:
        """One use for a mention: the one that says most, of what an anchor is taken for."""
        group, version, _, start, end = mention
        known = self.uses.get(start)
        if known is None or _rank(each.who.kind, each.place) > _rank(known.kind, known.place):
            line, at = self.file.line(start), spot.context.path
            self.uses[start] = ApiUse(self._path, line, group, version, *each.who, each.place, start, end, each.why, at)

    def _of(self, spot: _PendingNode, node: Node) -> list[Mention]:
        return self._between(*self._span_of(spot, node))

    def _span_of(self, spot: _PendingNode, node: Node) -> tuple[int, int]:
        offset = spot.document.offset
        return offset(node.start_mark.index), offset(node.end_mark.index)

    def _between(self, begin: int, end: int) -> list[Mention]:
        return self.mentions[bisect_left(self._starts, begin) : bisect_left(self._starts, end)]


def _rank(kind: str, place: UsePlace) -> tuple[bool, bool]:
    return bool(kind), place in (UsePlace.RESOURCE, UsePlace.EMBEDDED, UsePlace.PATCH)
