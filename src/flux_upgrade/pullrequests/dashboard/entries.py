"""Plans, and what there is on GitHub → what the dashboard shows, an entry for each line. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from flux_upgrade.clusters.groups import branch_name
from flux_upgrade.config.config import Config
from flux_upgrade.model import markers
from flux_upgrade.model.forge import Issue, PullRequest, Repository
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import UpdateGroupPlan, Upgrade
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.feedback import issue_of, state_of
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.pullrequests.dashboard.answers import approve_box, rebase_box
from flux_upgrade.report.overview import Overview, overview
from flux_upgrade.route.rows import Row, State, is_left


class Section(Enum):
    """In the order of the page: its title, and the text above its entries."""

    APPROVAL = "Needs approval", "Tick a box to approve the version."
    OPEN = (
        "Open pull requests",
        "Tick a box to recreate the branch from the base branch. Other commits on it are discarded.",
    )
    HELD = "Held", ""
    WAITING = "Waiting", "You have nothing to do. If there is a box, it approves the version at once."
    UNOPENED = (
        "Not opened yet",
        "A later run opens these pull requests, once there is room under `limits`. If one failed, see the last run.",
    )
    DECLINED = "Declined or reverted", "Not proposed again. Tick a box to approve the version and propose it again."


class Entry(NamedTuple):
    """One line. All texts are plain: whoever shows them escapes them."""

    section: Section
    group: str  # Name of the update group
    names: tuple[str, ...] = ()  # The clusters, if they are not the whole group
    versions: str = ""  # `v2.8.8 → v2.9.4`
    bump_kind: str = ""
    box: str = ""  # Name of its box; empty: it has none
    approval: str = ""  # What the box approves
    pull: PullRequest | None = None
    issue: Issue | None = None  # In place of a draft
    reason: str = ""  # Slug of a hold
    since: str = ""  # Date on which it was declined
    why: str = ""
    hint: str = ""
    note: str = ""  # `draft`


class RingEntry(NamedTuple):
    group: str
    after: tuple[str, ...]
    soak_hours: int
    contexts: tuple[str, ...]  # Commit statuses by which Flux says that the group itself is healthy
    waits: tuple[str, ...]  # What it waits for, a clause each


class ClusterEntry(NamedTuple):
    name: str
    group: str  # Empty: it is in none
    version: str  # Empty: unknown


class Shown(NamedTuple):
    """All that the dashboard shows."""

    counts: str = ""  # `3 clusters: 2 ready, 1 held`
    drift: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    rings: tuple[RingEntry, ...] = ()
    clusters: tuple[ClusterEntry, ...] = ()


def shown_of(plans: Sequence[UpdateGroupPlan], config: Config, repository: Repository) -> Shown:
    """Of plans under the answers in ``repository``, which was fetched after all that a run did."""
    found = overview(plans)
    by_slug = {each.update_group.slug: each for each in plans}
    merged: dict[tuple[object, ...], list[Row]] = {}
    for row in found.rows:
        if row.state is not State.UP_TO_DATE and not is_left(row):
            merged.setdefault(_key(row), []).append(row)
    decided = [_entry(rows, by_slug[rows[0].group], config, repository) for rows in merged.values()]
    return Shown(
        found.counts,
        found.drift,
        (*_open(plans, config, repository), *(each for each in decided if each is not None)),
        tuple(_rings(plans)),
        tuple(_clusters(found, by_slug)),
    )


def _key(row: Row) -> tuple[object, ...]:
    """Rows of an update group with the same are one entry."""
    decision = row.decision
    why = (decision.reason, decision.detail, decision.hint) if isinstance(decision, Hold) else (row.why,)
    return row.group, row.bump_kind, row.target, row.state, *why


def _entry(rows: Sequence[Row], planned: UpdateGroupPlan, config: Config, repository: Repository) -> Entry | None:
    """None: its open pull request says it all."""
    row, group = rows[0], planned.update_group
    name = branch_name(config.branch_prefix, group.slug, row.bump_kind)
    branch = repository.branches.get(name)
    pull = branch.open_pull if branch is not None else None
    issue = issue_of(repository, group.slug, row.bump_kind)
    section = _section(row, is_open=pull is not None or issue is not None)
    if section is None:
        return None
    approval = _approval(row)
    names = tuple(dict.fromkeys(each.name for each in rows))
    currents = sorted({each.current or "unknown" for each in rows}, key=lambda each: Version.parse(each) or Version(""))
    entry = Entry(
        section,
        group.name,
        () if names == (group.name,) or len(names) == len(group.clusters) else names,
        f"{', '.join(currents)} → {row.target}" if row.target else ", ".join(currents),
        row.size,
        approve_box(group.slug, approval) if approval else "",
        approval,
        pull,
        issue if pull is None else None,
    )
    decision = row.decision
    if isinstance(decision, Upgrade):
        note = "" if pull or issue or section is Section.UNOPENED else "not opened yet"
        hint = "look at that group, or tick “do not wait” in the pull request" if decision.is_stuck else ""
        return entry._replace(why="; ".join(decision.waits_for), hint=hint, note=note)
    if row.state is State.NEEDS_APPROVAL:
        return entry
    hint = decision.hint if section is Section.HELD else ""
    since = decision.since[:10] if section is Section.DECLINED else ""
    return entry._replace(reason=str(decision.reason), since=since, why=decision.detail, hint=hint)


def _section(row: Row, *, is_open: bool) -> Section | None:
    decision = row.decision
    if row.state is State.NEEDS_APPROVAL:
        return Section.APPROVAL
    if isinstance(decision, Upgrade):
        if row.state is State.WAITS:
            return Section.HELD if decision.is_stuck else Section.WAITING
        return None if is_open else Section.UNOPENED
    effect = decision.reason.effect
    if effect.verb:
        return Section.DECLINED
    return Section.WAITING if effect.is_wait else Section.HELD


def _approval(row: Row) -> str:
    """What a box approves; empty where an approval changes nothing."""
    decision = row.decision
    is_lifted = not decision.approved if isinstance(decision, Upgrade) else decision.reason.effect.is_approvable
    is_about_one = bool(decision.target) and row.bump_kind in set(BumpKind)
    return BumpKind(row.bump_kind).approval(decision.target) if is_lifted and is_about_one else ""


def _open(plans: Sequence[UpdateGroupPlan], config: Config, repository: Repository) -> Iterator[Entry]:
    for planned in plans:
        group = planned.update_group
        for bump_kind in BumpKind:
            branch = repository.branches.get(branch_name(config.branch_prefix, group.slug, bump_kind))
            pull = branch.open_pull if branch is not None else None
            if pull is None:
                continue
            state = state_of(pull)
            is_edited = pull.head is not None and not markers.is_ours(pull.head)
            notes = ("draft" if pull.is_draft else "", f"{HoldReason.BRANCH_EDITED}" if is_edited else "")
            yield Entry(
                Section.OPEN,
                group.name,
                versions=f"to {state.target}" if state is not None and state.target else "",
                bump_kind=str(bump_kind),
                box=rebase_box(pull),
                pull=pull,
                note=", ".join(filter(None, notes)),
            )


def _rings(plans: Sequence[UpdateGroupPlan]) -> Iterator[RingEntry]:
    before = {name for planned in plans for name in planned.update_group.group.ring.after}
    for planned in plans:
        group = planned.update_group.group
        if not group.name or not (group.ring.after or group.name in before):
            continue
        waits: dict[str, None] = {}
        for plan in planned.plans:
            for each in plan.decisions:
                if isinstance(each, Upgrade):
                    waits |= dict.fromkeys(each.waits_for)
                elif each.reason in (HoldReason.WAITS_FOR_GROUP, HoldReason.GROUP_REVERTED):
                    waits[each.detail] = None
        contexts = group.ring.healthy.contexts if group.ring.healthy is not None else ()
        hours = int(group.ring.soak.total_seconds()) // 3600
        yield RingEntry(group.name, group.ring.after, hours, contexts, tuple(waits))


def _clusters(found: Overview, by_slug: Mapping[str, UpdateGroupPlan]) -> Iterator[ClusterEntry]:
    seen: dict[tuple[str, str], ClusterEntry] = {}
    for row in found.rows:
        if not row.is_reference:
            group = by_slug[row.group].update_group.group.name
            seen.setdefault((row.group, row.name), ClusterEntry(row.name, group, row.current))
    yield from seen.values()
