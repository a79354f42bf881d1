"""A draft that waits: for other groups, with the box that ends the wait, or only for the schedule."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.model import markers
from flux_upgrade.model.markdown import bullets, code, plain
from flux_upgrade.model.text import enumeration
from flux_upgrade.planning.plan import GroupWait
from flux_upgrade.pullrequests.text.view import View

_STUCK = "it does not pass by itself. Look at that group, or decide that this release does not wait."


def short(view: View) -> Iterator[str]:
    """For the first line."""
    wait = _wait(view)
    if wait is not None and not wait.is_ended:
        yield f"waits for {enumeration([code(name) for name in wait.groups])}"
    if view.proposal.waits_for_schedule:
        yield "waits for the schedule"


def paragraphs(view: View) -> Iterator[str]:
    wait = _wait(view)
    if wait is not None:
        yield _for_groups(view, wait)
    if view.proposal.waits_for_schedule:
        window = view.proposal.group.governance.window
        # Without the next time: the text stays the same until then.
        times = enumeration([code(each) for each in window.cron], "or")
        yield (
            f"**This stays a draft until the schedule begins:** {times} ({window.timezone}). To have it now, click "
            "**Ready for review**."
        )


def _for_groups(view: View, wait: GroupWait) -> str:
    names = enumeration([code(name) for name in wait.groups])
    target = view.proposal.target
    said = f"**This stays a draft until {names} has passed {target}:**"
    if view.proposal.group.ring.one_release_at_a_time:
        said = f"**This stays a draft, because {target} waits for {names}:**"
    if wait.is_ended:
        said = f"**This does not wait for {names}**, because you ticked the box{':' if wait.why else '.'}"
    said = "\n".join(filter(None, (said, bullets([plain(each) for each in wait.why]))))
    if wait.is_stuck and not wait.is_ended:
        said += f"\n\n**This needs you:** {_STUCK}"
    if view.has_boxes:
        entry = markers.ring_entry(view.proposal.slug, target, wait.groups)
        text = f"do not wait for {names} with {target}"
        said += f"\n\n{markers.checkbox(f'{markers.ACCEPT}-{entry}', text, is_ticked=wait.is_ended)}"
    elif not wait.is_ended:
        said += f"\n\nTo upgrade without waiting, run `flux-upgrade upgrade --to {target}` in a checkout."
    return said


def _wait(view: View) -> GroupWait | None:
    """What the group's highest release waits for."""
    waits = {upgrade.target: upgrade.wait for _, upgrade in view.upgrades if upgrade.wait is not None}
    return waits[max(waits)] if waits else None
