"""The README and the how-to pages quote what the program and the examples say."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
import yaml

import txtar
from config_files import load
from flux_upgrade.clusters.ownership.ownership import Ownership
from flux_upgrade.manifests.options import InstallOptions
from memory import MemoryTree, rendered

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MANIFEST = "clusters/production/flux-system/gotk-components.yaml"
RENOVATE = {"extends": ["config:recommended"], "packageRules": [{"matchManagers": ["npm"]}]}
DEPENDABOT = f"""\
version: 2
updates:
  - package-ecosystem: docker
    directory: /{MANIFEST.rpartition("/")[0]}
    schedule: {{interval: weekly}}
"""
PAGES = ("docs/how-to/other-bots.md",)


def blocks(page: str, language: str) -> list[str]:
    found = FENCED.findall((ROOT / page).read_text())
    return [text for name, text in found if name == language]


def below(page: str, marker: str) -> str:
    """What stands below a line, up to the next line without a quotation or a fence."""
    text = (ROOT / page).read_text()
    assert text.count(f"<!-- {marker}") == 1, marker
    return text.partition(f"<!-- {marker}")[2]


def remarks() -> str:
    """What a pull request says of Renovate and Dependabot in their most usual configurations."""
    manifest = rendered(InstallOptions("v2.9.4")).encode()
    tree = MemoryTree(
        {
            MANIFEST: manifest,
            "renovate.json": json.dumps(RENOVATE).encode(),
            ".github/dependabot.yml": DEPENDABOT.encode(),
        }
    )
    found = Ownership(tree).remarks({MANIFEST: manifest}, {})
    assert [text.split()[0] for text in found] == ["**Renovate", "**Dependabot"]
    return "\n".join(found)


def test_the_readmes_workflow_is_the_example() -> None:
    (steps,) = blocks("README.md", "yaml")
    assert steps in (ROOT / "examples" / "scheduled.yaml").read_text()


def test_the_readmes_first_screen_has_what_it_needs_in_this_order() -> None:
    text = (ROOT / "README.md").read_text()
    places = [
        text.index(each)
        for each in (
            "**Upgrade Flux by pull request",
            "<!-- pull-request: ",
            "## Try it on your repository",
            "## Turn it on",
            "## Why not Renovate",
            "## Safe by design",
            "## What it upgrades",
            "## Documentation",
        )
    ]
    assert places == sorted(places)
    assert len(text.splitlines()) <= 130


def test_the_readmes_pull_request_is_a_golden_and_short() -> None:
    shown = below("README.md", "pull-request: ").partition("<!-- /pull-request -->")[0]
    case, _, quotation = shown.partition(" -->\n")
    golden = txtar.read(ROOT / "tests" / "pull_requests" / f"{case}.txtar").text("pull_request.md")
    lines = quotation.splitlines()
    assert all(line.startswith(">") for line in lines)
    assert len(lines) <= 25
    assert "<!--" not in quotation
    for line in lines[1:]:
        assert line.removeprefix(">").removeprefix(" ").removeprefix("- [ ] ") in golden, line


@pytest.mark.parametrize("page", PAGES)
def test_the_rules_for_other_bots_are_those_of_the_pull_request(page: str) -> None:
    paragraphs = remarks()
    (renovate,) = blocks(page, "json")
    assert f"```json\n{renovate}```" in paragraphs
    dependabot = next(text for text in blocks(page, "yaml") if "dependency-name" in text)
    assert f"```yaml\n{dependabot}```" in paragraphs


def test_the_rule_for_dependabot_is_on_the_page_about_migrating() -> None:
    (dependabot,) = blocks("docs/how-to/migrate-from-renovate.md", "yaml")
    assert f"```yaml\n{dependabot}```" in remarks()


def test_a_config_file_that_is_shown_is_valid() -> None:
    shown = [
        (page, text)
        for page in sorted((ROOT / "docs" / "how-to").glob("*.md"))
        for text in blocks(page.relative_to(ROOT).as_posix(), "yaml")
        if re.search(r"^(?:forge|groups|policy):", text, re.MULTILINE)
    ]
    assert shown
    for page, text in shown:
        load(text, page.name)


def test_steps_of_workflows_that_are_shown_are_yaml() -> None:
    shown = [
        text
        for page in sorted((ROOT / "docs" / "how-to").glob("*.md"))
        for text in blocks(page.relative_to(ROOT).as_posix(), "yaml")
    ]
    assert len(shown) > 3
    for text in shown:
        yaml.safe_load(text)


@pytest.mark.parametrize("name", ["use-the-action", "oci-artifacts"])
def test_messages_of_the_table_of_troubles_are_the_programs(name: str) -> None:
    page = (ROOT / "docs" / "how-to" / f"{name}.md").read_text()
    table = page.partition("| The message says | Do |\n| --- | --- |\n")[2].partition("\n\n")[0]
    quoted = [text for line in table.splitlines() for text in re.findall(r"`([^`]+)`", line.split("|")[1])]
    said = [
        node.value.lower()
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert len(quoted) > 10
    assert not [text for text in quoted if not any(text.lower() in each for each in said)]
