"""The script that lays the site out by versions, with mike itself, where ``make site`` has set it up."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from real_parts import missing
from workflows.linters import ROOT

SCRIPT = Path(".github", "scripts", "site-version")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout of what the site is made of."""
    if not (Path(sys.prefix) / "bin" / "mike").exists():
        missing("there is no mike: run `make site` first")
    tree = tmp_path / "tree"
    for name in ("docs", ".github/scripts"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("mkdocs.yml", "README.md"):
        shutil.copy(ROOT / name, tree)
    (tree / ".venv").symlink_to(sys.prefix)
    identity = ("-c", "user.name=me", "-c", "user.email=me@example.com")
    for command in (["init", "--quiet"], [*identity, "commit", "--quiet", "--allow-empty", "--message", "x"]):
        subprocess.run(["git", *command], cwd=tree, check=True)  # noqa: S603, S607 git
    return tree


def test_the_site_is_below_its_version_and_the_first_page_leads_there(tree: Path) -> None:
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "SITE_URL": "https://octo-org.github.io/flux-upgrade/",
        "REPOSITORY_URL": "https://git.example.com/octo-org/fork",
    }
    ran = subprocess.run(  # noqa: S603 the script that is tested
        [tree / SCRIPT, "main", "public"], cwd=tree, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert ran.returncode == 0, ran.stderr
    public = tree / "public"
    assert json.loads((public / "versions.json").read_text()) == [{"version": "main", "title": "main", "aliases": []}]
    assert "main/" in (public / "index.html").read_text()
    assert "https://git.example.com/octo-org/fork/blob/main/LICENSE" in (public / "main" / "index.html").read_text()
    assert "https://octo-org.github.io/flux-upgrade/main/get-started/" in (public / "main" / "sitemap.xml").read_text()
