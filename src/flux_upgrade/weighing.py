"""Upgrades that could be made, weighed by what they would break: each goes on, waits, or hops first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from flux_upgrade.answers import minor_of
from flux_upgrade.config.values import Migrate
from flux_upgrade.contents import Contents, Jump
from flux_upgrade.decision import Candidate, Hold, HoldReason, Subject
from flux_upgrade.errors import ApiRemoved
from flux_upgrade.kinds import Installation, Pin
from flux_upgrade.kinds.pin import Role
from flux_upgrade.markdown import counted
from flux_upgrade.plan import Migration, Plan, Resources, Subjected, Terms, Upgrade
from flux_upgrade.policy import refused
from flux_upgrade.values import NamedTuple
from flux_upgrade.versions import precedence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact import Impact
    from flux_upgrade.migration.values import Migrated

_NAMED = 3
"""Places that a hold names; the report has all of them."""


class Weighed(NamedTuple):
    """A plan, and what is to be done before it can go on."""

    plan: Plan
    migrations: tuple[Plan, ...] = ()
    """Of files, each with one upgrade of the subject MIGRATION."""


Redirect = Callable[[Candidate], Upgrade | Hold]
"""The same installation to another release."""


@dataclass
class Weigher:
    """Asked about one installation after the other, in the order of the teams."""

    contents: Contents
    _taken: dict[str, str] = field(default_factory=dict)
    """Path of a file that is moved → the slug of the first team that has to."""

    def weigh(
        self, plan: Plan, subjected: Subjected, team: str, others: tuple[str, ...], redirect: Redirect
    ) -> Weighed:
        """``team``: its slug. ``others``: the releases that other clusters are at.

        Raises as ``Contents.impact``.
        """
        decisions: list[Upgrade | Hold] = []
        impacts: dict[Subject, Impact] = {}
        migrations: list[Plan] = []
        for each in plan.decisions:
            if not isinstance(each, Upgrade) or not _is_weighed(plan):
                decisions.append(each)
                continue
            jump = Jump(subjected.path, subjected.installation, each, subjected.terms, others)
            upgrade = self._impact(each, jump, _later(plan, each), redirect)
            if isinstance(upgrade, Upgrade) and upgrade.impact is not None:
                impacts[upgrade.subject] = upgrade.impact
                moving = [file for file in upgrade.impact.files if file.moves]
                own = [file for file in moving if self._taken.setdefault(file.path, team) == team]
                hold = _hold(upgrade, subjected.terms)
                if _is_apart(hold, subjected.terms):
                    migrations += _migrations(own, plan, upgrade)
                upgrade = hold or upgrade._replace(moved=tuple(own))
            decisions.append(upgrade)
        return Weighed(plan._replace(decisions=tuple(decisions), impacts=impacts), tuple(migrations))

    def _impact(self, upgrade: Upgrade, jump: Jump, later: str, redirect: Redirect) -> Upgrade | Hold:
        """The upgrade with all that is known of it; to its first hop, where it cannot be made in one step.

        ``later``: where it goes after this one, which a person approved alone; empty: nowhere.
        """
        terms = jump.terms
        impact = self.contents.impact(jump)
        if not terms.ladder:
            return _gated(upgrade._replace(impact=impact._replace(hops=())), terms)
        if impact.hops and not terms.to:
            hop = _to(upgrade.candidate, impact.hops[0], terms, redirect)
            if isinstance(hop, Hold):
                return hop
            found = self.contents.impact(jump._replace(upgrade=hop))
            return _gated(hop._replace(impact=found._replace(hops=impact.hops)), terms)
        goal = redirect(upgrade.candidate._replace(target=later)) if later else None
        if isinstance(goal, Upgrade):
            hops = self.contents.impact(jump._replace(upgrade=goal)).hops
            if hops and minor_of(hops[0]) == minor_of(upgrade.target):
                impact = impact._replace(hops=(upgrade.target, *hops[1:]))
        return _gated(upgrade._replace(impact=impact), terms)


def _to(candidate: Candidate, hop: str, terms: Terms, redirect: Redirect) -> Upgrade | Hold:
    """A step on the way, which people may have turned down before."""
    hold = None if candidate.approval else refused(terms.answers, candidate.subject, hop)
    return hold or redirect(candidate._replace(target=hop))


def _later(plan: Plan, upgrade: Upgrade) -> str:
    """The newest release that waits until the one that a person approved is merged."""
    waiting = [
        hold.target
        for hold in plan.holds
        if hold.reason is HoldReason.NEEDS_APPROVAL and hold.subject is upgrade.subject
    ]
    return max(waiting, key=precedence, default="") if upgrade.candidate.approval else ""


def _is_weighed(plan: Plan) -> bool:
    """What runs Flux in a cluster, and is known to be at a release."""
    found = plan.installation
    if isinstance(found, Pin):
        return found.role is Role.INSTALLS and bool(found.version)
    return isinstance(found, Installation) and bool(found.version)


def _gated(upgrade: Upgrade, terms: Terms) -> Upgrade:
    """Waits for approval on account of what it changes, should the settings want that."""
    changes = upgrade.impact.changes if upgrade.impact is not None else None
    found = sorted(changes.contents & terms.gates) if changes is not None else []
    if not found or upgrade.candidate.approval or terms.to:
        return upgrade
    why = f"{upgrade.candidate.why}; it changes {', '.join(found)}, which needs approval"
    return upgrade._replace(candidate=upgrade.candidate._replace(approved=False, why=why.removeprefix("; ")))


def _hold(upgrade: Upgrade, terms: Terms) -> Hold | None:
    """What is in the way of it: what cannot be waited for comes first."""
    impact = upgrade.impact
    assert impact is not None  # noqa: S101 it was made here
    held = next(_holds(upgrade.target, impact, terms), None)
    if held is None:
        return None
    error = ApiRemoved if terms.to and held.reason is HoldReason.BLOCKED_BY_API_REMOVAL else None
    return held._replace(subject=upgrade.subject, target=upgrade.target, error=error)


def _holds(target: str, impact: Impact, terms: Terms) -> Iterator[Hold]:
    kubernetes = impact.kubernetes
    if kubernetes is not None and kubernetes.is_too_old:
        least = ".".join(map(str, kubernetes.support.least))
        yield Hold(
            HoldReason.KUBERNETES_TOO_OLD,
            f"{target} needs Kubernetes {least}, and the clusters run {kubernetes.version}",
            "upgrade Kubernetes first, then say so by `kubernetes-version` in the config file",
        )
    if impact.orphaned:
        kinds = ", ".join(sorted({each.kind for each in impact.orphaned}))
        places = [f"{each.path}:{each.line}" for each in impact.orphaned]
        yield Hold(
            HoldReason.COMPONENT_IN_USE,
            f"the controller of {kinds} would be gone, and is in use: {_listed(places)}",
            "keep the component, or remove these resources first",
        )
    yield from _out_of_reach(target, impact, terms)
    blocking = [f"{each.use.path}:{each.use.line}" for each in impact.blocking]
    by_hand = [*blocking, *_moving(impact)] if terms.migrate is Migrate.OFF else blocking
    if by_hand:
        yield Hold(
            HoldReason.BLOCKED_BY_API_REMOVAL,
            f"{target} does not serve the API versions of {counted(len(by_hand), 'resource')}: "
            f"{_listed(by_hand)}",
            _by_hand(impact, target),
        )
    if impact.moves and terms.migrate is Migrate.BEFORE:
        files = len({each.use.path for each in impact.moves})
        are, them = ("is", "it") if len(impact.moves) == 1 else ("are", "them")
        yield Hold(
            HoldReason.MIGRATION_PENDING,
            f"{counted(len(impact.moves), 'resource')} in {counted(files, 'file')} {are} to be moved to API "
            f"versions that {target} serves",
            f"merge what moves {them} first, and let Flux reconcile it",
        )
    yield from _unmigrated(target, impact, terms)
    broken = [each for each in impact.overlay.findings if each.holds] if impact.overlay else []
    if impact.overlay is not None and (broken or impact.overlay.failed):
        told = f"{broken[0].path}:{broken[0].line}: {broken[0].what}: {broken[0].detail}" if broken else ""
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        yield Hold(
            HoldReason.OVERLAY_BREAKS,
            (told or impact.overlay.failed) + more,
            (broken[0].hint if broken else "") or f"mend {impact.overlay.path} first",
        )


def _out_of_reach(target: str, impact: Impact, terms: Terms) -> Iterator[Hold]:
    """One step is not enough, and no hop is gone to in its place."""
    if not terms.ladder:
        return
    if impact.hops and impact.hops[0] != target:
        first = impact.hops[0]
        yield Hold(
            HoldReason.BLOCKED_BY_API_REMOVAL,
            f"one step is not enough: {' → '.join(impact.hops)}",
            f"go to {first} first (--to {first}), or jump all the same with --ladder false",
        )
    elif impact.stored.after_migrate and not impact.hops:
        refused = impact.stored.after_migrate[0]
        yield Hold(
            HoldReason.BLOCKED_BY_API_REMOVAL,
            f"the API server would refuse {refused.crd} of {target}, which lacks {refused.version}, and no "
            "release in between stores another version",
            "migrate the stored objects by hand, then jump with `ladder: off` in the config file",
        )


def _unmigrated(target: str, impact: Impact, terms: Terms) -> Iterator[Hold]:
    """The hop before this one was merged, and nobody has said that `flux migrate` ran."""
    url = terms.answers.unmigrated
    if impact.stored.refused and url:
        yield Hold(
            HoldReason.MIGRATION_PENDING,
            f"nobody has said yet that `flux migrate` ran in the cluster, and {target} lacks API versions "
            "that it may have stored",
            f"run `flux migrate` there, and tick the box in {url}",
        )


def _moving(impact: Impact) -> list[str]:
    return [f"{each.use.path}:{each.use.line}" for each in impact.moves]


def _by_hand(impact: Impact, target: str) -> str:
    told = f"`flux-upgrade migrate --to {target}` moves what can be moved"
    if impact.blocking:
        hint = next((each.hint for each in impact.blocking if each.hint), "").rstrip(".")
        told = f"{hint[:1].lower()}{hint[1:]}; " if hint else ""
        told += f"`flux-upgrade check --to {target}` says when nothing is left"
    return f"{told}; leave out what no cluster uses with `scan` in the config file"


def _listed(places: Sequence[str]) -> str:
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    return ", ".join(places[:_NAMED]) + more


def _is_apart(hold: Hold | None, terms: Terms) -> bool:
    """Whether manifests are moved in a pull request of their own now."""
    reasons = (HoldReason.MIGRATION_PENDING, HoldReason.BLOCKED_BY_API_REMOVAL)
    return terms.migrate is Migrate.BEFORE and hold is not None and hold.reason in reasons


def _migrations(files: Sequence[Migrated], plan: Plan, upgrade: Upgrade) -> Iterator[Plan]:
    """A plan for each file. They are approved with the upgrade that waits for them, not before."""
    candidate = upgrade.candidate._replace(
        subject=Subject.MIGRATION, why=f"{upgrade.target} does not serve the old versions any more"
    )
    for file in files:
        found = Resources(file.path, file.content, plan.installation.version)
        change = Migration(file, (plan.path,))
        yield Plan(found, file.path, (Upgrade(candidate, change),))
