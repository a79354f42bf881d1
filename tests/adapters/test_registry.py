"""The manifests of a release are pulled from an OCI registry, with or without a token, and verified."""

from __future__ import annotations

import json
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path

import pytest

from adapters.conftest import Clients
from adapters.loopback import Answer, Loopback
from adapters.registries import push
from adapters.small_release import member, pack
from adapters.worlds import REGISTRY, serve_artifact
from flux_upgrade.adapters.http.archive import MAX_COMPRESSED
from flux_upgrade.adapters.http.client import Credential
from flux_upgrade.adapters.oci.registry_login import bearer_challenge
from flux_upgrade.adapters.releases.registry import FluxManifestsRegistry
from flux_upgrade.model.errors import SourceUnavailable, UntrustedArchive
from flux_upgrade.model.oci.manifest import CONTENT_TYPE

TEXT = "# Flux Version: v2.9.4\n"
LAYER = pack([member("./gotk-components.yaml", TEXT.encode())])
MANIFEST = f"{REGISTRY}/manifests/v2.9.4"
TOKEN = "anonymous.pull"


def challenged(server: Loopback, realm: str) -> str:
    """Route an artifact that wants a token; the path of its blob."""
    blob = serve_artifact(server, "v2.9.4", LAYER)
    challenge = f'Bearer realm="{realm}",service="ghcr.io",scope="repository:fluxcd/flux-manifests:pull"'
    denied = Answer(b"{}", status=401, headers={"WWW-Authenticate": challenge})
    server.route(MANIFEST, denied, *server.routes[MANIFEST])
    return blob


def test_pulls_without_a_token(server: Loopback, clients: Clients) -> None:
    serve_artifact(server, "v2.9.4", LAYER)
    assert FluxManifestsRegistry(clients(), base=server.url).published("v2.9.4") == TEXT
    assert "vnd.oci.image.manifest.v1" in server.seen[0].headers["accept"]


def test_pulls_with_a_token_that_stays_with_the_registry(server: Loopback, clients: Clients, stack: ExitStack) -> None:
    realm, storage = stack.enter_context(Loopback()), stack.enter_context(Loopback({"/blob": Answer(LAYER)}))
    realm.route("/token", Answer(json.dumps({"token": TOKEN}).encode()))
    blob = challenged(server, f"{realm.url}/token")
    server.route(blob, Answer(status=307, headers={"Location": f"{storage.url}/blob?signature=1"}))
    client = clients(Credential("https://api.github.com", "ghp_private"))
    assert FluxManifestsRegistry(client, base=server.url).published("v2.9.4") == TEXT
    assert realm.paths() == ["/token?service=ghcr.io&scope=repository%3Afluxcd%2Fflux-manifests%3Apull"]
    sent = [seen.headers.get("authorization") for seen in (*server.seen, *realm.seen, *storage.seen)]
    assert sent == [None, f"Bearer {TOKEN}", f"Bearer {TOKEN}", None, None]


def test_not_there_yet(server: Loopback, clients: Clients) -> None:
    body = json.dumps({"errors": [{"code": "MANIFEST_UNKNOWN"}]}).encode()
    server.route(MANIFEST, Answer(body, status=404))
    registry = FluxManifestsRegistry(clients(), base=server.url)
    assert registry.published("v2.9.4") is None
    assert registry.published("v2.9.4+build") is None
    assert server.paths() == [MANIFEST]


def test_not_there_yet_and_a_token_is_wanted(server: Loopback, clients: Clients) -> None:
    server.route("/token", Answer(json.dumps({"access_token": TOKEN}).encode()))
    challenged(server, f"{server.url}/token?a=b")
    server.route(MANIFEST, server.routes[MANIFEST][0], Answer(status=404))
    assert FluxManifestsRegistry(clients(), base=server.url).published("v2.9.4") is None
    assert server.paths()[1].startswith("/token?a=b&service=")


@pytest.mark.parametrize(
    "challenge",
    ["", 'Basic realm="x"', "Bearer", "Bearer realm=", 'Bearer realm="ftp://host/"', 'Bearer realm="file:///x"'],
)
def test_no_anonymous_access(server: Loopback, clients: Clients, challenge: str) -> None:
    server.route(MANIFEST, Answer(status=401, headers={"WWW-Authenticate": challenge}))
    with pytest.raises(SourceUnavailable, match="no anonymous access") as caught:
        FluxManifestsRegistry(clients(), base=server.url).published("v2.9.4")
    assert caught.value.hint


