"""The linters of workflows: those of the development environment, and actionlint, which Go installs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from real_parts import missing, require_program

ROOT = Path(__file__).resolve().parents[2]
ACTIONLINT = "v1.7.12"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yaml"))
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.suffixes in ([".yaml"], [".yml"]))
"""Workflows."""
CONFIGS = sorted((ROOT / "examples").glob("*.flux-upgrade.yaml"))
SCRIPTS = sorted((ROOT / ".github" / "scripts").iterdir())


def lint(*command: str | Path) -> tuple[int, str]:
    """Exit code and what was said."""
    done = subprocess.run(  # noqa: S603 a linter and files of this repository
        [str(each) for each in command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout


def program(name: str) -> str:
    """A program that pip installed beside Python, or one on PATH."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else require_program(name)


def actionlint() -> str:
    """On PATH; or installed by Go, once, into ``.cache``."""
    found = shutil.which("actionlint")
    kept = ROOT / ".cache" / f"actionlint-{ACTIONLINT}" / "actionlint"
    if found is None and not kept.exists():
        _install(kept.parent)
    return found or str(kept)


def _install(folder: Path) -> None:
    go = require_program("go")
    folder.mkdir(parents=True, exist_ok=True)
    # A folder that ignores itself: nothing in it belongs to the repository.
    (ROOT / ".cache" / ".gitignore").write_text("*\n")
    installed = subprocess.run(  # noqa: S603 Go, and a name of ours
        [go, "install", f"github.com/rhysd/actionlint/cmd/actionlint@{ACTIONLINT}"],
        env={**os.environ, "GOBIN": str(folder)},  # noqa: TID251 Go finds its cache by it
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if installed.returncode:
        missing(f"actionlint could not be installed: {installed.stderr.strip()[-300:]}")
