"""``patchesStrategicMerge`` and ``patchesJson6902`` become ``patches``, which hold the same as text.

    patchesStrategicMerge:        patches:
      - kind: Service               - patch: |
        metadata: …                     kind: Service
                                        metadata: …

kustomize applies strategic merge patches first, then ``patches``, then those of RFC 6902
(kustomize internal/target/kusttarget_configplugin.go). Lists that stand one behind the other
in that order become one; where they do not, a person has to put them in order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

from flux_upgrade.impact.migrate.field_edits import DocumentText, Field, Unsafe, field, in_flow, without
from flux_upgrade.manifests.nodes import MappingNode, Node, SequenceNode, construct
from flux_upgrade.model.text import TextEdit
from flux_upgrade.snapshot.yaml_places import Object, Step

_STRATEGIC, _NEW, _JSON = "patchesStrategicMerge", "patches", "patchesJson6902"
_DEEPER = 2  # columns by which a text is indented more than its key


def merged(each: Object, *path: Step) -> Iterator[TextEdit]:
    """The lists of the mapping at a path become one. Raises Unsafe."""
    for name in (_STRATEGIC, _JSON):
        if each.has(*path, name) and not each.count(*path, name):
            yield without(each, *path, name)
    lists = [field(each, *path, name) for name in (_STRATEGIC, _NEW, _JSON) if each.count(*path, name)]
    _require_one(lists)
    for index, found in enumerate(lists):
        if index:
            yield _joined(lists[index - 1], found)
        elif found.key.value != _NEW:
            yield found.renamed(_NEW)
        for item in found.value.value:
            if found.key.value == _STRATEGIC:
                yield from _wrapped(found.page, item, is_flow=in_flow(found.value))
            elif found.key.value == _JSON:
                yield from _as_text(found.page, item)


def _require_one(lists: list[Field]) -> None:
    """That the lists follow one another as one list would. Raises Unsafe."""
    for before, after in pairwise(lists):
        if before.adjacent[1] != after:
            order = f"{before.key.value} before {after.key.value}"
            raise Unsafe(f"kustomize applies {order}, and they do not follow one another like that")
        if _form(before) != _form(after):
            raise Unsafe(f"{before.key.value} and {after.key.value} are written in two forms")


def _form(found: Field) -> int | None:
    """The column of the dashes; None in brackets."""
    return None if in_flow(found.value) else found.page.column(found.value.start_mark.index)


def _joined(before: Field, found: Field) -> TextEdit:
    page = found.page
    if in_flow(found.value):
        start, end = page.end(before.value) - 1, found.value.start_mark.index + 1
        if "#" in page.text[start:end]:
            raise Unsafe("there are comments inside of the braces")
        return page.replaced(start, end, ", ")
    start, end = page.line_end(page.line_start(found.start) - 1), page.line_end(found.start)
    if page.text[page.line_start(found.start) : end].strip(" ") != f"{found.key.value}:":
        raise Unsafe(f"{found.key.value} shares its line with something else")
    return page.replaced(start, end, "")


def _wrapped(page: DocumentText, item: Node, *, is_flow: bool) -> Iterator[TextEdit]:
    """A strategic merge patch becomes the text of ``patch``."""
    if not isinstance(item, MappingNode):
        raise Unsafe("a patch is no mapping")
    start, end = item.start_mark.index, page.end(item)
    _require_own(page, item, start, end)
    if is_flow:
        yield page.replaced(start, end, f'{{"patch": {_quoted(item)}}}')
        return
    column = page.column(start)
    yield page.inserted(start, f"patch: |\n{' ' * (column + _DEEPER)}")
    yield from _shifted(page, page.line_end(start), end, column)


def _as_text(page: DocumentText, item: Node) -> Iterator[TextEdit]:
    """The operations of a patch of RFC 6902 become a text."""
    found = next((pair for pair in _pairs(item) if pair[0].value == "patch"), None)
    if found is None or not isinstance(found[1], SequenceNode) or not found[1].value:
        raise Unsafe("a patch has no list of operations")
    key, operations = found
    start, end = operations.start_mark.index, page.end(operations)
    paths = (value.value for each in operations.value for key, value in _pairs(each) if key.value == "path")
    if any(path.startswith("/metadata/name") for path in paths):
        raise Unsafe("a patch is about a name or a namespace, which kustomize sets between the two")
    _require_own(page, operations, start, end)
    if in_flow(operations):
        yield page.replaced(start, end, _quoted(operations))
        return
    colon = page.text.index(":", key.end_mark.index) + 1
    yield page.inserted(colon, " |")
    if page.column(start) <= page.column(key.start_mark.index):
        yield from _shifted(page, page.line_end(colon), end, page.column(start))


def _pairs(item: Node) -> list[tuple[Node, Node]]:
    return list(item.value) if isinstance(item, MappingNode) else []


def _shifted(page: DocumentText, at: int, end: int, column: int) -> Iterator[TextEdit]:
    """The lines behind a place are indented more; a comment of fewer columns would end the text."""
    while (at := page.text.find("\n", at) + 1) and at < end:
        line = page.text[at : page.line_end(at)]
        blanks = len(line) - len(line.lstrip(" "))
        if line.strip():
            yield page.inserted(at, " " * max(_DEEPER, column + _DEEPER - blanks))


def _require_own(page: DocumentText, node: Node, start: int, end: int) -> None:
    """That the text means the same by itself: nothing in it is shared with the manifest around it."""
    if _shares(node, page.document.shared) or page.text[start : start + 1] in ("&", "!", "*"):
        raise Unsafe("a patch has an anchor or an alias in it")
    if "#" in page.text[start:end] and in_flow(node):
        raise Unsafe("there are comments inside of the braces")


def _shares(node: Node, shared: frozenset[int]) -> bool:
    if id(node) in shared:
        return True
    if isinstance(node, MappingNode):
        return any(_shares(value, shared) for _, value in node.value)
    return isinstance(node, SequenceNode) and any(_shares(value, shared) for value in node.value)


def _quoted(node: Node) -> str:
    """JSON as a text that both JSON and YAML can read."""
    return json.dumps(json.dumps(construct(node), ensure_ascii=False), ensure_ascii=False)
