"""Repositories, deploy keys, teams and secrets are read and created through GitHub's API."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from github_stand_in import FAULTS, StandIn, to

from adapters.on_hosting import ADMIN, KEY, NAME, NEW, OTHER, SECRET, World, message_and_hint, world
from flux_upgrade.adapters.github.api import GitHubApi
from flux_upgrade.adapters.github.forge import GitHubForge
from flux_upgrade.adapters.http.client import Client, Credential
from flux_upgrade.model.errors import ForbiddenByForge, ForgeUnavailable, RepositoryUnfit, UsageError
from flux_upgrade.model.forge import Question
from flux_upgrade.model.hosting import HostedRepository, NewRepository
from git_servers import git
from replacing import replace


@pytest.fixture
def on(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


# The repository


def test_there_is_none(on: World) -> None:
    assert on.hosting().repository() is None
    assert on.calls == ["GET /repos/acme/fleet"]


def test_one_that_the_token_does_not_see_is_none(on: World) -> None:
    on.hub.create_repository(NAME, is_private=True)
    assert on.hosting(scopes=()).repository() is None


@pytest.mark.parametrize("files", [None, {"README.md": b"# Fleet\n"}])
def test_a_repository_is_empty_until_something_is_pushed(on: World, files: dict[str, bytes] | None) -> None:
    on.hub.create_repository(NAME, files, is_private=True)
    expected = HostedRepository(NAME, f"{on.hub.url}/acme/fleet", "main", "private", is_empty=files is None)
    assert on.hosting("actions").repository() == expected


def test_a_repository_without_its_default_branch_is_not_empty(on: World) -> None:
    fleet = on.hub.create_repository(NAME)
    fleet.commit({"a": b""}, "Begin\n", branch="other")
    hosted = on.hosting().repository()
    assert hosted is not None
    assert not hosted.is_empty


def test_visibility_and_archived_state_are_reported(on: World) -> None:
    on.hub.create_repository(NAME, {"a": b""}, is_private=True, is_internal=True, is_archived=True)
    hosted = on.hosting().repository()
    assert hosted is not None
    assert (hosted.visibility, hosted.is_archived) == ("internal", True)


def test_a_repository_that_was_renamed(on: World) -> None:
    on.hub.create_repository(NAME, {"a": b""})
    on.hub.rename(NAME, "clusters")
    with pytest.raises(UsageError, match="acme/fleet was renamed to acme/clusters"):
        on.hosting().repository()


def test_letter_case_is_no_other_name(on: World) -> None:
    on.hub.create_repository("Acme/Fleet", {"a": b""})
    on.hub.repositories["acme/fleet"] = on.hub.repositories["Acme/Fleet"]
    hosted = on.hosting().repository()
    assert hosted is not None
    assert hosted.name == "Acme/Fleet"


# Creating


CREATORS = [("classic", None), ("fine-grained", ADMIN), ("app", ADMIN)]


@pytest.mark.parametrize(("kind", "permissions"), CREATORS)
def test_creating_for_an_organization(on: World, kind: str, permissions: dict[str, str] | None) -> None:
    sent = on.sent()
    made = on.hosting(kind, permissions).create(NEW)
    assert made == HostedRepository(NAME, f"{on.hub.url}/acme/fleet", "main", "private", is_empty=True)
    body = {"name": "fleet", "private": True, "auto_init": False, "description": "Clusters of Acme"}
    assert sent == [("/orgs/acme/repos", body)]
    settings = on.hub.repositories[NAME].settings
    assert (settings.is_private, settings.description) == (True, "Clusters of Acme")
    assert on.hub.repositories[NAME].is_empty


def test_creating_for_oneself(on: World) -> None:
    hosting = on.hosting_of(on.hub.token("classic"), "alice/fleet")
    made = hosting.create(NewRepository("alice/fleet", is_personal=True, visibility="public"))
    assert (made.name, made.visibility) == ("alice/fleet", "public")
    assert on.calls == ["GET /user", "POST /user/repos"]


def test_creating_an_internal_one(tmp_path: Path) -> None:
    """The description of github.com does not have it: that of Enterprise Cloud has."""
    with world(tmp_path / "described") as described, StandIn(tmp_path / "here") as hub:
        hub.add_organization("acme").is_of_enterprise = True
        here = replace(described, hub=hub)
        assert here.hosting().create(replace(NEW, visibility="internal")).visibility == "internal"


def test_one_that_is_there_already_is_given_as_it_is(on: World) -> None:
    on.hub.create_repository(NAME, {"a": b""})
    made = on.hosting().create(NEW)
    assert (made.visibility, made.is_empty) == ("public", False)
    assert on.hub.repositories[NAME].settings.description == ""


def test_one_that_is_there_unseen(on: World) -> None:
    on.hub.create_repository(NAME, is_private=True)
    with pytest.raises(ForbiddenByForge, match="acme/fleet already exists, and the token cannot read it"):
        on.hosting(scopes=("public_repo",)).create(replace(NEW, visibility="public"))


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (replace(NEW, name="acme/our fleet"), "is not a valid repository name"),
        (replace(NEW, name="acme/.."), "is not a valid repository name"),
        (replace(NEW, visibility="secret"), "cannot be secret"),
        (NewRepository("alice/fleet", is_personal=True, visibility="internal"), "cannot be internal"),
        (NewRepository("bob/fleet", is_personal=True), "the token is alice's, who cannot"),
    ],
)
def test_what_cannot_be_created_is_not_tried(on: World, wanted: NewRepository, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        on.hosting().create(wanted)
    assert on.writes == []


@pytest.mark.parametrize(
    ("owner", "message"),
    [("bob", "bob is a user account, not an organization"), ("nobody", "the account nobody does not exist")],
)
def test_an_owner_that_is_no_organization(on: World, owner: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        on.hosting().create(replace(NEW, name=f"{owner}/fleet"))


def test_githubs_reason_for_a_refusal_is_reported(on: World) -> None:
    with pytest.raises(UsageError, match="refused to create acme/fleet: Validation Failed"):
        on.hosting().create(replace(NEW, visibility="internal"))


def test_an_empty_repository_can_be_pushed_to(on: World, tmp_path: Path) -> None:
    token = on.hub.token("classic")
    hosting = on.hosting_of(token)
    hosting.create(NEW)
    here = tmp_path / "work"
    git("init", "--quiet", "--initial-branch=production", here)
    git("commit", "--quiet", "--allow-empty", "-m", "Begin", at=here)
    url = f"{on.hub.url.replace('://', f'://x-access-token:{token.value}@')}/acme/fleet.git"
    git("push", "--quiet", url, "production", at=here)
    hosted = hosting.repository()
    assert hosted is not None
    assert (hosted.default_branch, hosted.is_empty) == ("production", False)


# Teams


def test_granting_twice_grants_once(on: World) -> None:
    fleet = on.hub.create_repository(NAME)
    for permission in ("maintain", "maintain", "push"):
        on.hosting().grant("platform", permission)
        assert on.hosting().teams() == {"platform": permission}
    assert fleet.team_permissions == {"platform": "push"}


def test_a_team_that_is_not_there(on: World) -> None:
    on.hub.create_repository(NAME)
    with pytest.raises(ForbiddenByForge) as caught:
        on.hosting().grant("platfrom", "maintain")
    assert "team platfrom access to acme/fleet" in caught.value.message
    assert "check the team's slug" in caught.value.hint


# Deploy keys


def test_a_key_is_added_listed_and_removed(on: World) -> None:
    fleet = on.hub.create_repository(NAME)
    hosting = on.hosting("app", ADMIN)
    assert hosting.deploy_keys() == ()
    added = hosting.add_deploy_key(KEY)
    assert added == replace(KEY, id=fleet.deploy_keys[0].id)
    assert hosting.deploy_keys() == (added,)
    assert fleet.deploy_keys[0].read_only
    hosting.remove_deploy_key(added)
    assert hosting.deploy_keys() == ()
    hosting.remove_deploy_key(added)


def test_a_key_that_may_write_and_has_a_comment(on: World) -> None:
    on.hub.create_repository(NAME)
    hosting = on.hosting()
    hosting.add_deploy_key(replace(KEY, public=f"{KEY.public} alice@laptop", is_read_only=False))
    assert [(key.public, key.is_read_only) for key in hosting.deploy_keys()] == [(KEY.public, False)]
    assert hosting.add_deploy_key(OTHER) in hosting.deploy_keys()


def test_all_pages_of_keys_are_read(on: World) -> None:
    fleet = on.hub.create_repository(NAME)
    hosting = on.hosting()
    first = hosting.add_deploy_key(KEY)
    record = fleet.deploy_keys[0]
    fleet.deploy_keys[1:] = [replace(record, id=record.id + 1 + n, title=str(n)) for n in range(120)]
    assert len(hosting.deploy_keys()) == 121
    assert hosting.deploy_keys()[0] == first


def test_a_key_that_is_registered_here_already_is_found(on: World) -> None:
    on.hub.create_repository(NAME)
    hosting = on.hosting()
    first = hosting.add_deploy_key(KEY)
    assert hosting.add_deploy_key(replace(KEY, title="again")) == first
    assert len(on.hub.repositories[NAME].deploy_keys) == 1


def test_a_key_of_another_repository(on: World) -> None:
    on.hub.create_repository(NAME)
    on.hub.create_repository("acme/apps")
    on.hosting_of(on.hub.token("classic"), "acme/apps").add_deploy_key(KEY)
    with pytest.raises(ForbiddenByForge, match="key is already in use") as caught:
        on.hosting().add_deploy_key(KEY)
    assert "another repository" in caught.value.hint


def test_an_organization_without_deploy_keys(on: World) -> None:
    on.hub.create_repository(NAME, deploy_keys=False)
    with pytest.raises(ForbiddenByForge, match="Deploy keys are disabled") as caught:
        on.hosting().add_deploy_key(KEY)
    assert "--app-id" in caught.value.hint


def test_a_key_that_cannot_be_removed_is_no_key_that_is_gone(on: World) -> None:
    """To who may list keys and not remove them, GitHub says 404."""
    on.hub.create_repository(NAME)
    hosting = on.hosting()
    added = hosting.add_deploy_key(KEY)
    on.hub.fail(FAULTS["404"], to("DELETE", "/keys"))
    with pytest.raises(ForbiddenByForge, match="remove the deploy key flux-system-main"):
        hosting.remove_deploy_key(added)


# Host keys


def test_host_keys(on: World) -> None:
    assert on.hosting().host_keys() == on.hub.host_keys
    on.hub.host_keys = ()
    assert on.hosting().host_keys() == ()
    assert on.hosting_of(None).host_keys() == ()


# Secrets


@pytest.mark.parametrize(("kind", "permissions"), CREATORS)
@pytest.mark.parametrize("environment", ["", "eu/production"])
def test_whether_there_is_a_secret(on: World, kind: str, permissions: dict[str, str] | None, environment: str) -> None:
    on.hub.create_repository(NAME, is_private=True).add_environment("eu/production")
    hosting = on.hosting(kind, permissions)
    assert not hosting.has_secret("FLUX_SYSTEM", environment)
    hosting.put_secret("Flux_System", SECRET, environment)
    assert hosting.has_secret("FLUX_SYSTEM", environment)
    assert not hosting.has_secret("FLUX_SYSTEM", "" if environment else "eu/production")
    assert not hosting.has_secret("FLUX_SYSTEM", "staging")


def test_an_environment_is_looked_for_before_anything_is_put_there(on: World) -> None:
    on.hub.create_repository(NAME).add_environment("production")
    on.hosting().require_secret("FLUX_SYSTEM", "production")
    with pytest.raises(ForbiddenByForge, match="acme/fleet has no environment staging"):
        on.hosting().require_secret("FLUX_SYSTEM", "staging")
    assert on.writes == []


@pytest.mark.parametrize(("kind", "permissions"), CREATORS)
def test_a_secret_arrives_and_is_replaced(on: World, kind: str, permissions: dict[str, str] | None) -> None:
    fleet = on.hub.create_repository(NAME, is_private=True)
    hosting = on.hosting(kind, permissions)
    for text in ("before", SECRET):
        hosting.put_secret("FLUX_SYSTEM", text)
        assert fleet.actions.secrets == {"FLUX_SYSTEM": text}
    assert (
        on.calls
        == ["GET /repos/acme/fleet/actions/secrets/public-key", "PUT /repos/acme/fleet/actions/secrets/FLUX_SYSTEM"] * 2
    )


def test_a_secret_of_an_environment(on: World) -> None:
    fleet = on.hub.create_repository(NAME)
    vault = fleet.add_environment("eu/production")
    on.hosting("fine-grained", ADMIN).put_secret("FLUX_SYSTEM", SECRET, "eu/production")
    assert vault.secrets == {"FLUX_SYSTEM": SECRET}
    assert fleet.actions.secrets == {}


def test_an_environment_that_is_not_there(on: World) -> None:
    on.hub.create_repository(NAME)
    with pytest.raises(ForbiddenByForge, match="acme/fleet has no environment production") as caught:
        on.hosting().put_secret("FLUX_SYSTEM", SECRET, "production")
    assert "create it first: Settings > Environments" in caught.value.hint
    assert on.writes == []


def test_the_value_of_a_secret_is_shown_nowhere(on: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    on.hub.create_repository(NAME)
    sent = on.sent()
    hosting = on.hosting("actions")
    with pytest.raises(ForbiddenByForge) as caught:
        hosting.put_secret("FLUX_SYSTEM", SECRET)
    on.hosting().put_secret("FLUX_SYSTEM", SECRET)
    shown = f"{message_and_hint(caught.value)} {caught.value!r} {sent} {on.hub.log} {caplog.text} {hosting!r} {vars(hosting)}"
    assert "hush-hush" not in shown


# Workflows


@pytest.mark.parametrize(
    ("kind", "scopes", "may"),
    [
        ("classic", ("repo",), False),
        ("classic", (), False),
        ("classic", ("repo", "workflow"), True),
        ("actions", (), False),
        ("app", (), None),
        ("fine-grained", (), None),
    ],
)
def test_whether_workflows_may_be_written(on: World, kind: str, scopes: tuple[str, ...], may: object) -> None:
    assert on.hosting(kind, scopes=scopes).may_write_workflows() is may
    assert on.writes == []


def test_without_a_token_nothing_is_known_about_workflows(on: World) -> None:
    assert on.hosting_of(None).may_write_workflows() is None
    assert on.calls == []


# Around


def test_reading_imports_no_pygithub() -> None:
    code = (
        "import sys; from flux_upgrade.adapters.github.hosting import GitHubHosting;"
        "assert not {'github', 'nacl', 'cryptography'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603  (ours)


def test_writing_needs_no_cryptography() -> None:
    """The image has PyGithub without it: it signs with an App's key, of which there is none here."""
    code = (
        "import sys; sys.modules['cryptography'] = None;"
        "from github.PublicKey import encrypt;"
        "from nacl.public import PrivateKey, SealedBox; from base64 import b64decode, b64encode;"
        "key = PrivateKey.generate(); public = b64encode(bytes(key.public_key)).decode();"
        "assert SealedBox(key).decrypt(b64decode(encrypt(public, 'a'))) == b'a'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603  (ours)


def test_looking_at_an_empty_repository_leads_to_a_bootstrap(on: World) -> None:
    on.hub.create_repository(NAME)
    client = Client(on.clock.timing, credential=Credential(on.hub.url, on.hub.token().value))
    on.stack.callback(client.close)
    api, graphql = on.hub.api_url, on.hub.graphql_url
    github = GitHubApi(client, on.clock.timing, api_url=api, graphql_url=graphql)
    forge = GitHubForge(github, NAME, "")
    with pytest.raises(RepositoryUnfit, match="acme/fleet is empty") as caught:
        forge.fetch(Question((), ()))
    assert "`flux-upgrade bootstrap`" in caught.value.hint


@pytest.mark.parametrize("name", ["fleet", "acme/", "/fleet", "a/b/c"])
def test_what_is_no_repository(on: World, name: str) -> None:
    with pytest.raises(UsageError, match="is not a repository name"):
        on.hosting_of(None, name)


def test_what_is_no_github(on: World) -> None:
    on.hub.create_repository(NAME)
    hosting = on.hosting_of(on.hub.token(), api_url=f"{on.hub.url}/raw")
    assert hosting.repository() is None
    with pytest.raises(ForgeUnavailable, match="the response is not from GitHub"):
        on.hosting_of(on.hub.token(), api_url=f"{on.hub.api_url}/meta?").repository()


def test_the_token_is_not_kept(on: World) -> None:
    token = on.hub.token("classic")
    hosting = on.hosting_of(token)
    assert token.value not in f"{hosting!r} {vars(hosting)}"


def test_a_key_keeps_its_place_when_another_is_removed(on: World) -> None:
    on.hub.create_repository(NAME)
    hosting = on.hosting()
    first, second = hosting.add_deploy_key(KEY), hosting.add_deploy_key(OTHER)
    hosting.remove_deploy_key(first)
    assert hosting.deploy_keys() == (second,)
