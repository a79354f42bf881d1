"""Real kustomizations and patches get a verdict each, and the real kustomize agrees."""

from __future__ import annotations

import posixpath
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from built_overlays import Kustomize, evaluated, objects
from conformance.real_files import TARGET, regenerator_of, tell
from conformance.real_overlays import RealOverlay, real_overlays, siblings_of
from flux_upgrade.impact.overlay.check import check_overlay
from flux_upgrade.impact.overlay.result import Overlay, OverlayFinding, OverlayVerdict
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, InstallOptions
from flux_upgrade.model.unknown import known_or
from memory import MemoryTree
from real_parts import require_program

pytestmark = pytest.mark.real_part("shared data")

COPIED_ARGUMENTS = ("h3mmy/bloopySphere", "cluster/base/flux-system/gotk-patches.yaml")
"""A patch with all arguments of two controllers; no kustomization that is known takes it in."""


@pytest.fixture(scope="module")
def overlays(conformance: Path) -> list[tuple[RealOverlay, Overlay]]:
    found, others = real_overlays(conformance)
    tell(f"overlays: {len(found)} kustomizations beside a manifest; {len(others)} others:")
    for name in others:
        tell(f"  {name}")
    proved = [(each, proved_of(each)) for each in found]
    return [(each, overlay) for each, overlay in proved if overlay is not None]


def proved_of(each: RealOverlay) -> Overlay | None:
    tree = MemoryTree({**each.files, each.path: each.old})
    found = known_or(check_overlay(tree, each.path, each.old, each.new, None), None)
    if found is None:
        tell(f"  {each.name}: {each.version} cannot be read")
    return found


def test_each_gets_its_verdicts(overlays: list[tuple[RealOverlay, Overlay]]) -> None:
    counted: Counter[OverlayVerdict] = Counter()
    for each, overlay in overlays:
        counted.update(finding.verdict for finding in overlay.findings)
        if overlay.findings:
            tell(f"overlay {each.name}: {each.version} → {TARGET}, {each.stand_ins} stand-ins")
        for finding in overlay.findings:
            tell(f"    {finding.verdict:8} {finding.path}:{finding.line} {finding.what}{detail(finding)}")
    patched = [overlay for _, overlay in overlays if overlay.findings]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counted.items()))
    tell(f"overlays: {len(patched)} of {len(overlays)} patch something; findings: {counts}")

    assert len(overlays) >= 100
    assert len(patched) >= 30
    assert OverlayVerdict.UNKNOWN not in counted
    assert all(finding.detail for overlay in patched for finding in overlay.findings if not is_fine(finding))
    assert all(has_line(each, finding) for each, overlay in overlays for finding in overlay.findings)


def detail(finding: OverlayFinding) -> str:
    sentence = f": {finding.detail}" if finding.detail else ""
    return sentence + (f" {list(finding.drops)}" if finding.drops else "")


def is_fine(finding: OverlayFinding) -> bool:
    return finding.verdict is OverlayVerdict.APPLIES


def has_line(each: RealOverlay, finding: OverlayFinding) -> bool:
    """The line is one of the file, and says something."""
    return bool(each.files[finding.path].decode().splitlines()[finding.line - 1].strip())


@pytest.mark.real_part("kustomize")
def test_kustomize_agrees(overlays: list[tuple[RealOverlay, Overlay]], tmp_path: Path) -> None:
    """Its build with the target fails where a finding says so, and nowhere else; else it gives our objects."""
    kustomize = Kustomize(require_program("kustomize"), tmp_path)

    def disagreement(pair: tuple[RealOverlay, Overlay]) -> str:
        each, overlay = pair
        built = kustomize.build({**each.files, each.path: each.new}, each.folder)
        fails = [finding for finding in overlay.findings if finding.fails]
        if bool(built.error) != bool(fails):
            return f"{each.name}: kustomize says {built.error or 'nothing'}, and we {fails}"
        ours = objects(evaluated(each.files, each.folder, each.path, each.old, each.new).new)
        return "" if built.error or built.objects == ours else f"{each.name}: other objects"

    # Those that only list are built once for each manifest.
    plain = {each.new: (each, overlay) for each, overlay in overlays if not overlay.findings}
    wanted = [*(pair for pair in overlays if pair[1].findings), *plain.values()]
    with ThreadPoolExecutor(max_workers=2) as pool:
        wrong = [text for text in pool.map(disagreement, wanted) if text]
    failing = sum(any(finding.fails for finding in overlay.findings) for _, overlay in overlays)
    tell(f"overlays: kustomize agrees on {len(wanted) - len(wrong)} of {len(wanted)} builds, {failing} fail")
    assert not wrong, "\n".join(wrong)
    assert failing


def test_a_copy_of_the_arguments_is_frozen(conformance: Path) -> None:
    """It was written for Flux 0, and applies to any release without a word."""
    repository, path = COPIED_ARGUMENTS
    patch = siblings_of(conformance)[repository][path]
    folder = posixpath.dirname(path)
    files = {
        path: patch,
        f"{folder}/kustomization.yaml": b"resources: [gotk-components.yaml]\npatches: [{path: gotk-patches.yaml}]\n",
    }
    regenerator = regenerator_of(conformance / "releases")
    old, new = (
        regenerator.regenerate(InstallOptions(version=tag, components=components)).text.encode()
        for tag, components in (("v2.6.4", DEFAULT_COMPONENTS), (TARGET, (*DEFAULT_COMPONENTS, "source-watcher")))
    )
    manifest = f"{folder}/gotk-components.yaml"
    found = known_or(check_overlay(MemoryTree({**files, manifest: old}), manifest, old, new, None), None)
    assert found is not None
    for finding in found.findings:
        tell(f"    {finding.verdict:8} {finding.path}:{finding.line} {finding.what}{detail(finding)}")

    events = "--events-addr=http://notification-controller.$(RUNTIME_NAMESPACE).svc.cluster.local./"
    assert [(each.verdict, each.line, each.drops) for each in found.findings] == [
        (OverlayVerdict.FROZEN, 3, (events,)),
        (OverlayVerdict.FROZEN, 47, (events,)),
        (OverlayVerdict.APPLIES, 75, ()),
        (OverlayVerdict.APPLIES, 99, ()),
    ]
