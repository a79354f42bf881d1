"""Git, and commit statuses, as the GraphQL API shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from github_stand_in import access
from github_stand_in.gitstore import Entry
from github_stand_in.model import Rule, Status, Token, moment
from github_stand_in.refusals import Refused
from github_stand_in.repository import Repository
from github_stand_in.shapes import number_of

View = dict[str, Any]
"""Names of the schema → values, or functions that give them."""
_MAX_PAGE = 100
_WORST_FIRST = ("ERROR", "FAILURE", "PENDING", "SUCCESS")


def connection(
    name: str, nodes: Callable[[], Sequence[Any]], show: Callable[[Any], View | None]
) -> Callable[..., View]:
    """A connection; GitHub refuses one without ``first`` or ``last``, and pages of more than 100."""

    def resolve(_: object, **arguments: Any) -> View:
        first, last = arguments.get("first"), arguments.get("last")
        size: int | None = last if first is None else first
        if size is None:
            raise Refused(
                422, f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
            )
        if not 0 <= size <= _MAX_PAGE:
            raise Refused(422, f"Requesting {size} records on the `{name}` connection exceeds the limit of 100.")
        every = list(nodes())
        begin = int(arguments.get("after") or 0) if first is not None else max(len(every) - size, 0)
        page = every[begin : begin + size]
        return {
            "nodes": [show(each) for each in page],
            "totalCount": len(every),
            "pageInfo": {
                "startCursor": str(begin) if page else None,
                "endCursor": str(begin + len(page)) if page else None,
                "hasNextPage": begin + len(page) < len(every),
                "hasPreviousPage": begin > 0,
            },
        }

    return resolve


@dataclass(frozen=True)
class GitViews:
    """One repository's Git, for one token; ``web`` is the address that links begin with."""

    repository: Repository
    token: Token
    web: str

    def need(self, permission: str, level: str = "read") -> None:
        """Refuse what the token may not do."""
        access.require(self.token, self.repository.full_name, self.repository.settings, permission, level)

    @property
    def url(self) -> str:
        """Of the repository, for a browser."""
        return f"{self.web}/{self.repository.full_name}"

    def ref(self, name: str) -> View | None:
        """A ref, by its full name or a branch's."""
        self.need("contents")
        full = name if name.startswith("refs/") else f"refs/heads/{name}"
        oid = self.repository.store.ref(full)
        if not oid:
            return None
        branch = full.removeprefix("refs/heads/")
        rules = [r for r in self.repository.settings.rules if r.covers(branch)]
        classic = [rule for rule in rules if rule.is_classic]
        signed = any(rule.type == "REQUIRED_SIGNATURES" for rule in classic)
        about = {"id": f"BPR_{number_of(full)}", "pattern": classic[0].branches if classic else ""}
        # By default, branch protection refuses force pushes; a rule for something else allows them here.
        forced = all(rule.type != "NON_FAST_FORWARD" for rule in classic)
        checks = any(rule.type == "REQUIRED_STATUS_CHECKS" for rule in classic)
        updates = {
            "pattern": about["pattern"],
            "requiresSignatures": signed,
            "allowsForcePushes": forced,
            "allowsDeletions": all(rule.type != "DELETION" for rule in classic),
            "requiredStatusCheckContexts": list(self.repository.settings.required_contexts) if checks else [],
        }
        return {
            "__typename": "Ref",
            "id": f"REF_{self.repository.id}_{number_of(full)}",
            "name": branch if full != branch else full.rpartition("/")[2],
            "prefix": full[: -len(branch)] if full != branch else full.rpartition("/")[0] + "/",
            "target": lambda _: self.git_object(oid),
            "rules": connection("rules", lambda: [r for r in rules if not r.is_classic], _rule),
            "branchProtectionRule": {**about, "requiresCommitSignatures": signed} if classic else None,
            "refUpdateRule": updates if classic else None,
        }

    def object(self, arguments: Mapping[str, str | None]) -> View | None:
        """What ``oid`` or ``expression`` (``main:path``, ``HEAD``) name."""
        self.need("contents")
        name, _, path = (arguments.get("expression") or arguments.get("oid") or "").partition(":")
        oid = self.repository.resolve(name)
        if oid and path:
            entry = self.repository.store.entry(oid, path)
            oid = entry.oid if entry else ""
        return self.git_object(oid) if oid else None

    def git_object(self, oid: str) -> View:
        """A commit, tree or blob by its id."""
        kind = self.repository.store.kind(oid)
        common = {
            "__typename": kind.capitalize(),
            "id": f"{kind[0].upper()}_{oid}",
            "oid": oid,
            "abbreviatedOid": oid[:7],
        }
        if kind == "commit":
            return {**common, **self._commit(oid)}
        if kind == "tree":
            entries = self.repository.store.entries(oid)
            return {**common, "entries": lambda _: [self._entry(each, each.path) for each in entries]}
        return {**common, **self._blob(oid)}

    def _blob(self, oid: str) -> View:
        content = self.repository.store.content(oid)
        is_binary = b"\0" in content
        text = None if is_binary else content.decode("utf-8", "replace")
        return {"byteSize": len(content), "isBinary": is_binary, "text": text}

    def _entry(self, entry: Entry, path: str) -> View:
        return {
            "mode": int(entry.mode, 8),
            "name": path.rpartition("/")[2],
            "path": path,
            "type": entry.kind,
            "oid": entry.oid,
            "object": lambda _: self.git_object(entry.oid),
        }

    def _commit(self, oid: str) -> View:
        store = self.repository.store
        commit = store.read(oid)
        headline, _, rest = commit.message.partition("\n")
        signature = {"__typename": "GpgSignature", "isValid": True, "wasSignedByGitHub": True}

        def file(_: object, **arguments: str) -> View | None:
            entry = store.entry(oid, arguments["path"].rstrip("/"))
            return self._entry(entry, entry.path) if entry else None

        def history(info: object, **arguments: Any) -> View:
            path = arguments.get("path") or ""
            return connection("history", lambda: store.log(oid, 1000, path), self.git_object)(info, **arguments)

        return {
            "message": commit.message,
            "messageHeadline": headline,
            "messageBody": rest.lstrip("\n"),
            "committedDate": moment(commit.committer.at),
            "tree": lambda _: self.git_object(commit.tree),
            "parents": connection("parents", lambda: commit.parents, self.git_object),
            "file": file,
            "history": history,
            "signature": signature if commit.is_signed else None,
            "status": lambda _: self._status(oid),
            "statusCheckRollup": lambda _: self._rollup(oid),
        }

    def _status(self, oid: str) -> View | None:
        self.need("statuses")
        contexts = {name: self._context(each) for name, each in self.repository.status(oid).items()}
        if not contexts:
            return None
        return {
            "id": f"S_{oid}",
            "state": _worst(contexts.values()),
            "contexts": list(contexts.values()),
            "context": lambda _, **a: contexts.get(a["name"]),
        }

    def _context(self, status: Status) -> View:
        return {
            "id": f"SC_{status.id}",
            "context": status.context,
            "state": status.state.upper(),
            "description": status.description,
            "targetUrl": status.target_url,
            "creator": actor(status.creator, self.web),
            "createdAt": status.at,
        }

    def _rollup(self, oid: str) -> View | None:
        status = self._status(oid)
        return None if status is None else {"id": f"SCR_{oid}", "state": status["state"]}


