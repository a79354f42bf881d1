"""What GitHub's answers to the queries of ``query`` say of files, branches, pull requests and issues. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from flux_upgrade.adapters.github import branch_rules
from flux_upgrade.adapters.github.query import Json
from flux_upgrade.adapters.github.who_may import Judge, login_of
from flux_upgrade.model.forge import (
    Answers,
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
    nodes = commit[f"h{number}"]["nodes"]
    history = tuple(each["message"] for each in nodes)
    if entry is None or entry["type"] != "blob":
        return BaseFile("", history=history)
    changed_at = _in_utc(nodes[0]["committedDate"]) if nodes else ""
    return BaseFile(entry["oid"], f"{entry['mode']:06o}", history, changed_at)


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
        each["context"]: CommitStatus(each["state"].lower(), login_of(each["creator"]))
        for each in (node.get("status") or {"contexts": ()})["contexts"]
    }
    blobs = {path: file["oid"] for path, file in files.items() if file}
    return BaseCommit(node["oid"], _in_utc(node["committedDate"]), blobs, statuses)


def _in_utc(date: str) -> str:
    return datetime.fromisoformat(date).astimezone(UTC).isoformat().replace("+00:00", "Z")


def branch_of(repository: Json, number: int, name: str, judge: Judge) -> Branch:
    """A branch and its pull requests into the base."""
    ref, connection = repository[f"b{number}"], repository[f"q{number}"]
    head = None if ref is None else _commit(ref["target"])
    pulls, others = pulls_of(connection, repository["base"], judge)
    return Branch(
        name,
        head,
        pulls,
        elsewhere=open_elsewhere(connection, repository["base"], judge),
        others=others,
        is_kept=branch_rules.forbids_deletion(ref),
    )


def pulls_of(connection: Json, base: Json, judge: Judge) -> tuple[tuple[PullRequest, ...], tuple[PullRequest, ...]]:
    """Those into ``base`` whose head is in the repository itself: opened by an account of ours, and by others."""
    nodes = [node for node in _own(connection) if node["baseRefName"] == base["name"]]
    ours = [node for node in nodes if judge.accounts.opened(node)]
    others = (_pull(node, base, Answers()) for node in nodes if node not in ours)
    return tuple(_pull(node, base, judge.answers_of(node)) for node in ours), tuple(others)


def open_elsewhere(connection: Json, base: Json, judge: Judge) -> str:
    """The address of an open pull request into another base, which another configuration of ours may have opened.

    A user's has no effect there. A bot's may be ours under another token.
    """
    nodes = (n for n in _own(connection) if n["state"] == "OPEN" and n["baseRefName"] != base["name"])
    bots = (n["url"] for n in nodes if judge.accounts.opened(n) or login_of(n["author"]).endswith("[bot]"))
    return next(bots, "")


def _own(connection: Json) -> Iterator[Json]:
    return (node for node in connection["nodes"] if not node["isCrossRepository"])


def cursor_of(connection: Json, judge: Judge) -> str:
    """Where to go on, should some have been dropped and more be there; empty: all is known."""
    page, nodes = connection["pageInfo"], connection["nodes"]
    dropped = any(node["isCrossRepository"] or not judge.accounts.opened(node) for node in nodes)
    return page["endCursor"] if dropped and page["hasNextPage"] else ""


def issues_of(repository: Json, judge: Judge) -> tuple[Issue, ...]:
    """Those in place of drafts, newest first, and the dashboards, oldest first; none where they cannot be seen."""
    lists = (repository.get(name) or {"nodes": ()} for name in ("issues", "dashboards"))
    return tuple(_issue(node, judge) for found in lists for node in found["nodes"])


def _issue(node: Json, judge: Judge) -> Issue:
    is_own = judge.accounts.opened(node)
    answers = judge.answers_of(node) if is_own else Answers()
    return Issue(
        node["number"],
        node["url"],
        node["title"],
        node["body"],
        _labels(node, answers),
        is_open=node["state"] == "OPEN",
        closed_at=node["closedAt"] or "",
        is_closed_by_bot=_is_closed_by_bot(node),
        is_own=is_own,
        answers=answers,
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


def _pull(node: Json, base: Json, answers: Answers) -> PullRequest:
    commits = node["commits"]["nodes"]
    return PullRequest(
        number=node["number"],
        id=node["id"],
        url=node["url"],
        state=PullState(node["state"].lower()),
        is_draft=node["isDraft"],
        title=node["title"],
        body=node["body"],
        labels=_labels(node, answers),
        head=_commit(commits[-1]["commit"]) if commits else None,
        is_conflicting=node["mergeable"] == "CONFLICTING",
        created_at=node["createdAt"],
        closed_at=node["closedAt"] or "",
        is_closed_by_bot=_is_closed_by_bot(node),
        is_outdated=branch_rules.is_outdated(base, node),
        labeled={each["label"]["name"]: each["createdAt"] for each in node["labeled"]["nodes"] if each},
        is_queued=bool(node.get("isInMergeQueue")),
        merges_for=login_of(node["autoMergeRequest"]["enabledBy"]) if node["autoMergeRequest"] else None,
        author=login_of(node["author"]),
        begun=_commit(node["begun"]["nodes"][0]["commit"]) if node["begun"]["nodes"] else None,
        answers=answers,
    )


def _is_closed_by_bot(node: Json) -> bool:
    """Whether an app closed it. Of an account that is gone GitHub tells nothing: that was a person's."""
    events = node["timelineItems"]["nodes"]
    return bool(events) and ((events[-1] or {}).get("actor") or {}).get("__typename") == "Bot"


def _labels(node: Json, answers: Answers) -> tuple[str, ...]:
    names = (label["name"] for label in (node["labels"] or {"nodes": ()})["nodes"])
    return tuple(name for name in names if name not in answers.labels)


def _commit(node: Json) -> Commit:
    context = (node.get("status") or {}).get("context")
    return Commit(
        oid=node["oid"],
        tree=node["tree"]["oid"],
        parents=tuple(parent["oid"] for parent in node["parents"]["nodes"]),
        message=node["message"],
        statuses={} if context is None else {PROOF: context["state"].lower()},
    )
