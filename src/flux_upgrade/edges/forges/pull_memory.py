"""What a Git server cannot be asked: a pull request's state, kept in the last trailer but one of its commit.

Without an API nobody tells whether a merge request is a draft, or what it proposes
and why. We say so in the commit itself, which only we write. Pure.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from flux_upgrade import markers
from flux_upgrade.forge import Commit, NewCommit, PullRequest, PullState

_NAME = "Flux-Upgrade-Pull"
_COMMENT = re.compile(r"<!-- flux-upgrade \{.*?\} -->")


@dataclass(frozen=True)
class Memory:
    """What a later run has to know of a pull request."""

    topic: str = ""
    """The branch's name: AGit has no branches."""
    title: str = ""
    is_draft: bool = False
    state: str = ""
    """The opening comment of our block in the body, with ``markers.State``; empty where there is none."""
    statuses: dict[str, str] = field(default_factory=dict)


def comment_of(body: str | None) -> str:
    """The comment in ``body`` that holds our state."""
    found = _COMMENT.search(body or "")
    return found[0] if found else ""


def written(message: str, memory: Memory) -> str:
    """``message`` with the memory as a trailer, and not yet sealed."""
    told = {
        "topic": memory.topic,
        "title": memory.title,
        "draft": memory.is_draft,
        "state": memory.state,
        "statuses": memory.statuses,
    }
    kept = json.dumps({key: value for key, value in told.items() if value})
    plain = without(message).rstrip("\n")
    last = plain.rsplit("\n", 1)[-1]
    gap = "\n" if re.match(r"[A-Za-z-]+: ", last) and "\n\n" in plain else "\n\n"
    return f"{plain}{gap}{_NAME}: {kept}\n"


def without(message: str) -> str:
    """``message`` as it was before the memory and the seal."""
    return "".join(
        line
        for line in message.splitlines(keepends=True)
        if not line.startswith((f"{_NAME}: ", f"{markers.DIGEST}: "))
    )


def updated(state: str, commit: NewCommit) -> str:
    """The state's comment, for what a new commit proposes."""
    if (known := markers.state_of(f"{state}\n")) is None:
        return state
    target = markers.trailers(commit.message).get("Flux-Upgrade-Target", known.target)
    paths = tuple(sorted(map(markers.digest_of, commit.files)))
    return comment_of(markers.block("", known._replace(target=target, paths=paths)))


def read(message: str) -> Memory | None:
    """The memory in a commit's message; None where there is none."""
    try:
        told = json.loads(markers.trailers(message).get(_NAME, ""))
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    texts = {key: value for key in ("topic", "title", "state") if isinstance(value := told.get(key, ""), str)}
    statuses = told.get("statuses", {})
    if not isinstance(statuses, dict) or not all(isinstance(state, str) for state in statuses.values()):
        statuses = {}
    return Memory(**texts, is_draft=told.get("draft") is True, statuses=statuses)


def pull_of(commit: Commit, memory: Memory, made: str) -> PullRequest:
    """The open pull request that a branch of ours stands for. ``made``: when its commit was (RFC 3339, UTC).

    Its body has the state and no block: what a person would read is at the server, and is not compared.
    """
    return PullRequest(
        number=0,
        id="",
        url="",
        state=PullState.OPEN,
        is_draft=memory.is_draft,
        title=memory.title,
        body=f"{memory.state}\n" if memory.state else "",
        labels=(),
        head=commit,
        is_conflicting=False,
        created_at=made,
    )