@pytest.mark.parametrize("answer", [b"{}", b'{"token": 1}', b'{"token": ""}', b'{"token": "a\\nb"}', b"[]", b"junk"])
def test_a_realm_that_gives_no_token(server: Loopback, clients: Clients, answer: bytes) -> None:
    server.route("/token", Answer(answer))
    challenged(server, f"{server.url}/token")
    with pytest.raises(SourceUnavailable):
        FluxManifestsRegistry(clients(), base=server.url).published("v2.9.4")


def test_a_realm_that_gives_up_https(server: Loopback, clients: Clients, tls: tuple[Loopback, str]) -> None:
    secure, certificate = tls
    challenged(secure, f"{server.url}/token")
    with pytest.raises(SourceUnavailable, match="no anonymous access"):
        FluxManifestsRegistry(clients(ca_file=certificate), base=secure.url).published("v2.9.4")
    assert server.seen == []


def test_a_token_that_is_not_accepted(server: Loopback, clients: Clients) -> None:
    server.route("/token", Answer(json.dumps({"token": TOKEN}).encode()))
    challenged(server, f"{server.url}/token")
    server.route(MANIFEST, server.routes[MANIFEST][0])
    with pytest.raises(SourceUnavailable) as caught:
        FluxManifestsRegistry(clients(), base=server.url).published("v2.9.4")
    assert TOKEN not in caught.value.message


@pytest.mark.parametrize(
    "layer", [b"tampered", pack([member("gotk-components.yaml", b"kind: Evil\n")]), bytes(MAX_COMPRESSED + 1)]
)
def test_a_layer_that_differs_from_its_digest(server: Loopback, clients: Clients, layer: bytes) -> None:
    blob = serve_artifact(server, "v2.9.4", LAYER)
    server.route(blob, Answer(layer))
    with pytest.raises(UntrustedArchive, match=r"fluxcd/flux-manifests:v2\.9\.4"):
        FluxManifestsRegistry(clients(), base=server.url).published("v2.9.4")


@pytest.mark.parametrize(
    "layer", [pack([]), pack([member("other.yaml")]), pack([member("../gotk-components.yaml")]), b"no archive"]
)
def test_a_layer_without_the_file(server: Loopback, clients: Clients, layer: bytes) -> None:
    serve_artifact(server, "v2.9.4", layer)
    with pytest.raises(UntrustedArchive):
        FluxManifestsRegistry(clients(), base=server.url).published("v2.9.4")


def test_a_layer_of_another_type(server: Loopback, clients: Clients) -> None:
    serve_artifact(server, "v2.9.4", LAYER, "application/vnd.oci.image.layer.v1.tar+gzip")
    with pytest.raises(UntrustedArchive, match="not have exactly one layer"):
        FluxManifestsRegistry(clients(), base=server.url).published("v2.9.4")


def test_which_layer(server: Loopback, clients: Clients) -> None:
    serve_artifact(server, "v2.9.4", LAYER)
    good = {"mediaType": CONTENT_TYPE, "digest": f"sha256:{sha256(LAYER).hexdigest()}"}

    def published(layers: object) -> str | None:
        server.route(MANIFEST, Answer(json.dumps({"layers": layers}).encode()))
        return FluxManifestsRegistry(clients(), base=server.url).published("v2.9.4")

    assert published([good, {"mediaType": "other"}, 7]) == TEXT
    none: list[object] = [[], [good, good], [{**good, "digest": "sha256:../../x"}], None, {}, "x"]
    for layers in none:
        with pytest.raises(UntrustedArchive, match="not have exactly one layer"):
            published(layers)


def test_challenges() -> None:
    assert bearer_challenge('Basic realm="a", Bearer realm="b",Scope="c d,e"') == {"realm": "b", "scope": "c d,e"}
    assert bearer_challenge('Basic realm="a"') is None


@pytest.mark.real_part("docker-registry")
def test_pulls_from_a_real_registry(registry: str, clients: Clients, tmp_path: Path) -> None:
    pulled = FluxManifestsRegistry(clients(), base=registry)
    assert pulled.published("v2.9.4") is None  # NAME_UNKNOWN
    push(registry, "fluxcd/flux-manifests", "v2.9.4", LAYER)
    assert pulled.published("v2.9.4") == TEXT
    assert pulled.published("v2.9.5") is None  # MANIFEST_UNKNOWN
    hexadecimal = sha256(LAYER).hexdigest()
    (blob,) = (tmp_path / "storage").rglob(f"{hexadecimal}/data")
    blob.write_bytes(bytes(len(LAYER)))
    with pytest.raises(UntrustedArchive, match=hexadecimal):
        pulled.published("v2.9.4")


@pytest.mark.real_part("docker-registry")
def test_a_real_registry_that_wants_a_password(locked_registry: str, clients: Clients) -> None:
    with pytest.raises(SourceUnavailable, match="no anonymous access"):
        FluxManifestsRegistry(clients(), base=locked_registry).published("v2.9.4")
