"""Controllers that a kustomization beside a manifest pins by itself: they run, whatever the manifest says."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flux_upgrade.clusters.clusters import Member
from flux_upgrade.pins.pin import Pin


@dataclass(frozen=True)
class Remark:
    """A fact about another writer, for the pull request; the same every day."""

    file: str
    """Where it was read, relative to the repository's root; empty for the history."""
    text: str
    """Markdown: one or more paragraphs, with the exact text to paste."""


def code(text: str) -> str:
    """``text`` as Markdown's inline code, on one line whatever it holds."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return f"`{shown.replace('`', chr(39))}`"


def listed(texts: list[str], most: int = 3) -> str:
    """``texts`` as code, with commas; those above ``most`` are counted."""
    shown = ", ".join(code(text) for text in texts[:most])
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most} more"


_KIND = "single-controllers"


def beside(path: str, named: Iterable[Member]) -> Iterator[tuple[str, Pin]]:
    """Place (``path:line``) and pin of each that stands in the folder of the manifest at ``path``.

    ``named``: what is recognised, and never changed; paths are relative to the repository's root.
    """
    folder = posixpath.dirname(path)
    for member in named:
        pin = member.installation
        is_beside = pin.kind == _KIND and posixpath.dirname(member.path) == folder
        if is_beside and isinstance(pin, Pin):
            yield f"{member.path}:{pin.line}", pin


def remarks(paths: Iterable[str], named: Iterable[Member]) -> tuple[str, ...]:
    """What to know before the manifests at ``paths`` are changed, as one Markdown paragraph."""
    members = tuple(named)
    found = dict.fromkeys(
        f"{code(place)} ({code(f'{pin.where}: {pin.written}')})"
        for path in paths
        for place, pin in beside(path, members)
    )
    if not found:
        return ()
    told = "**Controllers are pinned beside these files**, and what is pinned runs, whatever changes here."
    return (f"{told} Take the pins away, or raise them in the same merge: {'; '.join(found)}.",)
