"""The text of a pull request: what a tired person needs, in the order in which it is needed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from flux_upgrade.model import markers
from flux_upgrade.model.markdown import bullets, code, counted, fold, numbered, plain
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.model.text import enumeration
from flux_upgrade.planning.proposal import Proposal, ProposalContext
from flux_upgrade.policy.feedback import APPROVED
from flux_upgrade.pullrequests.text import cluster_changes, flux_migrate, migration, verification, waits
from flux_upgrade.pullrequests.text.boxes import REBASE_BOX, TAKING_EFFECT, held_checks
from flux_upgrade.pullrequests.text.breaking_changes import acceptance, unaccepted
from flux_upgrade.pullrequests.text.checklist import left_out, tasks
from flux_upgrade.pullrequests.text.commit import title
from flux_upgrade.pullrequests.text.notes import notes
from flux_upgrade.pullrequests.text.view import View

_SPARE = 32  # One part in so many of the limit is left to people, and to the line that says why it was closed
_FEW = 5
_ROWS = 10
_DIGESTS = "**Pinned by digest**, as the registry has it for the new tag:"
_LISTS = (40, 12, 4, 1)  # Lengths of lists, one after the other, until the text fits


def body(proposal: Proposal, context: ProposalContext, state: MarkerState) -> str:
    """Our block of the body; with its markers it is no longer than ``context.limit`` allows."""
    return _fitted(proposal, context, state, _pull_request)


def issue(proposal: Proposal, context: ProposalContext, state: MarkerState) -> tuple[str, str]:
    """Title and body of the issue that says what a draft would, where the forge has none."""
    # No workflow waits for an issue.
    return title(proposal, context), _fitted(proposal, context._replace(waits_for_checks=False), state, _issue)


def _fitted(
    proposal: Proposal,
    context: ProposalContext,
    state: MarkerState,
    written: Callable[[View], tuple[list[str], list[str]]],
) -> str:
    room = context.limit - context.limit // _SPARE - len(markers.block("", state))
    for most in _LISTS:
        view = View(proposal, context, most, has_boxes=written is _pull_request)
        above, below = written(view)
        own = "\n\n".join([*above, *below])
        if len(own) <= room:
            folded = notes(view, room - len(own) - 2)
            return markers.block("\n\n".join(filter(None, [*above, folded, *below])), state)
    # Only where remarks are longer than all that may be written.
    view = View(proposal, context)
    return markers.block(f"{_first(view, tasks(view))}\n\nThis pull request is too large to list them.", state)


def _pull_request(view: View) -> tuple[list[str], list[str]]:
    above = [*_beginning(view, _approval(view)), *_middle(view), *_verified(view), _end(view)]
    return above, [_boxes(view), *held_checks(view.context)]


def _issue(view: View) -> tuple[list[str], list[str]]:
    ways = [f"add the label {code(APPROVED)} to this issue", *_command(view)]
    approval = (
        f"**Approve:** {', or '.join(ways)}. {_everywhere(view)}flux-upgrade then opens a pull request. "
        "This repository has no drafts. "
        f"The commit is already on the branch {code(view.proposal.branch)}."
    )
    return [*_beginning(view, approval), *_middle(view), *_verified(view), f"**Why now:** {_why(view)}"], []


def _beginning(view: View, approval: str) -> Iterator[str]:
    todo = tasks(view)
    yield _first(view, todo)
    if todo:
        yield f"**Action required**\n{numbered(todo)}"
    if view.is_migration:
        yield from migration.left_to_you(view)
    yield from cluster_changes.upgrade_path(view)
    yield from left_out(view)
    yield from waits.paragraphs(view)
    yield from acceptance(view)
    yield from flux_migrate.kept_box(view)
    yield from verification.drift(view)
    if view.proposal.is_pending:
        yield approval


def _first(view: View, todo: list[str]) -> str:
    is_step = view.is_migration or (view.moves and not view.aligns)
    size = view.proposal.bump_kind.capitalize() if is_step else _at_rest(view)
    why_draft = [
        *(["needs approval"] if view.proposal.is_pending else []),
        *waits.short(view),
        *(["a patch breaks"] if unaccepted(view) else []),
    ]
    needs = [f"**{counted(len(todo), 'action')} required**"] if todo else []
    if view.is_migration and (left := migration.count_left(view)):
        needs.append(f"**{counted(left, 'manifest')} left to you**")
    about = [*_where(view), migration.size(view) if view.is_migration else _from_to(view)]
    return " · ".join([f"**{size}**", *about, *why_draft, *(needs or ["no action required"])])


def _at_rest(view: View) -> str:
    return "Install flags" if any(upgrade.flags for _, upgrade in view.upgrades) else "Alignment"


def _where(view: View) -> Iterator[str]:
    count = len(view.upgrades)
    if view.is_tools:
        yield "the Flux CLI"
    if view.name:
        yield code(view.name)
    if not view.is_migration and (count > 1 or view.held or view.share):
        yield view.share or (
            counted(count, "pin" if view.pins else "installation")
            if not view.held
            else f"{count} of {count + len(view.held)} {'pins' if view.pins else 'installations'}"
        )


def _from_to(view: View) -> str:
    targets = ", ".join(view.targets)
    if not view.moves:
        return targets
    current = view.current
    shown = ", ".join(current) if len(current) <= _FEW else f"{current[0]} … {current[-1]}"
    return f"{shown} → {targets}"


def _approval(view: View) -> str:
    ways = ["click **Ready for review**", f"add the label {code(APPROVED)}", *_command(view)]
    return f"**Approve:** {enumeration(ways, 'or')}. {_everywhere(view)}Until then, this draft is kept up to date."


def _command(view: View) -> list[str]:
    command, named = view.context.approve_command, f"{view.proposal.name}={view.answer}"
    return [f"run {code(command + shlex.quote(named))}"] if command else []


def _everywhere(view: View) -> str:
    if not view.context.approve_command:
        return ""
    return f"Without {code(f'{view.proposal.name}=')}, the command approves {view.answer} in every cluster. "


def _middle(view: View) -> Iterator[str]:
    return migration.middle(view) if view.is_migration else _upgraded(view)


def _upgraded(view: View) -> Iterator[str]:
    yield from _changes(view)
    yield from migration.along(view)
    yield from view.listed(_DIGESTS, cluster_changes.digests(view), for_one=_DIGESTS)
    if view.pins:
        others = "Other version references" if view.manifests else "Version references"
        yield f"**{others} updated**\n\n{verification.pins(view)}"
    yield from view.listed("**About these references**", verification.pin_remarks(view))
    yield from view.listed("**Install flags changed**, as you configured:", verification.flags_changed(view))
    yield from _kept(view)
    yield from cluster_changes.besides(view)


def _verified(view: View) -> Iterator[str]:
    if view.is_migration:
        return
    lines, patches = verification.proof(view), list(cluster_changes.patches(view))
    if view.is_one or len(lines) == 1:
        yield f"**Verification:** {'. '.join(lines)}."
    else:
        yield from view.listed("**Verification**", lines)
    if len(patches) == 1:
        yield f"**Patches:** {patches[0]}."
    else:
        yield from view.listed("**Patches**", patches)


def _changes(view: View) -> Iterator[str]:
    changes = list(cluster_changes.changes(view))
    if changes:
        yield "**Changes in the cluster**"
    if (view.manifests and view.moves) or any(
        old != new for each in view.manifests for _, old, new in each.change.images
    ):
        table, rows = cluster_changes.controllers(view)
        yield table if rows <= _ROWS else fold(f"<b>Controllers</b>, {rows} different sets", table)
    yield from changes
    yield from cluster_changes.unseen(view)


def _kept(view: View) -> Iterator[str]:
    yield from view.listed("**Install flags kept**", verification.flags_kept(view), for_one="**Install flags kept:**")
    kept = verification.edits(view, "kept")
    if kept:
        listed = bullets(view.limited(kept))
        edits = [edit for each in view.manifests for edit in each.change.carried.kept if not edit.is_absence]
        count = len({edit.identity for edit in edits})
        heading = "Your manual edit (kept)" if count == 1 else f"Your {count} manual edits (kept)"
        yield f"**{heading}**\n{listed}" if count <= _FEW else fold(f"<b>{heading}</b>", listed)
    yield from view.listed("**Your edits that the release now contains**", verification.edits(view, "absorbed"))


def _end(view: View) -> str:
    # Not "-": below a list, that would be more of the same list.
    return "\n".join(f"* {line}" for line in _answers(view))


def _answers(view: View) -> Iterator[str]:
    yield f"**Why now:** {_why(view)}"
    yield f"**Roll back:** {migration.roll_back(view) if view.is_migration else _roll_back(view)}"
    if not view.proposal.is_pending:
        yield "**Pause:** convert this to a draft."
    until = " until you approve it" if view.moves else ""
    refusal = f"close this. {_refused(view)} is not proposed again{until}"
    yield f"**Decline:** {migration.refusal(view) if view.is_migration else refusal}."


def _roll_back(view: View) -> str:
    sentence = "revert this pull request."
    sentence += f" {_refused(view)} is then not proposed again until you approve it." if view.moves else ""
    if view.moves and not view.is_tools and view.crosses_minor:
        sentence += f" {cluster_changes.way_back_line(view)}"
    return sentence


def _refused(view: View) -> str:
    return f"Flux {view.answer}" if view.crosses_minor else view.answer if view.moves else "It"


def _why(view: View) -> str:
    whys = sorted({upgrade.bump.why for _, upgrade in view.upgrades if upgrade.bump.why})
    reasons = "; ".join(plain(why) for why in whys[:_FEW]) or f"{view.proposal.target} is there"
    return reasons if reasons.endswith(".") else f"{reasons}."


def _boxes(view: View) -> str:
    which = "" if view.is_migration else f" {view.answer}"
    boxes = [REBASE_BOX, markers.checkbox(markers.SKIP, f"skip{which}: close this and do not propose it again")]
    return "\n".join([f"{TAKING_EFFECT}\n", *boxes])
