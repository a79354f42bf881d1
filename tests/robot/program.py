"""The program, as a reader runs it."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Sequence
from pathlib import Path

from flux_upgrade import main
from git_servers import PERSON


def run_ours(words: Sequence[str], directory: Path, source: Path, log: list[str]) -> str:
    """Return what the program prints in a directory. ``source``: of the releases."""
    log.append(f"$ {shlex.join(['flux-upgrade', *words])}")
    if not any(word.startswith("--release-source=") for word in words):
        words = [*words, f"--release-source={source}"]
    out, err = io.BytesIO(), io.StringIO()
    with contextlib.chdir(directory):
        code = main.run([*words], PERSON, out, err)
    said = out.getvalue().decode()
    assert code == 0, "\n".join([*log, f"ends with {code}: {said}{err.getvalue()}"])
    log.append(said)
    return said
