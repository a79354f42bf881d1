"""Phrases for what an upgrade means: the same in reports in plain text and pull requests in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from flux_upgrade.impact.api_uses.flux_file import ApiUse, UsePlace
from flux_upgrade.impact.impact import Evidence, Hit, Impact, Managed, PastRelease, Refused
from flux_upgrade.impact.kubernetes_versions import Support
from flux_upgrade.impact.migrate.result import Left, Migrated, Move, Reason
from flux_upgrade.impact.overlay.result import Finding
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import enumeration
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.hold_reasons import HoldReason

_MANIFESTS = {UsePlace.RESOURCE, UsePlace.EMBEDDED, UsePlace.PATCH}


class Style(NamedTuple):
    """What makes text of anybody's harmless where it is shown."""

    code: Callable[[str], str]
    """Of names and places."""
    plain: Callable[[str], str]
    """Of sentences."""


TEXT = Style(str, str)


def place(use: ApiUse) -> str:
    """File and line."""
    return f"{use.path}:{use.line}"


def who(use: ApiUse) -> str:
    """Which resource, as far as its place tells."""
    name = "/".join(filter(None, (use.namespace, use.name)))
    return " ".join(filter(None, (use.kind, name))) or f"{use.group}/{use.version}"


def in_order(file: Migrated) -> list[Move | Left]:
    """What becomes of the uses of a file, from its first line to its last."""
    return sorted((*file.moves, *file.lefts), key=lambda each: each.use.start)


def uses_of(moves: Sequence[Move]) -> str:
    """How many there are, and of what."""
    are_manifests = all(move.use.place in _MANIFESTS for move in moves)
    return counted(len(moves), "manifest" if are_manifests else "place")


def left_line(left: Left, style: Style) -> str:
    """What stays as it is, and what to do about it."""
    where = use_line(left.use, style)
    return f"{where}: {sentences(style, left.detail or left.reason.replace('-', ' '), left.hint)}"


def use_line(use: ApiUse, style: Style) -> str:
    """Where a version is used, and by whom."""
    resource = [style.code(who(use))] if use.kind else []
    return f"{style.code(place(use))}: {', '.join([*resource, style.code(f'{use.group}/{use.version}')])}"


def move_line(move: Move, style: Style) -> str:
    """Where a version is used, and what it becomes."""
    today = " (not served today either)" if is_broken_already(move) else ""
    kept = f": {style.plain(kept_sentence(move))}" if move.kept_by else ""
    return f"{use_line(move.use, style)} → {style.code(move.to)}{today}{kept}"


def kept_sentence(move: Move) -> str:
    """Why it goes no farther, without markup."""
    serve = "serves" if len(move.kept_by) == 1 else "serve"
    return f"{' and '.join(move.kept_by)} {serve} no newer version that the target has."


def is_broken_already(each: Move | Left) -> bool:
    """Whether it is known that Flux cannot apply it today either."""
    if isinstance(each, Move):
        return not each.was_served
    return each.is_broken_already or each.reason is Reason.UNREADABLE


def in_the_way(reason: HoldReason, impact: Impact, style: Style) -> list[str]:
    """What a hold is about, line by line."""
    match reason:
        case HoldReason.BLOCKED_BY_API_REMOVAL:
            by_hand = [left_line(each, style) for each in impact.blocking]
            return by_hand or [move_line(each, style) for each in impact.moves]
        case HoldReason.MIGRATION_PENDING:
            return [move_line(each, style) for each in impact.moves]
        case HoldReason.COMPONENT_IN_USE:
            return [use_line(each, style) for each in impact.orphaned]
        case HoldReason.OVERLAY_BREAKS if impact.overlay is not None:
            found = [finding_line(each, style) for each in impact.overlay.findings if each.holds]
            failed = impact.overlay.failed
            return [*found, *([sentences(style, failed)] if failed else [])]
    return []


def finding_line(finding: Finding, style: Style) -> str:
    """What becomes of a patch."""
    where = style.code(f"{finding.path}:{finding.line}")
    verdict = sentences(style, finding.detail or finding.verdict, finding.hint)
    dropped = f" Kept out: {', '.join(map(style.code, finding.drops))}." if finding.drops else ""
    return f"{where}, {style.plain(finding.what)}: {verdict}{dropped}"


