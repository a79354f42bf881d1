"""Private chart repositories: who logs in where, with what Helm and Docker have on this machine."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.conftest import Clients
from adapters.loopback import Answer, Loopback, Seen
from adapters.proxies import RecordingProxy
from adapters.registries import PASSWORD, USERNAME, allowing, htpasswd, own_certificate, push, running_registry
from adapters.test_charts import PATH, VERSIONS, config_of, index, push_chart
from flux_upgrade.adapters.http.egress import Egress
from flux_upgrade.adapters.oci.chart_credentials import ChartCredentials, HelmRepositories
from flux_upgrade.adapters.oci.charts import chart_versions
from flux_upgrade.adapters.oci.registry_credentials import DockerConfig
from flux_upgrade.adapters.releases.registry import FluxManifestsRegistry
from flux_upgrade.commands.wiring import build_chart_credentials, build_charts
from flux_upgrade.config.environment import Environment, RegistryAccess
from flux_upgrade.model.errors import ForbiddenByRegistry, SourceUnavailable

OTHER = "left-horse"


def basic(password: str = PASSWORD) -> str:
    return f"Basic {encoded(password)}"


def encoded(password: str = PASSWORD) -> str:
    return b64encode(f"{USERNAME}:{password}".encode()).decode()


class Private(Loopback):
    """Wants USERNAME and PASSWORD by Basic (RFC 7617); ``refusal``: the status that others get."""

    refusal = 401

    def answer(self, seen: Seen) -> Answer:
        if seen.headers.get("authorization") == basic():
            return super().answer(seen)
        self.seen.append(seen)
        return Answer(b"log in", self.refusal, {"WWW-Authenticate": 'Basic realm="charts"'})

    @property
    def sent(self) -> list[str | None]:
        """What each request logged in with."""
        return [each.headers.get("authorization") for each in self.seen]


@pytest.fixture
def private(stack: ExitStack) -> Private:
    """A repository that wants a password, on the loopback."""
    return stack.enter_context(Private({"/charts/index.yaml": Answer(index(VERSIONS))}))


def helm(folder: Path, url: str, password: str = PASSWORD) -> RegistryAccess:
    """As `helm repo add private URL --username … --password …` leaves it (helm 3.16)."""
    entry = {
        "caFile": "",
        "certFile": "",
        "insecure_skip_tls_verify": False,
        "keyFile": "",
        "name": "private",
        "pass_credentials_all": False,
        "password": password,
        "url": url,
        "username": USERNAME,
    }
    public = {**entry, "name": "public", "url": "https://charts.example.com", "password": "", "username": ""}
    file = folder / "repositories.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": "", "repositories": [public, entry]}))
    return RegistryAccess(helm_repositories=str(file))


def logins(folder: Path, key: str, name: str = "config.json", password: str = PASSWORD) -> str:
    """A file of `docker login` or `helm registry login` with one entry."""
    file = folder / name
    file.write_text(json.dumps({"auths": {key: {"auth": encoded(password)}}}))
    return str(file)


def access_by(field: str, path: str) -> RegistryAccess:
    given: dict[str, Any] = {field: path}
    return RegistryAccess(**given)


def versions(access: RegistryAccess, host: str, repository: str) -> Mapping[str, str]:
    """As the program asks."""
    return build_charts(Environment(registry=access), partial(allowing, host)).versions(repository, "flux2")


def refused(access: RegistryAccess, host: str, repository: str) -> SourceUnavailable:
    with pytest.raises(SourceUnavailable) as caught:
        versions(access, host, repository)
    told = f"{caught.value!r}{caught.value.message}{caught.value.hint}"
    assert not any(secret in told for secret in (PASSWORD, OTHER, encoded(), encoded(OTHER)))
    return caught.value


# ---- index.yaml


@pytest.mark.parametrize("refusal", [401, 403, 404])
@pytest.mark.parametrize("end", ["", "/"])
def test_the_password_that_helm_has(private: Private, tmp_path: Path, refusal: int, end: str) -> None:
    private.refusal = refusal
    access = helm(tmp_path, f"{private.url}/charts{end}")
    assert versions(access, private.host, f"{private.url}/charts") == VERSIONS
    assert private.sent == [None, basic()]


@pytest.mark.parametrize("key", ["{host}", "http://{host}", "{host}/charts", "{host}/charts/"])
@pytest.mark.parametrize("field", ["found_config", "docker_config", "helm_registry"])
def test_the_password_of_a_login(private: Private, tmp_path: Path, key: str, field: str) -> None:
    access = access_by(field, logins(tmp_path, key.format(host=private.host)))
    assert versions(access, private.host, f"{private.url}/charts") == VERSIONS
    assert private.sent == [None, basic()]


def test_the_password_of_a_helper(private: Private, tmp_path: Path) -> None:
    program = tmp_path / "docker-credential-ours"
    program.write_text(f'#!/bin/sh\nprintf \'{{"Username": "{USERNAME}", "Secret": "{PASSWORD}"}}\'\n')
    program.chmod(0o700)
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"credHelpers": {private.host: "ours"}}))
    environment = Environment(search_path=str(tmp_path), registry=RegistryAccess(found_config=str(file)))
    charts = build_charts(environment, partial(allowing, private.host))
    assert charts.versions(f"{private.url}/charts", "flux2") == VERSIONS


def test_helms_entry_counts_before_the_hosts(private: Private, tmp_path: Path) -> None:
    docker = logins(tmp_path, private.host, password=OTHER)
    access = helm(tmp_path, f"{private.url}/charts")._replace(found_config=docker)
    assert versions(access, private.host, f"{private.url}/charts") == VERSIONS
    assert basic(OTHER) not in private.sent


def test_what_is_public_is_asked_without_a_password(server: Loopback, tmp_path: Path) -> None:
    server.route("/charts/index.yaml", Answer(index(VERSIONS)))
    access = helm(tmp_path, f"{server.url}/charts")._replace(found_config=logins(tmp_path, server.host))
    assert versions(access, server.host, f"{server.url}/charts") == VERSIONS
    assert [each.headers.get("authorization") for each in server.seen] == [None]


def test_over_tls(clients: Clients, tls: tuple[Loopback, str], tmp_path: Path) -> None:
    secure, certificate = tls
    secure.route("/index.yaml", Answer(b"log in", 401), Answer(index(VERSIONS)))
    credentials = build_chart_credentials(Environment(registry=helm(tmp_path, secure.url)))
    assert chart_versions(clients(ca_file=certificate), secure.url, "flux2", credentials) == VERSIONS
    assert [each.headers.get("authorization") for each in secure.seen] == [None, basic()]


@pytest.mark.parametrize(
    ("entry", "asked"),
    [
        ("/charts", "/charts-of-others"),
        ("/charts", "/"),
        ("/charts", "/charts/sub"),
        ("/charts", "/charts/../others"),
        ("/charts", "/charts/%2e%2e/others"),
        ("/charts", "/charts?for=others"),
        ("/other", "/charts"),
    ],
)
def test_an_entry_of_helm_is_for_its_url_only(private: Private, tmp_path: Path, entry: str, asked: str) -> None:
    refused(helm(tmp_path, f"{private.url}{entry}"), private.host, f"{private.url}{asked}")
    assert {*private.sent} == {None}


@pytest.mark.parametrize(
    "asked",
    [
        "/others",
        "/charts-of-others",
        "/charts/../others",
        "/charts/%2e%2e/others",
        "/charts/%2E%2E/others",
        "/charts/..;/others",
        "/charts/..%2fothers",
        "/charts//../../others",
    ],
)
def test_a_key_with_a_path_is_for_what_is_below_it(private: Private, tmp_path: Path, asked: str) -> None:
    access = RegistryAccess(found_config=logins(tmp_path, f"{private.host}/charts"))
    refused(access, private.host, f"{private.url}{asked}")
    assert {*private.sent} == {None}


def test_a_login_at_another_port_is_for_another_host(private: Private, tmp_path: Path) -> None:
    access = helm(tmp_path, "http://127.0.0.1:1/charts")._replace(found_config=logins(tmp_path, "127.0.0.1"))
    error = refused(access, private.host, f"{private.url}/charts")
    assert {*private.sent} == {None}
    assert "returned status 401 for /charts/index.yaml" in error.message
    assert "helm repo add" in error.hint


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_takes_no_password_along(private: Private, stack: ExitStack, tmp_path: Path, status: int) -> None:
    other = stack.enter_context(Loopback({"/index.yaml": Answer(index(VERSIONS))}))
    moved = Answer(status=status, headers={"Location": f"{other.url}/index.yaml"})
    private.route("/charts/index.yaml", moved)
    access = helm(tmp_path, f"{private.url}/charts")._replace(found_config=logins(tmp_path, private.host))
    found = build_charts(Environment(registry=access), partial(allowing, private.host, other.host))
    assert found.versions(f"{private.url}/charts", "flux2") == VERSIONS
    assert private.sent == [None, basic()]
    assert [each.headers.get("authorization") for each in other.seen] == [None]


def test_a_host_that_is_redirected_to_gets_none_for_its_refusal(
    server: Loopback, private: Private, tmp_path: Path
) -> None:
    """A tree names a host, and that one leads to another one that the user is logged in to."""
    server.route("/charts/index.yaml", Answer(status=302, headers={"Location": f"{private.url}/charts/index.yaml"}))
    access = helm(tmp_path, f"{private.url}/charts")._replace(found_config=logins(tmp_path, private.host))
    charts = build_charts(Environment(registry=access), partial(allowing, server.host, private.host))
    with pytest.raises(SourceUnavailable, match="returned status 401"):
        charts.versions(f"{server.url}/charts", "flux2")
    assert {*private.sent} == {None}
    assert not any("authorization" in each.headers for each in server.seen)


def test_no_password_over_plain_http_to_another_machine(tmp_path: Path) -> None:
    url = "http://charts.internal/charts"
    access = helm(tmp_path, url)._replace(found_config=logins(tmp_path, "charts.internal"))
    credentials = build_chart_credentials(Environment(registry=access))
    assert credentials.of_index(url) is None
    assert credentials.of_index(url.replace("http:", "https:")) is not None
    assert not HelmRepositories(access.helm_repositories).names("charts.internal")


@pytest.mark.parametrize("url", ["s3://bucket/charts", "https://", "https://a@b@c/charts", "https://[::1/charts", ""])
def test_what_is_no_address(url: str, tmp_path: Path) -> None:
    credentials = build_chart_credentials(Environment(registry=helm(tmp_path, url)))
    assert credentials.of_index(url) is None


def test_a_password_that_is_wrong(private: Private, tmp_path: Path) -> None:
    error = refused(helm(tmp_path, f"{private.url}/charts", OTHER), private.host, f"{private.url}/charts")
    assert isinstance(error, ForbiddenByRegistry)
    assert f"the repository private in {tmp_path}/repositories.yaml" in error.hint
    assert private.sent == [None, basic(OTHER)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"repositories: {}",
        b"repositories: [1, {url: 1}, {url: 'http://127.0.0.1', username: a}]",
        b"repositories: [{url: [], username: a, password: b}]",
        b"a: ]",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"!!python/object/apply:os.system [id]",
    ],
)
def test_a_file_of_helm_that_has_none(private: Private, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "repositories.yaml"
    file.write_bytes(content)
    access = RegistryAccess(helm_repositories=str(file), helm_registry=str(file))
    refused(access, private.host, f"{private.url}/charts")


def test_an_index_is_kept_for_who_may_read_it(private: Private, clients: Clients, tmp_path: Path) -> None:
    private.route("/charts/index.yaml", Answer(index(VERSIONS), headers={"ETag": '"1"'}))
    known = build_chart_credentials(Environment(registry=helm(tmp_path, f"{private.url}/charts")))
    nobody = build_chart_credentials(Environment())
    for credentials in (known, nobody, known):
        if credentials is nobody:
            with pytest.raises(SourceUnavailable):
                chart_versions(clients(etags=tmp_path / "etags"), f"{private.url}/charts", "flux2", credentials)
            continue
        found = chart_versions(clients(etags=tmp_path / "etags"), f"{private.url}/charts", "flux2", credentials)
        assert found == VERSIONS
    asked = [(each.headers.get("authorization"), each.headers.get("if-none-match")) for each in private.seen]
    assert asked == [(None, None), (basic(), None), (None, None), (None, None), (basic(), '"1"')]
    kept = b"".join(file.read_bytes() for file in (tmp_path / "etags").rglob("*") if file.is_file())
    assert kept
    assert PASSWORD.encode() not in kept
    assert encoded().encode() not in kept


def test_helms_entry_names_its_host(tmp_path: Path) -> None:
    for url, host in (("https://charts.internal/x", "charts.internal"), ("https://c.internal:8443", "c.internal:8443")):
        found = ChartCredentials(HelmRepositories(helm(tmp_path, url).helm_repositories), DockerConfig("", "", {}))
        assert found.names(host)
        assert not found.names(f"x{host}")
        assert not found.names("charts.example.com")  # There it has no password.


@pytest.mark.parametrize("kind", ["index", "registry"])
def test_no_password_to_a_proxy_by_plain_http(
    private: Private, stack: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """What is on the loopback interface is asked itself, though the environment has a proxy for plain http."""
    proxy = stack.enter_context(RecordingProxy())
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, proxy.url)
    private.route(f"/v2/{PATH}/flux2/tags/list", Answer(b'{"tags": []}'))
    access = RegistryAccess(found_config=logins(tmp_path, private.host))
    if kind == "index":
        assert versions(access, private.host, f"{private.url}/charts") == VERSIONS
    else:
        assert dict(versions(access, private.host, f"oci://{private.host}/{PATH}")) == {}
    assert private.sent == [None, basic()]
    assert proxy.asked == []


@pytest.mark.parametrize("format_", ["helm", "docker"])
def test_a_password_that_is_half_a_surrogate_pair(private: Private, tmp_path: Path, format_: str) -> None:
    """The error of Python's that would be raised for it holds the password."""
    secret, file = f'"{PASSWORD}\\ud800"', tmp_path / "file"
    if format_ == "helm":
        file.write_text(f"repositories: [{{name: a, url: '{private.url}/charts', username: a, password: {secret}}}]")
    else:
        file.write_text(f'{{"auths": {{"{private.host}": {{"username": "a", "password": {secret}}}}}}}')
    field = "helm_repositories" if format_ == "helm" else "found_config"
    error = refused(access_by(field, str(file)), private.host, f"{private.url}/charts")
    assert isinstance(error, ForbiddenByRegistry)


