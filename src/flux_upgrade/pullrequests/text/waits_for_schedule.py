"""A draft that waits for the schedule of the config file, and for nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.model.markdown import code
from flux_upgrade.model.text import enumeration
from flux_upgrade.pullrequests.text.view import View


def short(view: View) -> Iterator[str]:
    """For the first line."""
    if view.proposal.waits_for_schedule:
        yield "waits for the schedule"


def paragraph(view: View) -> Iterator[str]:
    if view.proposal.waits_for_schedule:
        window = view.proposal.group.governance.window
        # Without the next time: the text stays the same until then.
        times = enumeration([code(each) for each in window.cron], "or")
        yield (
            f"**This stays a draft until the schedule begins:** {times} ({window.timezone}). To have it now, click "
            "**Ready for review**."
        )
