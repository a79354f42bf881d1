from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from real_parts import require_program

DEMO = Path(__file__).resolve().parents[2] / "demo" / "run.py"


def test_the_demo_performs_from_the_first_part_to_the_last(tmp_path: Path) -> None:
    require_program("git")
    began = time.monotonic()
    done = subprocess.run(  # noqa: S603 the demo, as `make demo` starts it
        [sys.executable, str(DEMO)], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told = done.stdout
    parts = [line for line in told.splitlines() if line.startswith("── ")]
    assert len(parts) == 6
    # What it is there to show.
    assert "the header says v2.9.4 (line 3): not so" in told
    assert "memory: 2Gi # the charts are large" in told.partition("$ git grep")[2]
    assert told.count("held: up-to-date") == 2
    assert "(exit code 9)" in told
    assert not list(tmp_path.iterdir())
    assert time.monotonic() - began < 30
