"""Findings about what the repository patches over an installation, and phrases for them."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.findings.finding import Finding, Severity
from flux_upgrade.findings.phrases import TEXT, Style, place, sentences
from flux_upgrade.impact.overlay.result import Overlay, OverlayFinding, OverlayVerdict
from flux_upgrade.model.text import enumeration, first_few
from flux_upgrade.model.unknown import known_or
from flux_upgrade.model.versions import Version
from flux_upgrade.policy.hold_reasons import HoldReason

_NEWS = (OverlayVerdict.BREAKS, OverlayVerdict.FROZEN, OverlayVerdict.BEHIND)
_BEHIND = "Extend the patch to the API version that the release stores"
_MEND = "Fix the patches that break with {target}"
_UNKNOWN = "Fix the kustomization: it may break with {target}"
_FEW = 3
_BRING = "Bring the CRDs of {target} to the cluster first: the upgrade does not"
_FROZEN = "Review the patches that override a whole list: what {target} adds to it is not applied"


def patches(impact: Assessment, target: Version, style: Style) -> Iterator[Finding]:
    if impact.unknown_patches is not None:
        unknown = sentences(style, str(impact.unknown_patches), impact.patch_breaks[0].hint)
        yield Finding(Severity.BREAKS, task=_UNKNOWN, holds=(HoldReason.OVERLAY_BREAKS,), wording=unknown, item=unknown)
    overlay = known_or(impact.overlay, None)
    if overlay is None:
        return
    heading = patches_line(overlay, style) if is_reportable(overlay) else None
    remarks = remarkable(overlay)
    for at, each in enumerate(overlay.findings):
        found = _patch(each, target, style)
        is_news = each.verdict in _NEWS or each in remarks
        yield found._replace(
            heading=heading if is_news else None, task="" if each.already else found.task, order=(0, overlay.path, at)
        )
    yield Finding(Severity.NOTE, heading=heading, wording=idle_line(overlay, style))
    if overlay.failed:
        said = sentences(style, overlay.failed)
        yield Finding(
            Severity.BREAKS,
            overlay.path,
            task=_MEND,
            holds=(HoldReason.OVERLAY_BREAKS,),
            wording=said,
            item=f"{style.code(overlay.path)}: {said}",
            order=(1, overlay.path),
        )


def turned_off(impact: Assessment, target: Version, style: Style) -> Iterator[Finding]:
    for use, patch in impact.turned_off:
        where, version = f"{patch.path}:{patch.line}", f"{patch.kind} {patch.version}"
        yield Finding(
            Severity.BREAKS,
            patch.path,
            patch.line,
            heading="API versions in use that your patches turn off:",
            task="Do not merge before you fix these patches: they turn off API versions that you use",
            holds=(HoldReason.OVERLAY_BREAKS,),
            title=f"Turns off {version} in {target}",
            message=f"This patch turns off {version} in {target}, used in {place(use)}.",
            wording=f"{style.code(where)}: this patch turns off {style.plain(version)} in {target}, "
            f"used in {style.code(place(use))}",
            order=(-1, where, place(use)),
        )


def left_out(impact: Assessment, target: Version, style: Style) -> Iterator[Finding]:
    """Yield the patches that remove CRDs which nothing else brings to the cluster."""
    for path, line in dict.fromkeys((crd.path, crd.line) for crd in impact.crds_to_bring):
        names = [crd.name.partition(".")[0] for crd in impact.crds_to_bring if (crd.path, crd.line) == (path, line)]
        why = f"this patch removes the CRDs, and no other file that the cluster reads brings those of {target}"
        yield Finding(
            Severity.BREAKS,
            path,
            line,
            heading=f"before merging: bring the CRDs of {target} to the cluster:",
            task=_BRING,
            title=f"The CRDs of {target} do not come with the upgrade",
            message=sentences(TEXT, f"{why}: {first_few(names, _FEW)}"),
            wording=f"{style.code(f'{path}:{line}')}: {why}: {first_few(list(map(style.code, names)), _FEW)}",
        )


def _patch(each: OverlayFinding, target: Version, style: Style) -> Finding:
    kept_out = f"not applied: {', '.join(each.drops)}" if each.drops else ""
    found = Finding(
        Severity.NOTE,
        each.path,
        each.line,
        message=sentences(TEXT, f"{each.what}: {each.detail}", each.hint, kept_out),
        wording=patch_line(each, style),
    )
    if each.verdict is OverlayVerdict.FROZEN:
        title = f"Drops what is new in {target}"
        return found._replace(severity=Severity.REVIEW, task=_FROZEN, title=title)
    if each.verdict is OverlayVerdict.BEHIND:
        title = f"Leaves out what {target} stores"
        return found._replace(severity=Severity.REVIEW, task=_BEHIND, title=title)
    if each.holds:
        holds = (HoldReason.OVERLAY_BREAKS,)
        return found._replace(severity=Severity.BREAKS, task=_MEND, title=f"Breaks with {target}", holds=holds)
    return found


def patch_line(each: OverlayFinding, style: Style) -> str:
    where = style.code(f"{each.path}:{each.line}")
    verdict = sentences(style, each.detail or each.verdict, each.hint)
    dropped = f" Not applied: {', '.join(map(style.code, each.drops))}." if each.drops else ""
    return f"{where}, {style.plain(each.what)}: {verdict}{dropped}"


def applied(overlay: Overlay) -> tuple[int, int]:
    """How many of its patches still apply, and how many there are."""
    apply = (OverlayVerdict.APPLIES, OverlayVerdict.FROZEN, OverlayVerdict.BEHIND)
    still = [each for each in overlay.findings if each.verdict in apply]
    return len(still), len(overlay.findings)


def is_reportable(overlay: Overlay) -> bool:
    """Whether there is anything to say of it: one that only lists files is left out."""
    return bool(overlay.findings or overlay.builder or overlay.unbuilt)


def patches_line(overlay: Overlay, style: Style) -> str:
    """How many still apply, and who says so."""
    still, of = applied(overlay)
    apply = "patch still applies" if of == 1 else "patches still apply"
    applying = f"{still}/{of} {apply}" if of else "No patches"
    built = ""
    if overlay.unbuilt:
        built = f", not built: {style.plain(overlay.unbuilt)}"
    elif overlay.builder and not overlay.failed:
        built = f", built with {style.plain(overlay.builder)} before and after the upgrade"
    return f"{applying} ({style.code(overlay.path)}{built})"


def remarkable(overlay: Overlay) -> list[OverlayFinding]:
    """Of no danger, and not as it should be: what does nothing now, is unknown, is broken already."""
    return [
        each
        for each in overlay.findings
        if (each.verdict is OverlayVerdict.IDLE and not each.already)
        or each.verdict is OverlayVerdict.UNKNOWN
        or (each.verdict is OverlayVerdict.BREAKS and each.already)
    ]


def idle_line(overlay: Overlay, style: Style) -> str:
    """What did nothing before the upgrade either is no news, and one line; empty: there is none."""
    idle = (each for each in overlay.findings if each.verdict is OverlayVerdict.IDLE and each.already)
    places = enumeration(dict.fromkeys(style.code(f"{each.path}:{each.line}") for each in idle))
    return f"No effect before or after the upgrade: {places}" if places else ""
