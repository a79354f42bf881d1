"""Fetch Renovate from npm into ``.cache/renovate`` (needs npm; 266 MB, about 40 seconds).

The package is pinned, and its archive must have the digest that stands here. The version is the newest
that runs on Node 20. None of its packages runs a script while it is installed.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "39.264.0"
DIGEST = "sha512-/XoV0NWdwvjotd94PgQ9WU7A7/xGpUtwxwWaE78qY2ZgHjNe/+dA1v5dpJh9tqn6W/4vW38jSBjxvo6sylV5gA=="
CACHE = Path(__file__).resolve().parent.parent.parent / ".cache" / "renovate"
PACKAGE = CACHE / VERSION / "node_modules" / "renovate"


def fetch() -> None:
    """Raises ValueError for an archive that is not the pinned one."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        pack = ["npm", "pack", "--silent", f"renovate@{VERSION}"]
        subprocess.run(pack, cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  (ours)
        (archive,) = Path(folder).glob("*.tgz")
        digest = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if digest != DIGEST:
            raise ValueError(f"renovate@{VERSION} has the digest {digest}, not {DIGEST}")
        install = ["npm", "install", "--silent", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"]
        done = Path(folder, "done")
        done.mkdir()
        subprocess.run([*install, str(archive)], cwd=done, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  (ours)
        shutil.rmtree(PACKAGE.parent.parent, ignore_errors=True)
        done.rename(PACKAGE.parent.parent)


def main() -> int:
    if not PACKAGE.exists():
        sys.stdout.write(f"Fetching renovate@{VERSION}\n")
        fetch()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
