"""Manifests, blobs and tags of an OCI repository are read, and bytes that do not match their digest are refused."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from adapters.conftest import Clients
from adapters.loopback import Answer, Loopback
from adapters.registries import NoCredentials
from adapters.worlds import REGISTRY
from flux_upgrade.adapters.http.client import Credential
from flux_upgrade.adapters.oci.artifact_registry import OciArtifactRegistry
from flux_upgrade.adapters.oci.repository import RegistryRepository, open_repository
from flux_upgrade.model.errors import SourceUnavailable, UntrustedArchive
from flux_upgrade.model.oci.manifest import Descriptor

PATH = "fluxcd/flux-manifests"
BODY = b'{"schemaVersion": 2, "layers": []}'
DIGEST = f"sha256:{sha256(BODY).hexdigest()}"
OTHER = f"sha256:{sha256(b'other').hexdigest()}"
MANIFEST = f"{REGISTRY}/manifests/v2.9.4"
TAGS = f"{REGISTRY}/tags/list"


@pytest.fixture
def repository(server: Loopback, clients: Clients) -> RegistryRepository:
    return open_repository(clients(Credential("https://ghcr.io", "secret")), f"{server.host}/{PATH}")


@pytest.mark.parametrize(
    ("name", "called", "url"),
    [
        ("ghcr.io/fluxcd/flux-manifests", "ghcr.io/fluxcd/flux-manifests", "https://ghcr.io/v2/fluxcd/flux-manifests"),
        ("docker.io/fluxcd/flux-manifests", "registry-1.docker.io/fluxcd/flux-manifests", "https://registry-1.docker.io/v2/fluxcd/flux-manifests"),
        ("index.docker.io/a/b", "registry-1.docker.io/a/b", "https://registry-1.docker.io/v2/a/b"),
        ("docker.io/flux-manifests", "registry-1.docker.io/library/flux-manifests", "https://registry-1.docker.io/v2/library/flux-manifests"),
        ("fluxcd/flux-manifests", "registry-1.docker.io/fluxcd/flux-manifests", "https://registry-1.docker.io/v2/fluxcd/flux-manifests"),
        ("localhost/a", "localhost/a", "http://localhost/v2/a"),
        ("localhost:5000/a", "localhost:5000/a", "http://localhost:5000/v2/a"),
        ("127.0.0.1:5000/a/b_c/d-e", "127.0.0.1:5000/a/b_c/d-e", "http://127.0.0.1:5000/v2/a/b_c/d-e"),
        ("[::1]:5000/a", "::1:5000/a", "http://[::1]:5000/v2/a"),
        ("localhost.example/a", "localhost.example/a", "https://localhost.example/v2/a"),
        ("registry:5000/a", "registry:5000/a", "https://registry:5000/v2/a"),
        ("10.0.0.1:5000/a", "10.0.0.1:5000/a", "https://10.0.0.1:5000/v2/a"),
    ],
)  # fmt: skip
def test_where_a_repository_is(name: str, called: str, url: str, clients: Clients) -> None:
    opened = open_repository(clients(), name)
    assert (opened.name, opened.url) == (called, url)


@pytest.mark.parametrize(
    "name",
    ["", "ghcr.io", "ghcr.io/", "ghcr.io/Fluxcd/x", "ghcr.io/../x", "ghcr.io//x", "ghcr.io/x:v1", "ghcr.io/x@sha256:0", "user:pass@ghcr.io/x", "ghcr.io:/x", "ghcr.io/x?y", "ghcr.io/x y", "ghcr.io/${name}", "-.io/x", "ghcr.io/x\n"],
)  # fmt: skip
def test_what_is_no_name_of_a_repository(name: str, clients: Clients) -> None:
    with pytest.raises(SourceUnavailable, match="is not the name of an OCI repository") as caught:
        open_repository(clients(), name)
    assert caught.value.message.isprintable()


def test_a_manifest_by_tag_and_by_digest(server: Loopback, repository: RegistryRepository) -> None:
    server.route(MANIFEST, Answer(BODY, headers={"Docker-Content-Digest": DIGEST}))
    server.route(f"{REGISTRY}/manifests/{DIGEST}", Answer(BODY))
    by_tag, by_digest = repository.manifest("v2.9.4"), repository.manifest(DIGEST)
    assert by_tag is not None
    assert by_tag == by_digest
    assert by_tag.digest == DIGEST
    assert [seen.headers.get("authorization") for seen in server.seen] == [None, None]


def test_a_manifest_that_differs_from_what_was_asked_for(server: Loopback, repository: RegistryRepository) -> None:
    server.route(f"{REGISTRY}/manifests/{OTHER}", Answer(BODY))
    with pytest.raises(UntrustedArchive, match=f"is {DIGEST[7:]} instead of {OTHER[7:]}"):
        repository.manifest(OTHER)


def test_a_manifest_that_differs_from_what_the_registry_states(
    server: Loopback, repository: RegistryRepository
) -> None:
    server.route(MANIFEST, Answer(BODY, headers={"Docker-Content-Digest": OTHER}))
    with pytest.raises(UntrustedArchive, match=r"flux-manifests:v2\.9\.4"):
        repository.manifest("v2.9.4")


@pytest.mark.parametrize("body", [b"[]", b'"x"', b" " * (4 * 1024 * 1024 + 1)])
def test_what_is_no_manifest(server: Loopback, repository: RegistryRepository, body: bytes) -> None:
    server.route(MANIFEST, Answer(body))
    with pytest.raises(UntrustedArchive, match="the manifest of"):
        repository.manifest("v2.9.4")


@pytest.mark.parametrize("reference", ["", "a/b", "../x", "v2.9.4+x", "-x", "v" * 129, "sha256:0", "sha512:0", "a b"])
def test_what_is_no_reference_is_not_asked_for(
    server: Loopback, repository: RegistryRepository, reference: str
) -> None:
    assert repository.manifest(reference) is None
    assert server.seen == []


@pytest.mark.parametrize("status", [401, 403])
def test_access_denied(server: Loopback, repository: RegistryRepository, status: int) -> None:
    server.route(MANIFEST, Answer(status=status))
    with pytest.raises(SourceUnavailable, match=f"gives no anonymous access to {PATH}") as caught:
        repository.manifest("v2.9.4")
    assert "no password" in caught.value.hint


@pytest.mark.parametrize("status", [401, 403])
def test_a_realm_that_refuses_a_token(server: Loopback, repository: RegistryRepository, status: int) -> None:
    server.route("/token", Answer(b"{}", status))
    server.route(MANIFEST, Answer(status=401, headers={"WWW-Authenticate": f'Bearer realm="{server.url}/token"'}))
    with pytest.raises(SourceUnavailable, match="gives no anonymous access"):
        repository.manifest("v2.9.4")


def test_a_token_is_used_again_until_it_expires(server: Loopback, repository: RegistryRepository) -> None:
    server.route("/token", *(Answer(json.dumps({"token": token}).encode()) for token in ("one", "two")))
    denied = Answer(status=401, headers={"WWW-Authenticate": f'Bearer realm="{server.url}/token"'})
    server.route(MANIFEST, denied, Answer(BODY), Answer(BODY), denied, Answer(BODY))
    for _ in range(3):
        assert repository.manifest("v2.9.4") is not None
    sent = [seen.headers.get("authorization") for seen in server.seen]
    assert sent == [None, None, "Bearer one", "Bearer one", "Bearer one", None, "Bearer two"]


def test_a_rate_limit_is_not_lifted_by_a_token_of_github(server: Loopback, repository: RegistryRepository) -> None:
    server.route(MANIFEST, Answer(status=429, headers={"Retry-After": "3600"}))
    with pytest.raises(SourceUnavailable, match="rate limit") as caught:
        repository.manifest("v2.9.4")
    assert "GITHUB_TOKEN" not in caught.value.hint


@pytest.mark.parametrize(
    "manifests",
    ["x", [], [7], [{}, {}], [{"digest": OTHER}], [{"digest": "../x"}], [{"platform": "linux"}, {"digest": DIGEST}]],
)  # fmt: skip
def test_an_index_without_an_image(server: Loopback, repository: RegistryRepository, manifests: object) -> None:
    server.route(MANIFEST, Answer(json.dumps({"manifests": manifests}).encode()))
    found = repository.manifest("v2.9.4")
    assert found is not None
    with pytest.raises(UntrustedArchive, match="has no readable image"):
        repository.image(found)


def test_an_index_of_an_index_is_not_followed(server: Loopback, repository: RegistryRepository) -> None:
    inner = b'{"manifests": []}'
    digest = f"sha256:{sha256(inner).hexdigest()}"
    server.route(f"{REGISTRY}/manifests/{digest}", Answer(inner))
    server.route(MANIFEST, Answer(json.dumps({"manifests": [{"digest": digest}]}).encode()))
    found = repository.manifest("v2.9.4")
    assert found is not None
    with pytest.raises(UntrustedArchive, match="has no readable image"):
        repository.image(found)


def test_a_blob(server: Loopback, repository: RegistryRepository) -> None:
    server.route(f"{REGISTRY}/blobs/{DIGEST}", Answer(BODY))
    server.route(f"{REGISTRY}/blobs/{OTHER}", Answer(BODY))
    assert repository.blob(DIGEST, "It", len(BODY)) == BODY
    with pytest.raises(UntrustedArchive, match=f"It failed verification: it is larger than {len(BODY) - 1} bytes"):
        repository.blob(DIGEST, "It", len(BODY) - 1)
    with pytest.raises(UntrustedArchive, match=OTHER[7:]):
        repository.blob(OTHER, "It")
    with pytest.raises(UntrustedArchive, match="not a sha256"):
        repository.blob("sha512:0", "It")
    with pytest.raises(SourceUnavailable, match="404"):
        repository.blob(f"sha256:{'0' * 64}", "It")


def page(tags: object, following: str = "") -> Answer:
    headers = {"Link": f'<{following}>; rel="next"'} if following else {}
    return Answer(json.dumps({"name": PATH, "tags": tags}).encode(), headers=headers)


def test_tags_page_by_page(server: Loopback, repository: RegistryRepository) -> None:
    server.route(TAGS, page(["v2.9.2", "v2.9.3"], f"{TAGS}?last=v2.9.3&n=2"), page(["v2.9.3", "latest", 7]))
    assert repository.tags() == ("v2.9.2", "v2.9.3", "latest")
    assert server.paths() == [f"{TAGS}?n=1000", f"{TAGS}?last=v2.9.3&n=2"]


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"tags": null}', b'{"tags": "x"}'])
def test_no_tags(server: Loopback, repository: RegistryRepository, body: bytes) -> None:
    server.route(TAGS, Answer(body))
    assert repository.tags() == ()


def test_tags_without_an_end(server: Loopback, repository: RegistryRepository) -> None:
    server.route(TAGS, page(["v2.9.4"], f"{TAGS}?last=v2.9.4"))
    with pytest.raises(SourceUnavailable, match="more than 50 pages of tags"):
        repository.tags()
    assert len(server.seen) == 50


@pytest.mark.parametrize("size", [(4 << 30) + 1, 10**30])
def test_a_blob_that_is_larger_than_any_layer_may_be_is_not_asked_for(
    size: int, server: Loopback, clients: Clients
) -> None:
    server.route(f"{REGISTRY}/blobs/{OTHER}", Answer(b"other"))
    registry = OciArtifactRegistry(clients(), server.host, PATH, NoCredentials(), plain_http=True)
    with pytest.raises(UntrustedArchive, match="larger than 4294967296 bytes"):
        registry.blob(Descriptor("any", OTHER, size))
    assert server.seen == []
    with registry.blob(Descriptor("any", OTHER, 5)) as blob:
        assert blob.read() == b"other"
