"""The report of ``config check``: the meaning of a config file, and the files that its groups match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from flux_upgrade.clusters.clusters import Member
from flux_upgrade.clusters.groups import UpdateGroup
from flux_upgrade.clusters.void_groups import GroupPaths, Void, void_patterns
from flux_upgrade.config.config import Config, Governance, Migrate
from flux_upgrade.config.keys import LIMITS
from flux_upgrade.findings.known_facts import known_line
from flux_upgrade.findings.phrases import TEXT
from flux_upgrade.model.text import printable
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.pin import Role
from flux_upgrade.pins.registry import ALSO
from flux_upgrade.policy.decision import OnFailure, Ring
from flux_upgrade.policy.policy import MaxBump, Pending
from flux_upgrade.policy.rings import unposted
from flux_upgrade.policy.schedule import needs_both_days

_BY_ITSELF = {
    MaxBump.NONE: "nothing",
    MaxBump.PATCH: "patches",
    MaxBump.MINOR: "patches and minors",
    MaxBump.MAJOR: "every release",
}
_MIGRATIONS: dict[Migrate, list[str]] = {
    Migrate.BEFORE: [],
    Migrate.WITH_UPGRADE: ["migrated in the pull request of the upgrade"],
    Migrate.OFF: ["not migrated: change them yourself"],
}


_NO_REVERT = ", so `on-failure: revert` has no effect until you upgrade"
_LIMIT_CREATION = (
    "note: if strangers can read the repository on GitHub, let only collaborators create pull requests "
    "(Settings > General > Pull requests)"
)


def check_report(config: Config, title: str, matches: Mapping[str, Sequence[str]]) -> str:
    """A summary of a config file. ``matches``: by group, lines about what it matches; empty: unknown."""
    lines = [title]
    for group in config.groups:
        lines.append(f"group {group.name}: one pull request for {', '.join(group.paths)}")
        lines += [*matches.get(group.name, ()), *_ring_lines(group.ring), *_governance_lines(group.governance)]
    rest = "all other installations" if config.groups else "all installations"
    lines += [f"{rest}: a pull request each", *matches.get("", ()), *_governance_lines(config.default.governance)]
    if config.ignore:
        lines.append(f"ignored: {', '.join(config.ignore)}")
    lines.append(f"branches: {config.branch_prefix}…")
    limits = (f"{key.name} {value}" for key, value in zip(LIMITS, config.limits, strict=True))
    lines.append(f"limits: {', '.join(limits)}")
    for each in config.also:
        of = "the cluster around the file" if each.cluster is None else f"the cluster {each.cluster or 'root'}"
        lines.append(f"also: {', '.join(each.files)} has the version of {'the Flux CLI' if each.is_cli else of}")
    lines += [f"known: {known_line(entry, TEXT)}" for entry in config.known]
    if config.moves_operator:
        lines.append("flux-operator: its own version is updated in the same pull request")
    lines += _host_lines(config)
    if config.bootstrap is not None:
        names = ", ".join(name for name, _ in config.bootstrap.clusters)
        lines.append(f"bootstrap: {names or 'one cluster'}")
    lines += [_LIMIT_CREATION] if config.forge in ("", "github") else []
    lines += _origin_lines(config)
    return "".join(f"{line}\n" for line in lines)


def _host_lines(config: Config) -> Iterator[str]:
    if config.dashboard:
        where = "one issue" if config.forge in ("", "github") else f"none, because it needs GitHub, not {config.forge}"
        yield f"dashboard: {where}"
    if config.accounts:
        yield f"accounts whose pull requests count as flux-upgrade's own: {', '.join(config.accounts)}"
    if config.forge:
        yield f"Git host: {config.forge}"
    if config.allow_hosts:
        yield f"hosts that are contacted although they are not public: {', '.join(config.allow_hosts)}"


def _origin_lines(config: Config) -> Iterator[str]:
    if not config.extends:
        return
    if not config.origins:
        yield f"extends: {config.extends} (not read)"
        return
    yield "where each value comes from:"
    for each in config.origins:
        unused = f", instead of {each.unused}" if each.unused and each.unused != each.value else ""
        yield printable(f"  {each.key}: {each.value} ({each.file}{unused})")
    yield "  all other keys: default"


def _ring_lines(ring: Ring) -> Iterator[str]:
    if ring.after:
        soak = f", once it has run the same release for {_span(ring.soak)}" if ring.soak else ""
        yield f"  after: {', '.join(ring.after)}{soak}"
    if ring.one_release_at_a_time:
        yield "  one release at a time: until the groups after it run its release"
    if ring.healthy is not None:
        yield f"  healthy: {ring.healthy.creator} posts success for {', '.join(ring.healthy.contexts)}"
        if ring.on_failure is OnFailure.REVERT:
            yield "  on failure: a draft that reverts the upgrade (GitHub only)"
    elif ring.on_failure is OnFailure.REVERT:
        yield "  on failure: nothing is reverted, because `healthy` names no commit statuses"


def _governance_lines(found: Governance) -> Iterator[str]:
    policy = found.policy
    within = f" in {policy.range.text}" if policy.range is not None else ""
    yield f"  without approval: {_BY_ITSELF[policy.bump]}{within}"
    if policy.bump is not MaxBump.MAJOR:
        shown = "a draft pull request" if policy.pending is Pending.DRAFT else "the job summary only"
        yield f"  upgrades that need approval: shown in {shown}"
    yield f"  minimum age: patch {_span(policy.patch_cool_down)}, minor {_span(policy.minor_cool_down)}"
    for name, values in (
        ("flags", [f"{flag}={value}" for flag, value in found.flags.items()]),
        ("labels", found.labels),
        ("reviewers", found.reviewers),
        ("assignees", found.assignees),
        ("merged automatically", [] if found.auto_merge is MaxBump.NONE else [_BY_ITSELF[found.auto_merge]]),
        ("schedule", [f"{each} ({found.timezone})" for each in found.schedule]),
        ("manual edits in conflict", ["replaced by the values of the release"] if found.take_release else []),
        ("images of the release", [] if found.check_images else ["not checked in your registry"]),
        ("manifests on removed API versions", _MIGRATIONS[found.migrate]),
        ("upgrades that need several steps", [] if found.multi_step else ["proposed as one upgrade"]),
        ("files searched for breaking changes", found.include),
        ("Kubernetes", [found.kubernetes_version] if found.kubernetes_version else []),
        ("always needs approval", sorted(found.needs_approval)),
    ):
        if values:
            yield f"  {name}: {', '.join(values)}"
    for each in filter(needs_both_days, found.schedule):
        yield f"  note: schedule '{each}' opens only if both days match, because one of them begins with `*`"


def _span(age: timedelta) -> str:
    hours = age // timedelta(hours=1)
    return "0" if not hours else f"{hours}h" if hours % 24 else f"{hours // 24}d"


def matches(
    config: Config,
    update_groups: Sequence[UpdateGroup],
    reported: Iterable[Member],
    places: GroupPaths,
    void: Iterable[Void],
) -> Mapping[str, Sequence[str]]:
    """Group → lines about it; the empty name stands for what is in no group.

    ``reported``: what is recognized and never changed.
    """
    unchanged: dict[str, list[Member]] = {}
    for member in reported:
        group = config.group_of(member.path)
        unchanged.setdefault(group.name if group is not None else "", []).append(member)
    nothing = {each.name: f"  matches nothing ({each.why})" for each in void}
    found = {}
    for group in (*config.groups, config.default):
        clusters = [each for each in update_groups if each.group.name == group.name]
        others = [(member.place, member.pin) for member in unchanged.get(group.name, ())]
        never = (f"    {place} ({pin.reason if pin.kind == ALSO else 'never changed'})" for place, pin in others)
        lines = [*_clusters(clusters), *never]
        if group.name in nothing:
            lines = [nothing[group.name]]
        elif lines:
            notes = (
                f"  note: {pattern} matches nothing ({why})" for pattern, why in void_patterns(group, config, places)
            )
            lines = ["  matches:", *lines, *notes]
        lines += _status_notes(group.ring, clusters)
        found[group.name] = [printable(line) for line in lines]
    return found


def _status_notes(ring: Ring, update_groups: Iterable[UpdateGroup]) -> Iterator[str]:
    """Yield a note for each release that runs in a group and does not post every commit status."""
    if ring.healthy is None:
        return
    members = (member for group in update_groups for cluster in group.clusters for member in cluster.members)
    versions = {member.pin.stated_version for member in members if member.pin.role is Role.INSTALLS}
    releases = sorted(filter(None, map(Version.parse, versions)))
    for missing in filter(None, map(unposted, releases)):
        yield f"  note: {missing}{_NO_REVERT if ring.on_failure is OnFailure.REVERT else ''}"


def _clusters(update_groups: Iterable[UpdateGroup]) -> Iterator[str]:
    for group in update_groups:
        for cluster in group.clusters:
            yield f"    {cluster.name}"
            yield from (f"      {member.place}" for member in cluster.members)
