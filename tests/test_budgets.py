"""What a run may cost, as ratios to a peer in the same run: imports are most of what a short run costs."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from idle import cpu_seconds, idle_action
from overlaid import overlay

from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.manifests.options import InstallOptions
from real_parts import require_program, require_shared

SOURCE = Path(__file__).resolve().parent.parent / "src"
TAG = "v2.9.4"
RUNS = 11
ROUNDS = 3
IDLE = 2.2
"""CPU of a run with nothing to do, to that of ``import requests``; at the most."""
RENDER = 3.5
"""CPU of ``kustomize build``, to that of ``render`` as a whole process; at least."""
RENDERED = "import sys; from flux_upgrade.main import main; sys.exit(main())"


def ratio(run: Callable[[], float], peer: Callable[[], float], is_kept: Callable[[float], bool]) -> float:
    """Of the medians of both, run in turn, so that they meet the same machine.

    A machine that is busy with something else is measured again, up to ``ROUNDS`` times.
    """
    run(), peer()  # which compile
    for _ in range(ROUNDS):
        taken = [(run(), peer()) for _ in range(RUNS)]
        found = statistics.median(own for own, _ in taken) / statistics.median(other for _, other in taken)
        if is_kept(found):
            break
    return found


def test_a_run_with_nothing_to_do(tmp_path: Path, written_source: Path) -> None:
    with idle_action(tmp_path, written_source, TAG, SOURCE) as both:
        assert ratio(both.action, both.peer, lambda found: found <= IDLE) <= IDLE


@pytest.mark.real_part("kustomize, shared data")
def test_render_as_a_whole_process(tmp_path: Path) -> None:
    kustomize, source = require_program("kustomize"), require_shared("conformance", "releases")
    releases = DirectoryReleases(str(source))
    options = InstallOptions(TAG, components=releases.manifests(TAG).components)
    folder = overlay(tmp_path / "overlay", releases, options)
    components = ",".join(options.components)
    ours = [sys.executable, "-c", RENDERED, "render", f"--version={TAG}", f"--components={components}"]
    ours.append(f"--release-source={source}")
    environment = {"PATH": os.defpath, "PYTHONPATH": str(SOURCE)}
    theirs = [kustomize, "build", str(folder)]
    found = ratio(
        lambda: cpu_seconds(theirs, environment, tmp_path),
        lambda: cpu_seconds(ours, environment, tmp_path),
        lambda found: found >= RENDER,
    )
    assert found >= RENDER
