"""The plans of a team → what its pull requests propose, one for each subject."""

from __future__ import annotations

from collections.abc import Container

from flux_upgrade.answers import minor_of
from flux_upgrade.config import Config
from flux_upgrade.decision import Hold, HoldReason, Subject
from flux_upgrade.groups import branch_name
from flux_upgrade.plan import Plan
from flux_upgrade.planning import TeamPlan
from flux_upgrade.proposal import Proposal
from flux_upgrade.versions import Version, precedence

_AS_IT_SHOULD_BE = {
    HoldReason.UP_TO_DATE,
    HoldReason.NEEDS_APPROVAL,
    HoldReason.COOLING_DOWN,
    HoldReason.OUT_OF_RANGE,
}
_ORDER = tuple(Subject)
_ENDS_A_PROPOSAL = {HoldReason.UP_TO_DATE, HoldReason.NEEDS_APPROVAL, HoldReason.OUT_OF_RANGE}

_SETTINGS = {
    HoldReason.OUT_OF_RANGE: ("out-of-range", "The range in the settings does not allow it any more."),
    HoldReason.NEEDS_APPROVAL: (
        "summary",
        "What waits for approval is shown in the job summary, as the settings say.",
    ),
}
"""What the settings say of a proposal that was open before them."""


def proposals_of(planned: TeamPlan, config: Config, approve: tuple[str, ...]) -> dict[Subject, Proposal]:
    """What is proposed for a team. ``approve``: what this run was told to approve."""
    team, found = planned.team, {}
    for subject in Subject:
        all_of_them = tuple(
            (plan, upgrade)
            for plan in planned.plans
            for upgrade in plan.upgrades
            if upgrade.subject is subject
        )
        # What is approved does not wait for the rest, and approves nothing else.
        upgrades = tuple(each for each in all_of_them if each[1].approved) or all_of_them
        if upgrades:
            found[subject] = Proposal(
                slug=team.slug,
                name=team.name,
                group=team.group,
                subject=subject,
                branch=branch_name(config.branch_prefix, team.slug, subject),
                upgrades=upgrades,
                is_asked=any(upgrade.candidate.approval in approve for _, upgrade in upgrades),
                held=tuple(plan for plan in planned.plans if not plan.upgrades and is_held(plan)),
            )
    return found


def is_held(plan: Plan) -> bool:
    """Whether something is in the way that a person should know of."""
    return any(hold.reason not in _AS_IT_SHOULD_BE for hold in plan.holds)


def no_longer_needed(
    planned: TeamPlan, subject: Subject, target: str = "", listed: Container[str] | None = None
) -> tuple[str, str] | None:
    """Why an open pull request about ``subject`` can be closed: a slug and a sentence.

    ``target``: the release that it proposes; ``listed``: those that there are. None: it stays,
    for what is in the way now may pass.
    """
    holds = [hold for plan in planned.plans for hold in plan.holds]
    if target and listed is not None and target not in listed:
        return "withdrawn", f"{target} is not among Flux's releases any more."
    ours = [hold for hold in holds if _is_about(hold, subject) and not _refuses_another(hold, target)]
    if any(hold.reason not in _ENDS_A_PROPOSAL for hold in ours):
        return None
    larger = [
        upgrade.target
        for plan in planned.plans
        for upgrade in plan.upgrades
        if upgrade.approved and _ORDER.index(upgrade.subject) > _ORDER.index(subject)
    ]
    if larger:
        return "superseded", f"{max(larger, key=precedence)} is proposed instead, and holds this one."
    own = next((hold.reason for hold in holds if hold.subject is subject and hold.reason in _SETTINGS), None)
    if own is not None:
        return _SETTINGS[own]
    if target and any(_is_before(plan.installation.proof.version, target) for plan in planned.plans):
        return None
    return "done", "It is not needed any more: the base branch is at this version, or at a later one."


def _is_before(version: str, target: str) -> bool:
    own, proposed = Version.parse(version), Version.parse(target)
    return own is None or proposed is None or own < proposed


def _refuses_another(hold: Hold, target: str) -> bool:
    """A person's answer to another minor than the one of ``target``."""
    answered = hold.reason in (HoldReason.CLOSED_BY_HUMAN, HoldReason.REVERTED)
    return answered and bool(target) and minor_of(hold.target) != minor_of(target)


def _is_about(hold: Hold, subject: Subject) -> bool:
    return hold.subject is subject or not hold.target
