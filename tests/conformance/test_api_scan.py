"""The search passes over most real files without parsing them, and misses none that a migration would change."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.real_files import members, regenerator_of, rows, tell
from flux_upgrade.assessment.search import searched, suspects
from flux_upgrade.config.config import Config
from flux_upgrade.impact.api_uses.scan import find
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.served_apis import ServedApis
from memory import MemoryTree

pytestmark = pytest.mark.real_part("shared data")


@pytest.mark.parametrize("target", ["v2.9.4", "v2.7.5"])
def test_no_real_file_that_uses_what_is_not_served_is_passed_over(
    target: str, conformance: Path, releases: Path
) -> None:
    paths = {row["file"]: f"{row['repo']}/{row['path']}" for row in rows(conformance / "resources.jsonl")}
    tree = MemoryTree({paths[name]: content for name, content in members(conformance / "resources.tar.xz")})
    apis = Apis(None, ServedApis(regenerator_of(releases)).at(target))
    found = suspects(tree, searched(tree, "", Config()), (), apis.target).uses
    users = set()
    for path, content in tree.files.items():
        file = find(path, content, apis.target.groups)
        if file is not None and any(map(apis.is_removed, file.uses)):
            users.add(path)
    assert len(users) > 100
    assert users <= set(found)
    tell(f"search for {target}: {len(tree.files)} real files, {len(found)} parsed, {len(users)} of them to migrate")
