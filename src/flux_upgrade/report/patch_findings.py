"""Findings about what the repository patches over an installation."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.impact.impact import Impact
from flux_upgrade.impact.overlay.result import OverlayFinding, OverlayVerdict
from flux_upgrade.model.versions import Version
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.findings import Finding, Severity
from flux_upgrade.report.impact_phrases import (
    TEXT,
    Style,
    idle_line,
    is_reportable,
    patches_line,
    place,
    remarkable,
    sentences,
)

_NEWS = (OverlayVerdict.BREAKS, OverlayVerdict.FROZEN, OverlayVerdict.BEHIND)
_BEHIND = "Extend the patch to the API version that the release stores"
_MEND = "Fix the patches that break with {target}"
_FROZEN = "Review the patches that override a whole list: what {target} adds to it is not applied"


def patches(impact: Impact, target: Version, style: Style) -> Iterator[Finding]:
    overlay = impact.overlay
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


def turned_off(impact: Impact, target: Version, style: Style) -> Iterator[Finding]:
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
