"""Reads that count, in the tests that hold how often a file is read."""

from __future__ import annotations

import os
import subprocess
from multiprocessing import get_context
from pathlib import Path

from opened import blobs_read, opened_below, repeated, write_git
from real_parts import require_program


def read(*paths: Path) -> None:
    for path in paths:
        os.close(os.open(path, os.O_RDONLY))


def test_each_open_for_reading_counts(tmp_path: Path) -> None:
    for name in ("once.yaml", "apps/twice.yaml", "here.yaml", "forked.yaml", ".git/HEAD", "untouched.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with opened_below(tmp_path) as opened:
        (tmp_path / "once.yaml").read_bytes()
        (tmp_path / "once.yaml").write_bytes(b"{}")
        (tmp_path / "missing.yaml").exists()
        read(tmp_path / ".git/HEAD")
        read(*[tmp_path / "apps/twice.yaml"] * 2)
        read(tmp_path / "here.yaml")
        process = get_context("fork").Process(target=read, args=(tmp_path / "forked.yaml",))
        process.start()
        process.join()
    read(tmp_path / "untouched.yaml")

    assert opened == {"once.yaml": 1, "apps/twice.yaml": 2, "here.yaml": 1, "forked.yaml": 1}
    assert repeated(opened) == {"apps/twice.yaml": 2}
    assert not repeated(opened, written=["apps/twice.yaml"])


def test_each_blob_that_git_is_asked_for_counts(tmp_path: Path) -> None:
    git = tmp_path / "git"
    write_git(git, require_program("git"), require_program("tee"))

    def run(*arguments: str, stdin: str = "") -> bytes:
        done = subprocess.run([git, *arguments], cwd=tmp_path, input=stdin.encode(), capture_output=True, check=True)  # noqa: S603  (ours)
        return done.stdout.strip()

    run("init", "--quiet")
    oid = run("hash-object", "-w", "--stdin", stdin="a: 1\n").decode()
    for stdin in (oid, f"{oid}\n{oid}"):
        assert b"a: 1" in run("cat-file", "--batch", stdin=stdin)

    assert blobs_read(git) == {oid: 3}
    assert not blobs_read(git)
