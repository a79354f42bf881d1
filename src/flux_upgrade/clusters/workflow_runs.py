"""Whether the workflows that run flux-upgrade ever do so while a schedule of the config file is open."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from cronsim import CronSim, CronSimError

from flux_upgrade.clusters.known import WithoutEffect
from flux_upgrade.config.config import Config
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import enumeration
from flux_upgrade.policy.schedule import Schedule
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import BrokenDocument

_WORKFLOWS = ".github/workflows"
_USES = re.compile(rb"^[ -]*uses:[ ]*[\"']?[^\s\"'#]*flux-upgrade", re.MULTILINE)
_YEAR = timedelta(days=366)
_SECOND = timedelta(seconds=1)
_MOST = 1_000
"""Starts of a workflow that are looked at. A year of them, unless it runs more often than every eight hours."""
_HINT = "add a cron to the workflow that falls into the schedule: see docs/how-to/merge-windows.md"


def never_inside(
    config: Config, tree: Snapshot, now: datetime, used: Collection[str] | None = None
) -> Iterator[WithoutEffect]:
    """Yield each schedule during which no workflow starts in the year after ``now``, which has a time zone.

    ``used``: names of the groups with installations; None: all. Nothing is known if a workflow also starts by other
    means than a cron and a user.
    """
    crons = _crons(tree)
    if not crons:
        return
    windows: dict[Schedule, str] = {}
    for group in (config.default, *config.groups):
        if used is None or group.name in used:
            window = group.governance.window
            is_inherited = window == config.default.governance.window
            windows.setdefault(window, "the config file" if is_inherited else f"the group {group.name}")
    for window, name in windows.items():
        opening = window.opening(now) if window.cron else None
        if opening is None or opening > now + _YEAR or any(_falls_into(cron, window, opening) for cron in crons):
            continue
        times, runs = enumeration(list(window.cron), "or"), enumeration(crons, "and")
        yield WithoutEffect(
            f"nothing is opened in the schedule of {name}, {times} ({window.timezone}): "
            f"the workflow runs at {runs} (UTC)",
            _HINT,
        )


def _crons(tree: Snapshot) -> list[str]:
    """Return the crons of the workflows that use flux-upgrade; none if their starts are unknown."""
    crons: list[str] = []
    for path in () if tree.location.is_sparse else tree.candidates(_WORKFLOWS):
        file = tree.at(path)
        if file is None or _USES.search(file.content):
            starts = None if file is None else _starts(file)
            if starts is None:
                return []
            crons += starts
    return list(dict.fromkeys(crons))


def _starts(file: File) -> list[str] | None:
    """Return the crons of a workflow; None if it may start by other means."""
    crons: list[str] = []
    for parsed in file.objects:
        if isinstance(parsed, BrokenDocument):
            return None
        try:
            data = parsed.data()
        except Unreadable:
            return None
        triggers = data.get("on") or data.get("True")  # YAML 1.1 reads `on` as true
        triggers = dict.fromkeys([triggers] if isinstance(triggers, str) else triggers or ())
        if not triggers.keys() <= {"schedule", "workflow_dispatch"}:
            return None
        count = parsed.count("on", "schedule")
        if any(parsed.has("on", "schedule", index, "timezone") for index in range(count)):
            return None
        crons += [parsed.text_at("on", "schedule", index, "cron") for index in range(count)]
    return crons if all(map(_is_cron, crons)) else None


def _is_cron(text: str) -> bool:
    try:
        CronSim(text, datetime(2000, 1, 1))  # noqa: DTZ001 any day
    except CronSimError:
        return False
    return True


def _falls_into(cron: str, window: Schedule, opening: datetime) -> bool:
    """Whether the workflow starts while the schedule is open. A cron with too many starts to look at counts as well."""
    begin = opening.astimezone(UTC)
    starts = 0
    for start in islice(CronSim(cron, begin - _SECOND), _MOST):
        if start > begin + _YEAR:
            return False
        if window.is_open(start):
            return True
        starts += 1
    return starts == _MOST
