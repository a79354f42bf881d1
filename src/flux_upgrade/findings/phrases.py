"""Phrases for what an upgrade means: the same in reports in plain text and pull requests in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from flux_upgrade.impact.api_uses.flux_file import ApiUse, UsePlace
from flux_upgrade.impact.diff.changes import CrdChange
from flux_upgrade.impact.impact import Detour, Indication, Managed, PastRelease, Refused
from flux_upgrade.impact.migrate.result import Left, Migrated, Move, Reason
from flux_upgrade.model.markdown import code, counted, prose
from flux_upgrade.model.text import capitalized, enumeration
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.kubernetes_versions import Fit, Support

_MANIFESTS = {UsePlace.RESOURCE, UsePlace.EMBEDDED, UsePlace.PATCH}


class Style(NamedTuple):
    """What makes text of anybody's harmless where it is shown."""

    code: Callable[[str], str]
    plain: Callable[[str], str]


TEXT = Style(str, str)
MARKDOWN = Style(code, prose)


def place(use: ApiUse) -> str:
    return f"{use.path}:{use.line}"


def who(use: ApiUse) -> str:
    """Which resource, as far as its place tells."""
    name = "/".join(filter(None, (use.namespace, use.name)))
    return " ".join(filter(None, (use.kind, name))) or f"{use.group}/{use.version}"


def in_order(file: Migrated) -> list[Move | Left]:
    """What becomes of the uses of a file, from its first line to its last."""
    return sorted((*file.moves, *file.lefts), key=lambda each: each.use.start)


def uses_of(moves: Sequence[Move]) -> str:
    are_manifests = all(move.use.place in _MANIFESTS for move in moves)
    return counted(len(moves), "manifest" if are_manifests else "place")


def names(use: ApiUse) -> tuple[str, ...]:
    """The resource, if its place tells, and the version of its API."""
    return (who(use), api(use)) if use.kind else (api(use),)


def api(use: ApiUse) -> str:
    return f"{use.group}/{use.version}"


def move_line(move: Move, style: Style) -> str:
    today = " (already not served today)" if is_broken_already(move) else ""
    kept = f": {style.plain(kept_sentence(move))}" if move.kept_by else ""
    after = f": {style.plain(undeclared_sentence(move))}" if move.undeclared else ""
    where = f"{style.code(place(move.use))}: {', '.join(map(style.code, names(move.use)))}"
    return f"{where} → {style.code(move.to)}{today}{kept}{after}"


def undeclared_sentence(move: Move) -> str:
    """What has to happen right after the move, with names between backticks; empty: nothing has to."""
    if not move.undeclared:
        return ""
    return f"Run `flux migrate` afterward. Until then, the API server may reject it because of `{move.undeclared}`."


def kept_sentence(move: Move) -> str:
    """Why it goes no farther, without markup."""
    serve = "serves" if len(move.kept_by) == 1 else "serve"
    return f"{' and '.join(move.kept_by)} {serve} no newer version that the target serves."


def is_broken_already(each: Move | Left) -> bool:
    """Whether it is known that Flux cannot apply it today either."""
    if isinstance(each, Move):
        return not each.was_served
    return each.is_broken_already or each.reason is Reason.UNREADABLE


def stored_lines(refused: Iterable[Refused], target: Version, style: Style) -> list[str]:
    """Which release stored what the target lacks; a sentence for each, oldest first as they are given."""
    found: dict[tuple[PastRelease, str], list[str]] = {}
    for each in refused:
        found.setdefault((each.release, each.version), []).append(each.kind)
    return [
        f"{_ran(ran, style)} and stored {enumeration(map(style.code, sorted(kinds)))} "
        f"as {style.code(version)}, which the CRDs of {target} no longer contain."
        for (ran, version), kinds in found.items()
    ]


def _ran(ran: PastRelease, style: Style) -> str:
    since = f" from {style.plain(ran.since[:10])}" if ran.since else ""
    return f"{style.plain(ran.tag) or 'An earlier release'} ran here{since}"


