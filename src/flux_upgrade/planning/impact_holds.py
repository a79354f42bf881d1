"""What is in the way of an upgrade, as far as it is known what the upgrade would break."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.config.config import Migrate
from flux_upgrade.model.errors import ApiRemoved
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.markers import break_entry, content_entry
from flux_upgrade.model.text import first_few
from flux_upgrade.model.unknown import known_or
from flux_upgrade.planning.later_steps import step_pending
from flux_upgrade.planning.plan import OnBreak, Terms, Upgrade
from flux_upgrade.policy.decision import BumpKind, Hold, Rejection
from flux_upgrade.policy.hold_reasons import HoldReason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.assessment.assessment import Assessment
    from flux_upgrade.impact.migrate.result import Migrated

_NAMED = 3  # Places that a hold names; the report has all of them


def held_by(upgrade: Upgrade, impact: Assessment, terms: Terms, path: str) -> Hold | None:
    """What is in the way of an upgrade: what cannot be waited for comes first. None: it may be made.

    ``path``: of the installation.
    """
    held = next(_holds(upgrade, impact, terms, path), None)
    if held is None:
        return None
    is_out_of_reach = held.reason in (HoldReason.BLOCKED_BY_API_REMOVAL, HoldReason.STEP_PENDING)
    error = ApiRemoved if terms.to and is_out_of_reach else None
    return held.of(upgrade.bump)._replace(error=error)


def _holds(upgrade: Upgrade, impact: Assessment, terms: Terms, path: str) -> Iterator[Hold]:
    target, kubernetes = upgrade.target, known_or(impact.kubernetes, None)
    # A patch asks for what the release before it asked for.
    if kubernetes is not None and kubernetes.is_too_old and upgrade.bump_kind is not BumpKind.PATCH:
        least = ".".join(map(str, kubernetes.support.least))
        yield Hold(
            HoldReason.KUBERNETES_TOO_OLD,
            f"{target} needs Kubernetes {least}, and the clusters run {kubernetes.version}",
            "upgrade Kubernetes first, then set `kubernetes-version` in the config file",
        )
    if impact.orphaned:
        kinds = ", ".join(sorted({each.kind for each in impact.orphaned}))
        places = [f"{each.path}:{each.line}" for each in impact.orphaned]
        yield Hold(
            HoldReason.COMPONENT_IN_USE,
            f"the upgrade removes the controller of {kinds}, which is in use: {first_few(places, _NAMED)}",
            "delete these resources first, or keep the controller in `flags`",
        )
    if impact.may_be_recreated:
        setting = impact.forced.setting
        yield Hold(
            HoldReason.FORCE_RECREATES,
            f"{first_few(impact.forced.places, _NAMED)} sets `{setting}`: if the API server rejects a CRD of {target}, "
            "Flux deletes it, with all its objects",
            f"remove `{setting}`, merge that, and wait until Flux has reconciled it; then run flux-upgrade again",
        )
    yield from _out_of_reach(upgrade, impact, terms)
    waits_for = [move for move in impact.moves if move.blocks]
    moving = waits_for if terms.governance.migrate is Migrate.OFF else ()
    uses = [*(left.use for left in impact.blocking), *(move.use for move in moving)]
    by_hand = [f"{use.path}:{use.line}" for use in uses]
    if by_hand:
        hint = f"run `flux-upgrade migrate --to {target}`"
        if impact.blocking:
            advice = next((each.hint for each in impact.blocking if each.hint), "").rstrip(".")
            hint = f"{advice[:1].lower()}{advice[1:]}; " if advice else ""
            hint += f"run `flux-upgrade check --to {target}` to check the result"
        yield Hold(
            HoldReason.BLOCKED_BY_API_REMOVAL,
            f"{target} no longer serves the API versions of {counted(len(by_hand), 'resource')}: "
            f"{first_few(by_hand, _NAMED)}",
            f"{hint}; exclude files that no cluster uses with `include` in the config file",
        )
    if waits_for and terms.governance.migrate is Migrate.BEFORE:
        yield _moved_first(upgrade, impact, terms)
    if impact.stored.refused and terms.feedback.unmigrated:
        # The step before this one was merged, and the box for `flux migrate` is not ticked.
        yield Hold(
            HoldReason.MIGRATION_PENDING,
            f"the `flux migrate` checkbox is not ticked, and {target} no longer has API versions that the "
            "cluster may have stored",
            f"run `flux migrate` in the cluster, then tick the checkbox in {terms.feedback.unmigrated}",
        )
    yield from _overlay(upgrade, impact, terms, path)


def _moved_first(upgrade: Upgrade, impact: Assessment, terms: Terms) -> Hold:
    files = len({each.use.path for each in impact.moves})
    need, them = ("needs", "it") if len(impact.moves) == 1 else ("need", "them")
    hint = "merge the API-migration pull request first, then wait until Flux has reconciled it"
    refused = None if upgrade.bump.approval else closed_migration(upgrade, terms)
    if refused is not None:
        hint = (
            f"reopen {refused.where}, which would migrate {them} and was {refused.reason.effect.verb}; or approve "
            f"{upgrade.target.minor} to have {them} proposed again"
        )
    back = [file.path for file in impact.files if file.moves and is_back(file, terms)]
    if back:
        hint = f"migrate {first_few(back, _NAMED)} yourself: the migration was merged and reverted"
    return Hold(
        HoldReason.MIGRATION_PENDING,
        f"{counted(len(impact.moves), 'resource')} in {counted(files, 'file')} {need} migration to API versions "
        f"that {upgrade.target} serves",
        hint,
    )


def is_back(file: Migrated, terms: Terms) -> bool:
    """Whether people have reverted what was moved before: the file is as it was then."""
    moved = terms.feedback.moved if terms.governance.migrate is Migrate.BEFORE else ()
    return bool(moved) and content_entry(file.path, file.content) in moved


def closed_migration(upgrade: Upgrade, terms: Terms) -> Rejection | None:
    """A person's answer to the manifests that were to be moved for this release."""
    minor = upgrade.target.minor
    found = (each for each in terms.feedback.rejections if each.bump_kind is BumpKind.MIGRATION)
    return next((each for each in found if each.target.minor == minor), None)


