"""After a release, examples, pages and the workflow of a bootstrap name it by a commit that runs an image by digest."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flux_upgrade.bootstrap.workflow_file import ACTION
from workflows.linters import ROOT

IMAGE = f"docker://ghcr.io/octo-org/flux-upgrade:v1.2.3@sha256:{'0123456789abcdef' * 4}"
COPIED = ("README.md", "CHANGELOG.md", "SECURITY.md", "mkdocs.yml", "default.json", "action.yml")
FOLDERS = ("docs", "examples", "src", ".github/scripts")
PLACEHOLDER = re.compile(
    r"\bOWNER/|flux-upgrade(?:/\S+)?@v?0|COMMIT=0|rev: 0|frozen: v0|\bv0\.0\.0$|# v0\.0\.0", re.MULTILINE
)
FIRST_COMMAND = ("README.md", "docs/get-started.md")
"""Pages that begin with the installation."""
GH = '#!/bin/sh\necho "$*" >> "$0.calls"\n[ "$2" != list ] || cat "$0.open"\n'


def git(at: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=me", "-c", "user.email=me@example.com")
    command = ["git", *identity, "-C", str(at), *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout.strip()  # noqa: S603 git


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout of this repository as it is now, with an origin, and the release v1.2.3 as release-tag makes it."""
    tree = tmp_path / "tree"
    ignored = shutil.ignore_patterns("__pycache__", "pictures")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tree / name, ignore=ignored)
    for name in COPIED:
        shutil.copy(ROOT / name, tree)
    git(tree, "init", "--quiet", "--initial-branch=main")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message=main")
    git(tree, "init", "--quiet", "--bare", str(tmp_path / "origin"))
    git(tree, "remote", "add", "origin", str(tmp_path / "origin"))
    tag(tree, "v1.2.3", IMAGE)
    return tree


def tag(tree: Path, name: str, image: str) -> str:
    """A tag at a commit of its own, whose action.yml runs ``image``; the working tree stays at main."""
    action = tree / "action.yml"
    action.write_text(action.read_text().replace("  image: Dockerfile\n", f"  image: {image}\n"))
    git(tree, "commit", "--quiet", "--all", "--allow-empty", f"--message=Release {name}")
    while git(tree, "rev-parse", "HEAD").startswith("0"):  # It would look like a placeholder
        message = git(tree, "log", "-1", "--format=%B")
        git(tree, "commit", "--quiet", "--amend", "--allow-empty", f"--message={message}\n\nAgain.")
    git(tree, "tag", name)
    git(tree, "reset", "--quiet", "--hard", "HEAD~")
    return git(tree, "rev-parse", name)