# ---- a registry


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[str]:
    """A real registry with the chart and Flux's artifact, which wants USERNAME and PASSWORD for all of it."""
    storage = tmp_path / "registry"
    storage.mkdir()
    with running_registry(storage) as url:
        for version in ("2.18.3", "2.17.2"):
            push_chart(url, version, config_of(version))
        push(url, "fluxcd/flux-manifests", "v9.9.9", b"layer")
    with running_registry(storage, htpasswd(storage)) as url:
        yield url


@pytest.mark.real_part("docker-registry")
@pytest.mark.parametrize("field", ["found_config", "docker_config", "helm_registry"])
@pytest.mark.parametrize("key", ["{host}", "{host}/fluxcd-community"])
def test_charts_in_a_registry_that_wants_a_password(locked: str, tmp_path: Path, field: str, key: str) -> None:
    host = locked.removeprefix("http://")
    access = access_by(field, logins(tmp_path, key.format(host=host)))
    assert dict(versions(access, host, f"oci://{host}/{PATH}")) == {"2.18.3": "2.8.8", "2.17.2": "2.8.8"}


@pytest.mark.real_part("docker-registry")
@pytest.mark.parametrize("key", ["{host}/others", "127.0.0.1:1", "{host}/fluxcd-com"])
def test_charts_in_a_registry_with_a_password_for_others(locked: str, tmp_path: Path, key: str) -> None:
    host = locked.removeprefix("http://")
    error = refused(RegistryAccess(found_config=logins(tmp_path, key.format(host=host))), host, f"oci://{host}/{PATH}")
    assert "requires credentials to pull from" in error.message
    assert "docker login" in error.hint


