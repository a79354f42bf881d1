"""A layer that the tar program wrote keeps everything but the file that is replaced."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import real_parts
from artifact.layers import NEW, OLD, TARGET, entries, others, refusal_to_replace, replaced


@pytest.mark.parametrize("tar_format", ["gnu", "pax", "ustar", "v7", "oldgnu"])
def test_what_the_tar_program_writes_is_extracted_with_all_else_as_it_was(tmp_path: Path, tar_format: str) -> None:
    program = real_parts.require_program("tar")
    source = tmp_path / "source"
    (source / "flux-system/patches").mkdir(parents=True)
    (source / TARGET).write_bytes(OLD)
    (source / TARGET).chmod(0o600)
    (source / "flux-system/patches/p.yaml").write_bytes(b"patch: 1\n")
    (source / "run.sh").write_bytes(b"#!/bin/sh\n")
    (source / "run.sh").chmod(0o755)
    (source / "link").symlink_to(TARGET)
    (source / "empty").touch()
    os.link(source / "run.sh", source / "twin.sh")
    if tar_format != "v7":
        (source / ("n" * 95)).write_bytes(b"long\n")
    made = tmp_path / "made.tar"
    subprocess.run([program, f"--format={tar_format}", "-cf", made, "-C", source, "."], check=True)  # noqa: S603  (ours)
    (tmp_path / "after.tar").write_bytes(after := replaced(made.read_bytes()))
    assert others(after) == others(made.read_bytes())
    extracted = []
    for name in (made, tmp_path / "after.tar"):
        folder = tmp_path / f"out-{name.stem}"
        folder.mkdir()
        run = subprocess.run(  # noqa: S603  (ours)
            [program, "-xpf", name, "-C", folder], check=True, capture_output=True, text=True
        )
        assert not run.stderr
        extracted.append(_tree(folder))
    was, now = extracted
    assert now.pop(TARGET) == (was.pop(TARGET)[0], NEW)
    assert now == was


def _tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b"",
        )
        for path in folder.rglob("*")
    }


def test_what_the_tar_program_appended_to_has_the_last_of_two(tmp_path: Path) -> None:
    program = real_parts.require_program("tar")
    (tmp_path / "flux-system").mkdir()
    for content in (b"first\n", OLD):
        (tmp_path / TARGET).write_bytes(content)
        subprocess.run([program, "-rf", tmp_path / "a.tar", "-C", tmp_path, TARGET], check=True)  # noqa: S603  (ours)
    after = replaced((tmp_path / "a.tar").read_bytes())
    assert [each[-1] for each in entries(after)] == [b"first\n", NEW]


def test_a_sparse_file_is_not_replaced(tmp_path: Path) -> None:
    program = real_parts.require_program("tar")
    with (tmp_path / "sparse.yaml").open("wb") as file:
        file.seek(1024 * 1024)
        file.write(b"end")
    for options in (["--format=gnu"], *(["--format=pax", f"--sparse-version={v}"] for v in ("0.0", "0.1", "1.0"))):
        made = tmp_path / "made.tar"
        subprocess.run([program, *options, "-S", "-cf", made, "-C", tmp_path, "sparse.yaml"], check=True)  # noqa: S603  (ours)
        assert "is a sparse file" in refusal_to_replace(made.read_bytes(), "sparse.yaml"), options
