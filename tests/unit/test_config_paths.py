"""Patterns of the config file match as those of .gitignore do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from flux_upgrade.config.config import Config, Group

FILES = (
    "gotk-components.yaml",
    "archive/gotk-components.yaml",
    "archive/keep/gotk-components.yaml",
    "clusters/staging-a/flux-system/gotk-components.yaml",
    "clusters/staging-b/flux-system/gotk-components.yaml",
    "clusters/production/flux-system/gotk-components.yaml",
    "clusters/production/archive/gotk-components.yaml",
    "clusters/a b/[x]/gotk-components.yaml",
    "clusters/ä/gotk-components.yaml",
    "teams/clusters/staging-a/gotk-components.yaml",
)


@pytest.mark.parametrize(
    "patterns",
    [
        ("archive/**",),
        ("archive/",),
        ("/archive/",),
        ("archive",),
        ("archive/*", "!archive/keep"),
        ("clusters/staging-*/**",),
        ("clusters/staging-*",),
        ("staging-*",),
        ("clusters/*",),
        ("/clusters/*",),
        ("clusters/*/",),
        ("*/staging-a",),
        ("**/*",),
        ("*/",),
        ("clusters/**/archive",),
        ("clusters/*/flux-system/gotk-components.yaml",),
        ("**/flux-system/",),
        ("**/staging-a/**",),
        ("*", "!/gotk-components.yaml"),
        ("*.yaml",),
        ("/*.yaml",),
        ("clusters/staging-[ab]/",),
        ("clusters/staging-[!a]/",),
        ("clusters/staging-?/",),
        (r"clusters/a b/\[x\]",),
        ("clusters/ä/",),
        ("clusters", "!clusters"),
        ("clusters/production/flux-system/gotk-components.yaml/",),
        ("**",),
        ("nothing",),
    ],
)
def test_patterns_match_as_git_ignores(patterns: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("".join(f"{each}\n" for each in patterns), encoding="utf-8")
    for file in FILES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    git = ["git", "-c", "core.excludesFile=/dev/null"]
    subprocess.run([*git, "init", "-q"], cwd=tmp_path, check=True)  # noqa: S603 git itself
    done = subprocess.run(  # noqa: S603 git itself
        [*git, "check-ignore", "-z", "--no-index", "--stdin"],
        cwd=tmp_path,
        input="\0".join(FILES).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    ignored = set(done.stdout.decode().split("\0")) - {""}
    config = Config(ignore=patterns)
    assert {file for file in FILES if config.is_ignored(file)} == ignored


def test_the_first_group_that_matches_has_the_file() -> None:
    first = Group(name="first", paths=("clusters/*/", "!clusters/production"))
    second = Group(name="second", paths=("clusters/",))
    config = Config(groups=(first, second))
    assert config.group_of("clusters/staging/gotk-components.yaml") is first
    assert config.group_of("clusters/production/gotk-components.yaml") is second
    assert config.group_of("gotk-components.yaml") is None


@pytest.mark.parametrize(
    "patterns",
    [
        ("archive/**", "!archive/keep/**"),
        ("archive/", "!archive/keep/gotk-components.yaml"),
        ("/archive/", "!keep"),
        ("/archive/*.yaml", "!keep/"),
        ("!archive", "archive", "!archive/keep/"),
    ],
)
def test_the_last_pattern_decides_below_a_folder_that_was_taken_too(patterns: tuple[str, ...]) -> None:
    config = Config(ignore=patterns)
    taken = [file for file in FILES if file.startswith("archive/") and config.is_ignored(file)]
    assert taken == ["archive/gotk-components.yaml"]
