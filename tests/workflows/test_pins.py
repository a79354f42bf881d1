"""Pins that no bot knows move to versions that are a week old; the job that may write takes over files of pins only."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from flux_upgrade.model.versions import Version
from flux_upgrade.pins.objects.operator_table import LOWEST, NEWEST, included
from update_operator_releases import MODULE, TABLE
from update_pins import PINS, Pin, newer
from workflows.linters import ROOT

NEWS = "sha512-bmV3"
# npm and go know every package at the versions that days.json has, with the day of each.
REGISTRY = """\
#!{python}
import json, pathlib, sys
days = json.loads((pathlib.Path(__file__).parent / "days.json").read_text())
arguments = " ".join(sys.argv[1:])
if arguments.startswith("view") and "dist.integrity" in arguments:
    answer = "sha512-bmV3"
elif arguments.startswith("view"):
    answer = days
elif "-versions" in arguments:
    answer = {{"Versions": list(days)}}
else:
    answer = {{"Time": days[arguments.rpartition("@")[2]]}}
print(json.dumps(answer))
"""


@pytest.mark.parametrize(
    ("current", "fixed", "expected"),
    [
        ("v1.2.3", 2, ["v1.2.10", "v1.2.4"]),
        ("v1.2.3", 1, ["v1.10.0", "v1.3.0", "v1.2.10", "v1.2.4"]),
        ("1.2.3", 0, ["v2.0.0", "v1.10.0", "v1.3.0", "v1.2.10", "v1.2.4"]),
        ("v2.0.0", 0, []),
    ],
)
def test_what_a_pin_may_move_to(current: str, fixed: int, expected: list[str]) -> None:
    versions = ["v1.2.4", "v1.2.3", "v1.2.10", "v1.3.0", "v1.3.0-rc.1", "v1.10.0", "v2.0.0", "v3.0.0-alpha.1", "v0.9.0"]
    assert list(newer(current, versions, fixed)) == expected


@pytest.mark.parametrize("pin", [pytest.param(each, id=f"{each.package}-{at}") for at, each in enumerate(PINS)])
def test_each_pin_is_in_its_file_once(pin: Pin) -> None:
    assert len(re.findall(pin.pattern, (ROOT / pin.file).read_text())) == 1


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for pin in PINS:
        (tmp_path / "tree" / pin.file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / pin.file, tmp_path / "tree" / pin.file)
    return tmp_path / "tree"


def version_of(pin: Pin, tree: Path) -> str:
    (match,) = re.finditer(pin.pattern, (tree / pin.file).read_text())
    return match["version"]


def programs(folder: Path, ages: dict[str, int]) -> str:
    """PATH with npm and go that know these versions, each so many days old."""
    folder.mkdir()
    now = datetime.now(UTC)
    days = {version: (now - timedelta(days=age)).isoformat() for version, age in ages.items()}
    (folder / "days.json").write_text(json.dumps(days))
    for name in ("npm", "go"):
        (folder / name).write_text(REGISTRY.format(python=sys.executable))
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.defpath}"


def test_versions_and_digests_move_together_once_they_are_a_week_old(tree: Path) -> None:
    pin = next(each for each in PINS if each.package == "renovate")
    before = {each.file: (tree / each.file).read_text() for each in PINS}
    major = version_of(pin, tree).partition(".")[0]
    path = programs(tree.parent / "bin", {f"{major}.9998.0": 8, f"{major}.9999.0": 6, f"{int(major) + 1}.0.0": 99})
    command = [sys.executable, str(ROOT / "tests" / "update_pins.py"), str(tree)]
    done = subprocess.run(command, env={"PATH": path}, capture_output=True, encoding="utf-8", check=True)  # noqa: S603 ours
    assert f"→ {major}.9998.0\n" in done.stdout
    after = (tree / pin.file).read_text()
    assert f'VERSION = "{major}.9998.0"\nDIGEST = "{NEWS}"\n' in after
    assert after.count("\n") == before[pin.file].count("\n")
    # No program of Go has such a version: nothing of it moves.
    for each in PINS:
        if not each.is_npm:
            assert (tree / each.file).read_text() == before[each.file]


def test_two_pins_of_one_module_each_stay_in_their_minor(tree: Path) -> None:
    minors = [version_of(each, tree).rpartition(".")[0] for each in PINS[3:5]]
    path = programs(tree.parent / "bin", {f"{minor}.999": 8 for minor in minors})
    command = [sys.executable, str(ROOT / "tests" / "update_pins.py"), str(tree)]
    subprocess.run(command, env={"PATH": path}, capture_output=True, check=True)  # noqa: S603 ours
    oldest, newest = minors
    assert f'KUBERNETES = "{oldest}.999" if IS_OLDEST else "{newest}.999"\n' in (tree / PINS[3].file).read_text()


def git(at: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=me", "-c", "user.email=me@example.com")
    command = ["git", *identity, "-C", str(at), *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout  # noqa: S603 git


@pytest.mark.parametrize(
    ("changed", "proposed"),
    [
        pytest.param(["requirements/dev.txt", "tests/a/b.py", ".github/workflows/x.yaml", "action.yml"], 2, id="some"),
        pytest.param([], 0, id="nothing"),
    ],
)
def test_the_job_that_may_write_takes_over_pins_only(tmp_path: Path, changed: list[str], proposed: int) -> None:
    tree, origin = tmp_path / "tree", tmp_path / "origin"
    shutil.copytree(ROOT / ".github" / "scripts", tree / ".github" / "scripts")
    for name in changed:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("old\n")
    git(tmp_path, "init", "--quiet", "--bare", str(origin))
    git(tree, "init", "--quiet")
    git(tree, "remote", "add", "origin", str(origin))
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message=main")
    for name in changed:
        (tree / name).write_text("new\n")
    (tmp_path / "pins.patch").write_text(git(tree, "diff"))
    git(tree, "reset", "--quiet", "--hard")
    (tmp_path / "gh").write_text("#!/bin/sh\n[ $2 != list ] || echo 0\n")
    (tmp_path / "gh").chmod(0o755)
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "pins.yaml").read_text())["jobs"]["propose"]
    subprocess.run(  # noqa: S603 a step of the workflow
        ["/bin/bash", "-e", "-c", job["steps"][-1]["run"]],
        cwd=tree,
        env={"PATH": f"{tmp_path}{os.pathsep}{os.defpath}", "RUNNER_TEMP": str(tmp_path)},
        check=True,
    )
    branches = git(origin, "branch", "--list").split()
    assert branches == (["pins/update"] if proposed else [])
    if proposed:
        assert git(origin, "diff", "--name-only", "pins/update~", "pins/update").split() == sorted(changed[:proposed])


def test_who_asks_registries_may_write_nothing() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "pins.yaml").read_text())["jobs"]
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "audit": {"contents": "read"},
        "update": {"contents": "read"},
        "propose": {"contents": "write", "pull-requests": "write"},
    }
    (step,) = (each["run"] for each in jobs["propose"]["steps"] if "run" in each)
    assert "make" not in step


# go has these releases of the flux-operator, each with the archive of its module.
MODULES = """\
#!{python}
import json, pathlib, sys
folder = pathlib.Path(__file__).parent
arguments = sys.argv[1:]
if "-versions" in arguments:
    answer = {{"Versions": [path.stem for path in folder.glob("*.zip")]}}
