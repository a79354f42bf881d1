"""In real repositories that pin Flux, or seem to, the pins that are found are those that were judged by hand."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.judged_pins import CLUSTERS, JUDGED, brief
from conformance.real_files import members, regenerator_of, rows, tell
from discovered import pins_in
from flux_upgrade.clusters.clusters import Cluster, Member, clusters_of
from flux_upgrade.clusters.groups import drift_of
from flux_upgrade.clusters.ownership.artifact_references import references
from flux_upgrade.model.oci.reference import parse_address
from flux_upgrade.model.text import edited
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext, UserPattern
from flux_upgrade.pins.discover import kind_of
from flux_upgrade.pins.pin import Pin, Role
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.pins.registry import ALSO, PIN_KINDS
from kind_cases import ListedReleases
from memory import MemoryArtifacts, MemoryCharts, MemoryTree, NoFlux
from spans import assert_kept_outside

pytestmark = pytest.mark.real_part("shared data")

NEXT = "v2.9.5"
"""A release that does not exist: every real pin can be taken to it."""
ARTIFACT = "ghcr.io/fluxcd/flux-manifests"
ANY_NAMES = (
    "devbox.json",
    "kustomization.yaml",
    ".github/workflows/x.yaml",
    ".gitlab-ci.yml",
    ".tool-versions",
    "mise.toml",
    ".flux-version",
    "Dockerfile",
    "x.tf",
    "x.tf.json",
    "Chart.yaml",
    "helmfile.yaml",
    "aqua.yaml",
    "install.sh",
    "Makefile",
)
"""Under each of them another kind reads the file, or reads it in another way."""


@pytest.fixture(scope="module")
def regenerator(releases: Path) -> Regenerator:
    return regenerator_of(releases)


@pytest.fixture(scope="module")
def index(conformance: Path) -> dict[tuple[str, str], str]:
    """Repository and path → file."""
    return {(row["repo"], row["path"]): row["file"] for row in rows(conformance / "pins.jsonl")}


@pytest.fixture(scope="module")
def trees(conformance: Path, index: dict[tuple[str, str], str]) -> dict[str, dict[str, bytes]]:
    """Repository → its files among pins and siblings."""
    found: dict[str, dict[str, bytes]] = defaultdict(dict)
    for name, content in members(conformance / "siblings.tar.xz"):
        repository, _, path = name.partition("/")
        found[repository.replace("+", "/")][path.replace("__", "/")] = content
    places = {file: place for place, file in index.items()}
    for name, content in members(conformance / "pins.tar.xz"):
        repository, path = places[name]
        found[repository][path] = content
    return dict(found)


def context_of(files: Mapping[str, bytes], regenerator: Regenerator) -> PinContext:
    artifacts = {
        f"{ARTIFACT}:{tag}": {"digest": digest_of(tag), "revision": f"{tag}@sha1:{'0' * 40}"}
        for tag in regenerator.stable_tags()
    }
    return PinContext(MemoryTree(files), regenerator, MemoryArtifacts(artifacts), MemoryCharts())


def digest_of(tag: str) -> str:
    """Of our own making."""
    return f"sha256:{tag.encode().hex():0>64}"


def with_next(regenerator: Regenerator) -> Regenerator:
    return Regenerator(ListedReleases((*regenerator.stable_tags(), NEXT), {}), NoFlux())


def clusters_in(pins: Sequence[Pin], context: PinContext) -> tuple[Cluster, ...]:
    return clusters_of((Member(pin, pin.path) for pin in pins if pin.role is not Role.REPORTED), context.tree)


def test_every_file_is_judged(index: dict[tuple[str, str], str]) -> None:
    assert set(JUDGED) == set(index.values())


def test_pins_of_whole_repositories(
    trees: dict[str, dict[str, bytes]], index: dict[tuple[str, str], str], regenerator: Regenerator
) -> None:
    """The run ends with a table of them, for reading; each of its rows was right when it was judged."""
    found: dict[str, list[str]] = defaultdict(list)
    sets: dict[str, dict[str, tuple[str, ...]]] = {}
    for repository, files in sorted(trees.items()):
        context = context_of(files, regenerator)
        pins = pins_in(context)
        clusters = clusters_in(pins, context)
        names = {member.path: cluster.name for cluster in clusters for member in cluster.members}
        for pin in pins:
            file = index[repository, pin.path]
            found[file].append(brief(pin))
            reason = pin.reason or f"says {pin.raw}"
            cluster = names.get(pin.path, "no cluster")
            tell(f"pins: {file} {repository} {pin.path}:{brief(pin)} · {reason} · {cluster} · {JUDGED[file][1]}")
        if clusters:
            sets[repository] = {
                each.name: tuple(index[repository, member.path] for member in each.members) for each in clusters
            }
        assert not any(map(drift_of, clusters))
    for (repository, path), file in sorted(index.items()):
        if file not in found:
            tell(f"pins: {file} {repository} {path}: no pin · {JUDGED[file][1]}")
    siblings = sum(map(len, trees.values())) - len(JUDGED)
    tell(f"pins: {len(found)} of {len(JUDGED)} files hold one; none of {siblings} siblings does")

    assert found == {file: [judged] for file, (judged, _) in JUDGED.items() if judged}
    assert sets == CLUSTERS
    assert siblings == 316


def test_each_file_alone(
    trees: dict[str, dict[str, bytes]], index: dict[tuple[str, str], str], regenerator: Regenerator
) -> None:
    for repository, files in trees.items():
        for path, content in files.items():
            found = [brief(pin) for pin in pins_in(context_of({path: content}, regenerator))]
            judged, _ = JUDGED.get(index.get((repository, path), ""), ("", ""))

            assert found == ([judged] if judged else [])


@pytest.mark.parametrize("target", ["v2.9.4", NEXT])
def test_movable_pins_move_and_nothing_else_does(
    trees: dict[str, dict[str, bytes]], regenerator: Regenerator, target: str
) -> None:
    using = with_next(regenerator)
    moved = 0
    for files in trees.values():
        context = context_of(files, using)
        for pin in pins_in(context):
            if not pin.is_movable or pin.version == target:
                continue
            change = kind_of(pin).change(pin, Version(target), context)
            after = edited(pin.content, change.replacements)
            assert_kept_outside(pin.content, after, change.replacements)
            (again,) = pins_in(context_of({pin.path: after}, using))
            assert brief(again) == brief(pin).replace(pin.version, target)
            assert edited(after, kind_of(again).change(again, Version(target), context).replacements) == after
            moved += 1
    tell(f"pins: {moved} taken to {target}, and no byte beside them; none moves a second time")
    assert moved == sum(
        "exact" in judged and "reported" not in judged and target not in judged for judged, _ in JUDGED.values()
    )


def test_a_digest_beside_a_real_tag_moves_with_it(trees: dict[str, dict[str, bytes]], regenerator: Regenerator) -> None:
    """The real files have tags alone: the digest is put beside them here."""
    moved = 0
    for files in trees.values():
        for pin in pins_in(context_of(files, regenerator)):
            if pin.kind != "flux-manifests":
                continue
            tag = f"    tag: {pin.version}\n"
            both = pin.content.decode().replace(tag, f"{tag}    digest: {digest_of(pin.version)}\n")
            context = context_of({pin.path: both.encode()}, with_next(regenerator))
            (pinned,) = pins_in(context)
            change = kind_of(pinned).change(pinned, Version(NEXT), context)
            expected = both.replace(tag, tag.replace(pin.version, NEXT))
            expected = expected.replace(digest_of(pin.version), digest_of(NEXT))
            assert edited(pinned.content, change.replacements).decode() == expected
            moved += 1
    assert moved == 6


def test_resources_hold_no_other_pins(conformance: Path, regenerator: Regenerator) -> None:
    """Two of them are among the pins, too; a third has the action in comments."""
    repositories: dict[tuple[str, str], dict[str, bytes]] = defaultdict(dict)
    places = {row["file"]: row for row in rows(conformance / "resources.jsonl")}
    files = {}
    for name, content in members(conformance / "resources.tar.xz"):
        row = places[name]
        repositories[row["repo"], row["commit"]][row["path"]] = content
        files[row["repo"], row["path"]] = name
    start = time.monotonic()
    found = {
        files[repository, pin.path]: brief(pin)
        for (repository, _), tree in repositories.items()
        for pin in pins_in(context_of(tree, regenerator))
    }
    seconds = time.monotonic() - start
    tell(f"pins: {len(found)} in {len(places)} files with resources, in {seconds:.1f} s: {sorted(found)}")

    assert found == {file: judged for file, (judged, _) in JUDGED.items() if judged and file in places}
    assert len(found) == 2
    assert len(places) == 564


PUBLISHED = parse_address("oci://ghcr.io/fluxcd/flux-manifests")


def test_any_real_file_under_any_name(conformance: Path, regenerator: Regenerator) -> None:
    count, start = 0, time.monotonic()
    for archive in ("siblings.tar.xz", "pins.tar.xz", "resources.tar.xz"):
        for _, content in members(conformance / archive):
            context = context_of(dict.fromkeys(ANY_NAMES, content), regenerator)
            everywhere = UserPattern(
                r"(?<version>v?\d+\.[\d.]+)", ANY_NAMES, is_cli=False, folder=None, config="x", line=1
            )
            pins_in(replace(context, also=(everywhere,)))
            references(context.tree, PUBLISHED)
            count += 1
    seconds = time.monotonic() - start
    tell(f"pins: {count} files read under {len(ANY_NAMES)} names without a traceback, in {seconds:.1f} s")
    assert count == 316 + 39 + 564
    assert all(any(kind.takes(name) for name in ANY_NAMES) or kind.name == ALSO for kind in PIN_KINDS)
