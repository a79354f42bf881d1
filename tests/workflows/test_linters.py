"""Workflows, examples, the action and the scripts have no finding, and the linters do find problems."""

from __future__ import annotations

from pathlib import Path

import pytest

from real_parts import require_program
from workflows.linters import EXAMPLES, ROOT, SCRIPTS, WORKFLOWS, actionlint, lint, program

ZIZMOR = ("--offline", "--no-progress", "--persona=pedantic")
BAD = """\
on: push
jobs:
  a:
    runs-on: ubuntu-24.04
    stpes: []
    steps:
      - uses: actions/checkout@v4
      - run: echo ${{ github.event.head_commit.message }}
"""


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / ".github" / "workflows" / "bad.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(BAD)
    return path


def test_there_is_something_to_lint() -> None:
    assert [path.name for path in WORKFLOWS] == [
        "checks.yaml",
        "ci.yaml",
        "nightly.yaml",
        "pins.yaml",
        "release.yaml",
        "site.yaml",
        "upgrade.yaml",
    ]
    assert {"scheduled.yaml", "monorepo-groups.yaml", "enterprise-server.yaml", "app-token.yaml"} <= {
        path.name for path in EXAMPLES
    }


def test_zizmor_has_no_finding() -> None:
    code, output = lint(program("zizmor"), *ZIZMOR, ".github", "action.yml", *EXAMPLES)
    assert "No findings to report" in output
    assert code == 0
    for path in (*WORKFLOWS, *EXAMPLES, ROOT / "action.yml"):
        shown = path.relative_to(ROOT) if path not in EXAMPLES else path
        assert f"completed {shown}" in output, path


def test_actionlint_has_no_finding() -> None:
    assert lint(actionlint(), *WORKFLOWS, *EXAMPLES) == (0, "")


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        pytest.param("github-workflows", (*WORKFLOWS, *EXAMPLES), id="workflows"),
        pytest.param("github-actions", (ROOT / "action.yml",), id="action"),
        pytest.param("dependabot", (ROOT / ".github" / "dependabot.yml",), id="dependabot"),
    ],
)
def test_check_jsonschema_has_no_finding(schema: str, paths: tuple[Path, ...]) -> None:
    code, output = lint(program("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", *paths)
    assert code == 0, output


def test_shellcheck_has_no_finding() -> None:
    assert lint(require_program("shellcheck"), *SCRIPTS, ROOT / ".ci" / "run") == (0, "")


def test_hadolint_has_no_finding() -> None:
    assert lint(program("hadolint"), ROOT / "Dockerfile") == (0, "")


def test_hadolint_finds_what_is_bad(tmp_path: Path) -> None:
    bad = tmp_path / "Dockerfile"
    bad.write_text("FROM python\nRUN cd /tmp && apt-get install git | cat\n")
    code, output = lint(program("hadolint"), "--no-color", bad)
    assert code == 1
    assert {"DL3003", "DL3006", "DL3008", "DL4006"} <= set(output.split())


def test_zizmor_finds_what_is_bad(bad: Path) -> None:
    code, output = lint(program("zizmor"), *ZIZMOR, bad.parents[2])
    assert code != 0
    assert "template-injection" in output
    assert "unpinned-uses" in output


def test_actionlint_finds_what_is_bad(bad: Path) -> None:
    code, output = lint(actionlint(), bad)
    assert code == 1
    assert 'unexpected key "stpes"' in output


def test_check_jsonschema_finds_what_is_bad(bad: Path) -> None:
    assert lint(program("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", bad)[0] == 1
