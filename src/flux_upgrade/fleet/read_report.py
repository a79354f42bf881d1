"""The text of a report → what it says about a repository and its clusters.

The report of the Action (docs/reference/report.schema.json), or what ``plan --json`` prints
(docs/reference/plan.schema.json), which does not say of what repository it is.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import datetime

from flux_upgrade.fleet.fields import NotAReport, Object, address, flag, mapping, moment, number, objects, text, texts
from flux_upgrade.fleet.rows import Cluster, Row, Since, State
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import is_tag
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report import report_schema

TOOLS = "flux-cli"  # The name for tools of several clusters: it is not a cluster
_MANIFEST = "gotk-components"
_FOLLOWING = (HoldReason.FOLLOWS, HoldReason.CLUSTER_HELD, HoldReason.UP_TO_DATE)


class Report(NamedTuple):
    repository: str
    base: str
    url: str  # Of the run, else of the repository
    created_at: datetime | None  # None: unknown
    clusters: tuple[Cluster, ...]
    rows: tuple[Row, ...]  # One for each cluster and decision; failures of the run among them
    releases: tuple[str, ...]  # Tags that it names

    def without(self, clusters: Collection[str]) -> Report:
        """What it says about others than ``clusters``, and about the repository."""
        rows = ((row, tuple(each for each in row.clusters if each not in clusters)) for row in self.rows)
        return self._replace(
            clusters=tuple(each for each in self.clusters if each.name not in clusters),
            rows=tuple(row._replace(clusters=left) for row, left in rows if left or not row.clusters),
        )


def read_report(content: bytes, name: str, spelled: dict[str, str] | None = None) -> Report:
    """``name``: what to call the repository if the report does not. Raises NotAReport.

    ``spelled``: repositories of earlier reports, by their names in lower case. Git hosts ignore case in names.
    """
    spelled = {} if spelled is None else spelled
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        what = "it is empty" if not content.strip() else "it is not valid JSON"
        raise NotAReport(what) from error
    if not isinstance(value, dict) or "installations" not in value:
        raise NotAReport("it is not a report of flux-upgrade")
    try:
        if "reported" not in value:
            _require_version(value)
        return _Reader(value, _repository(value, spelled) or name).read()
    except NotAReport as error:
        error.repository = _repository(value, spelled)
        raise


def _repository(value: Object, spelled: dict[str, str]) -> str:
    """As the first report spells it; empty if it does not name one."""
    found = ""
    with suppress(NotAReport):
        found = text(value, "repository")
    return spelled.setdefault(found.lower(), found) if found else ""


def _require_version(value: Object) -> None:
    version = number(value, "schema-version")
    if version != report_schema.VERSION:
        age = "newer" if version > report_schema.VERSION else "older"
        shown = f"version {version}" if version else "an early version"
        raise NotAReport(f"its schema is {shown}, {age} than the version {report_schema.VERSION} that can be read")


class _Reader:
    def __init__(self, value: Object, repository: str) -> None:
        self._value = value
        self._repository = repository
        self._run = address(value, "run-url")
        self._created_at = moment(value, "created-at")
        self._is_dry = flag(value, "dry-run")
        self._promoted = "" if self._is_dry else _promoted(mapping(value, "artifact"))
        self._releases = mapping(value, "releases")
        self._failures = tuple((text(each, "slug"), text(each, "message")) for each in objects(value, "failures"))
        self._told: set[tuple[str, str]] = set()  # Failures that a row of a cluster has
        self._pulls = {
            (text(each, "update-group"), text(each, "bump")): each for each in objects(value, "pull-requests")
        }

    def read(self) -> Report:
        installations: dict[str, list[Object]] = {}
        for each in objects(self._value, "installations"):
            installations.setdefault(_cluster(each), []).append(each)
        rows = [*self._migrations(installations)]
        clusters = []
        for name, found in installations.items():
            version = self._promoted or _version(found)
            rows += self._cluster_rows(name, version, found)
            if name != TOOLS:
                clusters.append(Cluster(self._repository, name, version))
        rows += self._failed()
        tags = [*self._releases, *(row.target for row in rows), *(each.version for each in clusters)]
        return Report(
            self._repository,
            text(self._value, "base"),
            self._run or address(self._value, "repository-url"),
            self._created_at,
            tuple(clusters),
            tuple(rows),
            tuple(filter(is_tag, tags)),
        )

    def _failed(self) -> Iterator[Row]:
        """What the run failed for, as far as no row of a cluster has it."""
        since = Since(self._created_at, "since report") if self._created_at else None
        found = [": ".join(filter(None, each)) for each in self._failures if each not in self._told]
        if not self._failures and text(self._value, "outcome") == "failed":
            found = ["the report does not say why"]
        for why in dict.fromkeys(found):
            yield Row(State.FAILED, self._repository, why=why, since=since, url=self._run, link="run")

    def _migrations(self, installations: Mapping[str, list[Object]]) -> Iterator[Row]:
        """Pull requests that migrate manifests before clusters are upgraded."""
        for each in self._pulls.values():
            if text(each, "bump") != "migration" or text(each, "action") == "closed":
                continue
            group = text(each, "update-group")
            named = {name: {text(one, "update-group") for one in found} for name, found in installations.items()}
            clusters = [name for name, groups in named.items() if group in groups]
            row = Row(State.AVAILABLE, self._repository, tuple(clusters), target=_tag(each, "target"))
            yield self._with_pull(row._replace(why="migrates API versions first"), each)

    def _cluster_rows(self, name: str, version: str, installations: list[Object]) -> Iterator[Row]:
        rows: dict[Row, None] = {}
        for each in installations:
            for decision in objects(each, "decisions"):
                if row := self._decided(decision, text(each, "update-group"), version):
                    rows[row._replace(clusters=(name,))] = None
        if not rows and name != TOOLS:
            rows[Row(State.UP_TO_DATE, self._repository, (name,), version)] = None
        yield from rows

    def _decided(self, decision: Object, group: str, version: str) -> Row | None:
        """None: it needs no row."""
        bump, target = text(decision, "bump"), _tag(decision, "target")
        if target and target == self._promoted:
            return None
        pull = self._pulls.get((group, bump), {})
        row = Row(
            State.AVAILABLE, self._repository, current=version, target=target, since=self._began(decision, target)
        )
        if text(decision, "action") == "upgrade":
            waits = texts(decision, "waits-for")
            if not decision.get("approved"):
                row = row._replace(state=State.NEEDS_APPROVAL, why=f"{bump} upgrade")
            elif waits:
                row = row._replace(state=State.WAITS, why="; ".join(waits))
            else:
                row = row._replace(why=f"{bump} upgrade")
        else:
            reason, detail = text(decision, "reason"), text(decision, "detail")
            if reason in _FOLLOWING:
                return None
            state = State.FAILED if self._has_failed(detail, reason) else _state_of(reason, target)
            row = row._replace(state=state, why=": ".join(filter(None, (reason, detail))))
        return self._with_pull(row, pull) if pull else row

    def _with_pull(self, row: Row, pull: Object) -> Row:
        action, url, known = text(pull, "action"), address(pull, "url"), number(pull, "number")
        is_open = not (self._is_dry and action == "opened")  # A dry run only reports what it would open
        if row.state is State.AVAILABLE and is_open:
            row = row._replace(state=State.READY)
        if row.state is State.READY and flag(pull, "action-required"):
            row = row._replace(state=State.ACTION_REQUIRED, why=f"{row.why}: its pull request lists what to do")
        if action == "failed":
            error = text(pull, "error")
            self._has_failed(error)
            row = row._replace(state=State.FAILED, why=error or row.why)
        elif action == "held":
            reason = text(pull, "reason")
            why = ": ".join(filter(None, (reason, text(pull, "detail"))))
            row = row._replace(state=_state_of(reason, row.target), why=why)
        opened = moment(pull, "created-at") or (self._created_at if action == "opened" and is_open else None)
        if opened is not None and action not in ("closed", "failed"):
            row = row._replace(since=Since(opened, "open"))
        return row._replace(url=url, link=f"#{known}" if known else "pull request") if url else row

    def _has_failed(self, detail: str, slug: str = "") -> bool:
        """Whether the run failed for it: each failure begins with the place, and ends with what is wrong."""
        found = {each for each in self._failures if slug in ("", each[0]) and detail and each[1].endswith(detail)}
        self._told |= found
        return bool(found)

    def _began(self, decision: Object, target: str) -> Since | None:
        if began := moment(decision, "since"):
            return Since(began, "held")
        published = moment(self._releases, target) if target else None
        return Since(published, "since release") if published else None


def _state_of(reason: str, target: str) -> State:
    """Of a hold, by its reason. One that this program does not know is held."""
    known = next((each for each in HoldReason if each == reason), None)
    if known is HoldReason.NEEDS_APPROVAL and target:
        return State.NEEDS_APPROVAL
    # A user's decision does not expire.
    passes = known is not None and known.effect.is_wait and not known.effect.verb
    return State.WAITS if passes else State.HELD


def _cluster(installation: Object) -> str:
    """Raises NotAReport."""
    if not (name := text(installation, "cluster")):
        raise NotAReport("an installation has no cluster")
    return name


def _version(installations: list[Object]) -> str:
    """What a cluster runs: by its manifest, if it has one, else by the first reference whose release is known."""
    in_order = sorted(installations, key=lambda each: text(each, "kind") != _MANIFEST)
    return next((tag for each in in_order if (tag := _tag(each, "current"))), "")


def _promoted(artifact: Object) -> str:
    """The release to which the run moved the artifact's tag; empty: it did not. The decisions are from before."""
    digest = text(artifact, "promoted")
    found = objects(artifact, "pushed") if digest else ()
    return next((_tag(each, "version") for each in found if text(each, "digest") == digest), "")


def _tag(value: Object, name: str) -> str:
    found = text(value, name)
    return found if is_tag(found) else ""
