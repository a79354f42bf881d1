"""A Helm repository, an OCI registry and the charts in memory give the same answers about chart versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from adapters import registries
from adapters.conftest import Clients
from adapters.loopback import Answer, Loopback, closed_port
from adapters.registries import allowing, charts_of
from flux_upgrade.adapters.http.client import Client, Credential
from flux_upgrade.adapters.oci.charts import CONFIG_TYPE, MAX_INDEX, read_index
from flux_upgrade.commands.wiring import build_charts
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import SourceUnavailable, UntrustedArchive
from flux_upgrade.model.oci.manifest import MANIFEST_TYPE
from flux_upgrade.model.ports import Charts
from memory import MemoryCharts

VERSIONS = {"2.18.3": "2.8.8", "2.17.2": "v2.7.5", "2.16.0-beta.1+build.5": "2.6.0", "0.1.0": ""}
PATH = "fluxcd-community/charts"
CONTENT_TYPE = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


def index(versions: Mapping[str, str], **more: object) -> bytes:
    """As ``helm repo index`` writes it, as JSON."""
    entries = {
        "flux": [{"name": "flux", "version": "1.13.3", "appVersion": "1.25.4"}],
        "flux2": [
            {"apiVersion": "v2", "name": "flux2", "version": version, "urls": [f"https://host/{version}.tgz"]}
            | ({"appVersion": app} if app else {})
            for version, app in versions.items()
        ],
        "flux2-sync": [{"name": "flux2-sync", "version": "1.13.0", "appVersion": "2.8.8"}],
    }
    return json.dumps({"apiVersion": "v1", "entries": entries, **more}).encode()


def push_chart(url: str, tag: str, config: object, media_type: str = CONFIG_TYPE, path: str = f"{PATH}/flux2") -> None:
    """As ``helm push`` does: what Chart.yaml says is the config."""
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": registries.push_blob(url, path, json.dumps(config).encode(), media_type),
        "layers": [registries.push_blob(url, path, b"chart", CONTENT_TYPE)],
    }
    registries.push_manifest(url, path, tag, manifest)


def config_of(version: str, app: str = "2.8.8", name: str = "flux2") -> dict[str, str]:
    return {"name": name, "version": version} | ({"appVersion": app} if app else {})


@pytest.fixture(params=["memory", "index", pytest.param("registry", marks=pytest.mark.real_part("docker-registry"))])
def stock(request: pytest.FixtureRequest, server: Loopback, clients: Clients) -> tuple[Charts, str]:
    """A repository with the chart, and its address."""
    if request.param == "memory":
        repository = "https://charts.example.com"
        return MemoryCharts({repository: {"flux2": VERSIONS}}), repository
    if request.param == "index":
        server.route("/charts/index.yaml", Answer(index(VERSIONS)))
        return charts_of(clients), f"{server.url}/charts"
    url: str = request.getfixturevalue("registry")
    for version, app in VERSIONS.items():
        push_chart(url, version.replace("+", "_"), config_of(version, app))
    push_chart(url, "latest", config_of("2.18.3"))
    return charts_of(clients), f"oci://{url.removeprefix('http://')}/{PATH}"


def test_versions_and_what_they_install(stock: tuple[Charts, str]) -> None:
    charts, repository = stock
    assert dict(charts.versions(repository, "flux2")) == VERSIONS


def test_one_version_by_itself(stock: tuple[Charts, str]) -> None:
    charts, repository = stock
    versions = charts.versions(repository, "flux2")
    assert versions["2.17.2"] == "v2.7.5"
    assert versions.get("9.9.9") is None
    assert len(versions) == len(VERSIONS)


def test_another_chart(stock: tuple[Charts, str]) -> None:
    charts, repository = stock
    assert dict(charts.versions(repository, "flux3")) == {}


# ---- index.yaml


@pytest.mark.parametrize("address", ["", "/", "/charts", "/charts/", "/a/b//"])
def test_where_the_index_stands(server: Loopback, clients: Clients, address: str) -> None:
    server.route(f"{address.rstrip('/')}/index.yaml", Answer(index(VERSIONS)))
    charts = charts_of(clients)
    assert charts.versions(f"{server.url}{address}", "flux2") == VERSIONS
    assert charts.versions(f"{server.url}{address}/", "flux2") == VERSIONS
    assert len(server.seen) == 1


def test_a_query_stays_behind_the_path(server: Loopback, clients: Clients) -> None:
    server.route("/charts/index.yaml", Answer(index(VERSIONS)))
    charts_of(clients).versions(f"{server.url}/charts?ref=main", "flux2")
    assert server.paths() == ["/charts/index.yaml?ref=main"]


def test_an_index_that_did_not_change_is_not_sent_again(server: Loopback, clients: Clients, tmp_path: Path) -> None:
    server.route("/index.yaml", Answer(index(VERSIONS), headers={"ETag": '"1"'}))
    for _ in range(2):
        assert charts_of(lambda: clients(etags=tmp_path)).versions(server.url, "flux2") == VERSIONS
    assert [seen.headers.get("if-none-match") for seen in server.seen] == [None, '"1"']


def test_no_token_and_no_redirect_to_plain_http(server: Loopback, clients: Clients, tls: tuple[Loopback, str]) -> None:
    secure, certificate = tls
    secure.route("/index.yaml", Answer(status=302, headers={"Location": f"{server.url}/index.yaml"}))
    secure.route("/moved/index.yaml", Answer(status=302, headers={"Location": f"{secure.url}/there.yaml"}))
    secure.route("/there.yaml", Answer(index(VERSIONS)))
    credential = Credential("https://api.github.com", "ghp_private")
    charts = charts_of(lambda: clients(credential, ca_file=certificate))
    assert charts.versions(f"{secure.url}/moved", "flux2") == VERSIONS
    with pytest.raises(SourceUnavailable, match="redirects to http"):
        charts.versions(secure.url, "flux2")
    assert server.seen == []
    assert not any("authorization" in seen.headers for seen in secure.seen)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(b"gone", 404), "no chart index found at 127.0.0.1:.*/charts/index.yaml"),
        (Answer(status=401), "returned status 401"),
        (Answer(b"a:\n- ]", 200), "is not valid YAML in line 2"),
        (Answer(b"entries: \xff\xfe", 200), "is not valid YAML"),
        (Answer(b"<!DOCTYPE html>\n<html><body>Not found</body></html>", 200), "(no valid YAML|no entries)"),
        (Answer(b"", 200), "has no entries"),
        (Answer(b"[]", 200), "has no entries"),
        (Answer(b"entries: [flux2]", 200), "has no entries"),
        (Answer(b"apiVersion: v1\n", 200), "has no entries"),
        (Answer(b"#" * (MAX_INDEX + 1), 200), "is larger than 33554432 bytes"),
        (Answer(index(VERSIONS), fault="truncated"), "connection was lost|is unreachable"),
        (Answer(status=429, headers={"Retry-After": "3600"}), "rate limit"),
    ],
)
def test_an_index_that_is_none(server: Loopback, clients: Clients, answer: Answer, words: str) -> None:
    server.route("/charts/index.yaml", answer)
    charts = charts_of(clients)
    with pytest.raises(SourceUnavailable, match=words) as caught:
        charts.versions(f"{server.url}/charts", "flux2")
    assert caught.value.hint
    assert "GITHUB_TOKEN" not in caught.value.hint
    asked = len(server.seen)
    with pytest.raises(SourceUnavailable):
        charts.versions(f"{server.url}/charts/", "flux2")
    assert len(server.seen) == asked


@pytest.mark.parametrize(
    "address", ["https://127.0.0.1:{port}/charts", "oci://127.0.0.1:{port}/charts", "s3://bucket/charts", "oci://Ü/x"]
)
def test_an_address_that_leads_nowhere(clients: Clients, address: str) -> None:
    with pytest.raises(SourceUnavailable) as caught:
        charts_of(clients).versions(address.format(port=closed_port()), "flux2")
    assert caught.value.hint


def test_a_run_without_charts_connects_to_nothing() -> None:
    def connect() -> Client:
        raise AssertionError

    charts_of(connect)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("entries: {}", {}),
        ("entries: {flux2: }", {}),
        ("entries: {flux2: [], flux: [{version: 1.0.0}]}", {}),
        ("entries: {flux2: [a, [b], {c: {version: 9.9.9}}, {version: 2.10, appVersion: 2.2}]}", {"2.10": "2.2"}),
        ("entries: {flux2: [{version: 1.0.0, appVersion: a}, {version: 1.0.0, appVersion: b}]}", {"1.0.0": "a"}),
        ("entries: {flux2: [{version: {a: b}, appVersion: c}, {appVersion: d}]}", {}),
        ("a: &a [x, x]\nb: &b [*a, *a]\nentries: {flux2: [{version: 1.0.0, urls: *b}]}", {"1.0.0": ""}),
        ("[a]: b\n? {c: d}\n: [e]\nentries:\n  ? [x]\n  : y\n  flux2:\n  - version: 1.0.0", {"1.0.0": ""}),
        ("entries:\n  other: " + "[" * 5000 + "]" * 5000 + "\n  flux2: [{version: 1.0.0}]", {"1.0.0": ""}),
        ("\ufeffentries:\r\n  flux2:\r\n  - version: '1.0.0'\r\n    appVersion: \"2.0\"\r\n", {"1.0.0": "2.0"}),
    ],
)
def test_what_an_index_says(text: str, found: dict[str, str]) -> None:
    assert read_index(text.encode(), "flux2", "the index") == found


# ---- a registry


@pytest.mark.real_part("docker-registry")
def test_a_registry_is_asked_for_what_is_looked_at(registry: str, clients: Clients) -> None:
    for version in ("2.9.0", "2.10.0", "2.10.1-rc.1"):
        push_chart(registry, version, config_of(version))
    made: list[Client] = []

    def connect() -> Client:
        made.append(clients())
        return made[-1]

    repository = f"oci://{registry.removeprefix('http://')}/{PATH}"
    charts = charts_of(connect)
    versions = charts.versions(repository, "flux2")
    assert list(versions) == ["2.10.1-rc.1", "2.10.0", "2.9.0"]
    assert made[0].sent == 1
    for _ in range(2):
        assert charts.versions(repository, "flux2")["2.10.0"] == "2.8.8"
    assert made[0].sent == 3
    assert len(made) == 1


@pytest.mark.real_part("docker-registry")
@pytest.mark.parametrize(
    ("config", "media_type", "words"),
    [
        (config_of("2.16.0"), CONFIG_TYPE, "does not contain version 2.17.0 of flux2"),
        (config_of("2.17.0", name="flux2-sync"), CONFIG_TYPE, "does not contain version 2.17.0 of flux2"),
        ([], CONFIG_TYPE, "does not contain version 2.17.0 of flux2"),
        (config_of("2.17.0"), "application/vnd.cncf.flux.config.v1+json", "it is not a Helm chart"),
    ],
)
def test_what_is_no_version_of_the_chart(
    registry: str, clients: Clients, config: object, media_type: str, words: str
) -> None:
    push_chart(registry, "2.17.0", config, media_type)
    versions = charts_of(clients).versions(f"oci://{registry.removeprefix('http://')}/{PATH}", "flux2")
    with pytest.raises(UntrustedArchive, match=words):
        versions["2.17.0"]


@dataclass
class Registry:
    """As much of one as it takes to go wrong."""

    server: Loopback
    routes: Mapping[str, Answer] = field(default_factory=dict)

    def versions(self, connect: Callable[[], Client]) -> Mapping[str, str]:
        base = f"/v2/{PATH}/flux2"
        self.server.route(f"{base}/tags/list", Answer(json.dumps({"tags": ["2.17.0"]}).encode()))
        for path, answer in self.routes.items():
            self.server.route(f"{base}/{path}", answer)
        charts = charts_of(connect)
        return charts.versions(f"oci://{self.server.host}/{PATH}", "flux2")


def test_a_tag_that_is_listed_and_not_there(server: Loopback, clients: Clients) -> None:
    versions = Registry(server).versions(clients)
    with pytest.raises(SourceUnavailable, match=r"flux2:2\.17\.0 is listed, but missing"):
        versions["2.17.0"]


def test_a_config_of_another_digest(server: Loopback, clients: Clients) -> None:
    digest = f"sha256:{'1' * 64}"
    manifest = {"config": {"mediaType": CONFIG_TYPE, "digest": digest}}
    routes = {
        "manifests/2.17.0": Answer(json.dumps(manifest).encode()),
        f"blobs/{digest}": Answer(json.dumps(config_of("2.17.0")).encode()),
    }
    versions = Registry(server, routes).versions(clients)
    with pytest.raises(UntrustedArchive):
        dict(versions)


def test_as_it_is_built(server: Loopback) -> None:
    server.route("/index.yaml", Answer(index(VERSIONS)))
    assert build_charts(Environment(), partial(allowing, server.host)).versions(server.url, "flux2") == VERSIONS