else:
    path = folder / (arguments[-1].rpartition("@")[2] + ".zip")
    answer = {{"Zip": str(path), "Error": "requires go >= 9"}} if path.exists() else {{"Error": "not found"}}
print(json.dumps(answer))
"""


def operators(folder: Path, releases: dict[str, tuple[str, ...]]) -> str:
    """PATH with a go that has these releases of the flux-operator, and the releases of Flux in each."""
    folder.mkdir()
    for operator, flux in releases.items():
        with zipfile.ZipFile(folder / f"{operator}.zip", "w") as archive:
            for each in flux:
                archive.writestr(f"{MODULE}@{operator}/config/data/flux/{each}/rbac.yaml", "")
            archive.writestr(f"{MODULE}@{operator}/config/data/flux-images/v9.9.9/upstream.yaml", "")
    (folder / "go").write_text(MODULES.format(python=sys.executable))
    (folder / "go").chmod(0o755)
    return f"{folder}{os.pathsep}{os.defpath}"


def refreshed(tmp_path: Path, releases: dict[str, tuple[str, ...]], *flags: str) -> tuple[int, str, str]:
    """What the script ends with and prints, and the table afterwards."""
    path = tmp_path / "tree" / TABLE
    path.parent.mkdir(parents=True)
    shutil.copy(ROOT / TABLE, path)
    script = str(ROOT / "tests" / "update_operator_releases.py")
    command, env = (
        [sys.executable, script, str(tmp_path / "tree"), *flags],
        {"PATH": operators(tmp_path / "bin", releases)},
    )
    done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=False)  # noqa: S603 ours
    return done.returncode, done.stdout + done.stderr, path.read_text()


def test_newer_flux_operators_come_into_the_table(tmp_path: Path) -> None:
    known = tuple(LOWEST)
    releases = {
        "v0.1.0": ("v1.0.0",),
        NEWEST: known,
        "v0.998.0": (*known, "v2.98.0"),
        "v0.999.0": (*known, "v2.98.0", "v2.98.1", "v2.99.0"),
        "v0.999.1-rc.1": ("v2.99.1",),
    }
    code, said, after = refreshed(tmp_path, releases)
    assert (code, said.splitlines()) == (
        0,
        [
            "Flux v2.98.0: flux-operator v0.998.0",
            "Flux v2.98.1: flux-operator v0.999.0",
            "Flux v2.99.0: flux-operator v0.999.0",
        ],
    )
    added = '    "v2.98.0": "v0.998.0",\n    "v2.98.1": "v0.999.0",\n    "v2.99.0": "v0.999.0",\n}\n'
    before = (ROOT / TABLE).read_text().replace(f'NEWEST = "{NEWEST}"', 'NEWEST = "v0.999.0"')
    assert after == before.replace("\n}\n", f"\n{added}", 1)
    compile(after, TABLE, "exec")


def test_a_table_with_all_of_them_stays(tmp_path: Path) -> None:
    code, said, after = refreshed(tmp_path, {NEWEST: tuple(LOWEST)})
    assert (code, said, after) == (0, "", (ROOT / TABLE).read_text())


@pytest.mark.parametrize("differing", ["", "v2.8.4"])
def test_a_check_shows_what_differs_in_a_release(tmp_path: Path, differing: str) -> None:
    releases = {operator: included(operator) for operator in {*LOWEST.values(), NEWEST}}
    if differing:
        releases["v0.46.0"] = (*releases["v0.46.0"], Version(differing))
    code, said, after = refreshed(tmp_path, {each: tuple(flux) for each, flux in releases.items()}, "--check")
    assert (code, said) == ((1, f"v0.46.0: {differing}\n") if differing else (0, ""))
    assert after == (ROOT / TABLE).read_text()


def test_a_release_that_cannot_be_downloaded_ends_the_check(tmp_path: Path) -> None:
    code, said, _ = refreshed(tmp_path, {}, "--check")
    assert (code, said) == (1, f"{min(map(Version, LOWEST.values()))}: not found\n")
