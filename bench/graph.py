"""What it costs to know which files a cluster reads, against the same runs without such knowledge."""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

from scan import FILES, PROGRAM, run_on

RUNS = 5
TEAMS = 40
MOST = 2  # times the same run over the same files
SOURCE = """apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: flux-system
  namespace: flux-system
spec:
  interval: 1m
  ref:
    branch: main
  url: ssh://git@example.com/org/fleet
"""


def graph(root: Path, source: Path, tag: str, code: Path) -> str:
    """The section of the page. ``root``: the tree that ``include`` left; the other arguments are as there."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(code)}  # noqa: TID251 git is on it
    core = sorted(os.sched_getaffinity(0))[:1]
    arguments = {
        "inspect --graph": ["inspect", "--graph"],
        "migrate --dry-run": ["migrate", "--dry-run", f"--to={tag}"],
    }

    def measured(name: str) -> float:
        command = [sys.executable, "-c", PROGRAM, *arguments[name], f"--release-source={source}"]
        return statistics.median(run_on(command, environment, root, core).cpu for _ in range(RUNS))

    without = {name: measured(name) for name in arguments}
    production = root / "clusters/production"
    sync = f"{SOURCE}---\n{_kustomization('flux-system', 'clusters/production')}"
    (production / "flux-system/gotk-sync.yaml").write_text(sync)
    teams = (_kustomization(f"team-{number}", f"team-{number}") for number in range(TEAMS))
    (production / "teams.yaml").write_text("---\n".join(teams))
    known = {name: measured(name) for name in arguments}
    ratios = {name: known[name] / without[name] for name in arguments}
    assert max(ratios.values()) < MOST, ratios
    rows = "".join(
        f"| `{name}` | {without[name]:.2f} s | {known[name]:.2f} s | **{ratios[name]:.1f}** |\n" for name in arguments
    )
    return f"""## The same tree, with the graph of what its cluster reads

| | without a root | {TEAMS} Kustomizations read all {FILES:,} files | ratio |
|---|---|---|---|
{rows}
CPU on one core, median of {RUNS}; the limit of a ratio is {MOST}.
"""


def _kustomization(name: str, path: str) -> str:
    return f"""apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {name}
  namespace: flux-system
spec:
  interval: 10m
  path: ./{path}
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
"""
