"""The picture of a pull request in the documentation is drawn from the current text."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT, PICTURE = Path("docs/picture.py"), Path("docs/pictures/minor-upgrade.png")
TEXT = Path("tests/conformance/minor_upgrade/pull_request.md")
MOST = 300_000


def checked(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / SCRIPT), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 our own


def test_the_picture_is_of_the_present_text() -> None:
    ran = checked(ROOT)
    assert ran.returncode == 0, ran.stderr
    assert (ROOT / PICTURE).stat().st_size < MOST


@pytest.mark.parametrize("harm", ["another text", "another picture", "no picture"])
def test_one_that_is_not_is_found(harm: str, tmp_path: Path) -> None:
    for path in (SCRIPT, PICTURE, TEXT):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    assert checked(tmp_path).returncode == 0
    if harm == "another text":
        (tmp_path / TEXT).write_text((ROOT / TEXT).read_text().replace("v2.9.4", "v2.9.5"))
    elif harm == "another picture":
        png = (ROOT / PICTURE).read_bytes()
        (tmp_path / PICTURE).write_bytes(png.replace(b"Markdown-SHA256", b"Markdown-SHA255"))
    else:
        (tmp_path / PICTURE).unlink()
    ran = checked(tmp_path)
    assert ran.returncode == 1
    assert "run docs/picture.py" in ran.stderr
