"""A registry gets the credentials that are for it, from a password, Docker's config file or a token service."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from adapters.conftest import Clients
from adapters.faulty_registry import Fault, FaultyRegistry
from adapters.registries import PASSWORD, USERNAME, NoCredentials, htpasswd, running_registry
from adapters.test_artifact_registry import LAYER, PATH, described, push, skopeo
from adapters.token_service import IDENTITY_TOKEN, TokenService, run_token_service
from flux_upgrade.adapters.oci.artifact_registry import OciArtifactRegistry
from flux_upgrade.adapters.oci.registry_credentials import CredentialSource, DockerConfig, GivenCredentials
from flux_upgrade.adapters.oci.repository import open_repository
from flux_upgrade.model.errors import ForbiddenByRegistry, SourceUnavailable

pytestmark = pytest.mark.real_part("docker-registry")
GIVEN = "--username and --password-stdin"


@pytest.fixture
def basic(tmp_path: Path, stack: ExitStack) -> FaultyRegistry:
    """A registry that takes one password, with a proxy that records the requests to it."""
    address = stack.enter_context(running_registry(tmp_path, htpasswd(tmp_path)))
    return stack.enter_context(FaultyRegistry(address))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[TokenService]:
    with run_token_service(tmp_path / "tokens") as running:
        yield running


@pytest.fixture
def bearer(tmp_path: Path, stack: ExitStack, service: TokenService) -> FaultyRegistry:
    """A registry that takes the tokens of ``service``."""
    address = stack.enter_context(running_registry(tmp_path, service.auth))
    return stack.enter_context(FaultyRegistry(address))


def opened(front: FaultyRegistry, clients: Clients, credentials: CredentialSource) -> OciArtifactRegistry:
    return OciArtifactRegistry(clients(), front.host, PATH, credentials, plain_http=True)


def given(front: FaultyRegistry, password: str = PASSWORD) -> GivenCredentials:
    return GivenCredentials(front.host, USERNAME, password)


def config(folder: Path, content: object) -> DockerConfig:
    file = folder / "config.json"
    file.write_text(json.dumps(content))
    return DockerConfig(str(file), "", {}, required=True)


def refusal(registry: OciArtifactRegistry, *, push_too: bool = False) -> ForbiddenByRegistry:
    with pytest.raises(ForbiddenByRegistry) as caught:
        push(registry, "production") if push_too else registry.manifest("production")
    for secret in (PASSWORD, b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode(), IDENTITY_TOKEN, "eyJ"):
        assert secret not in caught.value.message + caught.value.hint
    return caught.value


def test_a_password(basic: FaultyRegistry, clients: Clients) -> None:
    registry = opened(basic, clients, given(basic))
    assert push(registry, "production").digest == registry.digest("production")
    with registry.blob(described(LAYER)) as blob:
        assert blob.read() == LAYER
    # One challenge to write, one to read.
    assert [each.status for each in basic.passed].count(401) == 2
    assert len(basic.asked) == 7


@pytest.mark.real_part("skopeo")
def test_skopeo_reads_what_was_pushed_with_a_password(basic: FaultyRegistry, clients: Clients) -> None:
    manifest = push(opened(basic, clients, given(basic)), "production")
    source = f"docker://{basic.host}/{PATH}:production"
    credentials = f"--creds={USERNAME}:{PASSWORD}"
    assert skopeo("inspect", "--raw", "--tls-verify=false", credentials, source) == manifest.content


def test_a_wrong_password(basic: FaultyRegistry, clients: Clients) -> None:
    registry = opened(basic, clients, given(basic, "wrong-horse"))
    for push_too in (False, True, False):
        error = refusal(registry, push_too=push_too)
        assert error.message.startswith(f"{basic.host} rejects the credentials: UNAUTHORIZED")
        assert GIVEN in error.hint
    assert [each.method for each in basic.passed] == ["GET", "GET", "POST", "POST", "GET"]


def test_a_password_that_is_right_but_not_enough(basic: FaultyRegistry, clients: Clients) -> None:
    basic.spoil("POST", "/uploads/", Fault(403), skip=1)
    error = refusal(opened(basic, clients, given(basic)), push_too=True)
    assert error.message == f"the credentials for {basic.host} do not allow you to push to {PATH}"


def test_no_password(basic: FaultyRegistry, clients: Clients) -> None:
    error = refusal(opened(basic, clients, NoCredentials()))
    assert f"{basic.host} requires credentials to pull from {PATH}" in error.message
    assert "--password-stdin" in error.hint
    assert "requires credentials to push to" in refusal(opened(basic, clients, NoCredentials()), push_too=True).message


def test_a_password_for_another_host(basic: FaultyRegistry, clients: Clients) -> None:
    elsewhere = GivenCredentials("ghcr.io", USERNAME, PASSWORD)
    assert "requires credentials" in refusal(opened(basic, clients, elsewhere)).message
    assert [each.authorization for each in basic.passed] == [""]


def test_a_password_by_the_config_file(basic: FaultyRegistry, clients: Clients, tmp_path: Path) -> None:
    auth = b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
    registry = opened(basic, clients, config(tmp_path, {"auths": {basic.host: {"auth": auth}}}))
    assert push(registry, "production").digest == registry.digest("production")


def test_a_wrong_password_in_the_config_file(basic: FaultyRegistry, clients: Clients, tmp_path: Path) -> None:
    entry = {"username": USERNAME, "password": "wrong-horse"}
    error = refusal(opened(basic, clients, config(tmp_path, {"auths": {basic.host: entry}})))
    assert f"auths['{basic.host}'] of {tmp_path / 'config.json'}" in error.hint


def test_an_identity_token_where_only_passwords_are_taken(
    basic: FaultyRegistry, clients: Clients, tmp_path: Path
) -> None:
    entry = {"identitytoken": IDENTITY_TOKEN}
    error = refusal(opened(basic, clients, config(tmp_path, {"auths": {basic.host: entry}})))
    assert "do not allow you to pull from" in error.message


def test_credentials_are_looked_up_only_when_they_are_asked_for(
    registry: str, clients: Clients, tmp_path: Path
) -> None:
    missing = DockerConfig(str(tmp_path / "none.json"), "", {}, required=True)
    host = registry.removeprefix("http://")
    assert OciArtifactRegistry(clients(), host, PATH, missing, plain_http=True).tags() == ()


def test_a_token_to_pull_and_one_to_push(bearer: FaultyRegistry, service: TokenService, clients: Clients) -> None:
    registry = opened(bearer, clients, given(bearer))
    manifest = push(registry, "production")
    assert registry.manifest("production") == manifest
    with registry.blob(described(LAYER)) as blob:
        assert blob.read() == LAYER
    assert registry.tags() == ("production",)
    assert service.seen == [
        ("GET", USERNAME, f"repository:{PATH}:pull,push"),
        ("GET", USERNAME, f"repository:{PATH}:pull"),
    ]
    assert len(bearer.asked) == 8


def test_who_may_pull_may_not_push(bearer: FaultyRegistry, service: TokenService, clients: Clients) -> None:
    push(opened(bearer, clients, given(bearer)), "production")
    service.actions[USERNAME] = {"pull"}
    registry = opened(bearer, clients, given(bearer))
    before = registry.digest("production")
    error = refusal(registry, push_too=True)
    assert f"the credentials for {bearer.host} do not allow you to push to {PATH}: UNAUTHORIZED" in error.message
    assert GIVEN in error.hint
    assert registry.digest("production") == before


def test_what_everybody_may_pull(bearer: FaultyRegistry, service: TokenService, clients: Clients) -> None:
    manifest = push(opened(bearer, clients, given(bearer)), "production")
    nobody = opened(bearer, clients, NoCredentials())
    assert "requires credentials to pull" in refusal(nobody).message
    service.actions[""] = {"pull"}
    assert nobody.manifest("production") == manifest
    assert "requires credentials to push" in refusal(nobody, push_too=True).message


def test_a_wrong_password_for_a_token(bearer: FaultyRegistry, service: TokenService, clients: Clients) -> None:
    error = refusal(opened(bearer, clients, given(bearer, "wrong-horse")))
    assert error.message == f"{bearer.host} rejects the credentials: incorrect username or password"
    assert service.given == []


def test_an_identity_token(bearer: FaultyRegistry, service: TokenService, clients: Clients, tmp_path: Path) -> None:
    source = config(tmp_path, {"auths": {bearer.host: {"identitytoken": IDENTITY_TOKEN}}})
    registry = opened(bearer, clients, source)
    assert push(registry, "production").digest == registry.digest("production")
    assert [method for method, _, _ in service.seen] == ["POST", "POST"]
    service.takes_post = False
    with pytest.raises(SourceUnavailable, match="returned status 404 to a token request"):
        opened(bearer, clients, source).tags()


def test_a_password_where_an_identity_token_is_not_taken(
    bearer: FaultyRegistry, service: TokenService, clients: Clients, tmp_path: Path
) -> None:
    service.takes_post = False
    entry = {"identitytoken": IDENTITY_TOKEN, "username": USERNAME, "password": PASSWORD}
    assert opened(bearer, clients, config(tmp_path, {"auths": {bearer.host: entry}})).tags() == ()
    assert [method for method, _, _ in service.seen] == ["GET"]


def test_a_wrong_identity_token(bearer: FaultyRegistry, clients: Clients, tmp_path: Path) -> None:
    entry = {"identitytoken": f"{IDENTITY_TOKEN}-of-yesterday"}
    error = refusal(opened(bearer, clients, config(tmp_path, {"auths": {bearer.host: entry}})))
    assert error.message == f"{bearer.host} rejects the credentials: no such token"


def test_a_token_that_expires(bearer: FaultyRegistry, service: TokenService, clients: Clients) -> None:
    service.lifetime = -120  # the registry allows for a minute between the clocks
    registry = opened(bearer, clients, given(bearer))
    assert "do not allow you to pull from" in refusal(registry).message
    assert len(service.given) == 1  # a new one once for each request
    service.lifetime = 300
    assert registry.tags() == ()
    assert len(service.given) == 2


def test_a_token_is_sent_to_its_registry_only(bearer: FaultyRegistry, clients: Clients, stack: ExitStack) -> None:
    registry = opened(bearer, clients, given(bearer))
    push(registry, "production")
    storage = stack.enter_context(FaultyRegistry(bearer.url))
    leads_away = {"Location": f"{storage.url}/v2/{PATH}/blobs/uploads/elsewhere?_state=x"}
    bearer.spoil("POST", "/uploads/", Fault(202, headers=leads_away))
    storage.spoil("PUT", "/uploads/", Fault(201))
    registry.put_blob(io.BytesIO(LAYER), described(LAYER))
    assert [(each.method, each.authorization) for each in storage.passed] == [("PUT", "")]
    bearer.spoil("GET", "/blobs/", Fault(307, headers={"Location": f"{storage.url}/kept"}))
    storage.spoil("GET", "/kept", Fault(200, LAYER))
    registry.blob(described(LAYER)).close()
    assert storage.passed[-1].authorization == ""


def test_a_challenge_of_another_host_is_not_answered(basic: FaultyRegistry, clients: Clients, stack: ExitStack) -> None:
    registry = opened(basic, clients, given(basic))
    other = stack.enter_context(FaultyRegistry(basic.url))
    basic.spoil("GET", "/blobs/", Fault(307, headers={"Location": f"{other.url}/kept"}))
    other.spoil("GET", "/kept", Fault(401, headers={"WWW-Authenticate": 'Basic realm="here"'}))
    with pytest.raises(ForbiddenByRegistry):
        registry.blob(described(LAYER))
    assert [each.authorization for each in other.passed] == [""]


def test_pins_are_read_with_credentials_where_there_are_some(bearer: FaultyRegistry, clients: Clients) -> None:
    manifest = push(opened(bearer, clients, given(bearer)), "production")
    found = open_repository(clients(), f"{bearer.host}/{PATH}", given(bearer)).manifest("production")
    assert found is not None
    assert found.digest == manifest.digest
    with pytest.raises(SourceUnavailable, match="gives no anonymous access") as caught:
        open_repository(clients(), f"{bearer.host}/{PATH}").manifest("production")
    assert type(caught.value) is SourceUnavailable
