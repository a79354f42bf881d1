"""What GitHub's answers to the queries of ``query`` say of files, branches, pull requests and issues. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from flux_upgrade.adapters.github import branch_rules
from flux_upgrade.adapters.github.query import Json
from flux_upgrade.model.forge import (
    BaseCommit,
    BaseFile,
    Branch,
    Commit,
    CommitStatus,
    Issue,
    PullRequest,
    PullState,
    Question,
)
from flux_upgrade.model.markers import PROOF


def file_of(commit: Json, number: int) -> BaseFile:
    """A path at the base; a folder or a submodule is no file."""
    entry = commit[f"f{number}"]
    history = tuple(each["message"] for each in commit[f"h{number}"]["nodes"])
    if entry is None or entry["type"] != "blob":
        return BaseFile("", history=history)
    return BaseFile(entry["oid"], f"{entry['mode']:06o}", history)


def commits_of(commit: Json, question: Question) -> tuple[BaseCommit, ...]:
    """The last commits of the base by first parents, newest first; none where nothing is watched."""
    nodes = {node["oid"]: node for node in (commit.get("last") or {"nodes": ()})["nodes"]}
    found = []
    oid = commit["oid"]
    while oid in nodes:
        node = nodes.pop(oid)
        found.append(_base_commit(node, question))
        parents = node["parents"]["nodes"]
        oid = parents[0]["oid"] if parents else ""
    return tuple(found)


def _base_commit(node: Json, question: Question) -> BaseCommit:
    files = {path: node[f"f{number}"] for number, path in enumerate(question.watched)}
    statuses = {
        each["context"]: CommitStatus(each["state"].lower(), _login(each["creator"]))
        for each in (node.get("status") or {"contexts": ()})["contexts"]
    }
    moment = datetime.fromisoformat(node["committedDate"]).astimezone(UTC).isoformat().replace("+00:00", "Z")
    return BaseCommit(node["oid"], moment, {path: file["oid"] for path, file in files.items() if file}, statuses)


def _login(actor: Json | None) -> str:
    """As REST has it: GraphQL leaves ``[bot]`` out. Empty for an account that is gone."""
    if actor is None:
        return ""
    return f"{actor['login']}[bot]" if actor["__typename"] == "Bot" else str(actor["login"])


def branch_of(repository: Json, number: int, name: str) -> Branch:
    """A branch and its pull requests into the base."""
    base = repository["base"]
    ref, connection = repository[f"b{number}"], repository[f"q{number}"]
    head = None if ref is None else _commit(ref["target"])
    elsewhere = (n["url"] for n in _own(connection) if n["state"] == "OPEN" and n["baseRefName"] != base["name"])
    return Branch(name, head, pulls_of(connection, base), elsewhere=next(elsewhere, ""))


def pulls_of(connection: Json, base: Json) -> tuple[PullRequest, ...]:
    """Those into ``base`` whose head is in the repository itself."""
    return tuple(_pull(node, base) for node in _own(connection) if node["baseRefName"] == base["name"])


def _own(connection: Json) -> Iterator[Json]:
    return (node for node in connection["nodes"] if not node["isCrossRepository"])


def cursor_of(connection: Json) -> str:
    """Where to go on, should some have been dropped and more be there; empty: all is known."""
    page, nodes = connection["pageInfo"], connection["nodes"]
    dropped = any(node["isCrossRepository"] for node in nodes)
    return page["endCursor"] if dropped and page["hasNextPage"] else ""


def issues_of(repository: Json) -> tuple[Issue, ...]:
    """Those in place of drafts, newest first, and the dashboards, oldest first; none where they cannot be seen."""
    lists = (repository.get(name) or {"nodes": ()} for name in ("issues", "dashboards"))
    return tuple(
        Issue(
            n["number"],
            n["url"],
            n["title"],
            n["body"],
            _labels(n),
            is_open=n["state"] == "OPEN",
            closed_at=n["closedAt"] or "",
            is_closed_by_bot=_is_closed_by_bot(n),
            is_own=n["viewerDidAuthor"],
        )
        for found in lists
        for n in found["nodes"]
    )


def others_of(repository: Json, question: Question) -> tuple[str, ...]:
    """Branches with the prefix that the question does not name."""
    nodes = (repository.get("refs") or {"nodes": ()})["nodes"]
    names = map(_name, nodes)
    return tuple(n for n in names if n.startswith(question.prefix) and n not in question.branches)


def closed_of(repository: Json, question: Question) -> tuple[str, ...]:
    """Branches with the prefix that the question does not name, of pull requests that were closed."""
    nodes = (repository.get("closed") or {"nodes": ()})["nodes"]
    names = dict.fromkeys(node["headRefName"] for node in nodes if not node["isCrossRepository"])
    return tuple(name for name in names if name.startswith(question.prefix) and name not in question.branches)


def parents_of(repository: Json) -> tuple[str, ...]:
    """Branches whose names are above those of the question."""
    return tuple(_name(node) for alias, node in repository.items() if re.fullmatch(r"w\d+_\d+", alias) and node)


def _name(ref: Json) -> str:
    return f"{ref['prefix']}{ref['name']}".removeprefix("refs/heads/")


def _pull(node: Json, base: Json) -> PullRequest:
    commits = node["commits"]["nodes"]
    return PullRequest(
        number=node["number"],
        id=node["id"],
        url=node["url"],
        state=PullState(node["state"].lower()),
        is_draft=node["isDraft"],
        title=node["title"],
        body=node["body"],
        labels=_labels(node),
        head=_commit(commits[-1]["commit"]) if commits else None,
        is_conflicting=node["mergeable"] == "CONFLICTING",
        created_at=node["createdAt"],
        closed_at=node["closedAt"] or "",
        is_closed_by_bot=_is_closed_by_bot(node),
        is_outdated=branch_rules.is_outdated(base, node),
        labeled={each["label"]["name"]: each["createdAt"] for each in node["labeled"]["nodes"] if each},
        is_queued=bool(node.get("isInMergeQueue")),
        merges_for=_login(node["autoMergeRequest"]["enabledBy"]) if node["autoMergeRequest"] else None,
    )


def _is_closed_by_bot(node: Json) -> bool:
    """Whether an app closed it. Of an account that is gone GitHub tells nothing: that was a person's."""
    events = node["timelineItems"]["nodes"]
    return bool(events) and ((events[-1] or {}).get("actor") or {}).get("__typename") == "Bot"


def _labels(node: Json) -> tuple[str, ...]:
    return tuple(label["name"] for label in (node["labels"] or {"nodes": ()})["nodes"])


def _commit(node: Json) -> Commit:
    context = (node.get("status") or {}).get("context")
    return Commit(
        oid=node["oid"],
        tree=node["tree"]["oid"],
        parents=tuple(parent["oid"] for parent in node["parents"]["nodes"]),
        message=node["message"],
        statuses={} if context is None else {PROOF: context["state"].lower()},
    )
