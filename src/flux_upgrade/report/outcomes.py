"""What ``upgrade`` did → text, and a line for each failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.clusters.clusters import Member
from flux_upgrade.clusters.ownership.remarks import beside
from flux_upgrade.findings.yaml_values import short
from flux_upgrade.manifests.images import Controller, Image, ImageState
from flux_upgrade.manifests.proof import Proof
from flux_upgrade.model.text import printable_lines
from flux_upgrade.pins.pin import ManifestChange, Role
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.planning.write_tree import WriteResult
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.plans import NOTHING_TO_UPGRADE, broken_lines, step
from flux_upgrade.report.wording import MOST_LINES, edit_lines, hearsay, located, proof_phrase, tag, whole_path


def upgrade_text(outcomes: Sequence[WriteResult], root: str, *, written: bool, reported: Sequence[Member] = ()) -> str:
    """What was done, or would be (``written`` false), installation by installation.

    ``root``: the tree, as the user named it. ``reported``: what is recognised, and never changed.
    """
    blocks = ([*_outcome(each, root, written=written), *_overridden(each.plan, reported)] for each in outcomes)
    text = "\n".join(map(printable_lines, blocks))
    return text or f"{NOTHING_TO_UPGRADE}\n"


def _outcome(outcome: WriteResult, root: str, *, written: bool) -> Iterator[str]:
    plan = outcome.plan
    pin = plan.pin
    # What is moved may be anywhere in the repository.
    yield pin.place(plan.path if pin.role is Role.RESOURCES else located(root, pin.path))
    upgrade = plan.approved
    if outcome.failure is not None:
        yield f"  failed: {outcome.failure.message}"
    elif upgrade is not None:
        done = "written" if written else "not written: dry run"
        yield f"  {step(plan, upgrade)} · {done}"
        if upgrade.change.replacements:
            yield f"  {pin.where}: {pin.raw} → {upgrade.change.raw}"
            yield from (f"  note: {remark}" for remark in (*pin.remarks, *upgrade.change.remarks))
        elif upgrade.change.manifest is not None:
            yield from change_lines(pin.proof, upgrade, upgrade.change.manifest)
        if upgrade.impact is not None or upgrade.moved:
            from flux_upgrade.report.impact_text import upgrade_lines  # late: nearly every run has none

            yield from (f"  {line}" for line in upgrade_lines(upgrade, is_done=True))
    for hold in plan.holds:
        yield from hold_lines(plan, hold)
    yield from waiting_lines(plan)
    yield from (f"  {line}" for line in broken_lines(plan))


def waiting_lines(plan: Plan) -> Iterator[str]:
    """What waits for a person, and how it goes on."""
    for each in plan.upgrades:
        if not each.approved:
            yield f"  needs approval: {each.target}"
            yield f"    {each.bump.why}"
            approval = each.approve_with or each.bump_kind.approval(each.target)
            first = "run `flux migrate` in every cluster that follows the tag, then " if each.approve_with else ""
            yield f"  to unblock: {first}approve it with --approve {approval}"


def _overridden(plan: Plan, reported: Sequence[Member]) -> Iterator[str]:
    """What runs in place of the images of an upgraded manifest."""
    if reported and plan.upgrades and plan.pin.is_manifest:
        for place, pin in beside(plan.path, reported):
            what = f"sets {pin.raw or 'no version'}, which replaces the image in this manifest"
            yield f"  note: {place} ({pin.where}) {what}"


def hold_lines(plan: Plan, hold: Hold) -> Iterator[str]:
    """Why something is held, its conflicts, and what to do."""
    which = f"{hold.target} " if hold.target and hold.target not in hold.detail else ""
    yield f"  held: {which}{hold.reason}" + (f": {hold.detail}" if hold.detail else "")
    if hold.bump_kind in plan.impacts:
        from flux_upgrade.report import impact_text  # late: nearly every run has none

        yield from (f"  {line}" for line in impact_text.hold_lines(plan, hold))
    tried = plan.tried.get(hold.bump_kind) if hold.reason is HoldReason.EDIT_CONFLICT else None
    conflicts = tried.carried.conflicts if tried is not None else ()
    for conflict in conflicts[:MOST_LINES]:
        yield f"    {conflict.object} {conflict.where}"
        values = short(conflict.base, conflict.mine, conflict.target)
        yield from (f"      {side} {value}" for side, value in zip(("was  ", "yours", "new  "), values, strict=True))
    if len(conflicts) > MOST_LINES:
        yield f"    … and {len(conflicts) - MOST_LINES} more"
    if hold.hint:
        yield f"  to unblock: {hold.hint}"


def change_lines(proof: Proof, decision: Upgrade, change: ManifestChange) -> Iterator[str]:
    """What an upgrade changes in a manifest, and what it keeps."""
    phrase = proof_phrase(proof)
    yield f"  verified: {phrase[:1].lower()}{phrase[1:]}" + (", listed below" if proof.edits else "")
    if not change.verified:
        yield f"  no-checksum: there is no published checksum for the manifests of {decision.target}"
    if change.evidence:
        yield f"  this flux-upgrade is older than the release, but {change.evidence}"
        if change.not_covered:
            yield f"  this covers only default flags; not covered: {', '.join(change.not_covered)}"
    yield from hearsay(proof)
    for name, old, new in decision.flags:
        yield f"  flag: --{name} {old or 'empty'} → {new or 'empty'}"
    yield "  controllers:"
    for name, old, new in change.images:
        yield f"    {name} {tag(Image.parse(old))} → {tag(Image.parse(new))}"
    for line in _image_notes(proof.controllers, change):
        yield f"  {line}"
    carried = change.carried
    for title, edits in (
        ("kept", [edit for edit in carried.kept if not edit.is_absence]),
        ("not in the file", [edit for edit in carried.kept if edit.is_absence]),
        ("already in the release", carried.absorbed),
        ("replaced by the values of the release", carried.dropped),
    ):
        if edits:
            yield f"  {title} ({len(edits)}):"
            yield from edit_lines(edits)


def _image_notes(controllers: Sequence[Controller], change: ManifestChange) -> Iterator[str]:
    after = {name: image for name, _, image in change.images}
    for each in controllers:
        image = after.get(each.name, str(each.image))
        if each.state in (ImageState.AHEAD, ImageState.BEHIND) and image != str(each.image):
            yield f"{each.name}: the image of the release replaces {each.image.tag} in the file"
        if each.image.digest and image != str(each.image):
            yield f"{each.name}: pinned by digest, now that of the new image ({each.image} → {image})"
        if each.state is ImageState.CUSTOM:
            unseen = "" if each.name in change.seen else "; check that it exists"
            yield f"{each.name}: your own image is kept ({image}){unseen}"
        elif Image.parse(image).is_template:
            yield f"{each.name}: the registry of {image} is unknown; check that the image exists"


def failures(outcome: WriteResult, root: str) -> Iterator[tuple[str, str, str]]:
    """Slug, why an installation was not upgraded, and what to do."""
    path, failure = whole_path(located(root, outcome.plan.pin.path)), outcome.failure
    if failure is not None:
        yield failure.slug, f"{path}: {failure.message}", failure.hint
    for hold in outcome.plan.holds:
        if hold.error is not None:
            yield hold.reason, f"{path}: {hold.detail}", hold.hint
