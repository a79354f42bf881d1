"""The search for API versions that are gone, in a large tree, against `git grep` and `flux migrate -f`."""

from __future__ import annotations

import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from flux_upgrade.adapters.local.programs import LocalFluxCli
from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.manifests.crds import served_by
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.pins.regenerate import Regenerator

FILES = 20_000
BYTES = 9_300
"""Of a file, about, on the average: 200 MB in all."""
FLUX = 20
"""Of so many files, one has Flux resources …"""
REMOVED = 5
"""… and of so many of these, one a version that is gone."""
BEFORE = "v2.6.4"
"""What the one cluster of the tree runs."""
RUNS = 5
MOST = 20  # times git grep
MOST_MEMORY = 150  # MB
PROGRAM = "import sys; from flux_upgrade.main import main; sys.exit(main())"
GREP = ("git", "grep", "-c", "apiVersion")
FLUX_CLI = ("flux", "migrate", "-f", ".", "--dry-run")
MOST_OF_FLUX = 1.5  # times its CPU on one core


class Taken(NamedTuple):
    """By one run."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds, of all its processes."""
    peaks: list[int]
    """MB of the largest resident set of each process that there was at a time, its own first."""


def scan(work: Path, source: Path, tag: str, code: Path) -> str:
    """The section of the page. ``source``: a folder of releases; ``code``: the package's."""
    _plant(work, source, tag)
    size = sum(path.stat().st_size for path in work.rglob("*.yaml"))
    ours = (sys.executable, "-c", PROGRAM, "migrate", "--dry-run", f"--to={tag}", f"--release-source={source}")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(code)}  # noqa: TID251 git is on it
    cores = sorted(os.sched_getaffinity(0))[:2]
    commands = {" ".join(GREP): GREP, "flux-upgrade migrate --dry-run": ours}
    if shutil.which("flux"):
        commands[" ".join(FLUX_CLI)] = FLUX_CLI
    taken: dict[tuple[str, int], list[Taken]] = {}
    for _ in range(RUNS + 1):
        for name, command in commands.items():
            for count in range(1, len(cores) + 1):
                ran = run_on(command, environment, work, cores[:count])
                taken.setdefault((name, count), []).append(ran)
    # The first of each has warmed everything up.
    cpu = {row: statistics.median(each.cpu for each in runs[1:]) for row, runs in taken.items()}
    wall = {row: statistics.median(each.wall for each in runs[1:]) for row, runs in taken.items()}
    table = "".join(
        f"| `{name}` | {count} | {cpu[name, count]:.2f} s | {wall[name, count]:.2f} s |\n" for name, count in taken
    )
    peer, own, *flux = commands
    ratio = cpu[own, 1] / cpu[peer, 1]
    memory = {
        count: max((each.peaks for each in runs), key=sum) for (name, count), runs in taken.items() if name == own
    }
    assert ratio < MOST, ratio
    beside = ""
    for each in flux:
        times = cpu[own, 1] / cpu[each, 1]
        beside = f" To `flux migrate`: **{times:.1f}**; the limit is {MOST_OF_FLUX}."
    assert all(sum(peaks) < MOST_MEMORY for peaks in memory.values()), memory
    peak_memory = "; ".join(
        f"{' + '.join(map(str, peaks))} MB on {count} core{'s' * (count > 1)}" for count, peaks in memory.items()
    )
    return f"""## A tree of {FILES:,} YAML files, {size / 1e6:.0f} MB: which API versions are removed?

| | cores | CPU, median of {RUNS} | elapsed |
|---|---|---|---|
{table}
Ratio of CPU on one core: **{ratio:.1f}**; the limit is {MOST}.{beside}
{100 // FLUX} % of the files have Flux resources,
{100 // FLUX // REMOVED} % one that {tag} does not serve. The times include the start of the interpreter, the diff, and the
search for the release that the cluster runs ({BEFORE}). Peak memory of each process: {peak_memory}.
The limit for all processes is {MOST_MEMORY} MB.
"""


