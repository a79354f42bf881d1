"""Pull requests, branches and issues of a forge, from a few words each."""

from __future__ import annotations

from typing import Any

from flux_upgrade.model import markers
from flux_upgrade.model.forge import Branch, Commit, Issue, PullRequest, PullState
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.model.versions import Version

TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
CREATED = "2026-03-01T06:00:00Z"
CLOSED = "2026-03-02T06:00:00Z"


def our_commit(oid: str = "ours", subject: str = "", **trailers: str) -> Commit:
    """A commit that we made; ``trailers`` as in ``Target="v2.9.4"``."""
    lines = "".join(f"Flux-Upgrade-{name}: {value}\n" for name, value in trailers.items())
    return Commit(oid, TREE, ("base",), markers.sealed(f"{subject or 'Upgrade Flux'}\n\n{lines}", TREE))


def their_commit(oid: str = "theirs") -> Commit:
    """A commit of somebody else's."""
    return Commit(oid, TREE, ("ours",), "Touch up\n")


def marker(subject: str = "minor", target: str = "v2.9.4", **more: Any) -> MarkerState:
    """What stands in a body, of the team ``staging``."""
    return MarkerState("staging", subject, Version(target), **more)


def pull(
    state: MarkerState | None = None,
    *,
    number: int = 1,
    at: PullState = PullState.OPEN,
    head: Commit | None = None,
    ticked: str = "",
    **more: Any,
) -> PullRequest:
    """A pull request whose body has ``state``; None: a body without markers. ``ticked``: a box."""
    box = markers.checkbox(ticked, "text").replace("[ ]", "[x]") if ticked else ""
    given: dict[str, Any] = {
        "number": number,
        "id": f"PR_{number}",
        "url": f"https://github.com/acme/fleet/pull/{number}",
        "state": at,
        "is_draft": False,
        "title": "Upgrade Flux",
        "body": markers.block(f"Text.\n\n{box}", state) if state is not None else f"By hand.\n\n{box}",
        "labels": (),
        "head": head,
        "is_conflicting": False,
        "created_at": CREATED,
        "closed_at": "" if at is PullState.OPEN else CLOSED,
    }
    return PullRequest(**{**given, **more})


def branch(*pulls: PullRequest, name: str = "flux-upgrade/staging/minor", head: Commit | None = None) -> Branch:
    """A branch with its pull requests, newest first."""
    return Branch(name, head, pulls)


def issue(state: MarkerState | None = None, *labels: str, number: int = 9) -> Issue:
    """An issue that stands in for a draft."""
    body = markers.block("Text.", state) if state is not None else "By hand."
    return Issue(number, f"https://github.com/acme/fleet/issues/{number}", "Upgrade Flux", body, labels, is_own=True)
