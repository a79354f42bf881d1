"""Flux commands are found in scripts and CI files, in no time, and what is only reported is never changed."""

from __future__ import annotations

import time

import pytest

from flux_upgrade.model.errors import UnsupportedPin
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.cli import commands
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.pin import Pin
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.pins.registry import KindModule
from flux_upgrade.pins.reported import flux_v1, other_installers, single_controllers
from flux_upgrade.snapshot.file import File
from kind_cases import ListedReleases
from memory import MemoryArtifacts, MemoryCharts, MemoryTree, NoFlux

WORLD = PinContext(MemoryTree({}), Regenerator(ListedReleases((), {}), NoFlux()), MemoryArtifacts(), MemoryCharts())


def found(path: str, text: str) -> list[Pin]:
    return list(commands.find([File(path, text.encode())], WORLD))


@pytest.mark.parametrize("path", [".github/workflows/a.yaml", "setup/action.yml"])
def test_the_script_of_a_workflow_is_left_to_the_kind_of_workflows(path: str) -> None:
    script = "curl -s https://fluxcd.io/install.sh | FLUX_VERSION=2.8.8 bash\n"

    assert not found(path, f"run: {script}")
    assert [pin.version for pin in found("install.sh", script)] == ["v2.8.8"]


@pytest.mark.parametrize(
    "path",
    [
        ".gitlab-ci.yml",
        "ci/azure-pipelines.yml",
        ".circleci/config.yml",
        "Taskfile.yml",
        ".taskfiles/flux/Taskfile.yaml",
        "roles/flux/tasks/main.yaml",
        "playbook-flux.yml",
        ".github/actions/flux/action.yaml",
        "Makefile",
        "hack/flux.mk",
        "Justfile",
        "Jenkinsfile",
    ],
)
def test_files_that_hold_commands(path: str) -> None:
    assert [pin.version for pin in found(path, "a: flux install --version v2.8.8\n")] == ["v2.8.8"]


@pytest.mark.parametrize("path", ["apps/notes.yaml", "values.yaml", "docs/action.yaml.yml", "tasks.yaml"])
def test_other_yaml_holds_no_commands(path: str) -> None:
    assert not found(path, "a: flux install --version v2.8.8\n")


@pytest.mark.parametrize("piece", ["flux install ", "helm install a/flux2 ", "a/", "flux install a \n  --b"])
def test_long_lines_take_no_long_time(piece: str) -> None:
    begin = time.monotonic()
    found("a.sh", piece * (200_000 // len(piece)))

    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("kind", [commands, flux_v1, other_installers, single_controllers])
def test_what_is_only_reported_never_changes(kind: KindModule) -> None:
    (pin,) = found("a.sh", "flux install --version v2.8.8\n")

    with pytest.raises(UnsupportedPin):
        kind.change(pin, Version("v2.9.4"), WORLD)
