"""Runs about an artifact and ordinary runs leave each other's pull requests on GitHub alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.on_github import World, world
from flows import World as Run
from flux_upgrade.clusters.groups import is_seen_to
from own_artifacts import MemoryOwnArtifacts
from pinned import tools

PATH = "clusters/production/components.yaml"
TAG, OLD = "v2.8.7-0123456789ab", f"sha256:{'7' * 64}"
COMPONENTS = (
    "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata:\n  name: flux-components\n"
    f"spec:\n  url: oci://ghcr.io/acme/flux\n  ref:\n    tag: {TAG}\n    digest: {OLD}\n"
).encode()
SOME = {PATH: COMPONENTS, ".tool-versions": tools("2.8.7").encode()}


@pytest.fixture
def on(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        made.fleet.people.push("main", {**SOME}, "Pin\n")
        yield made


def run(on: World, own: MemoryOwnArtifacts | None) -> Run:
    """In a checkout of the base as it is; without ``own`` the run is about the repository."""
    made = Run(dict(SOME), own=own, head=on.fleet.head())
    made.files |= {path: content for path, content in on.fleet.files().items() if path in SOME}
    return made


def artifacts() -> MemoryOwnArtifacts:
    return MemoryOwnArtifacts(stated={TAG: {"digest": OLD, "version": "v2.8.7"}})


def open_in(on: World) -> dict[str, int]:
    return {pull.head: number for number, pull in on.fleet.pulls.items() if pull.state == "open"}


def test_a_pin_by_tag_and_digest_is_proposed_merged_and_at_rest(on: World) -> None:
    own = artifacts()
    run(on, own).run(on.forge)
    patch, minor = sorted(open_in(on), key=lambda name: name.endswith("minor"))
    new = own.pushed[0]
    changed = on.fleet.files(patch)
    assert changed[PATH].decode() == COMPONENTS.decode().replace(TAG, new).replace(OLD, own.stated[new]["digest"])
    assert {path for path, content in changed.items() if content != on.fleet.files()[path]} == {PATH}
    on.fleet.people.merge(open_in(on)[patch], "squash")
    own.pushed.clear()
    run(on, own).run(on.forge)
    # The draft of the minor is made anew, from what was merged.
    assert open_in(on).keys() == {minor}
    assert len(own.pushed) == 1
    on.hub.forget()
    run(on, own).run(on.forge)
    assert [call for call in on.calls if not call.startswith("GRAPHQL query")] == []


def test_the_ordinary_run_leaves_pull_requests_about_artifacts_alone(on: World) -> None:
    run(on, artifacts()).run(on.forge)
    before = open_in(on)
    assert before
    assert not any(is_seen_to(name.split("/")[1], "") for name in before)
    ordinary = run(on, None)
    ordinary.run(on.forge)
    assert ordinary.warned == []
    assert open_in(on).items() > before.items()


def test_a_run_about_an_artifact_leaves_the_others_alone(on: World) -> None:
    run(on, None).run(on.forge)
    before = open_in(on)
    assert before
    run(on, artifacts()).run(on.forge)
    assert open_in(on).items() > before.items()


def test_what_is_left_of_a_pin_that_moved_is_closed_by_its_own_runs_alone(on: World) -> None:
    run(on, artifacts()).run(on.forge)
    before = open_in(on)
    moved = PATH.replace("production", "live")
    on.fleet.people.push("main", {moved: COMPONENTS, PATH: None}, "Rename\n")

    run(on, None).run(on.forge)
    assert open_in(on).items() >= before.items(), "it is none of the ordinary run's"

    made = Run({moved: COMPONENTS}, own=artifacts(), head=on.fleet.head())
    made.run(on.forge)
    assert not open_in(on).keys() & before.keys()
    assert sorted(name.rpartition("/")[2] for name in open_in(on) if "live" in name) == ["minor", "patch"]
