"""The plans of an update group → what its pull requests propose, one for each kind of bump."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from flux_upgrade.clusters.clusters import OF_CLUSTERS
from flux_upgrade.clusters.groups import branch_name, drift_of, is_seen_to
from flux_upgrade.clusters.ownership.remarks import remarks
from flux_upgrade.config.config import Config
from flux_upgrade.model import markers
from flux_upgrade.model.forge import Branch, Question, Repository
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.pins.pin import PinState
from flux_upgrade.planning.approvals import versions_in
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.preflight import JOBS_OWN
from flux_upgrade.planning.proposal import Proposal, ProposalContext, RunDetails
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.feedback import state_of
from flux_upgrade.policy.hold_reasons import HoldReason, OpenPullRequest
from flux_upgrade.pullrequests.left_out import is_before, with_left_out

_ORDER = tuple(BumpKind)
_ANSWERS = (HoldReason.CLOSED_BY_HUMAN, HoldReason.REVERTED)  # Of a person
_AT_REST = {HoldReason.UP_TO_DATE}
_SETTINGS = {
    HoldReason.OUT_OF_RANGE: ("out-of-range", "The configured range no longer allows it."),
    HoldReason.NEEDS_APPROVAL: ("summary", "What needs approval is shown in the job summary, as you configured."),
}
"""What the settings say of a proposal that was open before them."""
_GONE = "What it changes is no longer in the repository, or is proposed in another pull request."
_IGNORED = "The config file lists what it changes under `ignore`."


def proposals_of(planned: UpdateGroupPlan, config: Config, approve: tuple[str, ...]) -> dict[BumpKind, Proposal]:
    """What is proposed for an update group. ``approve``: what the user approves in this run, as ``UpgradeRequest``."""
    update_group, found = planned.update_group, {}
    asked = versions_in(approve, update_group)
    for bump_kind in BumpKind:
        all_of_them = tuple(
            (plan, upgrade)
            for plan in (*planned.plans, *planned.migrations)
            for upgrade in plan.upgrades
            if upgrade.bump_kind is bump_kind
        )
        # What is approved does not wait for the rest, and approves nothing else.
        upgrades = tuple(each for each in all_of_them if each[1].approved) or all_of_them
        if upgrades:
            proposal = Proposal(
                slug=update_group.slug,
                name=update_group.name,
                group=update_group.group,
                bump_kind=bump_kind,
                branch=branch_name(config.branch_prefix, update_group.slug, bump_kind),
                upgrades=upgrades,
                is_asked=any(upgrade.bump.is_approved_by(each) for _, upgrade in upgrades for each in asked),
                drifting=tuple(cluster for cluster in update_group.clusters if drift_of(cluster)),
                rings=planned.rings,
            )
            found[bump_kind] = with_left_out(proposal, planned)
    return found


def context_of(
    inventory: Inventory, run: RunDetails, repository: Repository, planned: UpdateGroupPlan
) -> ProposalContext:
    """What the texts of an update group's pull requests say besides the proposal."""
    # Late, as impact/ is: the text needs it, and nearly every run proposes nothing.
    from flux_upgrade.pullrequests.text.commit import conventional_prefix

    files = {plan.path: plan.pin.content for plan in planned.plans if plan.upgrades and plan.pin.is_manifest}
    history = {path: repository.files[path].history for path in files}
    # What runs in place of the images of the manifests.
    overriding = remarks(files, inventory.reported_only) if inventory.reported_only else ()
    return ProposalContext(
        releases=inventory.releases,
        remarks=(*inventory.ownership.remarks(files, history), *overriding),
        conventional=conventional_prefix(repository.recent),
        approve_command=run.approve_command,
        waits_for_checks=repository.viewer == JOBS_OWN,
        is_enterprise_server=repository.is_enterprise_server,
        config=inventory.config.name,
        run_url=run.run_url,
        is_outside=not planned.update_group.group.governance.window.is_open(inventory.now),
    )


def in_the_way(planned: UpdateGroupPlan, bump_kind: BumpKind, target: Version) -> Hold | None:
    """What an open pull request about ``bump_kind``, to the minor of ``target``, would break now."""
    holds = (hold for plan in planned.plans for hold in plan.holds if hold.bump_kind is bump_kind)
    ours = (hold for hold in holds if hold.target.minor == target.minor)
    return next((hold for hold in ours if hold.reason.effect.pull_request is OpenPullRequest.DRAFT), None)


def no_longer_needed(
    planned: UpdateGroupPlan, bump_kind: BumpKind, target: Version = NO_VERSION, listed: Container[str] | None = None
) -> tuple[str, str] | None:
    """Why an open pull request about ``bump_kind`` can be closed: a slug and a sentence.

    ``target``: the release that it proposes; ``listed``: those that there are. None: it stays,
    for what is in the way now may pass.
    """
    plans = [
        plan
        for plan in planned.plans
        if plan.pin.is_movable or (plan.pin.role in OF_CLUSTERS and plan.pin.state is PinState.UNKNOWN)
    ]
    holds = [hold for plan in plans for hold in plan.holds]
    if target and listed is not None and target not in listed:
        return "withdrawn", f"{target} is no longer among Flux's releases."
    if bump_kind is BumpKind.MIGRATION:
        return _moved(plans, target)
    # What runs by now waits for nothing that is later. A patch may still change flags.
    is_behind = not target or any(is_before(each.pin.version, target) for each in plans)
    about = (hold for hold in holds if _is_about(hold, bump_kind, target))
    may_change_flags = bump_kind is BumpKind.PATCH
    ours = [each for each in about if is_behind or (may_change_flags and not (each.target and each.target > target))]
    if any(hold.reason.effect.pull_request is not OpenPullRequest.CLOSED for hold in ours):
        return _of_other_size(plans, bump_kind, target)
    larger = [
        upgrade.target
        for plan in plans
        for upgrade in plan.upgrades
        if upgrade.approved and _ORDER.index(upgrade.bump_kind) > _ORDER.index(bump_kind)
    ]
    if larger:
        return "superseded", f"{max(larger)} is proposed instead and includes this one."
    own = next((hold.reason for hold in holds if hold.bump_kind is bump_kind and hold.reason in _SETTINGS), None)
    if own is not None:
        return _SETTINGS[own]
    return _finished(plans, bump_kind, target)


