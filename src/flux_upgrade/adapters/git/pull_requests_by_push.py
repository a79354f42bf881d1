"""Pull requests by push: options of GitLab, AGit of Gitea and Forgejo, and the memory in a commit. Pure.

GitLab: https://docs.gitlab.com/topics/git/commit/#push-options. Gitea:
https://docs.gitea.com/usage/agit-setup; Forgejo: https://forgejo.org/docs/latest/user/agit-support.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from flux_upgrade.model import markers
from flux_upgrade.model.forge import Commit, Extras, NewCommit, PullRequest, PullState
from flux_upgrade.model.text import json_of
from flux_upgrade.model.versions import Version

AGIT = ("gitea", "forgejo")
OURS = "refs/flux-upgrade/"
"""Where AGit's pull requests of ours are marked: only a user with write access can push there."""
_MARK = re.compile(rf"{OURS}(0|[1-9][0-9]{{0,8}})/(.+)")
WIP = "WIP:"  # what titles of drafts begin with, in Gitea and Forgejo as they come (GitLab: `Draft:`)
MAX_OPTION = 60_000  # bytes; a push option is one pkt-line of Git's protocol, of at most 65,516
_MAX_TITLE = 255  # characters; both GitLab and Gitea refuse longer ones
_ACTION = re.compile(r"^([ \t>]*)/(?=[a-z])", re.MULTILINE)
"""GitLab does what a line like ``/merge`` in a description says."""
_CUT = "\n\n… (cut: the server limits the length of this text)\n"


@dataclass(frozen=True)
class MergeRequest:
    """What the merge request should be; None and empty: as it is."""

    base: str
    topic: str  # the branch
    title: str | None = None
    body: str | None = None
    is_draft: bool = False
    extras: Extras = field(default_factory=Extras)


def mark(topic: str, number: int = 0) -> str:
    """The ref which says that a pull request is ours; without ``number``, that we were about to open it."""
    return f"{OURS}{number}/{topic}"


def marked(refs: Iterable[str]) -> dict[str, dict[int, str]]:
    """Topic → number → the ref that says so."""
    found: dict[str, dict[int, str]] = {}
    for ref in refs:
        if match := _MARK.fullmatch(ref):
            found.setdefault(match[2], {})[int(match[1])] = ref
    return found


def options(flavour: str, request: MergeRequest) -> tuple[str, ...]:
    """The push options for a forge, each one line."""
    if flavour == "gitlab":
        return _gitlab(request)
    return _agit(flavour, request) if flavour in AGIT else ()


def ignored(flavour: str, extras: Extras) -> tuple[str, ...]:
    """What was asked for and cannot be had by a push, a warning each."""
    wanted = {
        "labels": bool(extras.labels) and flavour != "gitlab",
        "assignees": bool(extras.assignees) and flavour != "gitlab",
        "reviewers": bool(extras.reviewers),
        "auto-merge": extras.auto_merge and flavour != "gitlab",
    }
    names = [name for name, is_lost in wanted.items() if is_lost]
    return (f"{', '.join(names)}: not possible by a push to this server",) if names else ()


def _gitlab(request: MergeRequest) -> tuple[str, ...]:
    """``merge_request.*``: they open a merge request, or change the open one of the branch.

    A draft is one by its title. GitLab reads a backslash and an ``n`` in a description as a line end.
    """
    options = ["create", f"target={request.base}", "remove_source_branch"]
    if request.title is not None:
        options.append(f"title={_line(('Draft: ' if request.is_draft else '') + request.title)}")
    if request.body is not None:
        escaped = _ACTION.sub(r"\1&#47;", request.body.replace("\r", "")).replace("\\n", "&#92;n")
        options.append("description=" + _cut(escaped, _CUT).replace("\n", "\\n").replace("\0", ""))
    options += [f"label={_line(label)}" for label in request.extras.labels]
    options += [f"assign={_line(person)}" for person in request.extras.assignees]
    if request.extras.auto_merge:
        options += ["auto_merge", "merge_when_pipeline_succeeds"]  # since 17.11, and until then; others are ignored
    return tuple(f"merge_request.{option}" for option in options)


