"""A real registry and the in-memory one of the tests give the same answers about artifacts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

from adapters import registries
from adapters.conftest import Clients
from adapters.loopback import Answer, Loopback, closed_port
from adapters.registries import allowing, artifacts_of
from adapters.small_release import member, pack
from adapters.worlds import serve_artifact
from flux_upgrade.commands.wiring import build_artifacts
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import SourceUnavailable, UntrustedArchive
from flux_upgrade.model.oci.manifest import CONTENT_TYPE, MANIFEST_TYPE
from flux_upgrade.model.ports import Artifacts
from memory import MemoryArtifacts

PATH = "fluxcd/flux-manifests"
REVISION = "org.opencontainers.image.revision"
NO_DIGEST = f"sha256:{'0' * 64}"


@dataclass(frozen=True)
class Artifact:
    tags: Sequence[str]
    files: Sequence[str]
    revision: str = ""


NEWEST = Artifact(["v2.9.4", "latest"], ["./gotk-components.yaml"], "v2.9.4@sha1:59b8")
UNTOLD = Artifact(["v2.9.3"], ["flux/v2.9.3/rbac.yaml", "./flux/a.yaml", "LICENSE"])


@dataclass
class Stock:
    artifacts: Artifacts
    repository: str
    digests: Mapping[str, str]
    """Tag → digest."""

    @property
    def elsewhere(self) -> str:
        return f"{self.repository}-of-another-name"


@pytest.fixture(params=["memory", pytest.param("registry", marks=pytest.mark.real_part("docker-registry"))])
def stock(request: pytest.FixtureRequest, clients: Clients) -> Stock:
    """A repository with both artifacts."""
    if request.param == "memory":
        repository = f"registry.example/{PATH}"
        digests = {tag: _digest(each.tags[0]) for each in (NEWEST, UNTOLD) for tag in each.tags}
        stated = {
            f"{repository}:{tag}": {
                "digest": digests[tag],
                "files": [file.removeprefix("./") for file in each.files],
                **({"revision": each.revision} if each.revision else {}),
            }
            for each in (NEWEST, UNTOLD)
            for tag in each.tags
        }
        return Stock(MemoryArtifacts(stated), repository, digests)
    url: str = request.getfixturevalue("registry")
    digests = {
        tag: registries.push(url, PATH, tag, _layer(each), {REVISION: each.revision} if each.revision else None)
        for each in (NEWEST, UNTOLD)
        for tag in each.tags
    }
    return Stock(artifacts_of(clients), f"{url.removeprefix('http://')}/{PATH}", digests)


def _digest(text: str) -> str:
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def _layer(artifact: Artifact) -> bytes:
    return pack([member(file, b"x") for file in artifact.files])


def test_the_digest_of_a_tag(stock: Stock) -> None:
    asked = {tag: stock.artifacts.digest(stock.repository, tag) for tag in stock.digests}
    assert asked == stock.digests
    assert asked["latest"] == asked["v2.9.4"] != asked["v2.9.3"]


def test_a_digest_stands_for_itself(stock: Stock) -> None:
    digest = stock.digests["v2.9.3"]
    assert stock.artifacts.digest(stock.repository, digest) == digest


def test_annotations_by_tag_and_by_digest(stock: Stock) -> None:
    for reference in ("v2.9.4", "latest", stock.digests["v2.9.4"]):
        assert stock.artifacts.annotations(stock.repository, reference) == {REVISION: NEWEST.revision}
    assert stock.artifacts.annotations(stock.repository, "v2.9.3") == {}


def test_all_tags(stock: Stock) -> None:
    assert sorted(stock.artifacts.tags(stock.repository)) == ["latest", "v2.9.3", "v2.9.4"]


def test_a_listing_is_sorted_and_begins_at_the_root(stock: Stock) -> None:
    listed = stock.artifacts.listing(stock.repository, "v2.9.3")
    assert listed == ("LICENSE", "flux/a.yaml", "flux/v2.9.3/rbac.yaml")
    assert stock.artifacts.listing(stock.repository, stock.digests["latest"]) == ("gotk-components.yaml",)


@pytest.mark.parametrize("reference", ["v2.9.5", NO_DIGEST, "v2.9.4+build", "../v2.9.4", ""])
def test_what_is_not_there(stock: Stock, reference: str) -> None:
    assert stock.artifacts.digest(stock.repository, reference) is None
    assert stock.artifacts.annotations(stock.repository, reference) is None
    assert stock.artifacts.listing(stock.repository, reference) is None


def test_no_such_repository(stock: Stock) -> None:
    assert stock.artifacts.digest(stock.elsewhere, "v2.9.4") is None
    assert stock.artifacts.tags(stock.elsewhere) == ()


@pytest.fixture(params=["memory", "registry"])
def unreachable(request: pytest.FixtureRequest, clients: Clients) -> tuple[Artifacts, str]:
    repository = f"127.0.0.1:{closed_port()}/{PATH}"
    if request.param == "memory":
        return MemoryArtifacts(unreachable=[repository]), repository
    return artifacts_of(clients), repository


def test_a_registry_that_cannot_be_reached(unreachable: tuple[Artifacts, str]) -> None:
    artifacts, repository = unreachable
    for ask in (artifacts.digest, artifacts.annotations, artifacts.listing):
        with pytest.raises(SourceUnavailable, match="is unreachable") as caught:
            ask(repository, "v2.9.4")
        assert caught.value.hint
    with pytest.raises(SourceUnavailable, match="is unreachable"):
        artifacts.tags(repository)


# What only a registry has


@pytest.mark.real_part("docker-registry")
def test_an_index_leads_to_the_image_that_a_node_takes(registry: str, clients: Clients) -> None:
    images = {
        name: registries.push(registry, PATH, name, pack([member(name)]), {"name": name, REVISION: "below"})
        for name in ("arm64", "amd64")
    }
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [
            {"mediaType": MANIFEST_TYPE, "digest": digest, "size": 7, "platform": {"os": "linux", "architecture": name}}
            for name, digest in images.items()
        ],
        "annotations": {REVISION: "above"},
    }
    digest = registries.push_manifest(registry, PATH, "v2.9.4", index)
    artifacts, repository = artifacts_of(clients), f"{registry.removeprefix('http://')}/{PATH}"

    assert artifacts.digest(repository, "v2.9.4") == digest
    assert artifacts.listing(repository, "v2.9.4") == ("amd64",)
    assert artifacts.annotations(repository, "v2.9.4") == {"name": "amd64", REVISION: "above"}


@pytest.mark.real_part("docker-registry")
def test_a_manifest_that_was_tampered_with(registry: str, clients: Clients, tmp_path: Path) -> None:
    digest = registries.push(registry, PATH, "v2.9.4", _layer(NEWEST))
    (stored,) = (tmp_path / "storage").rglob(f"{digest.removeprefix('sha256:')}/data")
    stored.write_bytes(stored.read_bytes().replace(b"schemaVersion", b"schemaversion"))
    artifacts = artifacts_of(clients)

    with pytest.raises((UntrustedArchive, SourceUnavailable)):
        artifacts.digest(f"{registry.removeprefix('http://')}/{PATH}", digest)


@pytest.mark.real_part("docker-registry")
def test_a_registry_that_wants_a_password(locked_registry: str, clients: Clients) -> None:
    with pytest.raises(SourceUnavailable, match="gives no anonymous access to fluxcd/flux-manifests") as caught:
        artifacts_of(clients).digest(f"{locked_registry.removeprefix('http://')}/{PATH}", "v2.9.4")
    assert "no password" in caught.value.hint


def test_each_manifest_and_layer_is_asked_for_once(server: Loopback, clients: Clients) -> None:
    serve_artifact(server, "v2.9.4", _layer(NEWEST))
    server.route(f"/v2/{PATH}/tags/list", Answer(b'{"tags": ["v2.9.4"]}'))
    artifacts, repository = artifacts_of(clients), f"{server.host}/{PATH}"
    for _ in range(2):
        digest = artifacts.digest(repository, "v2.9.4")
        assert digest is not None
        assert artifacts.annotations(repository, digest) == {}
        assert artifacts.listing(repository, "v2.9.4") == artifacts.listing(repository, digest)
        assert artifacts.digest(repository, "v2.9.5") is None
        assert artifacts.tags(repository) == ("v2.9.4",)
    assert len(server.seen) == len({seen.path for seen in server.seen}) == 4


def test_a_failure_is_remembered(server: Loopback, clients: Clients) -> None:
    server.route(f"/v2/{PATH}/manifests/v2.9.4", Answer(b"junk"))
    artifacts = artifacts_of(clients)
    for _ in range(2):
        with pytest.raises(SourceUnavailable, match="is not JSON"):
            artifacts.digest(f"{server.host}/{PATH}", "v2.9.4")
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "layer",
    [b"no archive", pack([member("../x")]), pack([member("x", kind=b"2", link="y")])],
    ids=["damaged", "outside", "link"],
)
def test_a_layer_that_is_not_listed(server: Loopback, clients: Clients, layer: bytes) -> None:
    serve_artifact(server, "v2.9.4", layer)
    with pytest.raises(UntrustedArchive, match=r"flux-manifests:v2\.9\.4"):
        artifacts_of(clients).listing(f"{server.host}/{PATH}", "v2.9.4")


def test_the_first_layer_is_listed_of_whatever_type(server: Loopback, clients: Clients) -> None:
    first, second = pack([member("first")]), pack([member("second")])
    layers = [
        {"mediaType": media_type, "digest": f"sha256:{sha256(layer).hexdigest()}"}
        for media_type, layer in (("application/vnd.oci.image.layer.v1.tar+gzip", first), (CONTENT_TYPE, second))
    ]
    server.route(f"/v2/{PATH}/manifests/v1", Answer(json.dumps({"layers": layers}).encode()))
    server.route(f"/v2/{PATH}/manifests/v0", Answer(b'{"layers": []}'))
    server.route(f"/v2/{PATH}/blobs/{layers[0]['digest']}", Answer(first))
    artifacts = artifacts_of(clients)
    assert artifacts.listing(f"{server.host}/{PATH}", "v1") == ("first",)
    with pytest.raises(UntrustedArchive, match="it has no layer"):
        artifacts.listing(f"{server.host}/{PATH}", "v0")


def test_more_files_than_a_release_has_are_listed_up_to_a_bound(server: Loopback, clients: Clients) -> None:
    serve_artifact(server, "many", pack([member(f"{number}") for number in range(4096)]))
    serve_artifact(server, "most", pack([member(f"{number}") for number in range(4097)]))
    artifacts, repository = artifacts_of(clients), f"{server.host}/{PATH}"
    assert len(artifacts.listing(repository, "many") or ()) == 4096
    with pytest.raises(UntrustedArchive, match="more than 4096 entries"):
        artifacts.listing(repository, "most")


def test_the_artifacts_of_a_run(server: Loopback, tmp_path: Path) -> None:
    serve_artifact(server, "v2.9.4", _layer(NEWEST))
    built = build_artifacts(Environment(cache_dir=str(tmp_path)), partial(allowing, server.host))
    assert built.listing(f"{server.host}/{PATH}", "v2.9.4") == ("gotk-components.yaml",)
