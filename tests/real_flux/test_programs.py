"""The controllers that are built are those of the release, and checkouts share what is built."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from real_flux.programs import CONTROLLERS, FLUX, GITEA
from real_parts import require_shared

_BUILD = Path(__file__).with_name("build.py")


@pytest.mark.real_part("shared data")
def test_the_table_has_the_versions_that_the_release_names() -> None:
    archive = require_shared("conformance", "releases", FLUX, "manifests.tar.gz").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        texts = [found.read().decode() for each in files if (found := files.extractfile(each)) is not None]
    named = dict(re.findall(r"image: fluxcd/([a-z-]+):(v[0-9.]+)", "".join(texts)))
    assert {name: named[name] for name in CONTROLLERS} == CONTROLLERS


@pytest.mark.parametrize(
    ("variables", "cache"),
    [
        pytest.param({"XDG_CACHE_HOME": "/cache", "HOME": "/home"}, "cache", id="set"),
        pytest.param({"XDG_CACHE_HOME": "", "HOME": "/home"}, "home/.cache", id="empty"),
        pytest.param({"HOME": "/home"}, "home/.cache", id="unset"),
    ],
)
def test_programs_are_kept_in_the_cache_directory_of_the_user(
    tmp_path: Path, variables: Mapping[str, str], cache: str
) -> None:
    env = {name: value and f"{tmp_path}{value}" for name, value in variables.items()}
    assets = _build("--assets", env=env)
    assert assets.returncode == 0, assets.stderr
    assert Path(assets.stdout.strip()).parent == tmp_path / cache / "flux-upgrade" / "real-flux"
    assert _build("--is-warm", env=env).returncode == 1, "nothing is built there"
    assert not list(tmp_path.iterdir())


def _build(flag: str, *, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, _BUILD, flag], env=env, check=False, capture_output=True, text=True)  # noqa: S603  (ours)


@pytest.mark.parametrize(
    "change",
    [
        {"version": "v0.0.1"},
        {"package": "example.com/other"},
        {"settings": (("main.Version", "v0.0.1"),)},
        {"replaced": (("example.com/a", "example.com/b", "v0.0.1"),)},
        {"staged": "v0.0.1"},
        {"embeds_manifests": True},
        {"tags": "sqlite"},
        {"reads": ("options",)},
        {"toolchain": "go1.27.0"},
    ],
    ids="-".join,
)
def test_another_recipe_is_built_into_another_directory(change: dict[str, Any]) -> None:
    assert replace(GITEA, **change).path.parent != GITEA.path.parent
    assert replace(GITEA).path == GITEA.path, "the same recipe is found again"
