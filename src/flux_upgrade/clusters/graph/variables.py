"""Variables that a Kustomization substitutes and that have neither a value nor a default.

Since Flux 2.9 such a variable fails its Kustomization (https://github.com/fluxcd/kustomize-controller/pull/1671).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from flux_upgrade.clusters.graph.flux_objects import value_sources
from flux_upgrade.clusters.graph.reads import ClusterReads, Reconciliation
from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.files import YAML
from flux_upgrade.model.kubernetes_objects import part
from flux_upgrade.model.text import decoded
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.kustomize_files import NAMES
from flux_upgrade.snapshot.passages import Passage
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object, YamlDocument, documents_of

# With a default: ${NAME:-x}, ${NAME:=x}, ${NAME-x}, ${NAME=x}. $${NAME} is written by Flux as ${NAME}.
_WITHOUT_DEFAULT = re.compile(r"(?<!\$)\$\{([_a-zA-Z][_a-zA-Z0-9]*)(?![_a-zA-Z0-9]|:?[-=])[^{}]*\}")
_SWITCH = "kustomize.toolkit.fluxcd.io/substitute"


class MissingVariable(NamedTuple):
    """A variable without a value, where it is used first; or, without a name, values that are not in Git."""

    name: str  # Empty: what a source has is unknown
    path: str
    line: int  # 1-based
    source: str = ""  # `ConfigMap/cluster-settings`, which is not in Git


class Variables:
    """Of one cluster. What is read for it is looked through once, for the sources of all its Kustomizations."""

    def __init__(self, reads: ClusterReads, tree: Snapshot) -> None:
        self._reads, self._tree = reads, tree
        self._of: dict[str, Reconciliation] = {}
        for step in reads.reconciliations:  # several have one name if the path is not in Git
            same = self._of.get(step.name, step)
            self._of[step.name] = step._replace(files=step.files | same.files)

    @cached_property
    def _keys(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """Kind and name of each ConfigMap and Secret that values are taken from and that is in Git → its keys."""
        found: dict[tuple[str, str], frozenset[str]] = {}
        wanted = {(kind, name) for each in self._of.values() for kind, name, _ in value_sources(each.post_build)}
        names = [re.escape(name.encode()) for _, name in sorted(wanted) if name]
        is_named = re.compile(b"|".join(names) or rb"(?!)").search
        for path in sorted(self._reads.files):
            file = self._tree.at(path)
            if file is None or not is_named(file.content) or not re.search(rb"ConfigMap|Secret", file.content):
                continue
            for each in file.readable:
                key = each.text_at("kind"), each.text_at("metadata", "name")
                if key in wanted and each.text_at("apiVersion") == "v1":
                    # The keys of an encrypted Secret are in clear text: https://github.com/getsops/sops
                    keys = (*each.keys("data"), *each.keys("stringData"))
                    found[key] = found.get(key, frozenset()) | frozenset(keys)
        return found

    def knows(self, name: str) -> bool:
        """Whether a Kustomization, ``namespace/name``, is reconciled from this repository."""
        return name in self._of

    def missing(self, name: str) -> Iterator[MissingVariable]:
        """Of a Kustomization that is known: each variable once; then what is not in Git, should any be missing."""
        of = self._of[name]
        given, unknown = self._given(of.post_build)
        if not given and not unknown:
            return
        found: dict[str, MissingVariable] = {}
        for path in sorted(of.files):
            for variable, line in self._used(path, of):
                if variable not in given:
                    found.setdefault(variable, MissingVariable(variable, path, line))
        if unknown and found:
            # Any of them may be in there.
            yield MissingVariable("", "", 0, unknown)
        else:
            yield from found.values()

    def _given(self, post_build: Mapping[str, Any]) -> tuple[frozenset[str], str]:
        """The names that have values, and a source that is not in Git."""
        named, unknown = frozenset(part(post_build, "substitute")), ""
        for kind, name, is_optional in value_sources(post_build):
            known = self._keys.get((kind, name))
            if known is not None:
                named |= known
            elif not is_optional:
                unknown = unknown or f"{kind}/{name}"
        if unknown:
            named |= {variable for entry in self._reads.known for variable in entry.variables}
        return named, unknown

    def _used(self, path: str, of: Reconciliation) -> Iterator[tuple[str, int]]:
        file = self._tree.at(path)
        if file is None or b"${" not in file.content:
            return
        if not path.endswith(YAML) or not any(each.text_at("kind") for each in file.readable):
            # A generator makes something of it.
            if not self._is_off_for_generated(path, of.files):
                yield from _in_text(decoded(file.content), 1)
            return
        for document in documents_of(file.content):
            with suppress(Unreadable):  # it is said where it matters
                if not _is_off(document, document.root):
                    yield from _in_nodes(document, document.root, document.passage)

    def _is_off_for_generated(self, path: str, files: Iterable[str]) -> bool:
        """Whether the kustomizations that may generate something of a file say that nothing is put in."""
        beside = (
            each for each in files if each.rpartition("/")[2] in NAMES and path.startswith(each.rpartition("/")[0])
        )
        return any(_SWITCH.encode() in (self._tree.content(each) or b"") for each in beside)


def _is_off(document: YamlDocument, root: Node) -> bool:
    if not isinstance(root, MappingNode):
        return False
    found = Object(document, root)
    return any(found.text_at("metadata", where, _SWITCH) == "disabled" for where in ("annotations", "labels"))


def _in_nodes(document: YamlDocument, root: Node, passage: Passage) -> Iterator[tuple[str, int]]:
    """In the values, not in comments: a build leaves these out."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, MappingNode):
            waiting += [each for pair in reversed(node.value) for each in reversed(pair)]
        elif isinstance(node, SequenceNode):
            waiting += reversed(node.value)
        elif isinstance(node, ScalarNode) and "${" in node.value:
            first = passage.line(document.offset(node.start_mark.index)) + (node.style in ("|", ">"))
            yield from _in_text(node.value, first)


def _in_text(text: str, first: int) -> Iterator[tuple[str, int]]:
    """Names, and their lines; ``first``: the line that the text begins at."""
    return ((each[1], first + text.count("\n", 0, each.start())) for each in _WITHOUT_DEFAULT.finditer(text))
