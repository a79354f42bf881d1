"""What you have to do before and after the pull request is merged."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from flux_upgrade.findings.finding import Severity
from flux_upgrade.findings.kinds import in_the_way
from flux_upgrade.findings.phrases import MARKDOWN
from flux_upgrade.manifests.images import ImageState
from flux_upgrade.model.markdown import bullets, code, plain, prose
from flux_upgrade.model.text import capitalized, capped, enumeration
from flux_upgrade.pins.formats.terraform_files import is_for_terraform
from flux_upgrade.planning.plan import Plan
from flux_upgrade.planning.proposal import Proposal, ProposalContext
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.pullrequests.text import flux_migrate
from flux_upgrade.pullrequests.text.breaking_changes import dangers
from flux_upgrade.pullrequests.text.notes import link, passed
from flux_upgrade.pullrequests.text.verification import conflict_line, edits
from flux_upgrade.pullrequests.text.view import ManifestUpgrade, View

_FEW = 5


def tasks(view: View) -> list[str]:
    """Markdown, one thing each: first what breaks, and last what can only be done after the merge."""
    if view.is_migration:
        return flux_migrate.right_after_merging(view)
    migrating = ((Severity.BREAKS, step) for step in flux_migrate.steps(view))
    return [
        *(task for _, task in sorted([*dangers(view), *migrating], key=lambda each: each[0])),
        *_api_versions(view),
        *_of_pins(view),
        *_given_up(view),
        *_unverified(view),
        *_not_covered(view),
        *_own_images(view),
        *_held(view),
        *view.context.remarks,
        *_for_terraform(view),
        *flux_migrate.right_after_merging(view),
        *flux_migrate.after_merging(view),
    ]


def needs_nobody(proposal: Proposal, context: ProposalContext) -> bool:
    """Whether its first line says that no action is required."""
    return not tasks(View(proposal, context))


def has_to_do(proposal: Proposal) -> bool:
    """Whether a merge takes something that is done elsewhere, such as a signature or `flux migrate`."""
    view = View(proposal, ProposalContext(()))
    found = chain(flux_migrate.right_after_merging(view), flux_migrate.steps(view), dangers(view), _of_pins(view))
    return any(True for _ in found)


def _api_versions(view: View) -> Iterator[str]:
    if not view.crosses_minor or not view.moves or view.is_tools:
        return
    firsts = [tag for tag in passed(view) if tag.endswith(".0")] or [view.proposal.target]
    advice = (
        f"Read what the notes of {', '.join(map(link, firsts))} say about removed API versions. Flux fails to apply "
        "manifests that use them. Whether"
    )
    if not view.analyzed:
        yield f"{advice} your manifests use them, or the cluster has stored objects in them, was not checked."
        return


def _of_pins(view: View) -> Iterator[str]:
    yield from dict.fromkeys(plain(task) for _, upgrade in view.pins for task in upgrade.change.todo)


def _for_terraform(view: View) -> Iterator[str]:
    # If the cluster has a manifest as well, Flux applies that.
    paths = dict.fromkeys(code(each.plan.path) for each in view.analyzed if is_for_terraform(each.plan.path))
    if paths:
        yield f"{flux_migrate.AFTER} apply {enumeration(paths)} with Terraform."


def _given_up(view: View) -> Iterator[str]:
    what = "Review the edits that the release's values replace, because of `--on-conflict take-release`:"
    yield from view.listed(what, edits(view, "dropped"))


def _unverified(view: View) -> Iterator[str]:
    for tag in sorted({each.upgrade.target for each in view.manifests if not each.change.verified}):
        yield (
            f"Review the whole diff: there is no checksum for the manifests of {tag}, so flux-upgrade could not check "
            "that they are unchanged."
        )


def _not_covered(view: View) -> Iterator[str]:
    said = (
        (each.plan, ", ".join(code(f"--{flag}") for flag in each.change.not_covered))
        for each in view.manifests
        if each.change.not_covered
    )
    what = (
        f"Review these flags in the diff: {view.proposal.target} is newer than this flux-upgrade, and its rules "
        "could be verified only for Flux's default flags."
    )
    yield from view.listed(what, view.by_installation(said))


def _own_images(view: View) -> Iterator[str]:
    images = sorted(
        {
            _after(proved)[each.name]
            for proved in view.manifests
            for each in proved.proof.controllers
            if each.name in _after(proved)
            and (each.state is ImageState.CUSTOM or each.image.is_template)
            and each.name not in proved.change.seen
        }
    )
    what = "Make sure that your own images exist, or their controllers do not start:"
    if len(images) == 1:
        yield f"{what} {code(images[0])}."
    else:
        yield from view.listed(what, list(map(code, images)))


def _after(proved: ManifestUpgrade) -> dict[str, str]:
    return {name: new for name, _, new in proved.change.images}


def _held(view: View) -> Iterator[str]:
    reasons: dict[str, list[Plan]] = {}
    for plan in view.held:
        for hold in _holds(view, plan):
            reasons.setdefault(_why(view, plan, hold), []).append(plan)
    for why, plans in reasons.items():
        is_one = len(plans) == 1
        stay = f"{'stays' if is_one else 'stay'} at the current version"
        if any(plan.upgrades for plan in plans):  # it has an upgrade of another size
            stay = f"{'is' if is_one else 'are'} not in this pull request"
        yield f"{view.places(plans)} {stay}: {why}"


def left_out(view: View) -> Iterator[str]:
    """The clusters of the group that are upgraded by another pull request, or wait: there is nothing to do here."""
    reasons: dict[str, list[Plan]] = {}
    for plan in sorted(view.proposal.elsewhere, key=lambda plan: (plan.path, plan.line)):
        reasons.setdefault(_elsewhere(view, plan), []).append(plan)
    lines = [f"{view.places(plans)}: {why}" for why, plans in reasons.items()]
    yield from view.listed("**Not in this pull request**", lines)


def _elsewhere(view: View, plan: Plan) -> str:
    kind = view.proposal.bump_kind
    hold = next((hold for hold in _holds(view, plan) if hold.bump_kind is kind and hold.target), None)
    own = next((upgrade for upgrade in plan.upgrades if upgrade.bump_kind is kind), None)
    if own is not None:
        return f"{own.target} needs approval"
    if hold is not None:
        return f"{hold.target} is held ({code(hold.reason)})"
    kinds = " and ".join(f"{plan.pin.version} → {each.target} is a {each.bump_kind}" for each in plan.upgrades)
    return f"{kinds}, which has its own pull request"


def _holds(view: View, plan: Plan) -> list[Hold]:
    """Why it is not among the upgrades: the hold of the same kind of bump, else of any."""
    holds = [hold for hold in plan.holds if hold.reason is not HoldReason.UP_TO_DATE]
    return [hold for hold in holds if hold.bump_kind is view.proposal.bump_kind][:1] or holds[:1]


def _why(view: View, plan: Plan, hold: Hold) -> str:
    text = prose(hold.detail or hold.reason.replace("-", " "))
    text += f", until {plain(hold.until[:10])}" if hold.until else ""
    text += f" ({code(hold.reason)})."
    if hold.hint:
        text += f" {prose(capitalized(hold.hint))}."
    impact = plan.impacts.get(hold.bump_kind)
    if impact is not None:
        lines = in_the_way(hold, impact, MARKDOWN)
        text += f"\n{bullets(view.limited(lines))}" if lines else ""
    change = plan.tried.get(hold.bump_kind)
    conflicts = change.carried.conflicts if change is not None else ()
    if conflicts:
        text += f"\n{bullets(capped([conflict_line(each) for each in conflicts], _FEW))}"
    return text
