"""Which cluster reads which file → text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flux_upgrade.clusters.graph.graph import ClusterGraph
from flux_upgrade.clusters.graph.reads import ClusterReads
from flux_upgrade.findings.known_facts import known_line, known_values
from flux_upgrade.findings.phrases import TEXT
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import capped, first_few, printable, printable_lines

_MOST_LINES = 40
_MOST_NAMES = 20
_MOST_NODES = 30
_PLAIN = " ./-_"


def graph_text(graph: ClusterGraph) -> str:
    """A tree of Kustomizations for each cluster, and what no cluster reads."""
    blocks = [*(list(_cluster(each)) for each in graph.clusters), list(_unread(graph))]
    return "\n".join(map(printable_lines, filter(None, blocks)))


def graph_value(graph: ClusterGraph) -> dict[str, Any]:
    """The field ``graph`` of ``inspect --graph --json``: see docs/reference/inspect.schema.json."""
    return {
        "clusters": [_cluster_value(each) for each in graph.clusters],
        "unread": list(graph.unread),
        "ignore": graph.ignore_patterns(graph.unread),
    }


def graph_chart(graph: ClusterGraph) -> str:
    """The directories that each cluster reads, as a Mermaid flowchart; empty where it would be large, or says nothing.

    https://mermaid.js.org/syntax/flowchart.html
    """
    nodes: dict[str, str] = {}
    edges: dict[str, None] = {}

    def node(key: str, label: str) -> str:
        if key not in nodes:
            nodes[key] = f'n{len(nodes)}["{plain_label(label)}"]'
        return nodes[key].partition("[")[0]

    for reads in graph.clusters:
        cluster = node(f"cluster {reads.name}", reads.name)
        for each in reads.reconciliations:
            above = node(reads.reconciliations[each.parent].folder, "") if each.parent >= 0 else cluster
            edges[f"{above} --> {node(each.folder, each.folder or '.')}"] = None
    if not edges or len(nodes) > _MOST_NODES:
        return ""
    return "\n".join(["flowchart LR", *(f"  {each}" for each in (*nodes.values(), *edges))])


def plain_label(text: str) -> str:
    """Text that means nothing to Mermaid between quotes."""
    return "".join(each if each.isalnum() or each in _PLAIN else f"#{ord(each)};" for each in printable(text))


def _cluster(reads: ClusterReads) -> Iterator[str]:
    yield f"{reads.name}: {counted(len(reads.files), 'file')}" if reads.is_known else reads.name
    if not reads.is_known:
        yield "  Nothing in this repository shows where Flux starts, so every file counts as read by a cluster."
        return
    for root in reads.roots:
        yield f"  root: {root.folder or '.'} ({root.place})"
    yield from _below(reads, -1, "  ")
    if reads.elsewhere:
        yield f"  from other sources: {first_few(reads.elsewhere, _MOST_NAMES)}"
    if reads.troubles:
        yield f"  could not be followed{'' if reads.beyond is None else ', so every file counts as read'}:"
        yield from _limited([f"{each.place}: {each.message}" for each in reads.troubles])
    yield from (f"  known: {known_line(entry, TEXT)}" for entry in reads.known)


def _below(reads: ClusterReads, parent: int, indent: str) -> Iterator[str]:
    """One Kustomization on each line, below the one that applies it."""
    waiting = [(index, indent) for index in _children(reads, parent)]
    while waiting:
        index, indent = waiting.pop(0)
        each = reads.reconciliations[index]
        name = each.name or "Kustomization"
        yield f"{indent}{name}: {each.folder or '.'} ({counted(len(each.files), 'file')})"
        waiting = [*((child, f"{indent}  ") for child in _children(reads, index)), *waiting]


def _children(reads: ClusterReads, parent: int) -> list[int]:
    return [index for index, each in enumerate(reads.reconciliations) if each.parent == parent]


def _unread(graph: ClusterGraph) -> Iterator[str]:
    if not graph.unread:
        return
    yield f"No cluster reads {counted(len(graph.unread), 'file')} with Flux's APIs:"
    yield from _limited(graph.unread)
    yield "  To leave them out of all runs, add to the config file:"
    yield "    ignore:"
    yield from (f"    - {pattern}" for pattern in graph.ignore_patterns(graph.unread))


def _limited(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"    {line}" for line in capped(lines, _MOST_LINES, "flux-upgrade inspect --graph --json"))


def _cluster_value(reads: ClusterReads) -> dict[str, Any]:
    return {
        "name": reads.name,
        "roots": [{"path": each.folder, "from": each.place} for each in reads.roots],
        "kustomizations": [
            {
                "name": each.name or None,
                "path": each.folder,
                "applied-by": reads.reconciliations[each.parent].name or None if each.parent >= 0 else None,
                "files": sorted(each.files),
            }
            for each in reads.reconciliations
        ],
        "files": sorted(reads.files),
        "other-sources": list(reads.elsewhere),
        **({"known": known_values(reads.known)} if reads.known else {}),
        "unresolved": [
            {"path": each.path, "line": each.line or None, "message": each.message} for each in reads.troubles
        ],
    }