def run_on(command: Sequence[str], environment: dict[str, str], folder: Path, cores: Sequence[int]) -> Taken:
    begin = time.perf_counter()
    running = subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),  # noqa: PLW1509 this process has one thread
    )
    most: list[int] = []
    while True:
        most = max(most, [_peak(each) for each in (running.pid, *_children(running.pid))], key=sum)
        ended, status, usage = os.wait4(running.pid, os.WNOHANG)
        if ended:
            break
        time.sleep(0.01)
    wall = time.perf_counter() - begin
    running.returncode = os.waitstatus_to_exitcode(status)
    assert running.returncode == 0, command
    return Taken(wall, usage.ru_utime + usage.ru_stime, most)


def _peak(process: int) -> int:
    """MB; 0 where it has ended meanwhile."""
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
        return int(found[1]) // 1024 if found else 0
    return 0


def _children(process: int) -> list[int]:
    with suppress(OSError):
        return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def _plant(root: Path, source: Path, tag: str) -> None:
    """Write the tree, and have Git know it."""
    dice = random.Random(1)  # noqa: S311 the same tree each time
    releases = DirectoryReleases(str(source))
    helm = served_by(releases.manifests(tag)).kinds["helm.toolkit.fluxcd.io", "HelmRelease"].storage
    cluster = root / "clusters/production/flux-system"
    cluster.mkdir(parents=True)
    manifest = Regenerator(releases, LocalFluxCli("", {})).regenerate(InstallOptions(BEFORE)).text
    (cluster / "gotk-components.yaml").write_text(manifest)
    for number in range(FILES):
        folder = root / f"team-{number % 40}/app-{number % 1000}"
        folder.mkdir(parents=True, exist_ok=True)
        text = _flux(number, helm, dice) if number % FLUX == 0 else _others(number, dice)
        (folder / f"{number}.yaml").write_text(text)
    for command in (["init", "--quiet"], ["-c", "core.compression=0", "add", "--all"]):
        subprocess.run(["git", "-C", str(root), *command], check=True)


def _flux(number: int, helm: str, dice: random.Random) -> str:
    is_gone = number % (FLUX * REMOVED) == 0
    documents = list(_resources(f"app-{number}", is_gone=is_gone))
    return _filled(documents, lambda: _release(f"app-{number}-{len(documents)}", helm, dice), dice)


def _resources(name: str, *, is_gone: bool) -> Iterator[str]:
    version = "v1beta2" if is_gone else "v1"
    yield f"""apiVersion: source.toolkit.fluxcd.io/{version}
kind: GitRepository
metadata:
  name: {name}
  namespace: flux-system
spec:
  interval: 10m
  url: https://git.example.com/{name} # the team's own
  ref:
    branch: main
"""
    yield f"""apiVersion: kustomize.toolkit.fluxcd.io/{version}
kind: Kustomization
metadata:
  name: {name}
  namespace: flux-system
spec:
  interval: 10m
  path: ./deploy
  prune: true
  sourceRef:
    kind: GitRepository
    name: {name}
"""


def _release(name: str, version: str, dice: random.Random) -> str:
    values = "".join(f"    {key}\n" for key in _lines(dice, 60))
    return f"""apiVersion: helm.toolkit.fluxcd.io/{version}
kind: HelmRelease
metadata:
  name: {name}
spec:
  interval: 1h
  chart:
    spec:
      chart: web
      version: 1.x
      sourceRef:
        kind: HelmRepository
        name: charts
  values:
{values}"""


def _others(number: int, dice: random.Random) -> str:
    documents: list[str] = []
    return _filled(documents, lambda: _workload(f"app-{number}-{len(documents)}", dice), dice)


def _workload(name: str, dice: random.Random) -> str:
    kind, version = dice.choice((("Deployment", "apps/v1"), ("ConfigMap", "v1"), ("Ingress", "networking.k8s.io/v1")))
    lines = "".join(f"  {line}\n" for line in _lines(dice, 40))
    return f"apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: {name}\nspec:\n{lines}"


def _lines(dice: random.Random, most: int) -> Iterator[str]:
    for at in range(dice.randrange(most // 2, most)):
        yield f"setting{at}: value-{dice.getrandbits(40):010x} # why it is so"


def _filled(documents: list[str], more: Callable[[], str], dice: random.Random) -> str:
    """Documents, and more of them, until the file is as long as it is to be."""
    length = dice.randrange(BYTES // 10, BYTES * 19 // 10)
    while sum(map(len, documents)) < length:
        documents.append(more())
    return "---\n".join(documents)
