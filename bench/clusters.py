"""Clusters at one release: `plan` of several against `plan` of one."""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

from idle import cpu_seconds

from flux_upgrade.adapters.local.programs import LocalFluxCli
from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.pins.regenerate import Regenerator

BEFORE = "v2.6.4"
CASES = {
    "one cluster": (1, 0),
    "ten equal clusters": (10, 0),
    "one edited cluster": (1, 1),
    "eleven clusters, edited alike": (11, 1),
    "eleven clusters, each edited otherwise": (11, 11),
}
"""How many, and how many different edits there are among them."""
PEERS = {"ten equal clusters": "one cluster", "eleven clusters, edited alike": "one edited cluster"}
RUNS = 5
MOST = 2.0
PLAN = (sys.executable, "-c", "import sys; from flux_upgrade.main import main; sys.exit(main())", "plan")


def clusters(work: Path, source: Path, tag: str, code: Path) -> str:
    """The section of the page. ``source``: a folder of releases; ``code``: the package's."""
    options = InstallOptions(BEFORE)
    text = Regenerator(DirectoryReleases(str(source)), LocalFluxCli("", {})).regenerate(options).text
    environment = {"PATH": os.defpath, "PYTHONPATH": str(code)}
    taken: dict[str, list[float]] = {}
    for name, (count, edits) in CASES.items():
        for number in range(count):
            folder = work / name.replace(" ", "-") / f"clusters/{number}/flux-system"
            folder.mkdir(parents=True)
            edited = text.replace("cpu: 1000m", f"cpu: {1001 + number % edits}m") if edits else text
            (folder / "gotk-components.yaml").write_text(edited)
    for _ in range(RUNS):
        for name in CASES:
            command = (*PLAN, f"--release-source={source}")
            folder = work / name.replace(" ", "-")
            taken.setdefault(name, []).append(cpu_seconds(command, environment, folder))
    cpu = {name: statistics.median(times) for name, times in taken.items()}
    times = {name: f"{cpu[name] / cpu[peer]:.2f}" for name, peer in PEERS.items()}
    assert all(cpu[name] < MOST * cpu[peer] for name, peer in PEERS.items()), cpu
    table = "".join(f"| {name} | {each:.2f} s | {times.get(name, '')} |\n" for name, each in cpu.items())
    return f"""## Clusters at {BEFORE}, `plan` to {tag}

| | CPU, median of {RUNS} | times one |
|---|---|---|
{table}
The limit is {MOST:.0f} times one cluster. Clusters with the same releases, flags and edits are analyzed once.
Manifests with different edits are verified one by one.
"""
