"""What ``upgrade`` did → text, diffs, and a line for each failure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from flux_upgrade.kinds import Change, Installation
from flux_upgrade.manifests.images import Controller, Image, ImageState
from flux_upgrade.publish import Outcome
from flux_upgrade.report.wording import MOST_LINES, edit_line, hearsay, limited, printable, short, tag
from flux_upgrade.upgrade import Hold, Plan, Upgrade


def upgrade_text(outcomes: Sequence[Outcome], *, written: bool) -> str:
    """What was done, or would be (``written`` false), installation by installation."""
    return "\n".join(
        "".join(f"{printable(line)}\n" for line in _outcome(each, written=written)) for each in outcomes
    )


def _outcome(outcome: Outcome, *, written: bool) -> Iterator[str]:
    plan = outcome.plan
    yield plan.installation.path
    if isinstance(plan.decision, Hold):
        yield from _hold(plan, plan.decision)
    elif outcome.failure is not None:
        yield f"  failed: {outcome.failure.message}"
    else:
        done = "written" if written else "not written: dry run"
        yield f"  {plan.installation.proof.version} → {plan.decision.target} · {done}"
        yield from _change(plan.installation, plan.decision)


def _hold(plan: Plan, hold: Hold) -> Iterator[str]:
    yield f"  held: {hold.reason}" + (f": {hold.detail}" if hold.detail else "")
    conflicts = plan.change.carried.conflicts if plan.change is not None else ()
    for conflict in conflicts[:MOST_LINES]:
        yield f"    {conflict.object} {conflict.where}"
        yield f"      was   {short(conflict.base)}"
        yield f"      yours {short(conflict.mine)}"
        yield f"      new   {short(conflict.target)}"
    if len(conflicts) > MOST_LINES:
        yield f"    … and {len(conflicts) - MOST_LINES} more"
    if hold.hint:
        yield f"  remedy: {hold.hint}"


def _change(installation: Installation, decision: Upgrade) -> Iterator[str]:
    change, proof = decision.change, installation.proof
    yield f"  proof: {_proof_line(installation)}"
    if not change.verified:
        yield f"  unverified: there is no checksum for the manifests of {decision.target}"
    if change.evidence:
        yield f"  newer than the rules of this flux-upgrade, but {change.evidence}"
        if change.not_covered:
            yield f"  it speaks for default flags only; not covered: {', '.join(change.not_covered)}"
    yield from hearsay(installation)
    yield "  controllers:"
    for name, old, new in change.images:
        yield f"    {name} {tag(Image.parse(old))} → {tag(Image.parse(new))}"
    for line in _image_notes(proof.controllers, change):
        yield f"  {line}"
    carried = change.carried
    for title, edits in (
        ("kept", carried.kept),
        ("already in the release", carried.absorbed),
        ("given up for the release's own", carried.dropped),
    ):
        if edits:
            yield f"  {title} ({len(edits)}):"
            yield from limited([edit_line(edit) for edit in edits])
    for key in carried.removed:
        yield f"  stays out, as you took it out: {key}"


def _proof_line(installation: Installation) -> str:
    version, edits = installation.proof.version, installation.proof.edits
    return {
        "exact": f"{version} regenerated is your file byte for byte",
        "images": f"{version} regenerated is your file but for its image lines",
        "formatting": f"{version} regenerated is your file in another form; it is written in Flux's own",
    }.get(
        str(installation.proof.verdict),
        f"{version} regenerated is your file but for {len(edits)} edits of yours, all listed below"
        if edits
        else f"{version} regenerated holds the same objects as your file",
    )


def _image_notes(controllers: Sequence[Controller], change: Change) -> Iterator[str]:
    after = {name: image for name, _, image in change.images}
    for each in controllers:
        image = after.get(each.name, str(each.image))
        if each.state is ImageState.AHEAD or each.state is ImageState.BEHIND:
            yield f"{each.name}: the image bumped in place ({each.image.tag}) gives way to the release's"
        if each.image.digest:
            yield f"{each.name}: the digest pin is not kept ({each.image} → {image}); pin it anew"
        if each.state is ImageState.CUSTOM:
            yield f"{each.name}: your own image is kept ({image}); make sure that it exists"


def failure(outcome: Outcome) -> str:
    """For stderr: which installation was not upgraded, why, and what to do."""
    decision, path = outcome.plan.decision, outcome.plan.installation.path
    if outcome.failure is not None:
        slug, detail, hint = outcome.failure.slug, outcome.failure.message, outcome.failure.hint
    elif isinstance(decision, Hold):
        slug, detail, hint = str(decision.reason), decision.detail, decision.hint
    else:
        return ""
    return f"flux-upgrade: {slug}: {path}: {detail}\n" + (f"  {hint}\n" if hint else "")


def diff(path: str, old: bytes, new: bytes) -> str:
    """A unified diff, as ``git diff`` shows it."""
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(
            old.decode("utf-8").splitlines(keepends=True),
            new.decode("utf-8").splitlines(keepends=True),
            f"a/{path}",
            f"b/{path}",
        )
    )
