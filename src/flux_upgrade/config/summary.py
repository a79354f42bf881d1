"""What a config file means, in a few lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from flux_upgrade.config.config import Config, Governance, Migrate
from flux_upgrade.policy.policy import MaxBump, Pending, Policy

_BY_ITSELF = {
    MaxBump.NONE: "nothing",
    MaxBump.PATCH: "patches",
    MaxBump.MINOR: "patches and minors",
    MaxBump.MAJOR: "every release",
}
_MIGRATIONS: dict[Migrate, list[str]] = {
    Migrate.BEFORE: [],
    Migrate.WITH_UPGRADE: ["moved by the pull request of the upgrade"],
    Migrate.OFF: ["left to people"],
}


def check_report(
    config: Config, path: str, matches: Mapping[str, Sequence[str]], *, verdict: str = "no problem"
) -> str:
    """A summary of a config file. ``matches``: by group, lines about what it matches; empty: unknown."""
    lines = [f"{path}: {verdict}"]
    for group in config.groups:
        lines.append(f"group {group.name}: one pull request for {', '.join(group.paths)}")
        lines += [*matches.get(group.name, ()), *_governance_lines(group.governance)]
    rest = "all other installations" if config.groups else "all installations"
    lines += [
        f"{rest}: a pull request each",
        *matches.get("", ()),
        *_governance_lines(config.default.governance),
    ]
    if config.ignore:
        lines.append(f"ignored: {', '.join(config.ignore)}")
    lines.append(f"branches: {config.branch_prefix}…")
    if config.moves_operator:
        lines.append("flux-operator: its own pins move along with Flux")
    if config.forge:
        lines.append(f"forge: {config.forge}")
    if config.bootstrap is not None:
        names = ", ".join(name for name, _ in config.bootstrap.clusters)
        lines.append(f"bootstrap: {names or 'one cluster'}")
    return "".join(f"{line}\n" for line in lines)


def _governance_lines(found: Governance) -> Iterator[str]:
    policy = found.policy
    yield f"  without approval: {_scope(policy)}"
    if policy.bump is not MaxBump.MAJOR:
        shown = "a draft pull request" if policy.pending is Pending.DRAFT else "the summary alone"
        yield f"  waiting for approval: shown in {shown}"
    yield f"  age: patch {_span(policy.patch_cool_down)}, minor {_span(policy.minor_cool_down)}"
    for name, values in (
        ("flags", [f"{flag}={value}" for flag, value in found.flags.items()]),
        ("labels", found.labels),
        ("reviewers", found.reviewers),
        ("assignees", found.assignees),
        ("merged by themselves", ["patches"] if found.auto_merge else []),
        ("edits in conflict", ["given up for the release's own values"] if found.take_release else []),
        ("images of the target", [] if found.check_images else ["not looked for in their registry"]),
        ("manifests with removed APIs", _MIGRATIONS[found.migrate]),
        ("upgrades that need several steps", [] if found.ladder else ["proposed in one jump"]),
        ("searched for what breaks", found.scan),
        ("Kubernetes", [found.kubernetes_version] if found.kubernetes_version else []),
        ("waiting for approval at any size", sorted(found.needs_approval)),
    ):
        if values:
            yield f"  {name}: {', '.join(values)}"


def _scope(policy: Policy) -> str:
    return _BY_ITSELF[policy.bump] + (f" in {policy.range.text}" if policy.range is not None else "")


def _span(age: timedelta) -> str:
    hours = age // timedelta(hours=1)
    return "0" if not hours else f"{hours}h" if hours % 24 else f"{hours // 24}d"