def actor(login: str, web: str) -> View:
    """Who did something. GraphQL leaves out what REST puts after a bot's name."""
    kind = "Bot" if login.endswith("[bot]") else "User"
    name = login.removesuffix("[bot]")
    path = f"/apps/{name}" if kind == "Bot" else f"/{name}"
    return {
        "__typename": kind,
        "id": f"U_{number_of(login)}",
        "login": name,
        "avatarUrl": f"{web}/avatars/{name}",
        "resourcePath": path,
        "url": f"{web}{path}",
    }


def _rule(rule: Rule) -> View:
    number = number_of(rule.type + rule.branches)  # Each rule is in a ruleset of its own
    checks = {"__typename": "RequiredStatusChecksParameters", "strictRequiredStatusChecksPolicy": rule.is_strict}
    return {
        "id": f"RR_{number}",
        "type": rule.type,
        "parameters": checks if rule.type == "REQUIRED_STATUS_CHECKS" else None,
        "repositoryRuleset": lambda _: ruleset(rule),
    }


def ruleset(rule: Rule) -> View:
    """The ruleset that a rule is in, alone."""
    number = number_of(rule.type + rule.branches)
    include = rule.branches if rule.branches.startswith("~") else f"refs/heads/{rule.branches}"
    return {
        "id": f"RRS_{number}",
        "databaseId": number,
        "name": rule.type.lower(),
        "target": "BRANCH",
        "enforcement": "ACTIVE",
        "conditions": {"refName": {"include": [include], "exclude": []}},
        "rules": connection("rules", lambda: [rule], _rule),
    }


def _worst(contexts: Any) -> str:
    states = {each["state"] for each in contexts}
    return next(state for state in _WORST_FIRST if state in states)