def _moved(plans: Sequence[Plan], target: Version) -> tuple[str, str] | None:
    """``no_longer_needed`` of manifests that are moved before an upgrade to ``target``."""
    unknown = (hold for plan in plans for hold in plan.holds if hold.bump_kind not in plan.impacts)
    for hold in unknown:
        is_ours = not (hold.target and target) or hold.target.minor == target.minor
        # What could not be looked at because of something else may still have to be moved.
        if is_ours and hold.reason not in _ANSWERS and hold.reason.effect.pull_request is not OpenPullRequest.CLOSED:
            return None
    return "done", f"No migration is left for {target}, or it is no longer proposed."


def _finished(plans: Sequence[Plan], bump_kind: BumpKind, target: Version) -> tuple[str, str] | None:
    """``no_longer_needed``, where nothing is in the way of ``target``."""
    other_size = _of_other_size(plans, bump_kind, target)
    if other_size is not None:
        return other_size
    behind = _behind(plans, target)
    # What is where it should be, as a CLI within one minor of its cluster is, waits for nothing.
    waiting = [plan for plan in behind if plan.upgrades or {hold.reason for hold in plan.holds} != _AT_REST]
    # Pins catch up with a cluster that is there already, as another kind of bump.
    staying = [plan for plan in waiting if not any(each.approved and each.target >= target for each in plan.upgrades)]
    if any(plan.pin.role in OF_CLUSTERS for plan in staying):
        return None
    if waiting:
        return "superseded", "Another pull request has the remaining changes."
    return "done", "It is no longer needed: the base branch is at this version or a later one."


def _of_other_size(plans: Sequence[Plan], bump_kind: BumpKind, target: Version) -> tuple[str, str] | None:
    """After a revert, merging an open patch would be a minor upgrade; after an upgrade elsewhere, the reverse."""
    clusters = [Version.parse(plan.pin.version) for plan in _behind(plans, target) if plan.pin.role in OF_CLUSTERS]
    if not clusters or any(not own or BumpKind.between(own, target) is bump_kind for own in clusters):
        return None
    return "other-size", f"The base branch changed: {target} is no longer a {bump_kind} upgrade of it."


def _behind(plans: Sequence[Plan], target: Version) -> list[Plan]:
    return [plan for plan in plans if target and is_before(plan.pin.version, target)]


def _is_about(hold: Hold, bump_kind: BumpKind, target: Version) -> bool:
    """Whether it concerns that bump, and is no person's answer to another minor than the one of ``target``."""
    if hold.reason in _ANSWERS and target and hold.target.minor != target.minor:
        return False
    return hold.bump_kind is bump_kind or not hold.target


def question_about(repository: Repository, inventory: Inventory) -> Question | None:
    """What is to be asked about branches that no update group has; None in nearly every run."""
    # Only the newest commit of the base tells what is gone.
    branch = inventory.request.branch
    others = tuple(each for each in repository.others if branch in ("", each))
    if inventory.all_paths is None or not others or inventory.head != repository.base_oid:
        return None
    return Question(others, (), repository.base)


class Stale(NamedTuple):
    """A branch with an open pull request that is no longer needed, and why: a slug and a sentence."""

    branch: Branch
    state: MarkerState
    closed: str
    why: str


def stale_pull_requests(branches: Iterable[Branch], inventory: Inventory) -> Iterator[Stale]:
    """Those of the branches that no update group has, and no other run maintains.

    What is about an installation that this run ignores is closed if it was made under the same config file: another
    workflow with another one may look after it. Runs about an artifact look after their own branches, and the
    ordinary run after all others.
    """
    own = inventory.pin_context.own
    repository = own.address.repository if own is not None else ""
    members = {member.path for update_group in inventory.update_groups for member in update_group.members}
    others = (inventory.all_paths or frozenset()) - members
    ignored = {markers.digest_of(path) for path in others if inventory.config.is_ignored(path)}
    left = {markers.digest_of(path) for path in others} - ignored
    for branch in branches:
        pull = branch.open_pull
        state = state_of(pull) if pull is not None else None
        if state is None or not state.paths or state.subject not in set(BumpKind):
            continue
        about = {entry.partition("@")[0] for entry in state.paths}
        if not is_seen_to(state.group, repository) or not left.isdisjoint(about):
            continue
        if ignored.isdisjoint(about):
            yield Stale(branch, state, "gone", _GONE)
        elif state.config == inventory.config.name:
            yield Stale(branch, state, "ignored", _IGNORED)
