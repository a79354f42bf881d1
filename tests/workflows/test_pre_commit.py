"""The hook of .pre-commit-hooks.yaml, installed and run by pre-commit itself from a clone of this repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from api_use_runs import plant, resource
from real_parts import missing
from workflows.linters import ROOT, program

HOOK = "flux-upgrade-check"
IN_PACKAGE = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", ".pre-commit-hooks.yaml")


def git(at: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=me", "-c", "user.email=me@example.com")
    command = ["git", *identity, "-C", str(at), *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout.strip()  # noqa: S603 git


def committed(folder: Path) -> str:
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=x")
    return git(folder, "rev-parse", "HEAD")


def environment(home: Path) -> dict[str, str]:
    """What pip needs of this machine's, with a cache of pre-commit's own."""
    passed = ("PATH", "LANG", "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy")
    given = {name: value for name, value in os.environ.items() if name in passed or name.startswith("PIP_")}  # noqa: TID251 of pip
    return {**given, "HOME": str(Path.home()), "PRE_COMMIT_HOME": str(home)}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Path]:
    """A repository with the hook, its commit, and the cache in which pre-commit installed it."""
    folder = tmp_path_factory.mktemp("hook")
    ours, home = folder / "flux-upgrade", folder / "home"
    shutil.copytree(ROOT / "src", ours / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in IN_PACKAGE:
        shutil.copy(ROOT / name, ours)
    commit = committed(ours)
    user = folder / "user"
    configured(user, ours, commit)
    committed(user)
    code, output = run(user, home, "install-hooks")
    if code:
        missing(f"pre-commit could not install the hook: {output[-500:]}")
    return ours, commit, home


def configured(user: Path, ours: Path, commit: str, *arguments: str) -> None:
    user.mkdir(exist_ok=True)
    hook = {"id": HOOK, **({"args": list(arguments)} if arguments else {})}
    config = {"repos": [{"repo": ours.as_uri(), "rev": commit, "hooks": [hook]}]}
    (user / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))


def run(user: Path, home: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(  # noqa: S603 pre-commit
        [program("pre-commit"), *arguments],
        cwd=user,
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout


def checked(user: Path, installed: tuple[Path, str, Path], source: Path, *arguments: str) -> tuple[int, str]:
    ours, commit, home = installed
    configured(user, ours, commit, "--to=v2.9.4", f"--release-source={source}")
    committed(user)
    return run(user, home, "run", *(arguments or ("--all-files",)))


def test_pre_commit_accepts_the_file() -> None:
    done = subprocess.run(  # noqa: S603 pre-commit
        [program("pre-commit"), "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")],
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")


def test_what_the_release_serves_passes(
    tmp_path: Path, installed: tuple[Path, str, Path], written_source: Path
) -> None:
    plant(tmp_path, {"a.yaml": resource().replace("v1beta2", "v1")})
    code, output = checked(tmp_path, installed, written_source)
    assert code == 0
    assert output.endswith("..Passed\n")


def test_what_it_does_not_serve_fails_with_the_line(
    tmp_path: Path, installed: tuple[Path, str, Path], written_source: Path
) -> None:
    plant(tmp_path, {"a.yaml": resource(), "b.txt": "text\n"})
    code, output = checked(tmp_path, installed, written_source)
    assert code == 1
    assert f"- hook id: {HOOK}\n- exit code: 7\n" in output
    assert "a.yaml:1: GitRepository/podinfo: source.toolkit.fluxcd.io/v1beta2 is not served by v2.9.4" in output
    # All of the repository once, whatever is in the commit; and nothing where no manifest is.
    assert checked(tmp_path, installed, written_source, "--files", ".pre-commit-config.yaml")[0] == 1
    assert "(no files to check)Skipped" in checked(tmp_path, installed, written_source, "--files", "b.txt")[1]
