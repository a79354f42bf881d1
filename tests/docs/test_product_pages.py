"""Troubleshooting, support and security say what the program, the tests and the workflows say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from flux_upgrade.adapters.http import archive
from flux_upgrade.config import environment
from flux_upgrade.model import errors
from flux_upgrade.policy.hold_reasons import HoldReason
from real_flux import programs

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
QUOTED = re.compile(r"`([^`]+)`")


def rows(page: str, head: str) -> list[list[str]]:
    """The rows of every table of a page with this first column."""
    tables = (DOCS / page).read_text().split(f"\n| {head} |")[1:]
    lines = [line for table in tables for line in table.partition("\n\n")[0].splitlines()[2:]]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def texts_of_the_program() -> str:
    modules = (ast.walk(ast.parse(path.read_text())) for path in (ROOT / "src").rglob("*.py"))
    nodes = (node for module in modules for node in module)
    return "\n".join(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def slugs(base: type[errors.FluxUpgradeError] = errors.FluxUpgradeError) -> Iterator[str]:
    for each in base.__subclasses__():
        yield each.slug
        yield from slugs(each)


def test_messages_are_those_of_the_program() -> None:
    quoted = [text for cell, *_ in rows("troubleshooting.md", "You see") for text in QUOTED.findall(cell)]
    known = {*slugs(), *HoldReason}
    said = texts_of_the_program().lower()
    parts = [part.strip(" ,").lower() for text in quoted if text not in known for part in text.split("…")]
    assert len(parts) > 10
    assert [part for part in parts if part not in said] == []


def test_reasons_to_hold_are_those_of_the_program() -> None:
    named = [QUOTED.findall(cell)[0] for cell, *_ in rows("troubleshooting.md", "Reason")]
    assert len(named) > 10
    assert set(named) <= set(HoldReason)


def test_every_exit_code_has_a_first_step() -> None:
    listed = {int(code) for cell, *_ in rows("troubleshooting.md", "Code") for code in cell.split(", ")}
    every = {
        int(code)
        for code in re.findall(r"^\| (\d+) \|", (DOCS / "reference" / "exit-codes.md").read_text(), re.MULTILINE)
    }
    assert every - listed == {130}, "it needs no more than its own message"
    assert listed <= every


def test_every_name_of_an_error_has_a_first_step_with_its_exit_code() -> None:
    steps = [(name, code) for code, names, *_ in rows("troubleshooting.md", "Code") for name in QUOTED.findall(names)]
    text = (DOCS / "reference" / "exit-codes.md").read_text()
    assert sorted(steps) == sorted(re.findall(r"^\| `([a-z-]+)` \|.*\| (\d+) \|$", text, re.MULTILINE))


def test_pages_show_an_error_with_its_exit_code() -> None:
    codes = dict(
        re.findall(
            r"^\| `([a-z-]+)` \|.*\| (\d+) \|$", (DOCS / "reference" / "exit-codes.md").read_text(), re.MULTILINE
        )
    )
    shown = [
        pair
        for page in (*DOCS.glob("*.md"), *DOCS.glob("how-to/*.md"))
        for name, code, other, back in re.findall(
            r"`([a-z-]+)`, exit code (\d+)|\b(\d+)(?:\]\([^)]*\))?, `([a-z-]+)`", page.read_text()
        )
        for pair in [(name or back, code or other)]
    ]
    assert len(codes.keys() & {name for name, _ in shown}) > 5
    assert [pair for pair in shown if codes.get(pair[0], pair[1]) != pair[1]] == []


def test_the_versions_that_are_tested_are_those_of_the_tests() -> None:
    text = (DOCS / "support.md").read_text()
    minor = re.match(r"v(1\.\d+)\.", programs.KUBERNETES)
    assert minor
    for version in (minor[1], programs.FLUX, programs.TOFU.version, programs.HELM.version):
        assert version.removeprefix("v") in text, version
    (kustomize,) = re.findall(r"kustomize/v5@v(\S+)", (ROOT / ".ci" / "run").read_text())
    assert f"| {kustomize} |" in text


def test_the_pythons_that_are_tested_are_those_of_ci() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yaml").read_text())["jobs"]
    tested = {each for job in jobs.values() for each in job.get("strategy", {}).get("matrix", {}).get("python", ())}
    (stated,) = (cells[1] for cells in rows("support.md", "What") if cells[0] == "Python")
    assert sorted(tested) == stated.split(", ")


def test_every_secret_says_where_it_goes() -> None:
    text = " ".join(cell for cell, *_ in rows("security.md", "Token"))
    secrets = [name.removeprefix("INPUT_").lower() if "INPUT" in name else name for name in environment._SECRETS]  # noqa: SLF001 the list that masks them
    missing = [name for name in secrets if f"`{name}`" not in text and name != "FLUX_UPGRADE_REGISTRY_PASSWORD"]
    assert missing == []


def test_the_permissions_are_those_of_the_example() -> None:
    workflow = yaml.safe_load((ROOT / "examples" / "scheduled.yaml").read_text())
    (job,) = workflow["jobs"].values()
    assert workflow["permissions"] == {}
    stated = [QUOTED.findall(cell)[0] for cell, *_ in rows("security.md", "Permission")]
    assert stated == [f"{name}: {level}" for name, level in job["permissions"].items()]


def test_a_release_on_github_without_a_checksum_is_refused_as_the_page_says() -> None:
    assert archive.is_checksummed("v2.0.0")
