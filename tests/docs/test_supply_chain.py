"""The threat table of docs/security.md names tests that exist, and what it promises of dependencies is so."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
HEAD = "| Who | What they could try | What happens | Test |"
LOCKED = sorted((ROOT / "requirements").glob("*.txt"))


def rows() -> list[list[str]]:
    """The cells of the threat table, with who it is in each row."""
    lines = (ROOT / "docs" / "security.md").read_text(encoding="utf-8").partition(f"{HEAD}\n")[2].splitlines()
    cells, who = [], ""
    for line in lines[1:]:
        if not line.startswith("| "):
            break
        first, *others = (cell.strip() for cell in line.strip("|").split(" | "))
        who = first or who
        cells.append([who, *others])
    return cells


def test_the_table_has_everybody_who_could_try_something() -> None:
    assert list(dict.fromkeys(who for who, *_ in rows())) == [
        "A fork",
        "A contributor with write access",
        "A user without write access",
        "A shared config repository",
        "A repository of a fleet",
        "A mirror or release source",
        "A registry",
        "A Git server",
        "A chart repository",
        "A user on the same machine",
        "A dependency of flux-upgrade",
        "A maintainer of flux-upgrade, or their account",
    ]


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row[0]}: {row[1]}"[:60]) for row in rows()])
def test_each_row_names_a_test_that_exists(row: list[str]) -> None:
    _, tries, happens, named = row
    assert tries
    assert happens.endswith(".")
    found = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", named)
    assert found
    for path, name in found:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}, (path, name)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in LOCKED])
def test_every_dependency_is_locked_by_hash(path: Path) -> None:
    entries = re.split(r"\n(?=\S)", re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE).strip())
    assert len(entries) > 5
    for entry in entries:
        assert re.match(r"[\w.-]+==[\w.]+ ", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry


def test_every_group_of_dependencies_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = set(project["dependency-groups"]) - {"github-page"}
    assert {path.stem for path in LOCKED} == {"runtime", *groups}


def test_the_image_is_built_from_wheels_on_a_base_with_a_digest() -> None:
    text = (ROOT / "Dockerfile").read_text()
    first, *others = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert re.search(r"@sha256:[0-9a-f]{64}$", first)
    assert set(others) == {"base"}
    (install,) = re.findall(r"^RUN .*pip install(?:.*\\\n)*.*", text, re.MULTILINE)
    assert {"--only-binary", "--require-hashes"} <= set(install.split())


def test_the_marketplace_takes_the_action() -> None:
    # https://docs.github.com/en/actions/how-tos/create-and-publish-actions/publish-in-github-marketplace
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["name"] == "flux-upgrade"
    assert 0 < len(action["description"]) <= 125
    assert (action["branding"]["icon"], action["branding"]["color"]) == ("chevrons-up", "blue")
