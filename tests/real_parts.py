"""Real programs and data that not every machine has: skipped without, or failed in CI."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent


def missing(reason: str) -> None:
    """Skip the test, or fail it where ``FLUX_UPGRADE_REQUIRE_REAL_PARTS=1``."""
    required = os.environ.get("FLUX_UPGRADE_REQUIRE_REAL_PARTS") == "1"  # noqa: TID251  (a switch of the tests)
    if required:
        pytest.fail(f"a real part is required, and missing: {reason}")
    pytest.skip(reason)


def require_program(name: str) -> str:
    """The path of a program."""
    path = shutil.which(name)
    if path is None:
        missing(f"there is no {name} on PATH")
    assert path is not None
    return path


def require_shared(*parts: str) -> Path:
    """A file or folder of the shared data, which is never committed."""
    path = shared(*parts)
    if not path.exists():
        missing(f"the shared data has no {'/'.join(parts)}")
    return path


def shared(*parts: str) -> Path:
    """Return where a part of the shared data is, if it is there."""
    root = os.environ.get("FLUX_UPGRADE_SHARED") or str(_ROOT.parent / "shared")  # noqa: TID251  (as above)
    return Path(root, *parts)
