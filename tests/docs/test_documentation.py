"""Commands, flags, errors and variables in the documentation are those of the program."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from flux_upgrade.cli.parse import build_parser
from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.model import errors
from flux_upgrade.model.exit_code import ExitCode
from flux_upgrade.policy.hold_reasons import HoldReason

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
PICTURE = re.compile(r'\b(?:src|srcset)="([^"]+)"')
COMMAND = re.compile(r"flux-upgrade ([a-z]+)((?:[^`\n|>#\\]|\\\n)*)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
VARIABLE = re.compile(
    r"[\"']((?:BITBUCKET|BUILD|BUILDKITE|CI|CIRCLE|CODEBUILD|DOCKER|DRONE|FLUX_UPGRADE|FORGEJO|GH|GIT|GITEA|GITHUB"
    r"|GITLAB|HELM|INPUT|JENKINS|PROW|RUNNER|SSH|TEAMCITY|TF|TRAVIS|XDG)_[A-Z_]*"
    r"|BUILDKITE|CI|CIRCLECI|DRONE|KUBECONFIG|SEMAPHORE|TRAVIS)[\"']"
)
SINCE_CLASSES = (errors.UntrustedConfig, errors.StoredVersionLost, errors.NotLookedAt)
"""Errors that always shared the exit code of a class."""
NEVER_MET = (errors.DraftsUnavailable, errors.LimitReached)
"""An issue is opened instead, or a pull request is held as `limited`. Each shares the code of another class."""


def rows(page: str) -> list[list[str]]:
    """The cells of a page's tables, without their heads."""
    lines = [line for line in (REFERENCE / page).read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    heads = [line for line, below in pairwise(cells) if below[0] == "---"]
    return [line for line in cells if line[0] != "---" and line not in heads]


def commands() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in build_parser()._actions:  # noqa: SLF001 argparse offers no other way to its flags
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 as above
            yield from action.choices.items()


def flags(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for each in parser._actions for flag in each.option_strings}  # noqa: SLF001 as above


def all_errors(
    base: type[errors.FluxUpgradeError] = errors.FluxUpgradeError,
) -> Iterator[type[errors.FluxUpgradeError]]:
    for each in base.__subclasses__():
        if each.__module__ == errors.__name__:
            yield from {each}.difference(NEVER_MET)
            yield from all_errors(each)


def test_generated_pages_and_shown_reports_are_current() -> None:
    checked = subprocess.run(  # noqa: S603 what `make docs` runs
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_every_flag_of_every_command_is_in_the_reference() -> None:
    page = (REFERENCE / "cli.md").read_text()
    for name, parser in commands():
        section = re.split(r"^## ", page.partition(f"## flux-upgrade {name}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
        for action in parser._actions:  # noqa: SLF001 as above
            for flag in action.option_strings:
                if flag not in ("-h", "--help", "--help-all"):
                    assert re.search(rf"`{flag}[`=\[]", section), f"{name} {flag}"


def test_every_flag_has_a_help() -> None:
    silent = [action.dest for _, parser in commands() for action in parser._actions if not action.help]  # noqa: SLF001 as above
    assert not silent


def test_every_error_is_listed_once_with_its_exit_code() -> None:
    classes = list(all_errors())
    listed = [(name, code) for name, _, code in rows("exit-codes.md") if name.startswith("`")]
    assert sorted(listed) == sorted((f"`{each.slug}`", str(each.exit_code)) for each in classes)
    for field in ("slug", "__doc__"):
        assert len({getattr(each, field) for each in classes}) == len(classes), field


def test_every_exit_code_is_listed_once_with_its_names() -> None:
    listed = {code: names for code, _, names in rows("exit-codes.md") if code.isdigit()}
    assert {int(code) for code in listed} == {*ExitCode, 129, 130, 141, 143}
    for code, names in listed.items():
        slugs = sorted(each.slug for each in all_errors() if each.exit_code == int(code))
        assert names == ", ".join(f"`{each}`" for each in slugs)


def test_the_changelog_has_every_former_exit_code() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    table = re.findall(r"^\| `([a-z-]+)` \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    assert [int(before) for _, before, _ in table] == [*range(1, 35)]
    former = {each.slug: each.exit_code for each in all_errors() if each not in SINCE_CLASSES}
    assert {name: int(now) for name, _, now in table} == former


def test_every_hold_reason_and_every_verdict_is_documented_once() -> None:
    assert sorted(reason for reason, *_ in rows("hold-reasons.md")) == sorted(f"`{each}`" for each in HoldReason)
    assert [verdict for verdict, *_ in rows("verification-results.md")] == [f"`{each}`" for each in Verdict]


def variables(page: str) -> set[str]:
    """Names, or what those of a family begin with."""
    names = {name.strip("`") for first, *_ in rows(page) for name in first.split(", ")}
    return {name.removesuffix("*") for name in names if re.fullmatch(r"[A-Z_]+\*?", name)}


def read_by(*modules: str) -> set[str]:
    source = ROOT / "src" / "flux_upgrade"
    return {name for module in modules for name in VARIABLE.findall((source / module).read_text())}


def test_every_variable_that_is_read_is_in_the_reference() -> None:
    known = tuple(variables("cli.md") | variables("action.md"))
    read = read_by("main.py", "cli/parse.py", "config/environment.py", "action/inputs.py")
    assert len(read) > 10
    assert not {name for name in read if not name.startswith(known)}


def test_every_variable_in_the_reference_is_read() -> None:
    libraries = {name for name in variables("cli.md") if "PROXY" in name or name == "REQUESTS_CA_BUNDLE"}
    plain = {"HOME", "PATH"}  # too short to be searched for
    read = read_by("main.py", "cli/parse.py", "config/environment.py", "action/inputs.py", "action/runner.py")
    assert variables("cli.md") | variables("action.md") <= read | libraries | plain


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_make_commands_that_are_named_exist(page: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)(?=[` ])", "\n".join(CODE.findall((ROOT / page).read_text()))))
    assert named
    assert named <= targets


def test_commands_that_are_shown_are_understood() -> None:
    known = {name: flags(parser) for name, parser in commands()}
    shown = [
        (page.name, match[1], match[2])
        for page in PAGES
        for match in COMMAND.finditer("\n".join(CODE.findall(page.read_text())))
    ]
    assert len(shown) > 10
    for page, command, arguments in shown:
        assert command in known, f"{page}: flux-upgrade {command}"
        for flag in re.findall(r"(?<!\S)\[?(--?[a-z][a-z-]*)", arguments):
            assert flag in known[command], f"{page}: flux-upgrade {command} {flag}"


@pytest.mark.parametrize("page", [pytest.param(page, id=page.relative_to(ROOT).as_posix()) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    text = CODE.sub("", page.read_text())
    for link in [*LINK.findall(text), *PICTURE.findall(text)]:
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}, link


def test_files_that_the_design_and_the_contributing_page_name_exist() -> None:
    design, contributing = ((ROOT / name).read_text() for name in ("docs/design.md", "CONTRIBUTING.md"))
    source = ROOT / "src" / "flux_upgrade"
    for room, files in re.findall(r"^\| `([a-z]+)/` \|.*\| ([^|]*) \|$", design, re.MULTILINE):
        for name in re.findall(r"`([a-z0-9_/.]+\.py)`", files):
            assert (source / room / name).exists(), (room, name)
    table = contributing.partition("## Where do I change")[2].partition("\n## ")[0]
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*/[a-z_*]*(?:\.py)?)`", table)
    assert named
    for name in named:
        assert any(list(root.glob(name)) for root in (source, ROOT, source / "pins")), name


def test_every_directory_is_in_the_design() -> None:
    text, source = (ROOT / "docs" / "design.md").read_text(), ROOT / "src" / "flux_upgrade"
    folders = {path.parent for path in source.rglob("__init__.py")} - {source}
    assert folders
    assert not sorted(folder.name for folder in folders if f"`{folder.name}/`" not in text)


def test_the_design_fits_into_two_hundred_lines() -> None:
    assert len((ROOT / "docs" / "design.md").read_text().splitlines()) <= 200
