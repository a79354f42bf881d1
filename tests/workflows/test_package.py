"""The script that builds the package of a release and its SBOM: with hatchling, pip and cyclonedx-py themselves."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from flux_upgrade import __version__
from real_parts import missing
from workflows.linters import ROOT

COPIED = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE")


def test_a_package_comes_with_the_sbom_of_what_is_locked(tmp_path: Path) -> None:
    tree, dist = tmp_path / "tree", tmp_path / "dist"
    for name in ("src", "requirements", ".github/scripts"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in COPIED:
        shutil.copy(ROOT / name, tree)
    done = subprocess.run(  # noqa: S603 the script that is tested
        [tree / ".github" / "scripts" / "build-package", dist],
        env={**os.environ, "PYTHON": sys.executable},  # noqa: TID251 pip has its settings there
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if "Could not find a version" in done.stderr or "Retrying" in done.stderr:
        missing(f"pip could not install the dependencies: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    stem = f"flux_upgrade-{__version__}"
    assert sorted(path.name for path in dist.iterdir()) == [
        "flux-upgrade.cdx.json",
        f"{stem}-py3-none-any.whl",
        f"{stem}.tar.gz",
    ]
    names = {name.partition("/")[0] for name in zipfile.ZipFile(dist / f"{stem}-py3-none-any.whl").namelist()}
    assert names == {"flux_upgrade", f"{stem}.dist-info"}

    bom = json.loads((dist / "flux-upgrade.cdx.json").read_text())
    root = bom["metadata"]["component"]
    assert (bom["bomFormat"], root["name"], root["version"]) == ("CycloneDX", "flux-upgrade", __version__)
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / "runtime.txt").read_text(), re.MULTILINE))
    listed = {re.sub(r"[-_.]+", "-", each["name"]).lower(): each["version"] for each in bom["components"]}
    assert len(listed) > 10
    # Of the locked ones, a platform may need fewer.
    assert listed.items() <= locked.items()
    assert all(each["purl"].startswith("pkg:pypi/") for each in bom["components"])
    # Neither this machine nor the day is in it.
    assert str(tmp_path) not in (dist / "flux-upgrade.cdx.json").read_text()
    assert "timestamp" not in bom["metadata"]