def managed_line(managed: Managed, target: Version, style: Style) -> str:
    """How it is known that objects may have been written in a version that the target drops."""
    match managed.evidence:
        case Indication.USED:
            versions = enumeration(map(style.code, managed.versions))
            first = "" if managed.is_after else " Migrate the manifests and wait until Flux has reconciled them."
            return f"This repository uses {versions}, which {target} no longer serves.{first}"
        case Indication.MIGRATED:
            wait = "" if managed.is_after else " Wait until Flux has reconciled them."
            served = f"API versions that {target} no longer serves"
            return f"A merged pull request migrated manifests from {served}.{wait}"
        case Indication.HISTORY:
            path = style.code(managed.detail)
            return f"{path} used an API version that {target} no longer serves, in an earlier commit."
    return (
        f"This repository may have used API versions that {target} no longer serves. Its history is not known: "
        f"{style.plain(managed.detail)}."
    )


OPERATOR_MIGRATES = "from 0.9.0 on, the flux-operator migrates stored objects once an upgrade is ready"


def hops_line(hops: Sequence[str]) -> str:
    """Where the first step leads, and what comes after it."""
    return f"step 1 of {len(hops)}: {hops[0]}, then {', then '.join(hops[1:])}"


def detour_sentence(detour: Detour, first: Version, style: Style) -> str:
    """Why the first step leads to another release than the goal."""
    why = []
    versions: dict[str, list[str]] = {}
    for kind, version in detour.stored:
        versions.setdefault(version, []).append(style.code(kind))
    if versions:
        lacking = enumeration(f"{style.code(version)} of {enumeration(kinds)}" for version, kinds in versions.items())
        why.append(f"The CRDs of {detour.target} do not have {lacking}, in which your release stores objects.")
    if detour.uses:
        count = counted(detour.uses, "manifest")
        why.append(f"Your release and {detour.target} serve no common API version for {count}.")
    return " ".join([f"{first} comes first.", *why]) if why else ""


def support_line(support: Support) -> str:
    """``Kubernetes ≥ 1.33, tested with 1.34 to 1.36``."""
    needed = f"Kubernetes ≥ {minor_text(support.least)}"
    return f"{needed}, tested with {_tested(support)}" if support.tested is not None else needed


def fit_sentence(fit: Fit, target: Version, style: Style) -> str:
    """What the target says of a Kubernetes that is too old for it, or that it was not tested with."""
    requirement = (
        f"{target} needs Kubernetes {minor_text(fit.support.least)}"
        if fit.is_too_old
        else f"{target} was tested with Kubernetes {_tested(fit.support)}"
    )
    return f"{requirement}, but {style.code('kubernetes-version')} is {style.code(fit.version)}."


def minor_text(minor: tuple[int, int]) -> str:
    """``1.33``."""
    return ".".join(map(str, minor))


def _tested(support: Support) -> str:
    assert support.tested is not None  # noqa: S101 both callers have seen to it
    return " to ".join(map(minor_text, support.tested))


def sentences(style: Style, *texts: str) -> str:
    return " ".join(style.plain(_sentence(each)) for each in texts if each)


def _sentence(text: str) -> str:
    capital = capitalized(text)
    return capital if capital.endswith((".", "!", "?")) else f"{capital}."


def unserved(crds: Iterable[CrdChange]) -> dict[str, list[str]]:
    """Version → kinds that are not served in it any more; both sorted."""
    found: dict[str, list[str]] = {}
    for crd in crds:
        for version in (*crd.unserved, *crd.removed):
            found.setdefault(version, []).append(crd.kind)
    return {version: sorted(kinds) for version, kinds in sorted(found.items())}


def unserved_line(crds: Iterable[CrdChange], style: Style) -> str:
    """``v1beta2 of Alert and Provider; v1beta1 of Receiver``; empty where all stay."""
    return "; ".join(
        f"{style.code(version)} of {enumeration(map(style.plain, kinds))}" for version, kinds in unserved(crds).items()
    )
