"""A signature is found by its tag, in the list of referrers, or by the tag that replaces that list."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from contextlib import ExitStack
from hashlib import sha256

import pytest

from adapters.conftest import Clients
from adapters.loopback import Answer, Loopback
from adapters.registries import push_manifest
from adapters.test_artifact_registry import PATH, described, opened, push
from flux_upgrade.adapters.oci.artifact_registry import is_signed
from flux_upgrade.adapters.oci.registry_credentials import GivenCredentials
from flux_upgrade.adapters.oci.repository import INDEX_TYPE, RegistryRepository
from flux_upgrade.model.errors import ForbiddenByRegistry, RegistryUnavailable
from flux_upgrade.model.oci.manifest import MANIFEST_TYPE

DIGEST = f"sha256:{'1' * 64}"
NAME = DIGEST.replace(":", "-")
REFERRERS = f"/v2/{PATH}/referrers/{DIGEST}"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
PREDICATE = "dev.sigstore.bundle.predicateType"


def index(*artifact_types: str, annotations: Mapping[str, str] | None = None) -> dict[str, object]:
    listed = [
        {
            "mediaType": MANIFEST_TYPE,
            "digest": f"sha256:{sha256(each.encode()).hexdigest()}",
            "size": 1,
            "artifactType": each,
            **({} if annotations is None else {"annotations": dict(annotations)}),
        }
        for each in artifact_types
    ]
    return {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": listed}


def answer(content: object, link: str = "") -> Answer:
    headers = {"Link": f'<{link}>; rel="next"'} if link else {}
    return Answer(json.dumps(content).encode(), headers=headers)


def test_a_signature_by_its_tag_costs_no_request(server: Loopback, clients: Clients) -> None:
    assert opened(server.url, clients).is_signed(DIGEST, [f"{NAME}.sig"])
    assert server.seen == []


@pytest.mark.parametrize(
    "kind",
    [
        BUNDLE,
        "application/vnd.dev.sigstore.bundle.v0.4+json",
        "application/vnd.dev.cosign.artifact.sig.v1+json",
        "application/vnd.cncf.notary.signature",
    ],
)
def test_a_signature_among_the_referrers(server: Loopback, clients: Clients, kind: str) -> None:
    server.route(REFERRERS, answer(index("application/spdx+json", kind)))
    assert opened(server.url, clients).is_signed(DIGEST, [])
    assert INDEX_TYPE in server.seen[0].headers["accept"]


def test_an_attestation_is_no_signature(server: Loopback, clients: Clients) -> None:
    registry = opened(server.url, clients)
    for predicate, signed in (("https://slsa.dev/provenance/v1", False), ("https://sigstore.dev/cosign/sign/v1", True)):
        server.route(REFERRERS, answer(index(BUNDLE, annotations={PREDICATE: predicate})))
        assert registry.is_signed(DIGEST, []) is signed


def test_referrers_page_by_page(server: Loopback, clients: Clients) -> None:
    following = f"{REFERRERS}?page=2"
    server.route(REFERRERS, answer(index("application/spdx+json"), following))
    server.route(following, answer(index(BUNDLE)))
    assert opened(server.url, clients).is_signed(DIGEST, [])


@pytest.mark.parametrize("scheme", ["Basic", "Bearer"])
def test_a_page_at_a_host_that_is_redirected_to_gets_no_password(
    server: Loopback, stack: ExitStack, clients: Clients, scheme: str
) -> None:
    other = stack.enter_context(Loopback())
    other.route(REFERRERS, answer(index(), f"{other.url}/more"))
    other.route("/more", answer(index(BUNDLE)))
    moved = Answer(status=307, headers={"Location": f"{other.url}{REFERRERS}"})
    challenge = f'{scheme} realm="{server.url}/token"'
    server.route(REFERRERS, Answer(status=401, headers={"WWW-Authenticate": challenge}), moved)
    server.route("/token", Answer(b'{"token": "t"}'))
    credentials = GivenCredentials(server.host, "robot", "password")
    repository = RegistryRepository(clients(), server.url, PATH, credentials=credentials)
    assert is_signed(repository, DIGEST, [])
    assert server.seen[-1].headers["authorization"].startswith(f"{scheme} ")
    assert [each.headers.get("authorization") for each in other.seen] == [None, None]


def test_referrers_without_an_end(server: Loopback, clients: Clients) -> None:
    server.route(REFERRERS, answer(index(), REFERRERS))
    assert not opened(server.url, clients).is_signed(DIGEST, [])
    assert len(server.seen) == 20


@pytest.mark.parametrize(
    "response",
    [Answer(status=404), Answer(status=405), Answer(status=400), Answer(b"<html>"), Answer(b"[]"), Answer(b"{}"), answer({"manifests": 7})],
)  # fmt: skip
def test_a_registry_without_a_list_of_referrers(server: Loopback, clients: Clients, response: Answer) -> None:
    server.route(REFERRERS, response)
    registry = opened(server.url, clients)
    other = f"sha256-{'2' * 64}"
    assert not registry.is_signed(DIGEST, ["production", other, f"{other}.sig", f"{NAME}.att"])
    assert server.paths() == [REFERRERS]
    server.route(f"/v2/{PATH}/manifests/{NAME}", answer(index("application/spdx+json")))
    assert not registry.is_signed(DIGEST, [NAME])
    server.route(f"/v2/{PATH}/manifests/{NAME}", answer(index(BUNDLE)))
    assert registry.is_signed(DIGEST, [NAME])


def test_what_stops_the_question(server: Loopback, clients: Clients) -> None:
    registry = opened(server.url, clients)
    server.route(REFERRERS, Answer(status=403))
    with pytest.raises(ForbiddenByRegistry):
        registry.is_signed(DIGEST, [])
    server.route(REFERRERS, Answer(status=500))
    with pytest.raises(RegistryUnavailable):
        registry.is_signed(DIGEST, [])


@pytest.mark.real_part("docker-registry")
def test_signatures_in_a_real_registry(registry: str, clients: Clients) -> None:
    artifacts = opened(registry, clients)
    digest = push(artifacts, "production").digest
    assert not artifacts.is_signed(digest, artifacts.tags())
    # As those who sign do where there is no list of referrers, which this registry has not.
    empty = {"mediaType": "application/vnd.oci.empty.v1+json", "digest": described(b"{}").digest, "size": 2}
    artifacts.put_blob(io.BytesIO(b"{}"), described(b"{}"))
    signature = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": BUNDLE,
        "config": empty,
        "layers": [empty],
    }
    body = json.dumps(signature)
    signed = f"sha256:{sha256(body.encode()).hexdigest()}"
    assert push_manifest(registry, PATH, "kept", signature) == signed
    listed = {"mediaType": MANIFEST_TYPE, "digest": signed, "size": len(body), "artifactType": BUNDLE}
    under = digest.replace(":", "-")
    push_manifest(registry, PATH, under, {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [listed]})
    assert artifacts.is_signed(digest, artifacts.tags())
    # And cosign's own tag.
    push(artifacts, f"{under}.sig")
    assert artifacts.is_signed(digest, (f"{under}.sig",))
