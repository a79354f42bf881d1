"""The image is built from the Dockerfile, and has what the program needs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from e2e import image
from e2e.image import BUDGET, Container, Image, run_command
from git_servers import git

# Whatever the program imports, sooner or later.
EVERYTHING = """
import importlib, pkgutil, flux_upgrade
names = [each.name for each in pkgutil.walk_packages(flux_upgrade.__path__, "flux_upgrade.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""
LATE = "import git, github, requests, semver, yaml"


def run(built: Image, *arguments: str, entrypoint: str = "", workspace: Path | None = None) -> str:
    container = Container(
        env={"HOME": "/github/home"},
        volumes=[(workspace, "/github/workspace")] if workspace else [],
        workdir="/github/workspace" if workspace else "/",
        entrypoint=entrypoint,
        arguments=arguments,
    )
    done = subprocess.run(  # noqa: S603 podman
        run_command(built.reference, container),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_image_is_small(action_image: Image, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{image.describe(action_image)}")  # noqa: T201 the size is to be seen in CI
    assert 0 < action_image.above_base <= BUDGET


def test_the_entrypoint_is_the_program(action_image: Image) -> None:
    assert run(action_image, "--version").startswith("flux-upgrade ")


def test_everything_that_the_program_imports_is_there(action_image: Image) -> None:
    assert int(run(action_image, "-c", EVERYTHING, entrypoint="python3")) > 20
    assert run(action_image, "-c", LATE, entrypoint="python3") == ""


def test_nothing_is_imported_from_the_workspace(action_image: Image, tmp_path: Path) -> None:
    (tmp_path / "flux_upgrade").mkdir()
    (tmp_path / "flux_upgrade" / "__init__.py").write_text("raise SystemExit('taken over')\n")
    (tmp_path / "yaml.py").write_text("raise SystemExit('taken over')\n")
    assert "taken over" not in run(action_image, "--version", workspace=tmp_path)
    assert run(action_image, "-c", "import yaml, flux_upgrade", entrypoint="python3", workspace=tmp_path) == ""


HEAD = """
import os
from flux_upgrade.adapters.git.checkout import Checkout
print(Checkout(".", dict(os.environ), os.environ["FLUX_UPGRADE_WORKSPACE"]).head)
"""


def test_git_reads_a_workspace_of_another_user_and_speaks_https(action_image: Image, tmp_path: Path) -> None:
    git("init", "--quiet", tmp_path)
    git("commit", "--quiet", "--allow-empty", "--message=First", at=tmp_path)
    head = git("rev-parse", "HEAD", at=tmp_path)
    subprocess.run(["chown", "-R", "1001:1001", str(tmp_path)], check=True)  # noqa: S603, S607 as the runner's user
    assert run(action_image, "-c", HEAD, entrypoint="python3", workspace=tmp_path) == f"{head}\n"
    # A helper that lacks a library or a command that lacks a helper would say something else.
    lookup = "git ls-remote https://localhost:9/x 2>&1 || true"
    assert "Failed to connect" in run(action_image, "-c", lookup, entrypoint="sh")


def test_each_package_of_debian_is_on_record(action_image: Image) -> None:
    listed = run(action_image, "/var/lib/dpkg/status.d", entrypoint="ls").split()
    assert {"git", "libcurl3t64-gnutls"} <= set(listed)
    for package in listed:
        record = run(action_image, f"/var/lib/dpkg/status.d/{package}", entrypoint="cat")
        assert "\nVersion: " in record


def test_the_labels_say_what_it_is(action_image: Image) -> None:
    labels = json.loads(image.inspect(action_image.reference, "{{json .Config.Labels}}"))
    assert labels["org.opencontainers.image.title"] == "flux-upgrade"
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert {f"org.opencontainers.image.{name}" for name in ("version", "revision", "source")} <= set(labels)
    # A bootstrap writes it beside the commit of the Action: only the image of a release has one.
    variables = json.loads(image.inspect(action_image.reference, "{{json .Config.Env}}"))
    assert f"FLUX_UPGRADE_VERSION={labels['org.opencontainers.image.version']}" in variables
