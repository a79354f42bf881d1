"""A repository does not bring the programs that are run on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cases_on_disk import case_named, staged
from git_servers import PERSON
from real_parts import require_program


@pytest.mark.parametrize("path", ["{first}:.", ".:{first}", ":{first}", "./bin:{first}", ""])
def test_programs_of_the_working_folder_are_not_run(path: str, tmp_path: Path, written_source: Path) -> None:
    with staged(case_named("content-used-once"), tmp_path, written_source) as tree:
        ran = tree.root / "ran"
        for folder in (tree.root, tree.root / "bin"):
            folder.mkdir(exist_ok=True)
            for name in ("git", "env", "flux", "kustomize", "kubectl", "ssh"):
                (folder / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
                (folder / name).chmod(0o755)
        first = os.path.dirname(require_program("git"))
        done = subprocess.run(  # noqa: S603  (ours)
            [sys.executable, "-m", "flux_upgrade", "plan", f"--release-source={written_source}", "--approve=2.9"],
            env={**PERSON, "PATH": path.format(first=first), "PYTHONSAFEPATH": "1"},
            cwd=tree.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert not ran.exists()
