"""Whether the workflows that run flux-upgrade ever do so while a schedule of the config file is open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from cronsim import CronSim, CronSimError

from flux_upgrade.clusters.known import WithoutEffect
from flux_upgrade.config.config import Config
from flux_upgrade.model.text import enumeration
from flux_upgrade.policy.schedule import Schedule
from flux_upgrade.snapshot.snapshot import Snapshot

_WORKFLOWS = ".github/workflows"
_USES = re.compile(rb"^[ -]*uses:[ ]*[\"']?[^\s\"'#]*flux-upgrade", re.MULTILINE)
_YEAR = timedelta(days=366)
_HINT = "add a cron to the workflow that falls into the schedule: see docs/how-to/merge-windows.md"


def never_inside(config: Config, tree: Snapshot, now: datetime) -> Iterator[WithoutEffect]:
    """Yield each schedule during which no workflow starts in the year after ``now``.

    A workflow without a cron starts by other means, such as a dispatch: then nothing is known. ``now`` has a time zone.
    """
    crons = _crons(tree)
    if not crons:
        return
    for group in (*config.groups, config.default):
        window = group.governance.window
        if window.cron and not any(_falls_into(cron, window, now) for cron in crons):
            name = f"the group {group.name}" if group.name else "the config file"
            times, runs = enumeration(list(window.cron), "or"), enumeration(crons, "and")
            yield WithoutEffect(
                f"nothing is opened in the schedule of {name}, {times} ({window.timezone}): "
                f"the workflow runs at {runs} (UTC)",
                _HINT,
            )


def _crons(tree: Snapshot) -> list[str]:
    """Return the crons of the workflows that use flux-upgrade; none if one of them is unknown."""
    crons: list[str] = []
    if tree.location.is_sparse:
        return []
    for path in tree.candidates(_WORKFLOWS):
        file = tree.at(path)
        if file is None or not _USES.search(file.content):
            continue
        for workflow in file.readable:
            count = workflow.count("on", "schedule")
            crons += [workflow.text_at("on", "schedule", index, "cron") for index in range(count)]
            if any(workflow.has("on", "schedule", index, "timezone") for index in range(count)):
                return []  # GitHub converts these
    return crons if all(map(_is_cron, crons)) else []


def _is_cron(text: str) -> bool:
    try:
        CronSim(text, datetime(2000, 1, 1))  # noqa: DTZ001 any day
    except CronSimError:
        return False
    return True


def _falls_into(cron: str, window: Schedule, now: datetime) -> bool:
    end = now.astimezone(UTC) + _YEAR
    return any(map(window.is_open, takewhile(lambda moment: moment < end, CronSim(cron, now.astimezone(UTC)))))
