"""Measure, and write docs/benchmarks.md: ``make bench``.

Speed is told as a ratio to kustomize in the same run: whole processes, started
in turn, so that both meet the same machine at the same time; medians. Without
kustomize or kubectl the last ratio is kept, with its date.
"""

from __future__ import annotations

import compileall
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "demo"), str(ROOT / "tests")]

import written_release  # noqa: E402 the path is set above
from clusters import clusters  # noqa: E402
from graph import graph  # noqa: E402
from history import history  # noqa: E402
from idle import idle  # noqa: E402
from many_clusters import many_clusters  # noqa: E402
from overlaid import overlay  # noqa: E402
from promote import promote  # noqa: E402
from rebase import LAYER, rebase  # noqa: E402
from scan import scan  # noqa: E402

from flux_upgrade import main as cli  # noqa: E402
from flux_upgrade.adapters.local.programs import LocalFluxCli  # noqa: E402
from flux_upgrade.adapters.releases.directory import DirectoryReleases  # noqa: E402
from flux_upgrade.manifests.documents import Manifest, parse  # noqa: E402
from flux_upgrade.manifests.generators import GENERATORS  # noqa: E402
from flux_upgrade.manifests.infer import infer  # noqa: E402
from flux_upgrade.manifests.options import InstallOptions  # noqa: E402
from flux_upgrade.manifests.proof import Verdict  # noqa: E402
from flux_upgrade.manifests.render import render  # noqa: E402
from flux_upgrade.model.versions import Release, ReleaseManifests  # noqa: E402
from flux_upgrade.pins.gotk_components.prove import prove  # noqa: E402
from flux_upgrade.pins.regenerate import Regenerator  # noqa: E402

PAGE = ROOT / "docs" / "benchmarks.md"
REAL = ROOT.parent / "shared" / "conformance" / "releases"
TAG = "v2.9.4"
BEFORE = "v2.8.8"
PROCESSES = 21
REPEATS = 15


