"""Build kube-apiserver, etcd, Flux's controllers and its CLI, Gitea and flate from Go modules, if not built yet.

Half an hour on two cores if nothing is cached. `make test-flux` runs it.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from real_flux.programs import APISERVER, CACHE, ETCD_SERVER, PROGRAMS, ROOT, Program, control_plane, is_warm

_DOWNLOAD = "https://github.com/fluxcd/flux2/releases/download/{version}/manifests.tar.gz"
_RELEASES = ROOT.parent / "shared" / "conformance" / "releases"
_REPLACED = re.compile(r"^\s*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>\s+(\S+)[ \t]*(v\S+)?[ \t]*(?://.*)?$", re.MULTILINE)
_GO = re.compile(r"^go .*$", re.MULTILINE)


def main() -> int:
    if sys.argv[1:] == ["--is-warm"]:
        return 0 if is_warm() else 1
    if sys.argv[1:] == ["--assets"]:
        sys.stdout.write(f"{control_plane()}\n")
        return 0
    if shutil.which("go") is None:
        sys.stderr.write("These tests build Kubernetes and Flux, and need Go: https://go.dev/doc/install\n")
        return 1
    for each in PROGRAMS:
        if each.path.exists():
            continue
        sys.stdout.write(f"Building {each.name} {each.version}\n")
        sys.stdout.flush()
        began = time.monotonic()
        build(each)
        sys.stdout.write(f"  {time.monotonic() - began:.0f} s\n")
    _link()
    return 0


def _link() -> None:
    """Link kube-apiserver and etcd into one directory, as envtest expects."""
    assets = control_plane()
    assets.mkdir(exist_ok=True)
    for each in (APISERVER, ETCD_SERVER):
        link = assets / each.name
        if not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(each.path)


def build(program: Program) -> None:
    """Build a program at ``program.path``, whole or not at all. Two checkouts may build at the same time.

    Raises CalledProcessError if Go cannot build it; Go says why on standard error.
    """
    folder = program.path.parent
    CACHE.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.building.", dir=CACHE))
    try:
        _build(program, work)
        if not program.path.exists():
            work.chmod(0o755)
            work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _build(program: Program, work: Path) -> None:
    module = _downloaded(program)
    source = _with_manifests(program, module, work) if program.embeds_manifests else _requiring(program, module, work)
    settings = " ".join(f"-X {name}={value}" for name, value in program.settings)
    _go(
        source,
        "build",
        "-mod=mod",
        "-trimpath",
        f"-tags={program.tags}",
        f"-ldflags=-s -w {settings}",
        "-o",
        str(work / program.name),
        program.package,
        toolchain=program.toolchain,
    )
    for left in (each for each in work.iterdir() if each.name != program.name):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    for each in program.reads:
        shutil.copytree(Path(module["Dir"], each), work / each, copy_function=shutil.copyfile)


def _downloaded(program: Program) -> dict[str, Any]:
    name = f"{program.module}@{program.version}"
    module: dict[str, Any] = json.loads(_go(ROOT, "mod", "download", "-json", name, toolchain=program.toolchain))
    return module


def _requiring(program: Program, module: dict[str, Any], work: Path) -> Path:
    """A module that requires the program's, with what the program's own go.mod replaces: Go reads that of the main module alone."""
    source = work / "source"
    source.mkdir()
    own = Path(module["GoMod"]).read_text()
    go = _GO.search(own)
    lines = ["module example.com/real", go.group() if go else "", f"require {program.module} {program.version}"]
    lines += [f"replace {old} => {new} {version}" for old, new, version in _replaced(program, own)]
    (source / "go.mod").write_text("\n".join([*lines, ""]))
    return source


def _replaced(program: Program, own: str) -> Iterator[tuple[str, str, str]]:
    ours = {old for old, *_ in program.replaced}
    for old, new, version in _REPLACED.findall(own):
        if old in ours:
            continue
        if new.startswith("./staging/"):
            yield old, old, program.staged
        elif not new.startswith("."):  # A folder beside it is published as a module of its own
            yield old, new, version
    yield from program.replaced


def _with_manifests(program: Program, module: dict[str, Any], work: Path) -> Path:
    """A copy of the module, with the manifests of its release, which a build from Git makes with kustomize."""
    source = work / "source"
    shutil.copytree(module["Dir"], source)
    for each in (source, *source.rglob("*")):  # what Go keeps is read only
        each.chmod(each.stat().st_mode | 0o200)
    manifests = source / "cmd" / "flux" / "manifests"
    manifests.mkdir(exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(_release(program.version))) as archive:
        archive.extractall(manifests, filter="data")
    return source


def _release(version: str) -> bytes:
    here = _RELEASES / version / "manifests.tar.gz"
    if here.exists():
        return here.read_bytes()
    with urllib.request.urlopen(  # noqa: S310  (https, above)
        _DOWNLOAD.format(version=version), timeout=60
    ) as response:
        found: bytes = response.read()
        return found


def _go(folder: Path, *arguments: str, toolchain: str = "") -> str:
    env = {**os.environ, "GOTOOLCHAIN": toolchain} if toolchain else None  # noqa: TID251  (for Go)
    ran = subprocess.run(["go", *arguments], cwd=folder, check=True, stdout=subprocess.PIPE, text=True, env=env)  # noqa: S603, S607  (ours)
    return ran.stdout


if __name__ == "__main__":
    sys.exit(main())
