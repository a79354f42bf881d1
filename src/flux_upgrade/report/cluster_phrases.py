"""Phrases for what changes in a cluster, what patches make of it, and what leads back."""

from __future__ import annotations

from flux_upgrade.impact.diff.changes import Changes, CrdChange
from flux_upgrade.impact.impact import Impact
from flux_upgrade.impact.overlay.result import Overlay, OverlayFinding, OverlayVerdict
from flux_upgrade.model.text import enumeration
from flux_upgrade.policy.decision import ChangeKind
from flux_upgrade.report.impact_phrases import Style


def unserved(changes: Changes) -> dict[str, list[str]]:
    """Version → kinds that are not served in it any more; both sorted."""
    found: dict[str, list[str]] = {}
    for crd in changes.crds:
        for version in (*crd.unserved, *crd.removed):
            found.setdefault(version, []).append(crd.kind)
    return {version: sorted(kinds) for version, kinds in sorted(found.items())}


def unserved_line(changes: Changes, style: Style) -> str:
    """``v1beta2 of Alert and Provider; v1beta1 of Receiver``; empty where all stay."""
    return "; ".join(
        f"{style.code(version)} of {enumeration(map(style.plain, kinds))}"
        for version, kinds in unserved(changes).items()
    )


def in_cluster(impact: Impact) -> Changes | None:
    """Of what the kustomization beside the manifest makes of it, where that was built."""
    overlay = impact.overlay
    return overlay.built if overlay is not None and overlay.built is not None else impact.changes


def said_apart(changes: Changes, manifest: Changes) -> Changes:
    """Without what is said of the manifest in a line or a table of its own: images, versions that go.

    A patch may switch off another version, which nobody would expect: that stays.
    """
    gone = {(each.name, version) for each in manifest.crds for version in (*each.unserved, *each.removed)}
    crds = (
        each._replace(
            unserved=tuple(version for version in each.unserved if (each.name, version) not in gone),
            removed=tuple(version for version in each.removed if (each.name, version) not in gone),
        )
        for each in changes.crds
    )
    images = manifest.controllers
    return changes._replace(
        controllers=tuple(each for each in changes.controllers if each not in images or not all(each)),
        crds=tuple(each for each in crds if each != CrdChange(each.name, each.kind, each.group)),
    )


def unchanged(changes: Changes) -> list[str]:
    """What people look for first, where nothing of it changed."""
    same = [] if changes.rules else ["RBAC"]
    found = changes.contents
    if ChangeKind.NETWORK_POLICY not in found:
        same.append("NetworkPolicies")
    if ChangeKind.ARGUMENTS not in found:
        same.append("the controllers' arguments, environment, resources and ports")
    return same


def way_back(changes: Changes) -> list[CrdChange]:
    """CRDs whose storage version is one that they did not have before: the old ones would be refused."""
    return [each for each in changes.crds if each.storage is not None and each.storage[1] in each.added]


def restored(changes: Changes) -> list[CrdChange]:
    """CRDs whose storage version is another one that they had before."""
    return [each for each in changes.crds if each.storage is not None and each.storage[1] not in each.added]


def applied(overlay: Overlay) -> tuple[int, int]:
    """How many of its patches still apply, and how many there are."""
    still = [
        each for each in overlay.findings if each.verdict in (OverlayVerdict.APPLIES, OverlayVerdict.FROZEN)
    ]
    return len(still), len(overlay.findings)


def is_reportable(overlay: Overlay) -> bool:
    """Whether there is anything to say of it: one that only lists files is left out."""
    return bool(overlay.findings or overlay.builder or overlay.unbuilt)


def patches_line(overlay: Overlay, style: Style) -> str:
    """How many still apply, and who says so."""
    still, of = applied(overlay)
    apply = "patch still applies" if of == 1 else "patches still apply"
    applying = f"{still}/{of} {apply}" if of else "Nothing is patched"
    built = ""
    if overlay.unbuilt:
        built = f", not built: {style.plain(overlay.unbuilt)}"
    elif overlay.builder and not overlay.failed:
        built = f", {style.plain(overlay.builder)} builds it before and after"
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
    return f"As before, nothing is done by {places}" if places else ""
