"""What a pull request says of other writers, such as a kustomization that pins controllers by itself."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from flux_upgrade.clusters.clusters import Member
from flux_upgrade.model.text import first_few, printable
from flux_upgrade.pins.pin import Pin

_KIND = "single-controllers"
_REMOVE = "Remove these overrides, or update them in the same merge"


def code(text: str) -> str:
    """``text`` as Markdown's inline code, on one line whatever it holds."""
    return f"`{printable(text).replace('`', chr(39))}`"


def listed(texts: list[str], most: int = 3) -> str:
    """``texts`` as code, with commas; those above ``most`` are counted."""
    return first_few([code(text) for text in texts], most)


def beside(path: str, reported_only: Iterable[Member]) -> Iterator[tuple[str, Pin]]:
    """Place (``path:line``) and pin of each controller that is pinned in the folder of a manifest."""
    folder = posixpath.dirname(path)
    for member in reported_only:
        pin = member.pin
        if pin.kind == _KIND and posixpath.dirname(member.path) == folder:
            yield member.place, pin


def remarks(paths: Iterable[str], reported_only: Iterable[Member]) -> tuple[str, ...]:
    """What to know before the manifests at ``paths`` are changed: one Markdown paragraph, or none.

    Controllers that a kustomization in the same folder pins run, whatever the manifest says.
    """
    members = tuple(reported_only)
    found = [each for path in paths for each in beside(path, members) if not each[1].where.endswith(", newName")]
    if not found:
        return ()
    fact = "**A kustomization in the same directory sets controller images.** They replace those in the manifest."
    # Without an entry of another distribution, Flux's own images may be installed.
    is_other = any(pin.details for _, pin in found)
    what = "Update them in the same merge, and keep their registry" if is_other else _REMOVE
    listing = dict.fromkeys(f"{code(place)} ({code(f'{pin.where}: {pin.raw}')})" for place, pin in found)
    return (f"{fact} {what}: {'; '.join(listing)}.",)
