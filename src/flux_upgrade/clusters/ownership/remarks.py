"""Controllers that a kustomization beside a manifest pins by itself: they run, whatever the manifest says."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from flux_upgrade.clusters import Member
from flux_upgrade.kinds import Pin
from flux_upgrade.surroundings.remark import code

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
