"""A token without a permission gives one clear error that names what each kind of token needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.on_hosting import ADMIN, KEY, NAME, NEW, SECRET, World, message_and_hint, world
from flux_upgrade.adapters.github.hosting import GitHubHosting
from flux_upgrade.model.errors import ForbiddenByForge, RepositoryUnfit, UsageError
from flux_upgrade.model.hosting import NewRepository
from replacing import replace


@pytest.fixture
def on(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        fleet = made.hub.create_repository(NAME, {"a": b""}, is_private=True)
        fleet.add_environment("production")
        yield made


Action = Callable[[GitHubHosting], object]
ACTIONS: dict[str, tuple[Action, str, str]] = {
    "create": (
        lambda hosting: hosting.create(replace(NEW, name="acme/new")),
        "create acme/new",
        "'Administration: read and write' for all repositories of acme",
    ),
    "grant": (
        lambda hosting: hosting.grant("platform", "maintain"),
        "give the team platform access to acme/fleet",
        "'Administration: read and write', and 'Members: read' of the organization",
    ),
    "list keys": (
        lambda hosting: hosting.deploy_keys(),
        "list the deploy keys of acme/fleet",
        "'Administration: read and write' for this repository",
    ),
    "add a key": (
        lambda hosting: hosting.add_deploy_key(KEY),
        "add a deploy key to acme/fleet",
        "'Administration: read and write' for this repository",
    ),
    "remove a key": (
        lambda hosting: hosting.remove_deploy_key(KEY),
        "deploy key",
        "'Administration: read and write' for this repository",
    ),
    "secret": (
        lambda hosting: hosting.put_secret("FLUX_SYSTEM", SECRET),
        "put the secret FLUX_SYSTEM into acme/fleet",
        "'Secrets: read and write' for this repository",
    ),
    "environment": (
        lambda hosting: hosting.put_secret("FLUX_SYSTEM", SECRET, "production"),
        "acme/fleet",
        "'Environments: read and write'",
    ),
}
TOKENS: dict[str, tuple[str, dict[str, Any]]] = {
    "GITHUB_TOKEN": ("actions", {"permissions": {"contents": "write", "administration": "write"}}),
    "an app's": ("app", {}),
    "a fine-grained one": ("fine-grained", {"permissions": {"contents": "write"}}),
    "a classic one": ("classic", {"scopes": ()}),
}


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("action", ACTIONS)
def test_a_token_that_may_not(on: World, action: str, token: str) -> None:
    act, doing, right = ACTIONS[action]
    kind, more = TOKENS[token]
    with pytest.raises(ForbiddenByForge) as caught:
        act(on.hosting(kind, **more))
    assert doing in caught.value.message
    assert right in caught.value.hint
    assert "scope `repo`" in caught.value.hint
    assert not any(call.is_write and 200 <= call.status < 300 for call in on.hub.calls)


@pytest.mark.parametrize("token", sorted(set(TOKENS) - {"a classic one"}))
def test_a_token_that_may_not_see_secrets(on: World, token: str) -> None:
    """To a classic one without scopes there is no such repository, which `require_secret` says."""
    kind, more = TOKENS[token]
    with pytest.raises(ForbiddenByForge, match="check whether acme/fleet has the secret FLUX_SYSTEM") as caught:
        on.hosting(kind, **more).has_secret("FLUX_SYSTEM")
    assert "'Secrets: read and write' for this repository" in caught.value.hint
    with pytest.raises(ForbiddenByForge, match="put the secret FLUX_SYSTEM into acme/fleet"):
        on.hosting("classic", scopes=()).require_secret("FLUX_SYSTEM")


@pytest.mark.parametrize("action", sorted(set(ACTIONS) - {"environment"}))
def test_what_github_token_can_never_do_is_reported(on: World, action: str) -> None:
    with pytest.raises(ForbiddenByForge) as caught:
        ACTIONS[action][0](on.hosting("actions"))
    assert "GITHUB_TOKEN cannot have it" in caught.value.hint
    assert "`permissions:" not in caught.value.hint


@pytest.mark.parametrize("action", ACTIONS)
def test_a_token_that_is_not_known(on: World, action: str) -> None:
    token = on.hub.token("classic")
    on.hub.revoke(token)
    with pytest.raises(ForbiddenByForge, match="Bad credentials") as caught:
        ACTIONS[action][0](on.hosting_of(token))
    assert caught.value.hint == "set a new token: it is missing, wrong or expired"
    assert token.value not in message_and_hint(caught.value)


def test_an_admin_of_the_repository_is_needed_for_keys(on: World) -> None:
    with pytest.raises(ForbiddenByForge, match="Must have admin rights") as caught:
        on.hosting(login="bob").add_deploy_key(KEY)
    assert "of a repository admin" in caught.value.hint


def test_members_who_may_not_create(on: World) -> None:
    on.hub.organizations["acme"].members_may_create = False
    with pytest.raises(ForbiddenByForge, match="You need admin access to the organization") as caught:
        on.hosting().create(replace(NEW, name="acme/new"))
    assert "ask an owner of the organization to create the repository (empty)" in caught.value.hint
    assert on.hosting("app", ADMIN).create(replace(NEW, name="acme/new")).is_empty


def test_a_token_for_chosen_repositories_creates_none(on: World) -> None:
    with pytest.raises(ForbiddenByForge, match="not accessible by personal access token"):
        on.hosting("fine-grained", ADMIN, repositories=(NAME,)).create(replace(NEW, name="acme/new"))


@pytest.mark.parametrize("kind", ["actions", "app"])
def test_installations_have_no_account_to_create_in(on: World, kind: str) -> None:
    with pytest.raises(ForbiddenByForge) as caught:
        on.hosting(kind, ADMIN).create(NewRepository("alice/fleet", is_personal=True))
    assert "GITHUB_TOKEN and app tokens cannot create a personal repository" in caught.value.hint
    assert on.writes == []


def test_single_sign_on(on: World) -> None:
    on.hub.repositories[NAME].settings.requires_sso = True
    with pytest.raises(ForbiddenByForge, match="SAML") as caught:
        on.hosting().repository()
    assert "authorize the token for the organization" in caught.value.hint


def test_an_archived_repository(on: World) -> None:
    on.hub.repositories[NAME].settings.is_archived = True
    with pytest.raises(RepositoryUnfit, match="archived"):
        on.hosting().add_deploy_key(KEY)


def test_a_name_of_a_secret_that_github_does_not_take(on: World) -> None:
    with pytest.raises(UsageError, match=r"Secret\.name invalid"):
        on.hosting().put_secret("GITHUB_X", SECRET)