@pytest.mark.real_part("docker-registry, openssl")
def test_charts_in_a_registry_over_tls(clients: Clients, tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    folder.mkdir()
    with running_registry(folder) as url:
        push_chart(url, "2.18.3", config_of("2.18.3"))
    certificate, key = own_certificate(folder, names="DNS:registry.internal")
    with running_registry(folder, htpasswd(folder), tls=(certificate, key)) as url:
        # The loopback is asked over plain http, any other name over https.
        host = f"registry.internal:{url.rpartition(':')[2]}"
        access = RegistryAccess(found_config=logins(tmp_path, host))
        credentials = build_chart_credentials(Environment(registry=access))
        egress = Egress(list, credentials.names, "allow {}".format, lambda *_: ["127.0.0.1"])
        client = clients(ca_file=str(certificate), egress=egress)
        assert dict(chart_versions(client, f"oci://{host}/{PATH}", "flux2", credentials)) == {"2.18.3": "2.8.8"}


@pytest.mark.real_part("docker-registry")
def test_what_flux_published_in_a_registry_that_wants_a_password(locked: str, clients: Clients, tmp_path: Path) -> None:
    """GHCR, for a release newer than this program: with Docker's credentials, as the network page says."""
    host = locked.removeprefix("http://")
    credentials = DockerConfig(logins(tmp_path, host), "", {})
    with pytest.raises(SourceUnavailable, match="gives no anonymous access"):
        FluxManifestsRegistry(clients(), locked).published("v9.9.8")
    assert FluxManifestsRegistry(clients(), locked, credentials=credentials).published("v9.9.8") is None
