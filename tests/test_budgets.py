"""What a run may cost, as ratios to a peer in the same run: imports are most of what a short run costs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from idle import idle_action
from overlaid import overlay

from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.manifests.options import InstallOptions
from real_parts import require_program, require_shared

SOURCE = Path(__file__).resolve().parent.parent / "src"
TAG = "v2.9.4"
RUNS = 11
IDLE = 2.2
"""CPU of a run with nothing to do, to that of ``import requests``; at the most."""
RENDER = 3.5
"""Time of ``kustomize build``, to that of ``render``; at least."""
RENDERED = "import sys; from flux_upgrade.main import main; sys.exit(main())"


def median(run: Callable[[], float], peer: Callable[[], float]) -> tuple[float, float]:
    """Of both in turn, so that they meet the same machine. The first runs are not counted: they compile."""
    taken = [(run(), peer()) for _ in range(RUNS + 1)][1:]
    own, other = zip(*taken, strict=True)
    return statistics.median(own), statistics.median(other)


def seconds(command: Sequence[str], folder: Path) -> float:
    start = time.perf_counter()
    environment = {"PATH": os.defpath, "PYTHONPATH": str(SOURCE)}
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, cwd=folder, env=environment)  # noqa: S603
    return time.perf_counter() - start


def test_a_run_with_nothing_to_do(tmp_path: Path, written_source: Path) -> None:
    with idle_action(tmp_path, written_source, TAG, SOURCE) as both:
        own, other = median(both.action, both.peer)
    assert own / other <= IDLE, f"{own * 1000:.0f} ms to {other * 1000:.0f} ms"


@pytest.mark.real_part("kustomize, shared data")
def test_render_as_a_whole_process(tmp_path: Path) -> None:
    kustomize, source = require_program("kustomize"), require_shared("conformance", "releases")
    releases = DirectoryReleases(str(source))
    options = InstallOptions(TAG, components=releases.manifests(TAG).components)
    folder = overlay(tmp_path / "overlay", releases, options)
    components = ",".join(options.components)
    ours = [sys.executable, "-c", RENDERED, "render", f"--version={TAG}", f"--components={components}"]
    ours.append(f"--release-source={source}")
    own, other = median(
        lambda: seconds(ours, tmp_path), lambda: seconds([kustomize, "build", str(folder)], tmp_path)
    )
    assert other / own >= RENDER, f"{own * 1000:.0f} ms to {other * 1000:.0f} ms"
