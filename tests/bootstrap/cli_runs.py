"""Runs of ``flux-upgrade`` on the command line of a user's laptop."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import flux_upgrade
from adapters.conftest import NOW, Clock
from error_names import require_error
from flux_upgrade import main
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.timing import Timing
from git_servers import PERSON, git

GITHUB = "https://github.com/octo/fleet.git"
FOLDER = "clusters/staging/flux-system"
COMPONENTS, SYNC, LISTING = (
    f"{FOLDER}/{name}" for name in ("gotk-components.yaml", "gotk-sync.yaml", "kustomization.yaml")
)
FILES = [COMPONENTS, SYNC, LISTING]
_SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "bootstrap.schema.json"
_SOURCES = Path(flux_upgrade.__file__).parents[1]


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(_SCHEMA.read_text()))


@dataclass(frozen=True)
class Done:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def value(self) -> dict[str, Any]:
        """What ``--json`` prints; it fits the schema."""
        value: dict[str, Any] = json.loads(self.out)
        _validator().validate(value)
        return value

    @property
    def cluster(self) -> dict[str, Any]:
        (cluster,) = self.value["clusters"]
        found: dict[str, Any] = cluster
        return found

    def well(self) -> Done:
        assert self.code == 0, self.out + self.err
        return self

    def refused(self, error: type[FluxUpgradeError], *words: str) -> Done:
        """One clear error with a hint, and nothing else."""
        require_error(error, self.code, self.err)
        lines = self.err.splitlines()
        assert len([line for line in lines if line.startswith("flux-upgrade: ")]) == 1, self.err
        assert any(line.startswith("  ") and line.strip() for line in lines), self.err
        for word in words:
            assert word in self.err
        return self


@dataclass
class Laptop:
    """A machine with a release source and an environment; the program does not really sleep there."""

    source: Path
    env: Mapping[str, str] = field(default_factory=dict)
    timing: Timing = field(default_factory=lambda: Clock(NOW).timing)

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        # Without a home there is no cache either.
        return {**PERSON, "HOME": "", **self.env, **more}

    def run(self, *argv: str | Path, env: Mapping[str, str] = {}, stdin: str = "") -> Done:
        """Any command."""
        out, err = io.BytesIO(), io.StringIO()
        words = [str(each) for each in argv]
        asked = self.environment(env)
        code = main.run(words, asked, out, err, self.timing, stdin=io.StringIO(stdin))
        return Done(code, out.getvalue().decode(), err.getvalue())

    def bootstrap(self, *argv: str | Path, env: Mapping[str, str] = {}, stdin: str = "") -> Done:
        words = ("bootstrap", f"--release-source={self.source}", *argv)
        return self.run(*words, env=env, stdin=stdin)

    def process(self, *argv: str | Path, env: Mapping[str, str] = {}, at: Path | None = None) -> subprocess.Popen[str]:
        """A bootstrap in a process of its own, started."""
        more = env.get("PYTHONPATH", "")
        paths = [*filter(None, [more]), str(_SOURCES), *sys.path]
        own = {**self.environment(env), "PYTHONPATH": os.pathsep.join(paths)}
        words = ("bootstrap", f"--release-source={self.source}", *map(str, argv))
        command = [sys.executable, "-m", "flux_upgrade", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=at, env=own, stdout=pipe, stderr=pipe, text=True)  # noqa: S603  (ours)


def clone_with(folder: Path, remote: str = "") -> Path:
    """A checkout with one commit, and where it came from."""
    git("init", "--quiet", "--initial-branch=main", folder)
    (folder / "README.md").write_text("fleet\n")
    git("add", ".", at=folder)
    git("commit", "--quiet", "--message=First", at=folder)
    if remote:
        git("remote", "add", "origin", remote, at=folder)
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    """All files below a folder, less those of Git."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }
