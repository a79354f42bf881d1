"""A dry run reads the real repository, lists what it would do, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.on_hosting import KEY, NAME, NEW, OTHER, SECRET, World, world
from flux_upgrade.adapters.recording import RecordingHosting
from flux_upgrade.model.hosting import HostedRepository, Hosting
from replacing import replace


@pytest.fixture
def on(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def test_a_repository_that_is_not_there(on: World) -> None:
    hosting: Hosting = RecordingHosting(on.hosting(), "https://github.example/")
    assert hosting.repository() is None
    made = HostedRepository(NAME, "https://github.example/acme/fleet", "main", "private", is_empty=True)
    assert hosting.create(NEW) == made
    assert hosting.create(NEW) == made
    assert hosting.repository() == made
    assert hosting.deploy_keys() == ()
    assert hosting.add_deploy_key(KEY) == KEY
    assert hosting.deploy_keys() == (KEY,)
    assert on.writes == []
    assert on.hub.repositories == {}


def test_what_would_be_done_is_reported_in_order(on: World) -> None:
    on.hub.create_repository(NAME, {"a": b""})
    registered = on.hosting().add_deploy_key(KEY)
    on.hub.forget()
    hosting = RecordingHosting(on.hosting(), on.hub.url)
    assert hosting.create(NEW) == on.hosting().repository()
    assert hosting.teams() == {}
    hosting.grant("platform", "maintain")
    assert hosting.deploy_keys() == (registered,)
    hosting.remove_deploy_key(registered)
    assert hosting.deploy_keys() == ()
    hosting.add_deploy_key(OTHER)
    assert hosting.deploy_keys() == (OTHER,)
    hosting.remove_deploy_key(OTHER)
    hosting.put_secret("FLUX_SYSTEM", SECRET)
    assert hosting.has_secret("FLUX_SYSTEM")
    assert not hosting.has_secret("FLUX_SYSTEM", "production")
    hosting.put_secret("FLUX_SYSTEM", SECRET, "production")
    assert hosting.deploy_keys() == ()
    assert hosting.done == (
        "give the team platform the permission maintain",
        f"remove the deploy key {KEY.title}",
        "add the deploy key other",
        "remove the deploy key other",
        "put the secret FLUX_SYSTEM",
        "put the secret FLUX_SYSTEM into the environment production",
    )
    assert on.writes == []


def test_what_is_only_read_is_the_real_ones(on: World) -> None:
    hosting = RecordingHosting(on.hosting(scopes=("repo", "workflow")), on.hub.url)
    assert hosting.host_keys() == on.hub.host_keys
    assert hosting.may_write_workflows() is True
    assert hosting.create(replace(NEW, visibility="public")).visibility == "public"
    assert hosting.done == ("create acme/fleet (public)",)
