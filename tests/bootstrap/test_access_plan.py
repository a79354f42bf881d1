"""The first run makes, registers and hands over what Flux needs for access, and a second run changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bootstrap.arranged import OTHERS, PEM, TITLE, arrange, file_at, handed_over, options, ours
from bootstrap.registered_keys import RegisteredKeys
from flux_upgrade.adapters.local.ssh_keys import generate
from flux_upgrade.bootstrap.access import Access, AccessInputs, AccessPorts
from flux_upgrade.bootstrap.access_plan import plan_access
from flux_upgrade.bootstrap.options import Auth, OciOptions, Provider
from flux_upgrade.bootstrap.secrets import ActionsSecret, SecretPlace
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.hosting import AppCredentials, DeployKey, Secret


@pytest.fixture
def github() -> RegisteredKeys:
    return RegisteredKeys(list(OTHERS))


@pytest.fixture(params=["file", "actions"])
def place(request: pytest.FixtureRequest, tmp_path: Path, github: RegisteredKeys) -> SecretPlace:
    return file_at(tmp_path) if request.param == "file" else ActionsSecret(github, "FLUX", "staging")


def test_the_first_run_makes_a_key(github: RegisteredKeys, place: SecretPlace) -> None:
    done = arrange(github, place)
    data, (key,) = handed_over(github, place), ours(github)
    assert data["identity.pub"] == f"{key.public}\n"
    assert data["known_hosts"] == ("github.com ssh-ed25519 AAAAhost\ngithub.com ecdsa-sha2-nistp256 AAAAhost\n")
    assert key.is_read_only
    assert done == Access(
        title=TITLE,
        public=key.public,
        is_new_key=True,
        is_registered=True,
        registered=True,
        where=place.where,
        handed_over=("flux-system",),
        at_place=("flux-system",),
        has_source=True,
    )


def test_the_second_run_writes_nothing(github: RegisteredKeys, place: SecretPlace) -> None:
    first = arrange(github, place)
    github.fails_after = 0
    plan = plan_access(options(), AccessInputs(), AccessPorts(github, place, generate))
    assert (plan.hands_over, plan.registers, plan.outdated) == (False, False, ())
    second = arrange(github, place)
    assert (second.public, second.is_new_key, second.registered, second.handed_over) == (first.public, False, False, ())
    assert second.is_registered


def test_a_key_is_rotated(github: RegisteredKeys, place: SecretPlace) -> None:
    old = arrange(github, place).public
    done = arrange(github, place, AccessInputs(rotate=True))
    assert done.public != old
    assert [key.public for key in done.removed] == [old]
    assert [key.public for key in ours(github)] == [done.public]
    assert handed_over(github, place)["identity.pub"] == f"{done.public}\n"


def test_other_rights_keep_the_key(github: RegisteredKeys, place: SecretPlace) -> None:
    first = arrange(github, place)
    before = handed_over(github, place)
    done = arrange(github, place, read_write_key=True)
    assert [(key.public, key.is_read_only) for key in ours(github)] == [(first.public, False)]
    assert (done.registered, done.is_new_key, done.handed_over) == (True, False, ())
    assert handed_over(github, place) == before


def test_a_key_that_was_removed_by_hand(github: RegisteredKeys, tmp_path: Path) -> None:
    """The one in the file is registered again; one that nobody can read gives way to another."""
    file, actions = file_at(tmp_path), ActionsSecret(github, "FLUX", "staging")
    first = arrange(github, file)
    github.keys = list(OTHERS)
    assert arrange(github, file).public == first.public
    github.keys = list(OTHERS)
    again = arrange(github, actions)
    assert again.public != first.public
    assert [key.public for key in ours(github)] == [again.public]
    assert again.notes == ()
    github.keys = list(OTHERS)
    assert "the Actions secret FLUX existed before" in arrange(github, actions).notes[0]


def test_the_users_own_key(github: RegisteredKeys, place: SecretPlace) -> None:
    arrange(github, place)
    own = generate()._replace(passphrase="open sesame")
    done = arrange(github, place, AccessInputs(key=own))
    assert (done.public, done.is_new_key, len(done.removed)) == (own.public, False, 1)
    assert [key.public for key in ours(github)] == [own.public]
    data = handed_over(github, place)
    assert (data["identity"], data["password"]) == (own.private, "open sesame")
    github.fails_after = 0
    assert arrange(github, place, AccessInputs(key=own)).handed_over == ()


@pytest.mark.parametrize(
    ("may_write", "asks_to_write", "titles"),
    [(True, True, ["ann's"]), (True, False, ["ann's"]), (False, False, ["ann's"]), (False, True, [TITLE])],
)
def test_a_key_that_is_registered_under_another_title(
    github: RegisteredKeys, place: SecretPlace, titles: list[str], *, may_write: bool, asks_to_write: bool
) -> None:
    own = generate()
    github.keys.append(DeployKey("ann's", own.public, is_read_only=not may_write, id=7))
    arrange(github, place, AccessInputs(key=own), read_write_key=asks_to_write)
    assert [key.title for key in github.keys if key.public == own.public] == titles


def test_known_hosts_that_changed(github: RegisteredKeys, tmp_path: Path) -> None:
    first = arrange(github, file_at(tmp_path))
    github.published = ("ssh-ed25519 AAAAnew",)
    done = arrange(github, file_at(tmp_path))
    assert (done.public, done.registered, done.handed_over) == (first.public, False, ("flux-system",))
    assert handed_over(github, file_at(tmp_path))["known_hosts"] == "github.com ssh-ed25519 AAAAnew\n"


def test_no_place_means_no_key(github: RegisteredKeys) -> None:
    github.fails_after = 0
    done = arrange(github, None, AccessInputs(key=generate()))
    assert done == Access()


def test_without_an_api_a_person_registers_the_key(tmp_path: Path) -> None:
    hosts = AccessInputs(known_hosts="[git.lan]:2222 ssh-ed25519 AAAAhost")
    more = {"provider": Provider.GIT, "url": "ssh://git@git.lan:2222/infra"}
    done = arrange(None, file_at(tmp_path), hosts, **more)
    assert (done.title, done.is_new_key, done.is_registered) == (TITLE, True, False)
    again = arrange(None, file_at(tmp_path), hosts, **more)
    assert (again.public, again.is_registered, again.handed_over) == (done.public, False, ())


def test_a_repository_that_is_still_to_be_created_has_no_keys(github: RegisteredKeys, place: SecretPlace) -> None:
    github.keys = [DeployKey(TITLE, "ssh-ed25519 AAAAnobodys", id=1)]
    ports = AccessPorts(github, place, generate)
    plan = plan_access(options(), AccessInputs(), ports, is_new_repository=True)
    assert (plan.makes_key, plan.registers, plan.outdated) == (True, True, ())
    assert github.writes == []


@pytest.mark.parametrize(
    ("more", "given", "data"),
    [
        ({"auth": Auth.TOKEN}, AccessInputs(token="t0ken"), {"username": "git", "password": "t0ken"}),
        (
            {"auth": Auth.APP, "app_id": "12"},
            AccessInputs(app=AppCredentials("12", PEM, "7")),
            {"githubAppID": "12", "githubAppInstallationID": "7", "githubAppPrivateKey": PEM},
        ),
    ],
)
def test_tokens_and_apps_need_no_key(
    github: RegisteredKeys, place: SecretPlace, more: dict[str, Any], given: AccessInputs, data: dict[str, str]
) -> None:
    done = arrange(github, place, given, **more)
    assert handed_over(github, place) == data
    assert (done.title, done.public, done.handed_over) == ("", "", ("flux-system",))
    assert "add" not in github.writes
    github.fails_after = 0
    again = arrange(github, place, given, **more)
    assert (again.handed_over, again.at_place) == ((), ("flux-system",))
    # Nobody can read back whether it is the same token.
    assert ["exists and is unchanged" in each for each in again.notes] == [True] * (not place.is_readable)


def test_a_sealed_token_is_replaced_on_request(github: RegisteredKeys) -> None:
    place = ActionsSecret(github, "FLUX", "staging")
    for token in ("0ne", "tw0"):
        done = arrange(github, place, AccessInputs(token=token, rotate=True), auth=Auth.TOKEN)
        assert handed_over(github, place)["password"] == token
        assert done.notes == ()


def test_secrets_for_registries_go_along(github: RegisteredKeys, tmp_path: Path) -> None:
    more = Secret("registry", "flux-system", {".dockerconfigjson": "{}"}, "kubernetes.io/dockerconfigjson")
    given, place = AccessInputs(more=(more,)), file_at(tmp_path)
    done = arrange(github, place, given, registry_creds="ann:s3cret")
    assert done.handed_over == ("flux-system", "pull", "registry")
    assert arrange(github, place, given, registry_creds="ann:s3cret").handed_over == ()
    assert arrange(github, place, given, registry_creds="ann:0ther").handed_over != ()
    oci = OciOptions("oci://ghcr.io/fleet/flux:latest")
    other = tmp_path / "oci"
    other.mkdir()
    assert arrange(github, file_at(other), given, oci=oci).handed_over == ("registry",)


@pytest.mark.parametrize(
    ("more", "given", "message"),
    [
        ({"auth": Auth.TOKEN}, AccessInputs(), "token with which Flux reads"),
        ({"auth": Auth.APP, "app_id": "12"}, AccessInputs(), "the private key of the GitHub App"),
        ({"url": "https://github.com/fleet/infra"}, AccessInputs(), "SSH address"),
        ({}, AccessInputs(known_hosts=""), "no key for github.com"),
    ],
)
def test_what_is_missing_is_reported_before_any_write(
    github: RegisteredKeys, place: SecretPlace, more: dict[str, Any], given: AccessInputs, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        arrange(github, place, given, **more)
    assert github.writes == []


def test_a_file_with_half_a_key(github: RegisteredKeys, tmp_path: Path) -> None:
    place = file_at(tmp_path)
    place.put((Secret("flux-system", "flux-system", {"identity": "private-part"}),))
    with pytest.raises(UsageError, match="without its public key") as raised:
        arrange(github, place)
    assert "private-part" not in str(raised.value)
    assert arrange(github, place, AccessInputs(rotate=True)).is_new_key


def test_names_of_actions_secrets(github: RegisteredKeys) -> None:
    with pytest.raises(UsageError, match="--actions-secret 'GITHUB_FLUX' must not begin"):
        ActionsSecret(github, "GITHUB_FLUX")


def test_nothing_secret_is_shown(github: RegisteredKeys, place: SecretPlace) -> None:
    key = generate()
    app = AppCredentials("1", PEM.replace("b25l", "hidden//"))
    given = AccessInputs(key=key, token="t0ken-hidden", app=app)
    plan = plan_access(options(registry_creds="ann:s3cret"), given, AccessPorts(github, place, generate))
    for shown in (repr(given), repr(plan), str(plan), repr(arrange(github, place, given))):
        assert not any(hidden in shown for hidden in ("PRIVATE", "t0ken", "hidden", "s3cret"))
