"""A repository of the stand-in as people see it, and as it was before."""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from github_stand_in import Repository, StandIn

from flux_upgrade.model import markers
from flux_upgrade.model.forge import Commit

Picture = Mapping[str, Any]
_RECORDS = ("pulls", "issues", "statuses", "labels", "settings")
_OBJECT = re.compile(r"\b[0-9a-f]{40}\b")
_TIME_OR_ID = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\bid=\d+")
_SINCE = re.compile(r"\\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
"""In the record of a draft: when a run first saw the files of another group."""
_SHOWN = ("state", "title", "body", "is_draft", "head", "base", "auto_merge", "reviewers", "assignees")


@dataclass(frozen=True)
class Snapshot:
    """All that the stand-in remembers. Git's objects stay: without a ref nobody sees them."""

    refs: Mapping[str, str]
    records: Mapping[str, Any]
    now: str


def snapshot(hub: StandIn, repository: Repository) -> Snapshot:
    """To come back to."""
    records = {name: copy.deepcopy(getattr(repository, name)) for name in _RECORDS}
    return Snapshot(repository.store.refs(), records, hub.clock.text)


def restore(hub: StandIn, repository: Repository, to: Snapshot) -> None:
    """Back to a snapshot; faults and log are gone, and no call of this hour was made."""
    now = repository.store.refs()
    names = [name for name in {**now, **to.refs} if now.get(name) != to.refs.get(name)]
    if names:
        repository.store.update_refs((name, None, to.refs.get(name, "")) for name in names)
    for name, value in copy.deepcopy(dict(to.records)).items():
        setattr(repository, name, value)
    hub.clock.set(to.now)
    hub.limits.begin()
    hub.heal()
    hub.forget()


def state(repository: Repository) -> str:
    """All that a run finds there, but for times and ids: two states that are equal have the same future."""

    made: dict[str, str] = {}

    def made_of(oid: str) -> str:
        """Return the digest of a commit without its dates; of another object, its id."""
        waiting = [oid]  # A busy year has more commits than Python has levels of calls
        while waiting:
            last = waiting[-1]
            commit = repository.store.read(last) if repository.store.kind(last) == "commit" else None
            missing = [each for each in commit.parents if each not in made] if commit is not None else []
            if commit is not None and not missing:
                content = (commit.tree, commit.author.name, commit.message, *(made[each] for each in commit.parents))
                made[last] = hashlib.sha256(repr(content).encode()).hexdigest()
            elif commit is None:
                made[last] = last
            waiting = waiting + missing if missing else waiting[:-1]
        return made[oid]

    records = [getattr(repository, name) for name in _RECORDS]
    text = _TIME_OR_ID.sub("", repr((repository.store.refs(), records)))
    return _OBJECT.sub(lambda match: made_of(match[0]), text)


def picture(repository: Repository) -> Picture:
    """Branches, pull requests, open issues; without what depends on when they were made."""
    heads = repository.store.refs("refs/heads/")
    issues = (issue for issue in repository.issues.values() if issue.state == "open")
    return {
        "branches": {name: _commit(repository, oid) for name, oid in heads.items()},
        "pulls": {number: _pull(pull) for number, pull in repository.pulls.items()},
        "issues": [(issue.title, issue.body, tuple(sorted(issue.labels))) for issue in issues],
    }


def _commit(repository: Repository, oid: str) -> tuple[object, ...]:
    commit = repository.store.read(oid)
    message = commit.message
    if markers.is_ours(Commit(oid, commit.tree, commit.parents, message)):
        # It tells of an approval only until there is a pull request.
        lines = (line for line in message.splitlines() if not line.startswith(_PASSING))
        message = "\n".join(lines)
    statuses = {name: (each.state, each.description) for name, each in repository.status(oid).items()}
    return commit.tree, commit.parents, message, statuses


_PASSING = (markers.APPROVAL, markers.OPENING, markers.DIGEST)


def _pull(pull: Any) -> dict[str, Any]:
    shown = {name: getattr(pull, name) for name in _SHOWN}
    shown["body"] = _SINCE.sub("", pull.body)
    comments = [each.body for each in pull.comments]
    return {**shown, "comments": comments, "labels": sorted(pull.labels), "merged": bool(pull.merged_at)}


def without_extras(whole: Picture) -> Picture:
    """Without labels, people, auto-merge and statuses: what a run does not fail for."""
    extras = ("labels", "assignees", "reviewers", "auto_merge")
    pulls = {
        number: {name: value for name, value in pull.items() if name not in extras}
        | {"body": _without_refusals(pull["body"])}
        for number, pull in whole["pulls"].items()
    }
    branches = {name: commit[:-1] for name, commit in whole["branches"].items()}
    return {**whole, "branches": branches, "pulls": pulls}


def _without_refusals(body: str) -> str:
    """A body as if what was refused had been given."""
    state, text = markers.state_of(body), markers.text_of(body)
    if state is None or text is None:
        return body
    given = {name.removeprefix(markers.REFUSED) for name in state.given} - {markers.STATUS}
    return markers.replaced(body, markers.block(text, state._replace(given=tuple(sorted(given))))) or body


def difference(wanted: object, found: object, where: str = "") -> str:
    """The places where two pictures differ."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return "; ".join(
            difference(wanted.get(key), found.get(key), f"{where}/{key}")
            for key in {**wanted, **found}
            if wanted.get(key) != found.get(key)
        )
    return f"{where}: {wanted!r} → {found!r}"
