"""The Flux CLI on PATH reports its version and renders manifests, and its failure is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from flux_upgrade.adapters.local.programs import LocalFluxCli
from flux_upgrade.model import ports
from flux_upgrade.model.errors import SourceUnavailable

MODERN = 'if [ "$1" = version ]; then echo \'{"flux": "v2.9.4"}\'; else echo "$@"; env; fi'
OLD = 'if [ "$1" = --version ]; then echo "flux version 0.41.2"; else echo "unknown flag" >&2; exit 1; fi'


def program(folder: Path, script: str) -> str:
    """A stand-in for Flux: a shell script of that name."""
    folder.mkdir(exist_ok=True)
    path = folder / "flux"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("script", "version"),
    [
        (MODERN, "v2.9.4"),
        (OLD, "v0.41.2"),
        ('echo \'{"flux": "2.9.4"}\'', "v2.9.4"),
        ('echo \'{"flux": "dev"}\'', ""),
        ("echo '{\"flux\": 7}'", ""),
        ("echo '[]'", ""),
        ("exit 1", ""),
        ("kill $$", ""),
        ("head -c 100 /dev/urandom", ""),
        ("", ""),
    ],
)
def test_reports_its_version(tmp_path: Path, script: str, version: str) -> None:
    assert LocalFluxCli(program(tmp_path, script), {}).version() == version


def test_is_run_with_the_given_environment_and_an_empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "private")
    folder = program(tmp_path, MODERN)
    lines = (
        LocalFluxCli(folder, {"HOME": "/nowhere", "PATH": "/usr/bin:/bin"})
        .install_export(["--namespace=$(id)", "--components=a,b"])
        .splitlines()
    )
    assert lines[0] == "install --export --namespace=$(id) --components=a,b"
    names = {line.partition("=")[0] for line in lines[1:]}
    assert names - {"_", "PWD", "OLDPWD", "SHLVL", "LC_CTYPE"} == {"HOME", "KUBECONFIG", "KUBERC", "PATH"}
    assert "HOME=/nowhere" not in lines


def test_the_first_on_path_that_can_be_run(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "flux").write_text("not executable")
    (tmp_path / "b" / "flux").mkdir(parents=True)
    path = f"{tmp_path}/none:{tmp_path}/a:{tmp_path}/b:{program(tmp_path / 'c', MODERN)}"
    assert LocalFluxCli(path, {}).version() == "v2.9.4"


@pytest.mark.parametrize("path", ["", ":", ".", "bin", "::."])
def test_the_repository_brings_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    program(tmp_path, MODERN)
    program(tmp_path / "bin", MODERN)
    monkeypatch.chdir(tmp_path)
    flux: ports.FluxCli = LocalFluxCli(path, {})
    assert flux.version() == ""
    with pytest.raises(SourceUnavailable, match="not on PATH"):
        flux.install_export([])


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo first >&2; echo 'unknown flag: --x' >&2; exit 1", "unknown flag: --x"),
        ("exit 3", "exited with code 3"),
        ("exec sleep 5", "did not finish within 0.2 s"),
        ("printf '\\377'", "not UTF-8"),
    ],
)
def test_a_failure_is_reported_on_one_line(tmp_path: Path, script: str, why: str) -> None:
    with pytest.raises(SourceUnavailable) as caught:
        LocalFluxCli(program(tmp_path, script), {}, timeout=0.2).install_export(["--export"])
    assert why in caught.value.message
    assert caught.value.message.isprintable()
    assert caught.value.hint


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    program(tmp_path, "")
    (tmp_path / "flux").write_bytes(b"\x7fELF")
    with pytest.raises(SourceUnavailable, match="Exec format error"):
        LocalFluxCli(str(tmp_path), {}).install_export([])
