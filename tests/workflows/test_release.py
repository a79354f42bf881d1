"""The scripts of the release workflow refuse what must not be released; ``gh`` is a program of the test."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from flux_upgrade import __version__
from workflows.linters import ROOT

DIGEST = f"sha256:{'0123456789abcdef' * 4}"
IMAGE = f"ghcr.io/octo-org/flux-upgrade:v1.2.3@{DIGEST}"
# It writes down its arguments, and knows of the tags and of the release what the files `tags` and `release` say.
GH = """\
#!/usr/bin/env python3
import json, pathlib, sys
here = pathlib.Path(__file__).parent
with (here / "calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
read = lambda name: (here / name).read_text() if (here / name).exists() else ""
new = [each.rpartition("/")[2] for each in sys.argv if each.startswith("ref=")]
if sys.argv[1:3] == ["release", "view"]:
    sys.exit(print(read("release")) if read("release") else 1)
if "/git/ref/tags/" in sys.argv[2] or (new and "PATCH" not in sys.argv):
    is_there = (new or sys.argv[2].split("/"))[-1] in read("tags").split()
    sys.exit(1 if bool(new) == is_there else print("tagged-oid"))
print(read("action") or sys.argv[2].rpartition("/")[2] + "-oid")
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the scripts read."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / ".github" / "scripts", tree / ".github" / "scripts")
    shutil.copy(ROOT / "action.yml", tree)
    (tree / "src" / "flux_upgrade").mkdir(parents=True)
    (tree / "src" / "flux_upgrade" / "__init__.py").write_text('"""Doc."""\n\n__version__ = "1.2.3"\n')
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 1.2.3\n\n- News.\n\n## 1.2.2\n\n- Old.\n")
    return tree


def run(tree: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    programs = tree.parent / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "gh").write_text(GH)
    (programs / "gh").chmod(0o755)
    return subprocess.run(  # noqa: S603 the script that is tested
        [tree / ".github" / "scripts" / script, *arguments],
        env={
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "GITHUB_REPOSITORY": "Octo-Org/flux-upgrade",
            "GITHUB_SHA": "head-oid",
        },
        cwd=tree.parent,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def calls(tree: Path) -> list[list[str]]:
    return [json.loads(line) for line in (tree.parent / "bin" / "calls").read_text().splitlines()]


def git(tree: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=me", "-c", "user.email=me@example.com")
    subprocess.run(["git", *identity, "-C", tree, *arguments], check=True, capture_output=True)  # noqa: S603, S607 git


def test_who_publishes_runs_nothing_that_was_installed() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yaml").read_text())["jobs"]
    writing = {name: job for name, job in jobs.items() if "write" in job.get("permissions", {}).values()}
    assert {
        name: sorted(p for p, level in job["permissions"].items() if level == "write") for name, job in writing.items()
    } == {
        "image": ["attestations", "id-token", "packages"],
        "package": ["attestations", "id-token"],
        "pypi": ["id-token"],
        "tag": ["contents"],
        "examples": ["contents", "pull-requests"],
    }
    for name in ("image", "pypi", "tag"):
        assert writing[name]["environment"] in ("release", "pypi"), name
    for name in ("image", "pypi", "tag", "examples"):
        assert "pip install" not in str(writing[name]), name
    # The image and the package are there before the tag, and the tag before an example names it.
    assert set(jobs["tag"]["needs"]) == {"version", "image", "pypi"}
    assert set(jobs["examples"]["needs"]) == {"version", "tag"}


def test_the_version_of_this_repository_is_three_numbers() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_the_version_comes_from_the_source_and_the_image_is_lower_case(tree: Path) -> None:
    git(tree, "init", "--quiet")
    ran = run(tree, "release-version")
    assert ran.stdout == "version=v1.2.3\nimage=ghcr.io/octo-org/flux-upgrade\n", ran.stderr


@pytest.mark.parametrize(
    ("source", "changelog", "tag", "message"),
    [
        ('__version__ = "1.2.3.dev1"\n', "## 1.2.3\n", "", "no version that can be released"),
        ("", "## 1.2.3\n", "", "no version that can be released"),
        ('__version__ = "1.2.3"\n', "## Unreleased\n", "", "no section '## 1.2.3'"),
        ('__version__ = "1.2.3"\n', "## 1.2.3\n", "v1.2.3", "v1.2.3 is released already"),
    ],
)
def test_what_cannot_be_released_is_refused(tree: Path, source: str, changelog: str, tag: str, message: str) -> None:
    (tree / "src" / "flux_upgrade" / "__init__.py").write_text(source)
    (tree / "CHANGELOG.md").write_text(changelog)
    git(tree, "init", "--quiet")
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "x")
    if tag:
        git(tree, "tag", tag)
    refused = run(tree, "release-version")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert message in refused.stderr


def release(tree: Path, *, tags: str = "", is_draft: str = "", action: str = "") -> list[list[str]]:
    """What ``release-tag`` wrote and deleted, of a repository with these tags and this release."""
    programs = tree.parent / "bin"
    programs.mkdir(exist_ok=True)
    for name, content in (("tags", tags), ("release", is_draft), ("action", action)):
        (programs / name).write_text(content)
    done = run(tree, "release-tag", "v1.2.3", IMAGE, "a.whl", "b.json")
    assert done.returncode == 0, done.stderr
    read = ("/git/ref/", "/contents/", "view")
    return [call for call in calls(tree) if not any(each in call[1] for each in read)]


def test_the_tag_has_an_action_that_runs_the_image_by_digest(tree: Path) -> None:
    blob, made_tree, commit, version, draft, publish, major = release(tree)
    (content,) = (each.removeprefix("content=") for each in blob if each.startswith("content="))
    before, after = yaml.safe_load((tree / "action.yml").read_text()), yaml.safe_load(content)
    assert after["runs"].pop("image") == f"docker://{IMAGE}"
    assert before["runs"].pop("image") == "Dockerfile"
    assert after == before
    assert content.endswith("- action\n")
    assert {"base_tree=head-oid", "tree[][path]=action.yml", "tree[][sha]=blobs-oid"} <= set(made_tree)
    assert {"tree=trees-oid", "parents[]=head-oid", "message=Release v1.2.3"} <= set(commit)
    assert {"ref=refs/tags/v1.2.3", "sha=commits-oid"} <= set(version)
    # The files are there before the release is published: afterwards nothing can be added.
    assert draft[:5] == ["release", "create", "v1.2.3", "a.whl", "b.json"]
    assert "--draft" in draft
    assert draft[-1].strip() == "- News."
    assert publish[:3] == ["release", "edit", "v1.2.3"]
    assert publish[-1] == "--draft=false"
    assert {"ref=refs/tags/v1", "sha=commits-oid"} <= set(major)


def test_the_major_tag_moves(tree: Path) -> None:
    moved = release(tree, tags="v1")[-1]
    assert "repos/Octo-Org/flux-upgrade/git/refs/tags/v1" in moved
    assert {"PATCH", "sha=commits-oid", "force=true"} <= set(moved)


ACTION = f"runs:\n  image: docker://{IMAGE}\n"


@pytest.mark.parametrize(
    ("is_draft", "expected"),
    [
        pytest.param("", ["create", "edit"], id="none"),
        pytest.param("true", ["delete", "create", "edit"], id="draft"),
        pytest.param("false", [], id="published"),
    ],
)
def test_what_was_broken_off_goes_on_with_the_tag_that_there_is(tree: Path, is_draft: str, expected: list[str]) -> None:
    *of_release, new, moved = release(tree, tags="v1.2.3 v1", is_draft=is_draft, action=ACTION)
    assert [call[:2] for call in of_release] == [["release", each] for each in expected]
    assert "ref=refs/tags/v1" in new
    assert {"PATCH", "sha=tagged-oid"} <= set(moved)


def test_a_tag_of_another_image_is_not_released(tree: Path) -> None:
    programs = tree.parent / "bin"
    programs.mkdir()
    (programs / "tags").write_text("v1.2.3")
    (programs / "action").write_text(ACTION.replace("0123", "3210"))
    refused = run(tree, "release-tag", "v1.2.3", IMAGE)
    assert (refused.returncode, refused.stderr) == (1, "v1.2.3 is the tag of another image\n")
    assert len(calls(tree)) == 2


@pytest.mark.parametrize("image", ["", "ghcr.io/octo-org/flux-upgrade:v1.2.3@", "ghcr.io/octo-org/flux-upgrade:v1"])
def test_an_image_without_a_digest_is_refused(tree: Path, image: str) -> None:
    refused = run(tree, "release-tag", "v1.2.3", image)
    assert refused.returncode == 1
    assert "not an image with tag and digest" in refused.stderr
    assert not (tree.parent / "bin" / "calls").exists()
