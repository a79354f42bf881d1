"""After a fault in any call to GitHub's API there is one clear error, and the same calls again converge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from github_stand_in import FAULTS, Fault
from github_stand_in.hosting import Vault

from adapters.on_hosting import KEY, NAME, NEW, OTHER, SECRET, World, message_and_hint, world
from flux_upgrade.adapters.github.hosting import GitHubHosting
from flux_upgrade.model.errors import FluxUpgradeError, ForbiddenByForge, ForgeUnavailable, UsageError


@pytest.fixture
def on(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        made.hub.drop_seconds = 0.001
        yield made


def everything(hosting: GitHubHosting) -> None:
    """What a bootstrap asks for, in its order; a key of the same title that differs is replaced."""
    if hosting.repository() is None:
        hosting.create(NEW)
    hosting.grant("platform", "maintain")
    for key in hosting.deploy_keys():
        if key.title == KEY.title and key.public != KEY.public:
            hosting.remove_deploy_key(key)
    if KEY.public not in [key.public for key in hosting.deploy_keys()]:
        hosting.add_deploy_key(KEY)
    hosting.host_keys()
    hosting.put_secret("FLUX_SYSTEM", SECRET)
    hosting.may_write_workflows()


CALLS = [
    "GET /repos/acme/fleet",
    "POST /orgs/acme/repos",
    "PUT /orgs/acme/teams/platform/repos/acme/fleet",
    "GET /repos/acme/fleet/keys",
    "GET /repos/acme/fleet/keys",
    "POST /repos/acme/fleet/keys",
    "GET /meta",
    "GET /repos/acme/fleet/actions/secrets/public-key",
    "PUT /repos/acme/fleet/actions/secrets/FLUX_SYSTEM",
    "GET /user",
]
PASSING = ("500", "502", "503", "504", "reset", "truncated", "slow", "429", "403 secondary limit")
"""Faults that a read gets over by itself."""
LATE = ("slow", "429", "403 secondary limit")
"""Faults that a write gets over: it was answered in the end, or asked to try again later."""


def gets_over(call: str, name: str) -> bool:
    """Whether a fault at a call goes unnoticed."""
    if call.startswith("GET"):
        # 404 is an answer where the repository is not there.
        return name.removesuffix(", applied") in PASSING or (name, call) == ("404", CALLS[0])
    # An answer without a body has nothing that could be cut off.
    return name in LATE or (name == "truncated" and call.startswith("PUT /orgs"))


def is_whole(on: World) -> bool:
    fleet = on.hub.repositories[NAME]
    (key,) = fleet.deploy_keys
    return (
        list(on.hub.repositories) == [NAME]
        and fleet.settings.is_private
        and fleet.team_permissions == {"platform": "maintain"}
        and (key.title, key.key, key.read_only) == (KEY.title, KEY.public, True)
        and fleet.actions.secrets == {"FLUX_SYSTEM": SECRET}
    )


def test_without_faults(on: World) -> None:
    everything(on.hosting())
    assert on.calls == CALLS
    assert is_whole(on)
    on.hub.forget()
    everything(on.hosting())
    assert [call for call in on.writes if call.startswith("POST")] == []
    assert is_whole(on)


@pytest.mark.parametrize("call", range(1, len(CALLS) + 1), ids=[f"{n} {c}" for n, c in enumerate(CALLS, 1)])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_at_each_call(on: World, name: str, call: int) -> None:
    on.hub.fail(FAULTS[name], at_call=call)
    passes = gets_over(CALLS[call - 1], name)
    if passes:
        everything(on.hosting())
    else:
        with pytest.raises(FluxUpgradeError) as caught:
            everything(on.hosting())
        assert caught.value.hint
        assert "hush-hush" not in message_and_hint(caught.value)
    on.hub.heal()
    everything(on.hosting())
    assert is_whole(on)


def test_rate_limits_are_reported_as_rate_limits(on: World) -> None:
    on.hub.fail(FAULTS["403 primary limit"])
    with pytest.raises(ForgeUnavailable, match="rate limit"):
        on.hosting().repository()
    on.hub.fail(FAULTS["403 primary limit"])
    with pytest.raises(ForgeUnavailable, match="GitHub's API rate limit is exceeded until"):
        on.hosting().create(NEW)
    assert NAME not in on.hub.repositories


REMOVING: list[tuple[str, type[FluxUpgradeError] | None]] = [
    ("500, applied", ForgeUnavailable),
    ("reset", ForgeUnavailable),
    ("403 permission", ForbiddenByForge),
    ("429", None),
]


@pytest.mark.parametrize(("name", "error"), REMOVING)
def test_a_key_is_removed_once(on: World, name: str, error: type[FluxUpgradeError] | None) -> None:
    fleet = on.hub.create_repository(NAME)
    hosting = on.hosting()
    added = hosting.add_deploy_key(OTHER)
    on.hub.fail(FAULTS[name])
    if error is None:
        hosting.remove_deploy_key(added)
    else:
        with pytest.raises(error):
            hosting.remove_deploy_key(added)
    hosting.remove_deploy_key(added)
    assert fleet.deploy_keys == []


NONSENSE: dict[str, Callable[[GitHubHosting], object]] = {
    "repository": lambda hosting: hosting.repository(),
    "create": lambda hosting: hosting.create(NEW),
    "keys": lambda hosting: hosting.deploy_keys(),
    "add": lambda hosting: hosting.add_deploy_key(KEY),
    "secret": lambda hosting: hosting.put_secret("FLUX_SYSTEM", SECRET),
}


@pytest.mark.parametrize("action", NONSENSE)
def test_what_stands_in_between_and_answers_for_github(on: World, action: str) -> None:
    on.hub.fail(Fault("a login page", 200, "Sign in"), times=3)
    with pytest.raises(ForgeUnavailable) as caught:
        NONSENSE[action](on.hosting())
    assert "check the API's URLs" in caught.value.hint


class Odd(Vault):
    """A vault that publishes another key than its own."""

    def __init__(self, key: str) -> None:
        super().__init__("odd")
        self.key = key

    @property
    def public_key(self) -> str:
        return self.key


@pytest.mark.parametrize("key", ["", "short", "c2hvcnQ=", "###"])
def test_a_key_to_seal_with_that_is_none(on: World, key: str) -> None:
    on.hub.create_repository(NAME).actions = Odd(key)
    with pytest.raises(ForgeUnavailable, match="the response is not from GitHub") as caught:
        on.hosting().put_secret("FLUX_SYSTEM", SECRET)
    assert "hush-hush" not in message_and_hint(caught.value)
    assert on.writes == []


def test_what_was_sealed_for_another_place_is_refused(on: World) -> None:
    other = Vault("other")
    on.hub.create_repository(NAME).actions = Odd(other.public_key)
    with pytest.raises(UsageError, match="improperly encrypted secret"):
        on.hosting().put_secret("FLUX_SYSTEM", SECRET)