def run(tree: Path, script: str, *arguments: str, open_already: int = 0) -> subprocess.CompletedProcess[str]:
    programs = tree.parent / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "gh").write_text(GH)
    (programs / "gh").chmod(0o755)
    (programs / "gh.open").write_text(f"{open_already}\n")
    return subprocess.run(  # noqa: S603 the script that is tested
        [tree / ".github" / "scripts" / script, *arguments],
        env={"PATH": f"{programs}{os.pathsep}{os.defpath}", "GITHUB_REPOSITORY_OWNER": "octo-org"},
        cwd=tree.parent,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def texts(tree: Path) -> dict[str, str]:
    """Of what a user reads or pastes, and of the program."""
    paths = [tree / name for name in COPIED[:5]]
    kinds = {".md", ".yaml", ".yml", ".py", ".json", ".txt"}
    paths += [path for name in FOLDERS[:3] for path in (tree / name).rglob("*") if path.suffix in kinds]
    return {path.relative_to(tree).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def first_command(page: str) -> str:
    return page.partition("```sh\n")[2].partition("\n")[0]


@pytest.mark.parametrize("page", FIRST_COMMAND)
def test_the_first_command_installs_a_clone_until_there_is_a_release(page: str, tree: Path) -> None:
    """It is run as pipx runs it, but with the build program of this environment and without dependencies."""
    command = shlex.split(first_command((ROOT / page).read_text()), comments=True)
    assert command[:2] == ["pipx", "install"]
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    offline = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", f"--target={tree.parent / 'installed'}")
    subprocess.run([sys.executable, "-m", "pip", *command[1:], *offline], cwd=tree, check=True)  # noqa: S603 of the page
    assert (tree.parent / "installed" / "bin" / "flux-upgrade").is_file()
    text = (ROOT / page).read_text()
    assert "no release yet" in text.partition("<!-- until the first release -->")[2].partition("<!-- /until")[0]


def test_all_name_one_release_by_its_commit_or_its_version() -> None:
    assert re.fullmatch(r"[\w-]+/flux-upgrade@[0-9a-f]{40} # v\d+\.\d+\.\d+", ACTION)
    named, _, version = ACTION.partition(" # ")
    ours = named.partition("@")[0]
    for path, text in texts(ROOT).items():
        for line in text.splitlines():
            if f"{ours}@" in line and f"{ours}@COMMIT" not in line:
                by_commit = named in line and re.search(rf" # {re.escape(version)}\b", line)
                assert by_commit or f"{ours}@{version}" in line, (path, line)


def test_a_release_is_named_everywhere_by_commit_and_version(tree: Path) -> None:
    commit = git(tree, "rev-parse", "v1.2.3")
    done = run(tree, "update-examples", "v1.2.3")
    assert (done.returncode, done.stderr) == (0, "")
    after = texts(tree)
    assert [path for path, text in after.items() if PLACEHOLDER.search(text)] == []
    assert f"      - uses: octo-org/flux-upgrade@{commit} # v1.2.3\n" in after["examples/scheduled.yaml"]
    check = f"run: pipx run --spec git+https://github.com/octo-org/flux-upgrade@{commit} flux-upgrade check"
    assert re.search(rf"{re.escape(check)}.* # v1\.2\.3\n", after["examples/check-api-versions.yaml"])
    for page in FIRST_COMMAND:
        assert first_command(after[page]) == (
            "pipx install git+https://github.com/octo-org/flux-upgrade@v1.2.3   # or: uv tool install; Python 3.11 or later"
        )
        assert "until the first release" not in after[page]
        assert "no release yet" not in after[page]
    assert f'"octo-org/flux-upgrade@{commit} # v1.2.3"' in after["src/flux_upgrade/bootstrap/workflow_file.py"]
    assert f"COMMIT={commit} VERSION=v1.2.3 " in after["docs/how-to/verify.md"]
    assert f"    rev: {commit} # frozen: v1.2.3\n" in after["docs/how-to/configure-checks.md"]
    changed = git(tree, "diff", "--name-only").splitlines()
    assert not [path for path in changed if path.startswith((".github/", "action.yml"))]


def test_what_is_generated_stays_current(tree: Path) -> None:
    assert run(tree, "update-examples", "v1.2.3").returncode == 0
    (tree / "tests").symlink_to(ROOT / "tests")  # the reports that pages show
    checked = subprocess.run(  # noqa: S603 what `make docs` runs
        [sys.executable, str(tree / "docs" / "generate.py"), "--check"],
        env={"PYTHONPATH": str(tree / "src")},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    text = subprocess.run(
        [sys.executable, "-c", "from flux_upgrade.bootstrap.workflow_file import *; print(workflow_text(), end='')"],
        env={"PYTHONPATH": str(tree / "src")},
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    assert text == (tree / "examples" / "scheduled.yaml").read_text()


def test_the_next_release_takes_its_place_and_twice_is_once(tree: Path) -> None:
    assert run(tree, "update-examples", "v1.2.3").returncode == 0
    git(tree, "commit", "--quiet", "--all", "--message=examples")
    first, second = git(tree, "rev-parse", "v1.2.3"), tag(tree, "v1.3.0", IMAGE.replace("v1.2.3", "v1.3.0"))
    for _ in range(2):
        assert run(tree, "update-examples", "v1.3.0").returncode == 0
        after = texts(tree)
        assert not [path for path, text in after.items() if first in text or "upgrade@v1.2.3" in text]
        assert f"uses: octo-org/flux-upgrade@{second} # v1.3.0\n" in after["examples/scheduled.yaml"]
        for page in FIRST_COMMAND:
            assert "/octo-org/flux-upgrade@v1.3.0 " in first_command(after[page])
    removed = [line for line in git(tree, "diff", "--unified=0").splitlines() if re.match(r"-(?!--)", line)]
    assert removed
    assert all("v1.2.3" in line for line in removed)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        pytest.param("Dockerfile", "runs no image by digest", id="builds-it"),
        pytest.param("docker://ghcr.io/octo-org/flux-upgrade:v1.2.4", "runs no image by digest", id="by-tag"),
        pytest.param("", "there is no tag v1.2.4", id="no-tag"),
    ],
)
def test_a_commit_without_an_image_is_never_named(tree: Path, image: str, message: str) -> None:
    if image:
        tag(tree, "v1.2.4", image)
    refused = run(tree, "update-examples", "v1.2.4")
    assert refused.returncode == 1
    assert message in refused.stderr
    assert git(tree, "status", "--porcelain") == ""


@pytest.mark.parametrize(("open_already", "verb"), [(0, "create"), (1, "edit")])
def test_a_change_becomes_one_commit_and_one_pull_request(tree: Path, open_already: int, verb: str) -> None:
    (tree / "README.md").write_text("changed\n")
    done = run(tree, "propose", "release/x", "A title", "A body", open_already=open_already)
    assert done.returncode == 0, done.stderr
    origin = tree.parent / "origin"
    assert git(origin, "log", "--format=%s", "refs/heads/release/x") == "A title\nmain"
    assert git(origin, "show", "release/x:README.md") == "changed"
    calls = (tree.parent / "bin" / "gh.calls").read_text().splitlines()
    assert [call.split()[:2] for call in calls] == [["auth", "setup-git"], ["pr", "list"], ["pr", verb]]


def test_a_branch_of_an_earlier_run_is_replaced(tree: Path) -> None:
    for text in ("one", "two"):
        git(tree, "checkout", "--quiet", "main")
        (tree / "README.md").write_text(text)
        assert run(tree, "propose", "release/x", "A title", "A body").returncode == 0
    assert git(tree.parent / "origin", "show", "release/x:README.md") == "two"
    assert git(tree.parent / "origin", "rev-list", "--count", "release/x") == "2"


def test_without_a_change_nothing_is_pushed_or_opened(tree: Path) -> None:
    done = run(tree, "propose", "release/x", "A title", "A body")
    assert (done.returncode, done.stdout) == (0, "nothing to propose\n")
    assert not (tree.parent / "bin" / "gh.calls").exists()
    assert git(tree.parent / "origin", "branch", "--list") == ""
