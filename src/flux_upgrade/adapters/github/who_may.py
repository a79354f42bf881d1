"""Decide which answers to pull requests and issues count, by who gave them. Pure, but for asking who may write.

GitHub lets users without write access do more to a pull request than its documentation says. So an approval counts
only from a user whom the server, asked at the time of the run, calls one who may write. What was asked is recorded in
the body of the pull request, and counts as long as only users who may write have edited it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from flux_upgrade.adapters.github.query import Json
from flux_upgrade.model import markers
from flux_upgrade.model.forge import Answers
from flux_upgrade.model.values import NamedTuple

MayWrite = Callable[[str], bool | None]
"""Login → whether the user may write to the repository; None if GitHub does not tell."""

JOBS_OWN = "github-actions[bot]"  # The account of GITHUB_TOKEN, which all workflows of a repository share
_LABELS = (markers.APPROVED_LABEL, markers.REBASE_LABEL)
BOT = "[bot]"  # How the logins of apps end
_NOBODY = "an account that GitHub does not name"


class Event(NamedTuple):
    kind: str
    at: str  # RFC 3339, UTC
    actor: str  # Login as `login_of` returns it

    def record(self, *, may_write: bool) -> str:
        return f"{self.kind} {self.at} {self.actor} {'yes' if may_write else 'no'}"


def login_of(actor: Json | None) -> str:
    """Return a login as the REST API writes it: GraphQL leaves ``[bot]`` out.

    Empty for an account that is gone, and for one that is neither a user nor an app, like a mannequin.
    """
    kind = "" if actor is None else actor["__typename"]
    login = "" if actor is None else str(actor["login"])
    return {"Bot": f"{login}{BOT}", "User": login}.get(kind, "")


class Accounts(NamedTuple):
    """The accounts that flux-upgrade acts as: the token's, GITHUB_TOKEN's, and those of the config file."""

    viewer: str  # Login that the token acts as; empty if GitHub does not tell
    configured: tuple[str, ...] = ()

    def opened(self, node: Json) -> bool:
        """Whether one of them opened a pull request or an issue."""
        return bool(node["viewerDidAuthor"]) or self.has(login_of(node["author"]))

    def has(self, login: str) -> bool:
        known = {name.lower() for name in (self.viewer, JOBS_OWN, *self.configured) if name}
        return login.lower() in known

    def acts_as(self, login: str) -> bool:
        """Whether what ``login`` did is what flux-upgrade or its token's owner did.

        A configured user is asked about like any other: they may have left. ``JOBS_OWN`` may be any workflow, unless
        it is the token's account or configured.
        """
        configured = {name.lower() for name in self.configured if name.endswith(BOT)}
        return bool(login) and login.lower() in {self.viewer.lower(), *configured}


class Judge(NamedTuple):
    """``doubts``: collects a sentence for each answer that newly does not count."""

    accounts: Accounts
    may_write: MayWrite
    doubts: list[str]

    def answers_of(self, node: Json) -> Answers:
        """Judge the answers to a pull request or an issue that an account of ours opened."""
        accounts = self.accounts
        if not accounts.viewer and node["viewerDidAuthor"]:
            accounts = accounts._replace(viewer=login_of(node["author"]))
        case = _Case(node, accounts, self.may_write, [], [])
        is_trusted = case.is_trusted()
        known = markers.answers_of(str(node["body"])) if is_trusted else ()
        is_open = node["state"] == "OPEN"
        ready = _last(node, "readied", "ready") if is_open and not node.get("isDraft") else None
        reopened = _last(node, "reopened", "reopened") if node["state"] != "MERGED" else None
        answers = Answers(
            ready=None if ready is None else case.counts(ready, known, "marked it ready for review"),
            is_readied_by_us=ready is not None and accounts.acts_as(ready.actor),
            approved_at=max((event.at for event in _approvals(node) if case.counts(event, known, "")), default=""),
            reopened=reopened is None or case.counts(reopened, known, "reopened it"),
            body=is_trusted,
            labels=tuple(
                event.kind
                for event in _labelings(node)
                if not case.counts(event, known, f"added the label {event.kind}")
            ),
        )
        if None in case.fresh:
            return answers._replace(is_unknown=True)
        fresh = list(dict.fromkeys(record for record in case.fresh if record))
        self.doubts.extend(f"{doubt} in {node['url']}, but may not write to the repository" for doubt in case.doubts)
        return answers._replace(record=(*_kept(known, fresh), *fresh))


class _Case(NamedTuple):
    """One pull request or issue."""

    node: Json
    accounts: Accounts
    may_write: MayWrite
    fresh: list[str | None]  # What is to be recorded; None for what GitHub did not tell
    doubts: list[str]

    def is_trusted(self) -> bool:
        """Whether all who edited the body since we wrote it may write."""
        edited = self.node["lastEditedAt"]
        if edited is None:
            return True
        body = str(self.node["body"])
        is_whole = markers.state_of(body) is not None or markers.dashboard_scope(body) is not None
        if markers.text_of(body) is None or not is_whole:
            return False  # Our block is gone or broken: what is left of it is nobody's
        verdicts = {editor: self._asked(editor) for editor in _editors(self.node, self.accounts)}
        if verdicts:
            # This changes the body, so that our own edit becomes the newest: nobody is asked about twice.
            self.fresh.append(None if None in verdicts.values() else f"edited {edited}")
        self.doubts.extend(f"{editor or _NOBODY} edited its text" for editor, may in verdicts.items() if not may)
        return all(verdicts.values())

    def counts(self, event: Event, known: Iterable[str], deed: str) -> bool:
        """Whether who gave an answer may write. ``known``: what was recorded before."""
        if self.accounts.acts_as(event.actor):
            return True
        for verdict in (True, False):
            if event.record(may_write=verdict) in known:
                return verdict
        allowed = self._asked(event.actor)
        self.fresh.append(None if allowed is None else event.record(may_write=allowed))
        if not allowed and deed:
            self.doubts.append(f"{event.actor or _NOBODY} {deed}")
        return bool(allowed)

    def _asked(self, login: str) -> bool | None:
        # Apps are no collaborators, and an account that is gone cannot be asked about.
        return False if not login or login.endswith(BOT) else self.may_write(login)


def _editors(node: Json, accounts: Accounts) -> Iterator[str]:
    """Yield who edited the body since an account of ours did; empty for those whom GitHub does not list."""
    edits = node["userContentEdits"] or {"totalCount": 0, "nodes": ()}
    newest = sorted(edits["nodes"], key=lambda edit: str(edit["editedAt"]), reverse=True)
    is_partial = edits["totalCount"] > len(newest)
    if not newest or (is_partial and newest[0]["editedAt"] < node["lastEditedAt"]):
        yield ""
        return
    for edit in newest:
        login = login_of(edit["editor"])
        if accounts.acts_as(login):
            return
        yield login
    if is_partial:
        yield ""


def _last(node: Json, alias: str, kind: str) -> Event | None:
    events = [each for each in (node.get(alias) or {"nodes": ()})["nodes"] if each]
    return Event(kind, events[-1]["createdAt"], login_of(events[-1]["actor"])) if events else None


def _labelings(node: Json) -> Iterator[Event]:
    """Yield when labels that answer something were added: those on an open one, and approvals of a closed one."""
    names = {label["name"] for label in (node["labels"] or {"nodes": ()})["nodes"]}
    for label in _LABELS:
        event = _labeled(node, label)
        is_late = node["state"] == "CLOSED" and label == markers.APPROVED_LABEL and event.at > (node["closedAt"] or "")
        if label in names and (node["state"] == "OPEN" or is_late):
            yield event


def _approvals(node: Json) -> Iterator[Event]:
    """Yield who added the approving label to one that is ready: flux-upgrade removes the label once it has acted."""
    if node["state"] == "OPEN" and not node.get("isDraft", True):
        event = _labeled(node, markers.APPROVED_LABEL)
        if event.at:
            yield event


def _labeled(node: Json, label: str) -> Event:
    events = [each for each in node["labeled"]["nodes"] if each and each["label"]["name"] == label]
    # A label whose event is no longer among those that are listed was added by anybody.
    return Event(label, events[-1]["createdAt"], login_of(events[-1]["actor"])) if events else Event(label, "", "")


def _kept(known: Iterable[str], fresh: Iterable[str]) -> tuple[str, ...]:
    """Return the records that no newer one of the same kind replaces."""
    replaced = {record.partition(" ")[0] for record in fresh}
    return tuple(record for record in known if record.partition(" ")[0] not in replaced)
