"""The key `also`: which files it reads, to which cluster a version belongs, and what a run shows and writes."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import pytest

from api_use_runs import CLUSTER, cluster, plant
from config_files import load
from flows import World, fleet
from flux_upgrade import main
from flux_upgrade.clusters.also import user_patterns
from flux_upgrade.clusters.clusters import Member, clusters_of
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.patterns import spans
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.discover import discover
from flux_upgrade.pins.pin import Pin, PinState, Role
from flux_upgrade.pins.regenerate import Regenerator
from memory import MemoryArtifacts, MemoryCharts, MemoryTree, NoFlux, WrittenReleases, rendered
from memory_forge import MemoryForge

VALUES = "ansible/group_vars/all.yaml"
TEXT = "flux_version: v2.8.8\n"
ENTRY = "also:\n  - files: ['ansible/**']\n    match: 'flux_version: (?<version>.*)'\n"
STAGING = "clusters/staging/flux-system/gotk-components.yaml"


def found(files: Mapping[str, str | bytes], config: str = ENTRY, below: str = "") -> tuple[Pin, ...]:
    tree = MemoryTree({path: text if isinstance(text, bytes) else text.encode() for path, text in files.items()})
    regenerator = Regenerator(WrittenReleases(), NoFlux())
    patterns = user_patterns(load(config, "x.yaml"), tree, below, is_whole=not below)
    return discover(PinContext(tree, regenerator, MemoryArtifacts(), MemoryCharts(), also=patterns))


def clusters(files: Mapping[str, str], config: str = ENTRY) -> dict[str, list[str]]:
    pins = (Member(each, each.path) for each in found(files, config) if each.role is not Role.REPORTED)
    tree = MemoryTree({path: text.encode() for path, text in files.items()})
    return {each.name: [member.path for member in each.members] for each in clusters_of(pins, tree)}


def run(root: Path, source: Path, *arguments: str) -> tuple[int, str, str]:
    out, err = io.BytesIO(), io.StringIO()
    code = main.run([*arguments, f"--release-source={source}", str(root)], {}, out, err)
    return code, out.getvalue().decode(), err.getvalue()


def manifest() -> str:
    return rendered(InstallOptions("v2.8.8"))


def test_the_only_cluster_has_what_is_anywhere() -> None:
    assert clusters({CLUSTER: manifest(), VALUES: TEXT}) == {"clusters/production": [CLUSTER, VALUES]}


def test_the_cluster_around_the_file_has_it() -> None:
    path = "clusters/production/ansible/x.ini"
    config = ENTRY.replace("ansible/**", "**/*.ini")
    assert clusters({CLUSTER: manifest(), STAGING: manifest(), path: TEXT}, config) == {
        "clusters/production": [CLUSTER, path],
        "clusters/staging": [STAGING],
    }


def test_of_several_clusters_the_entry_names_one() -> None:
    files = {CLUSTER: manifest(), STAGING: manifest(), VALUES: TEXT}
    assert clusters(files, f"{ENTRY}    cluster: clusters/staging\n") == {
        "clusters/production": [CLUSTER],
        "clusters/staging": [STAGING, VALUES],
    }
    assert clusters(files)["ansible/group_vars"] == [VALUES]


def test_a_cluster_without_a_directory_is_reported() -> None:
    pin, note = found({VALUES: TEXT}, f"{ENTRY}    cluster: clusters/typo\n")
    assert (pin.role, pin.folder) == (Role.INSTALLS, "clusters/typo")
    assert (note.role, note.line, note.reason) == (Role.REPORTED, 2, "no file is in clusters/typo")


def test_several_files_may_be_of_the_root() -> None:
    files = {"flux-system/gotk-components.yaml": manifest(), "ansible/b/c": TEXT, VALUES: TEXT}
    assert clusters(files, f"{ENTRY}    cluster: .\n") == {"root": [*files]}


def test_the_cli_is_of_the_clusters_that_it_serves() -> None:
    files = {CLUSTER: manifest(), STAGING: manifest(), VALUES: TEXT}
    assert clusters(files, f"{ENTRY}    for: cli\n") == {
        "clusters/production": [CLUSTER],
        "clusters/staging": [STAGING],
        "flux-cli": [VALUES],
    }


def test_what_a_vendored_manifest_says_is_of_the_manifest() -> None:
    config = "also:\n  - {files: ['**'], match: '# Flux Version: (?<version>.*)'}\n"
    pins = found({CLUSTER: manifest()}, config)
    assert [(each.kind, each.path, each.role) for each in pins] == [
        ("gotk-components", CLUSTER, Role.INSTALLS),
        ("also", ".github/flux-upgrade.yaml", Role.REPORTED),
    ]


def test_the_config_file_itself_is_not_searched() -> None:
    config = "also:\n  - {files: ['**'], match: 'flux_version: (?<version>.*)'}\n"
    pins = found({"a.txt": TEXT, ".github/flux-upgrade.yaml": config}, config)
    assert [each.path for each in pins] == ["a.txt"]


def test_an_entry_for_a_manifest_alone_says_why_it_is_not_used() -> None:
    config = "also:\n  - {files: ['**'], match: '# Flux Version: (?<version>.*)'}\n"
    *_, note = found({CLUSTER: rendered(InstallOptions("v2.8.8"))}, config)

    assert (note.kind, note.role) == ("also", Role.REPORTED)
    assert note.reason == f"`match` is not used in {CLUSTER}, which is a manifest of Flux or cannot be read"


def test_patterns_are_relative_to_the_repository_also_in_a_directory() -> None:
    assert [each.path for each in found({"group_vars/all.yaml": TEXT}, ENTRY, "ansible/")] == ["group_vars/all.yaml"]
    # Whether the entry matches elsewhere is not known.
    assert found({"group_vars/all.yaml": TEXT}, ENTRY, "roles/") == ()


def test_a_large_file_is_held() -> None:
    (pin,) = found({VALUES: TEXT + "#" * 256 * 1024})
    assert (pin.state, pin.role, pin.reason) == (PinState.UNKNOWN, Role.INSTALLS, "the file is larger than 256 KiB")


def test_many_files_are_read_up_to_a_number_which_is_reported() -> None:
    *pins, note = found({f"ansible/{number:03}": TEXT for number in range(101)})
    assert (len(pins), pins[-1].path) == (100, "ansible/099")
    assert (note.path, note.line, note.role) == (".github/flux-upgrade.yaml", 2, Role.REPORTED)
    assert note.reason == "`files` matches 101 files, and only the first 100 are read"


@pytest.mark.parametrize(
    "pattern", ["(?<version>(a|a?)*b)", "(?:a?){500}a{500}(?<version>b)", "(?<version>[ab]*a[ab]{200}c)"]
)
def test_no_pattern_that_is_taken_keeps_a_run_busy(pattern: str) -> None:
    load(f"also: [{{files: [a], match: '{pattern}'}}]", "x.yaml")
    start = time.process_time()
    assert not list(islice(spans(pattern, "a" * 256 * 1024, "version"), 21))
    assert time.process_time() - start < 10


def test_a_link_is_not_followed(tmp_path: Path, written_source: Path) -> None:
    root = plant(tmp_path / "fleet", {CLUSTER: cluster(), ".git/HEAD": "ref: refs/heads/main\n"})
    plant(root, {".github/flux-upgrade.yaml": ENTRY})
    (tmp_path / "outside").write_text(TEXT)
    (root / "ansible").mkdir()
    (root / "ansible" / "all.yaml").symlink_to(tmp_path / "outside")
    code, out, _ = run(root, written_source, "upgrade", "--to=v2.9.4")
    assert code == 0
    assert "only reported: 1 version reference: .github/flux-upgrade.yaml:2" in out
    assert (tmp_path / "outside").read_text() == TEXT


def checkout(tmp_path: Path, text: str, config: str = ENTRY) -> Path:
    files = {
        CLUSTER: cluster(),
        ".git/HEAD": "ref: refs/heads/main\n",
        ".github/flux-upgrade.yaml": config,
        VALUES: text,
    }
    return plant(tmp_path, files)


def test_a_run_changes_the_place_with_its_cluster(tmp_path: Path, written_source: Path) -> None:
    root = checkout(tmp_path, 'a: 1\r\nflux_version: "2.8.8" # x\r\n\xe9')
    code, out, _ = run(root, written_source, "inspect", "--json")
    (pin,) = [each for each in json.loads(out)["pins"] if each["kind"] == "also"]
    assert (code, pin["path"], pin["line"], pin["written"], pin["cluster"]) == (
        0,
        VALUES,
        2,
        "2.8.8",
        "clusters/production",
    )
    code, out, _ = run(root, written_source, "plan", "--json", "--approve=2.9")
    assert f'"{VALUES}"' in out
    code, _, _ = run(root, written_source, "upgrade", "--approve=2.9")
    assert code == 0
    assert (root / VALUES).read_bytes() == 'a: 1\r\nflux_version: "2.9.4" # x\r\n\xe9'.encode()
    assert "# Flux Version: v2.9.4" in (root / CLUSTER).read_text()


def test_a_place_that_is_no_release_holds_its_cluster_with_its_line(tmp_path: Path, written_source: Path) -> None:
    root = checkout(tmp_path, "\nflux_version: latest\n")
    before = (root / CLUSTER).read_bytes()
    _, out, _ = run(root, written_source, "upgrade", "--approve=2.9", "--details")
    assert f"{VALUES}:2" in out
    assert "what `match` captures is not a Flux release" in out
    assert (root / CLUSTER).read_bytes() == before


def test_a_repository_with_nothing_else_is_one_with_flux(tmp_path: Path, written_source: Path) -> None:
    root = plant(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", ".github/flux-upgrade.yaml": ENTRY, VALUES: TEXT})
    code, _, _ = run(root, written_source, "upgrade", "--to=v2.9.4")
    assert (code, (root / VALUES).read_text()) == (0, "flux_version: v2.9.4\n")


@pytest.mark.parametrize(
    ("config", "lines"),
    [
        (ENTRY, ["also: ansible/** has the version of the cluster around the file", f"      {VALUES}:1"]),
        (f"{ENTRY}    cluster: .\n", ["also: ansible/** has the version of the cluster root"]),
        (f"{ENTRY}    for: cli\n", ["also: ansible/** has the version of the Flux CLI", f"      {VALUES}:1"]),
        (ENTRY.replace("ansible", "a"), ["    .github/flux-upgrade.yaml:2 (no file matches `files`)"]),
        (ENTRY.replace("flux_", "y_"), [f"    .github/flux-upgrade.yaml:2 (`match` captures nothing in {VALUES})"]),
    ],
)
def test_config_check_shows_what_an_entry_finds(tmp_path: Path, config: str, lines: Sequence[str]) -> None:
    root = checkout(tmp_path, TEXT, config)
    out, err = io.BytesIO(), io.StringIO()
    assert main.run(["config", "check", str(root / ".github/flux-upgrade.yaml")], {}, out, err) == 0
    assert set(lines) <= {*out.getvalue().decode().splitlines()}


def test_inspect_shows_the_rest_if_the_config_file_is_not_valid(tmp_path: Path, written_source: Path) -> None:
    root = checkout(tmp_path, TEXT, "also: [{files: [a], match: a}]\n")
    code, out, err = run(root, written_source, "inspect")
    assert (code, CLUSTER in out) == (0, True)
    assert "the config file is not used: " in err
    assert "has no group (?<version>…)" in err


def test_check_knows_the_cluster_that_only_the_entry_finds(tmp_path: Path, written_source: Path) -> None:
    files = {".git/HEAD": "ref: refs/heads/main\n", ".github/flux-upgrade.yaml": ENTRY, VALUES: TEXT}
    root = plant(tmp_path, files)
    _, out, _ = run(root, written_source, "check", "--json")
    assert json.loads(out)["running"] == ["v2.8.8"]


def test_the_pull_request_of_the_cluster_changes_the_place_and_names_it() -> None:
    files = {**fleet({"clusters/production": "v2.8.7"}), VALUES: b'flux_version: "v2.8.7"  # keep\r\n'}
    forge = MemoryForge(dict(files))
    world = World(files, load(ENTRY, ".github/flux-upgrade.yaml"))
    world.run(forge)
    (patch,) = forge.open_pulls("flux-upgrade/clusters.production/patch")
    assert f"{VALUES}:1" in patch.body
    assert "| also |" in patch.body
    changed = forge.trees[forge.heads["flux-upgrade/clusters.production/patch"]]
    assert changed[VALUES] == b'flux_version: "v2.8.8"  # keep\r\n'
    forge.merge(patch.number)
    world.files = dict(forge.files)
    world.run(forge)
    assert forge.open_pulls("flux-upgrade/clusters.production/patch") == []
