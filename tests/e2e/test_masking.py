"""A secret that stands in the repository, too, is in nothing that a run writes: real runs, each with a token."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from cases_on_disk import write_tree
from e2e.fleet import Fleet, everything, git
from flows import PATH, fleet, manifest, path_in

SECRET = 'hush-"a_b*<c>&d~42'
SHOWN = (SECRET, "hush-", "a_b", "d~42")
CONFIG = ".github/flux-upgrade.yaml"


def edited(secret: str, version: str = "v2.8.7") -> bytes:
    """Flux's manifest, with a manual edit that has the secret."""
    value = secret.replace("'", "''")
    return manifest(version).replace(b"imagePullPolicy: IfNotPresent", f"imagePullPolicy: '{value}'".encode(), 1)


def ran(tree: Path, *arguments: str) -> str:
    """All that a run on a laptop printed."""
    env = {"HOME": str(tree.parent), "PATH": "/usr/bin:/bin", "GITLAB_TOKEN": SECRET}
    command = [sys.executable, "-P", "-m", "flux_upgrade", *arguments]
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603 ours
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = f"clusters/{SECRET}"
    files = {**fleet({folder: "v2.8.7"}), path_in(folder): edited(SECRET)}
    return write_tree(tmp_path_factory.mktemp("masking") / "tree", files)


COMMANDS = {
    "text": "inspect .",
    "JSON": "inspect . --json",
    "a plan": "plan . --details",
    "a plan in JSON": "plan . --json",
    "a diff": "upgrade . --dry-run --diff",
    "lines about what is done": "plan . --verbose --details",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_no_report_has_a_secret(command: str, tree: Path, written_source: Path) -> None:
    text = ran(tree, *command.split(), f"--release-source={written_source}")
    assert "***" in text
    assert not [form for form in SHOWN if form in text]


def test_no_warning_and_no_error_has_a_secret(written_source: Path, tmp_path: Path) -> None:
    files = {CONFIG: f"policy: '{SECRET}'\n".encode(), PATH: manifest("v2.8.7")}
    broken = write_tree(tmp_path / "tree", {**fleet({"clusters/staging": "v2.8.7"}), **files})
    for command in ("inspect .", "plan .", "config check"):
        source = [] if command == "config check" else [f"--release-source={written_source}"]
        text = ran(broken, *command.split(), *source)
        assert "policy '***'" in text
        assert not [form for form in SHOWN if form in text]


def test_manifests_stay_what_they_are(tmp_path: Path, written_source: Path) -> None:
    """They are printed for a file. A word in them may be a password by chance."""
    source = f"--release-source={written_source}"
    command = [sys.executable, "-P", "-m", "flux_upgrade", "render", "--version=v2.8.7", source]
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "GITLAB_TOKEN": "flux-system"}
    done = subprocess.run(command, env=env, capture_output=True, timeout=300, check=True)  # noqa: S603 ours
    assert done.stdout == manifest("v2.8.7")


def texts(on: Fleet) -> Mapping[str, str]:
    """All that the repository shows of pull requests: titles, bodies, comments and messages."""
    found = {}
    for number, pull in on.repository.pulls.items():
        found[f"{number} title"], found[f"{number} body"] = pull.title, pull.body
        found[f"{number} comments"] = "\n".join(each.body for each in pull.comments)
    found["messages"] = git(f"--git-dir={on.repository.git}", "log", "--all", "--format=%B")
    return found


def test_no_pull_request_has_a_secret_and_the_next_run_writes_nothing(tmp_path: Path) -> None:
    with Fleet(tmp_path, fleet({"clusters/staging": "v2.8.7"})) as on:
        secret = on.token.value
        on.repository.people.push("main", {PATH: edited(secret)})
        done = on.run()
        assert done.exit_code == 0, done.log
        assert on.opened()
        bodies = texts(on)
        assert [name for name, text in bodies.items() if "***" in text]
        assert not [name for name, text in bodies.items() if secret in text]
        assert "***" in done.summary + done.outputs["report"]
        assert secret not in everything(done)
        again = on.run()
        assert again.exit_code == 0, again.log
        assert on.written() == []
        assert texts(on) == bodies
        assert secret not in re.sub(r"^::add-mask::.*$", "", again.log, flags=re.MULTILINE)