def moved_elsewhere(upgrade: Upgrade) -> Hold:
    """Files that this upgrade needs moved are moved in the pull request of another one."""
    return Hold(
        HoldReason.MIGRATION_PENDING,
        f"another cluster's pull request migrates these manifests to API versions that {upgrade.target} serves",
        "merge that pull request first",
    ).of(upgrade.bump)


def accepts_breaks(upgrade: Upgrade, impact: Assessment, terms: Terms, path: str) -> bool:
    """Whether patches break nothing, or people accepted what they break. ``path``: of the installation."""
    breaks = impact.patch_breaks
    if not breaks or terms.on_break is OnBreak.ACCEPT:
        return True
    return break_entry(path, upgrade.target, map(str, breaks)) in terms.feedback.accepted


def _overlay(upgrade: Upgrade, impact: Assessment, terms: Terms, path: str) -> Iterator[Hold]:
    """Patches that no longer fit. An approval says that a release is wanted, not that it may break something.

    Not each can be mended before: an index is right for one release alone. So what was approved, and builds, is
    proposed as a draft.
    """
    if accepts_breaks(upgrade, impact, terms, path):
        return
    breaks, is_proposed = impact.patch_breaks, terms.on_break is OnBreak.DRAFT
    is_built = not any(each.fails for each in breaks)
    if is_built and is_proposed and upgrade.bump.approval:
        return
    more = f" and {len(breaks) - 1} more" if len(breaks) > 1 else ""
    hint = breaks[0].hint or f"fix {breaks[0].path} first"
    if not is_proposed:
        hint += "; or run again with --accept-breaks"
    elif is_built:
        hint += f"; or approve {upgrade.target} and fix it in the draft pull request"
    yield Hold(HoldReason.OVERLAY_BREAKS, f"{breaks[0]}{more}", hint)


def _out_of_reach(upgrade: Upgrade, impact: Assessment, terms: Terms) -> Iterator[Hold]:
    """One step is not enough, and the first of several cannot be taken in its place."""
    target = upgrade.target
    if not terms.governance.multi_step:
        return
    if impact.takes_steps_to(target):
        first = impact.upgrade_path[0]
        if impact.base is not None and impact.base.is_ahead_of(first):
            yield step_pending(upgrade.bump, impact.upgrade_path, impact.base, is_asked=bool(terms.to))
        yield Hold(
            HoldReason.BLOCKED_BY_API_REMOVAL,
            f"the upgrade needs several steps: {' → '.join(impact.upgrade_path)}",
            f"run with --to {first} first",
        )
    elif impact.stored.after_migrate and not impact.upgrade_path:
        refused = impact.stored.after_migrate[0]
        yield Hold(
            HoldReason.BLOCKED_BY_API_REMOVAL,
            f"the API server would reject {refused.crd} of {target}: it no longer has {refused.version}, and no "
            "release in between stores another version",
            "migrate the stored objects yourself, then set `multi-step: off` in the config file",
        )