def main() -> int:
    """Run everything; 0."""
    # As an installed package is: otherwise each process would compile the source.
    compileall.compile_dir(str(ROOT / "src"), quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name in ("idle", "artifact", "include", "clusters", "history", "fleet/limited", "fleet/unlimited"):
            (work / name).mkdir(parents=True)
        source = REAL if REAL.is_dir() else written_release.write_source(work / "releases")
        releases = DirectoryReleases(str(source))
        options = InstallOptions(TAG, components=releases.manifests(TAG).components)
        sections = [
            _head(source),
            _processes(work, source, releases, options),
            idle(work / "idle", source, TAG, ROOT / "src"),
            _inside(releases, options),
            _trees(work, source),
            clusters(work / "clusters", source, TAG, ROOT / "src"),
            many_clusters(work / "fleet"),
            history(work / "history", source, TAG, ROOT / "src"),
            scan(work / "include", source, TAG, ROOT / "src"),
            graph(work / "include", source, TAG, ROOT / "src"),
            _artifact(work / "artifact", source, releases),
        ]
    PAGE.write_text("\n".join(sections))
    print(PAGE.read_text())
    return 0


def _head(source: Path) -> str:
    what = "Flux's own releases" if source == REAL else "the releases written for the demo"
    return f"""# Benchmarks

This page is for you if you want to know how long flux-upgrade takes, and how much memory. Absolute times depend on
the machine. Compare the ratios, which come from one run.

```sh
make bench   # measures, and writes this page
```

Measured on {datetime.now(UTC):%Y-%m-%d} with Python {platform.python_version()} on {platform.machine()}, with {what}.
"""


def _median(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """Seconds."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def _peak(command: Sequence[str]) -> float:
    """Megabytes of a child's largest resident set, asked in a process of its own."""
    program = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def _processes(work: Path, source: Path, releases: DirectoryReleases, options: InstallOptions) -> str:
    # What the console script does, whether it is installed or not.
    ours = [
        sys.executable,
        "-c",
        "import sys; from flux_upgrade.main import main; sys.exit(main())",
        "render",
        f"--version={TAG}",
        f"--components={','.join(options.components)}",
        f"--release-source={source}",
    ]
    peer = _kustomize(overlay(work / "overlay", releases, options))
    if peer is None:
        return _kept()
    name, command = peer
    # The peer must do the same work, or the ratio means nothing.
    theirs = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    mine = subprocess.run(ours, capture_output=True, text=True, check=True, cwd=ROOT / "src").stdout
    same = sorted(mine.split("---\n")[2:]) == sorted(theirs.split("---\n")[1:])
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(PROCESSES):
        for who, each, where in (("ours", ours, ROOT / "src"), ("theirs", command, work)):
            start = time.perf_counter()
            subprocess.run(each, stdout=subprocess.DEVNULL, check=True, cwd=where)
            times[who].append(time.perf_counter() - start)
    own, other = (statistics.median(times[who]) for who in ("ours", "theirs"))
    return f"""## A whole process: `render` of {TAG} with all components

| | median of {PROCESSES} | peak memory |
|---|---|---|
| flux-upgrade render | {own * 1000:.0f} ms | {_peak(_in_source(ours)):.0f} MB |
| {name} on the equivalent overlay | {other * 1000:.0f} ms | {_peak(command):.0f} MB |

Ratio of medians: **{other / own:.1f}** ({datetime.now(UTC):%Y-%m-%d}). The documents of both are \
{"equal" if same else "NOT EQUAL"}.
"""


def _in_source(command: list[str]) -> list[str]:
    return ["env", f"PYTHONPATH={ROOT / 'src'}", *command]


def _kept() -> str:
    """The last ratio, where there is no kustomize to compare with."""
    last = re.search(r"## A whole process.*?(?=\n## )", PAGE.read_text(), re.DOTALL) if PAGE.exists() else None
    return last[0] if last else "## A whole process\n\nNot measured yet: neither kustomize nor kubectl was there.\n"


def _kustomize(overlay: Path) -> tuple[str, list[str]] | None:
    if kustomize := shutil.which("kustomize"):
        return "kustomize build", [kustomize, "build", str(overlay)]
    if kubectl := shutil.which("kubectl"):
        return "kubectl kustomize", [kubectl, "kustomize", str(overlay)]
    return None


def _parsed(content: bytes) -> Manifest:
    """Cut anew, though it was a moment ago."""
    parse.cache_clear()
    return parse(content)


def _inside(releases: DirectoryReleases, options: InstallOptions) -> str:
    manifests = releases.manifests(TAG)
    text = render(manifests, options, GENERATORS[-1])
    content = text.encode()
    edited = text.replace("  replicas: 1\n", "  replicas: 2\n").encode()
    formatted = text.replace("---\n", "---\n\n").encode()

    read = _Read(releases)

    def proved(what: bytes, verdict: Verdict) -> Callable[[], None]:
        def run() -> None:
            # A new regenerator each time: nothing is remembered but the archive that was read.
            fresh = Regenerator(read, LocalFluxCli("", {}))
            assert prove(_parsed(what), fresh).verdict is verdict

        return run

    rows = {
        "render": _median(lambda: render(manifests, options, GENERATORS[-1])),
        "read the archive": _median(lambda: releases.manifests(TAG)),
        "cut into documents": _median(lambda: _parsed(content)),
        "infer the flags": _median(lambda: infer(_parsed(content))),
        "verify an exact file": _median(proved(content, Verdict.EXACT)),
        "verify an edited file": _median(proved(edited, Verdict.EDITED)),
        "verify a formatted file": _median(proved(formatted, Verdict.FORMATTING)),
    }
    table = "".join(f"| {name} | {seconds * 1000:.1f} ms |\n" for name, seconds in rows.items())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"""## Inside one process: {TAG}, all components, {len(content) // 1024} kB

| | median of {REPEATS} |
|---|---|
{table}
Peak memory of the process for all of these: {peak:.0f} MB.
"""


def _artifact(work: Path, source: Path, releases: DirectoryReleases) -> str:
    content = Regenerator(releases, LocalFluxCli("", {})).regenerate(InstallOptions(BEFORE)).text.encode()
    lines = rebase(work, content, ROOT / "src", _peak)
    return f"{lines}\n{promote(work, work / LAYER, source, ROOT / 'src', _peak)}"


class _Read:
    """The port Releases, over archives that have been read already."""

    def __init__(self, releases: DirectoryReleases) -> None:
        self._releases = releases
        self._read = {tag: releases.manifests(tag) for tag in (TAG, BEFORE)}

    def list(self) -> tuple[Release, ...]:
        return self._releases.list()

    def manifests(self, tag: str) -> ReleaseManifests:
        return self._read[tag]

    def published(self, tag: str) -> str | None:
        return self._releases.published(tag)

    def generator_hashes(self, tag: str, paths: tuple[str, ...]) -> Mapping[str, str] | None:
        return self._releases.generator_hashes(tag, paths)

    def commit(self, tag: str) -> str:
        return self._releases.commit(tag)


def _trees(work: Path, source: Path) -> str:
    options = InstallOptions(BEFORE, namespace="flux", toleration_keys=("k",))
    releases = DirectoryReleases(str(source))
    content = Regenerator(releases, LocalFluxCli("", {})).regenerate(options).text
    rows = {}
    for count in (1, 100, 1000):
        root = work / f"tree-{count}"
        for number in range(count):
            folder = root / f"clusters/{number}/flux-system"
            folder.mkdir(parents=True)
            (folder / "gotk-components.yaml").write_text(content)

        def run(root: Path = root, count: int = count) -> None:
            argv = ["upgrade", str(root), "--dry-run", f"--to={TAG}", f"--release-source={source}"]
            with Path(os.devnull).open("wb") as out:
                assert cli.run(argv, {}, out, sys.stderr) == 0, count

        rows[count] = _median(run, 5)
    table = "".join(
        f"| {count} | {seconds * 1000:.0f} ms | {seconds / rows[1]:.1f} |\n" for count, seconds in rows.items()
    )
    return f"""## A tree of identical installations, `upgrade --dry-run` from {BEFORE} to {TAG}

| installations | median of 5 | times one |
|---|---|---|
{table}
This is the complete command in one process, without the start of the interpreter. Identical installations are
verified, rendered and compared once.
"""


if __name__ == "__main__":
    raise SystemExit(main())
