"""A long history: `plan` in a checkout, against the same files without their `.git`."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from idle import cpu_seconds

from flux_upgrade.adapters.local.programs import LocalFluxCli
from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.pins.regenerate import Regenerator

COMMITS = 50_000
CLUSTERS = 10
APPS = 1_000
RELEASES = ("v2.3.0", "v2.4.0", "v2.5.1", "v2.6.4", "v2.7.5", "v2.8.8")
"""That the clusters ran one after the other, as far as the source has them; the last of them today."""
MERGES = 10
"""Of so many commits, one is a merge."""
RUNS = 5
MOST = 2.0  # seconds
FIRST = 1_500_000_000
"""When the first commit was made; the next ones follow an hour apart."""
PLAN = (sys.executable, "-c", "import sys; from flux_upgrade.main import main; sys.exit(main())", "plan")


def history(work: Path, source: Path, tag: str, code: Path) -> str:
    """The section of the page. ``source``: a folder of releases; ``code``: the package's."""
    with_git, without = work / "checkout", work / "files"
    plant(with_git, source)
    shutil.copytree(with_git, without, ignore=shutil.ignore_patterns(".git"))
    command = (*PLAN, f"--release-source={source}")
    environment = {"PATH": os.defpath, "PYTHONPATH": str(code)}
    taken = [[cpu_seconds(command, environment, folder) for folder in (with_git, without)] for _ in range(RUNS)]
    own, peer = (statistics.median(times) for times in zip(*taken, strict=True))
    assert own - peer < MOST, (own, peer)
    return f"""## A history of {COMMITS:,} commits, `plan` of {CLUSTERS} clusters from {RELEASES[-1]} to {tag}

| | CPU, median of {RUNS} |
|---|---|
| in the checkout | {own:.2f} s |
| the same files without `.git` | {peer:.2f} s |

Difference: **{own - peer:.2f} s**; the limit is {MOST:.0f} s. Every {MERGES}th commit is a merge. The history
shows which releases the clusters ran, and so which versions of objects they may have stored.
"""


def plant(root: Path, source: Path) -> None:
    """Write the history, and check out its last commit."""
    root.mkdir(parents=True)
    subprocess.run(["git", "-C", str(root), "init", "--quiet", "--initial-branch=main"], check=True)
    writing = subprocess.Popen(["git", "-C", str(root), "fast-import", "--quiet", "--depth=50"], stdin=subprocess.PIPE)
    assert writing.stdin is not None
    with writing.stdin as stream:
        stream.writelines(_commits(source))
    assert writing.wait() == 0
    subprocess.run(["git", "-C", str(root), "reset", "--quiet", "--hard", "main"], check=True)


def _commits(source: Path) -> Iterator[bytes]:
    regenerator = Regenerator(DirectoryReleases(str(source)), LocalFluxCli("", {}))
    tags = [tag for tag in RELEASES if (source / tag).is_dir()]
    upgrades = {
        (at * COMMITS // len(tags) // MERGES + cluster) * MERGES: (cluster, tag)
        for at, tag in enumerate(tags)
        for cluster in range(CLUSTERS)
    }
    for number in range(COMMITS):
        is_side = number % MERGES == MERGES - 2
        is_merge = number % MERGES == MERGES - 1
        branch = "side" if is_side else "main"
        yield f"commit refs/heads/{branch}\nmark :{number + 1}\n".encode()
        yield f"committer A <a@example.com> {FIRST + number * 3600} +0000\ndata 1\nx\n".encode()
        if is_side or is_merge:
            yield f"from :{number - 1 if is_merge else number}\n".encode()
        if is_merge:
            yield f"merge :{number}\n".encode()
        if number in upgrades:
            cluster, tag = upgrades[number]
            options = InstallOptions(tag, toleration_keys=(f"cluster-{cluster}",))
            content = regenerator.regenerate(options).text.encode()
            yield _file(f"clusters/{cluster}/flux-system/gotk-components.yaml", content)
        app = number - is_merge
        yield _file(f"apps/team-{app % 20}/app-{app % APPS}.yaml", _app(app).encode())


def _file(path: str, content: bytes) -> bytes:
    return b"M 100644 inline %b\ndata %d\n%b\n" % (path.encode(), len(content), content)


def _app(number: int) -> str:
    return f"""apiVersion: helm.toolkit.fluxcd.io/{"v2" if number > COMMITS // 2 else "v2beta2"}
kind: HelmRelease
metadata:
  name: app-{number % APPS}
  namespace: apps
spec:
  interval: 1h
  chart:
    spec:
      chart: web
      version: 1.{number}.0
      sourceRef:
        kind: HelmRepository
        name: charts
"""