def hit_place(hit: Hit, style: Style) -> str:
    """Where a break is met."""
    name = "/".join(filter(None, (hit.namespace, hit.name)))
    return " ".join(filter(None, (style.code(f"{hit.path}:{hit.line}"), style.plain(f"{hit.kind} {name}"))))


def by_rule(hits: Iterable[Hit]) -> dict[str, list[Hit]]:
    """The hits of each break, each place once."""
    found: dict[str, dict[tuple[str, int, str], Hit]] = {}
    for hit in sorted(hits, key=lambda hit: (hit.since, hit.rule, hit.path, hit.line)):
        found.setdefault(hit.rule, {}).setdefault((hit.path, hit.line, hit.keep), hit)
    return {rule: list(each.values()) for rule, each in found.items()}


def stored_lines(refused: Iterable[Refused], target: str, style: Style) -> list[str]:
    """Which release stored what the target lacks; a sentence for each, oldest first as they are given."""
    found: dict[tuple[PastRelease, str], list[str]] = {}
    for each in refused:
        found.setdefault((each.release, each.version), []).append(each.kind)
    return [
        f"{_ran(ran, style)} and stored {enumeration(map(style.code, sorted(kinds)))} "
        f"as {style.code(version)}, which the CRDs of {target} lack."
        for (ran, version), kinds in found.items()
    ]


def _ran(ran: PastRelease, style: Style) -> str:
    since = f" from {style.plain(ran.since[:10])}" if ran.since else ""
    return f"{style.plain(ran.tag) or 'An earlier release'} ran here{since}"


def managed_line(managed: Managed, target: str, style: Style) -> str:
    """How it is known that objects may have been written in a version that the target drops."""
    match managed.evidence:
        case Evidence.USED:
            versions = enumeration(map(style.code, managed.versions))
            first = (
                "" if managed.is_after else " Migrate the manifests and wait until Flux has reconciled them."
            )
            return f"This repository uses {versions}, which {target} no longer serves.{first}"
        case Evidence.MIGRATED:
            wait = "" if managed.is_after else " Wait until Flux has reconciled them."
            served = f"API versions that {target} no longer serves"
            return f"A merged pull request migrated manifests from {served}.{wait}"
        case Evidence.HISTORY:
            path = style.code(managed.detail)
            return f"{path} used an API version that {target} no longer serves, in an earlier commit."
    return (
        f"This repository may have used API versions that {target} no longer serves. Its history is unknown: "
        f"{style.plain(managed.detail)}."
    )


def hops_line(hops: Sequence[str]) -> str:
    """Where the first step leads, and what comes after it."""
    return f"first of {counted(len(hops), 'hop')}: {hops[0]}, then {', then '.join(hops[1:])}"


def support_line(support: Support) -> str:
    """``Kubernetes ≥ 1.33, tested with 1.34 to 1.36``."""
    needed = f"Kubernetes ≥ {_minor(support.least)}"
    return f"{needed}, tested with {_tested(support)}" if support.tested is not None else needed


def fit_line(impact: Impact, target: str, style: Style) -> str:
    """What the target says of the Kubernetes that was declared; empty where it is right."""
    fit = impact.kubernetes
    if fit is None or not (fit.is_too_old or fit.is_untested):
        return ""
    requirement = (
        f"{target} needs Kubernetes {_minor(fit.support.least)}"
        if fit.is_too_old
        else (f"{target} was tested with Kubernetes {_tested(fit.support)}")
    )
    return f"{requirement}, and {style.code('kubernetes-version')} says {style.code(fit.version)}."


def _minor(minor: tuple[int, int]) -> str:
    return ".".join(map(str, minor))


def _tested(support: Support) -> str:
    assert support.tested is not None  # noqa: S101 both callers have seen to it
    return " to ".join(map(_minor, support.tested))


def sentences(style: Style, *texts: str) -> str:
    """Each as a sentence of its own."""
    return " ".join(style.plain(_sentence(each)) for each in texts if each)


def _sentence(text: str) -> str:
    # The name of a field stays as it is.
    first = text.partition(" ")[0]
    capital = f"{text[:1].upper()}{text[1:]}" if first.isalpha() else text
    return capital if capital.endswith((".", "!", "?")) else f"{capital}."