def _agit(flavour: str, request: MergeRequest) -> tuple[str, ...]:
    """AGit: title and description count when the pull request is opened, and not again.

    The commit replaces the one before, if the server has the topic of this user already. A draft
    is one by its title. Gitea (1.24.3 and later) takes a description of many lines
    in base64. Forgejo does not; without an option it takes the commit's message.
    """
    options = [f"topic={request.topic}", "force-push=true"]
    if request.title is not None:
        options.append(f"title={_line((f'{WIP} ' if request.is_draft else '') + request.title)}")
    if request.body is not None and flavour == "gitea":
        body = _cut(request.body.replace("\r", ""), _CUT, MAX_OPTION * 3 // 4)
        options.append("description={base64}" + base64.b64encode(body.encode()).decode())
    return tuple(options)


def _line(text: str) -> str:
    one = " ".join(text.replace("\0", "").split())
    return one if len(one) <= _MAX_TITLE else one[: _MAX_TITLE - 1] + "…"


def _cut(text: str, note: str, limit: int = MAX_OPTION) -> str:
    """``text``, or as many whole lines of it as fit, and a note. A line end may take two bytes."""
    if len(text.encode()) + text.count("\n") <= limit:
        return text
    room, kept = limit - len(note.encode()) - note.count("\n"), []
    for line in text.splitlines(keepends=True):
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept.append(line)
    return "".join(kept).rstrip("\n") + note


_NAME = "Flux-Upgrade-Pull"
_COMMENT = re.compile(r"<!-- flux-upgrade \{.*?\} -->")


@dataclass(frozen=True)
class Memory:
    title: str = ""
    is_draft: bool = False
    state: str = ""  # The opening comment of our block in the body, with a `MarkerState`; empty if there is none
    statuses: dict[str, str] = field(default_factory=dict)


def comment_of(body: str | None) -> str:
    """The comment in ``body`` that holds our state."""
    found = _COMMENT.search(body or "")
    return found[0] if found else ""


def written(message: str, memory: Memory) -> str:
    """``message`` with the memory as a trailer, and not yet sealed."""
    fields = {"title": memory.title, "draft": memory.is_draft, "state": memory.state, "statuses": memory.statuses}
    kept = json.dumps({key: value for key, value in fields.items() if value})
    plain = without(message).rstrip("\n")
    last = plain.rsplit("\n", 1)[-1]
    gap = "\n" if re.match(r"[A-Za-z-]+: ", last) and "\n\n" in plain else "\n\n"
    return f"{plain}{gap}{_NAME}: {kept}\n"


def without(message: str) -> str:
    """``message`` as it was before the memory and the seal."""
    return "".join(
        line for line in message.splitlines(keepends=True) if not line.startswith((f"{_NAME}: ", f"{markers.DIGEST}: "))
    )


def updated(state: str, commit: NewCommit) -> str:
    """The state's comment, for what a new commit proposes."""
    if (known := markers.state_of(f"{state}\n")) is None:
        return state
    target = Version(markers.trailers(commit.message).get(markers.TARGET, known.target))
    paths = tuple(sorted(map(markers.digest_of, commit.files)))
    return comment_of(markers.block("", known._replace(target=target, paths=paths)))


def read(message: str) -> Memory | None:
    """The memory in a commit's message; None where there is none."""
    fields = json_of(markers.trailers(message).get(_NAME, ""))
    if not isinstance(fields, dict):
        return None
    texts = {key: value for key in ("title", "state") if isinstance(value := fields.get(key, ""), str)}
    statuses = fields.get("statuses", {})
    if not isinstance(statuses, dict) or not all(isinstance(state, str) for state in statuses.values()):
        statuses = {}
    return Memory(**texts, is_draft=fields.get("draft") is True, statuses=statuses)


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
