"""A real registry returns exactly what was pushed, and a blob that differs from its digest is refused."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path

import pytest
import requests

from adapters.conftest import Clients
from adapters.faulty_registry import FaultyRegistry
from adapters.loopback import Answer, Loopback, closed_port
from adapters.registries import NoCredentials, own_certificate, running_registry
from adapters.small_release import member, pack
from flux_upgrade.adapters.oci.artifact_registry import OciArtifactRegistry
from flux_upgrade.model.errors import RegistryUnavailable, UntrustedArchive
from flux_upgrade.model.oci.manifest import CONFIG_TYPE, CONTENT_TYPE, MANIFEST_TYPE, Descriptor, StoredManifest
from real_parts import require_program

PATH = "org/flux-manifests"
CONFIG = b"{}"
LAYER = pack([member("gotk-components.yaml", b"kind: Namespace\n")])


def described(blob: bytes, media_type: str = CONTENT_TYPE) -> Descriptor:
    return Descriptor(media_type, f"sha256:{sha256(blob).hexdigest()}", len(blob))


def stored(layer: bytes = LAYER) -> StoredManifest:
    parts = described(CONFIG, CONFIG_TYPE), described(layer)
    config, content = ({"mediaType": kind, "digest": digest, "size": size} for kind, digest, size in parts)
    text = {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config, "layers": [content]}
    body = json.dumps(text).encode()
    return StoredManifest(MANIFEST_TYPE, body, f"sha256:{sha256(body).hexdigest()}")


def push(registry: OciArtifactRegistry, tag: str, layer: bytes = LAYER) -> StoredManifest:
    for blob in (CONFIG, layer):
        registry.put_blob(io.BytesIO(blob), described(blob))
    manifest = stored(layer)
    registry.put_manifest(manifest, tag)
    return manifest


def opened(url: str, clients: Clients, path: str = PATH, ca_file: str | None = None) -> OciArtifactRegistry:
    scheme, _, host = url.partition("://")
    client = clients(ca_file=ca_file)
    return OciArtifactRegistry(client, host, path, NoCredentials(), plain_http=scheme == "http")


@pytest.fixture
def pushed(registry: str, clients: Clients) -> OciArtifactRegistry:
    return opened(registry, clients)


def skopeo(*arguments: str) -> bytes:
    command = [require_program("skopeo"), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout  # noqa: S603  (ours)


@pytest.mark.real_part("docker-registry")
def test_what_is_pushed_is_what_is_pulled(pushed: OciArtifactRegistry) -> None:
    manifest = push(pushed, "production")
    assert pushed.manifest("production") == manifest
    assert pushed.manifest(manifest.digest) == manifest
    assert pushed.digest("production") == pushed.digest(manifest.digest) == manifest.digest
    assert pushed.tags() == ("production",)
    with pushed.blob(described(LAYER)) as blob:
        assert blob.read() == LAYER


@pytest.mark.real_part("docker-registry")
def test_what_is_not_there(pushed: OciArtifactRegistry) -> None:
    assert pushed.manifest("production") is None
    assert pushed.digest("production") is None
    assert pushed.tags() == ()
    assert pushed.digest("no tag") is None
    with pytest.raises(RegistryUnavailable, match=r"did not return the blob sha256:\w+ \(404\): BLOB_UNKNOWN"):
        pushed.blob(described(LAYER))


@pytest.mark.real_part("docker-registry")
def test_a_manifest_whose_blobs_are_missing(pushed: OciArtifactRegistry) -> None:
    with pytest.raises(RegistryUnavailable, match=r"rejected the manifest for production \(4\d\d\): \w+") as caught:
        pushed.put_manifest(stored(), "production")
    assert caught.value.hint
    assert pushed.digest("production") is None


@pytest.mark.real_part("docker-registry")
def test_a_blob_of_nothing(pushed: OciArtifactRegistry) -> None:
    pushed.put_blob(io.BytesIO(), described(b""))
    with pushed.blob(described(b"")) as blob:
        assert blob.read() == b""


def test_a_blob_of_nothing_has_a_length(server: Loopback, clients: Clients) -> None:
    server.route(f"/v2/{PATH}/blobs/uploads/", Answer(status=202, headers={"Location": "/there?state=x"}))
    server.route("/there", Answer(status=201))
    opened(server.url, clients).put_blob(io.BytesIO(), described(b""))
    last = server.seen[-1]
    assert (last.method, last.path) == ("PUT", f"/there?state=x&digest={described(b'').digest}")
    assert last.headers["content-length"] == "0"
    assert "transfer-encoding" not in last.headers


@pytest.mark.real_part("docker-registry")
def test_a_blob_other_than_it_says(pushed: OciArtifactRegistry) -> None:
    with pytest.raises(RegistryUnavailable, match=r"rejected the blob .* \(400\): DIGEST_INVALID"):
        pushed.put_blob(io.BytesIO(b"x" * len(LAYER)), described(LAYER))


@pytest.mark.real_part("docker-registry")
@pytest.mark.parametrize("size", [len(LAYER) - 1, len(LAYER) + 1])
def test_a_blob_of_another_length(pushed: OciArtifactRegistry, size: int) -> None:
    push(pushed, "production")
    with pytest.raises(UntrustedArchive, match="bytes"):
        pushed.blob(described(LAYER)._replace(size=size))


@pytest.mark.real_part("docker-registry")
def test_a_blob_that_was_changed_in_the_registry(pushed: OciArtifactRegistry, tmp_path: Path) -> None:
    push(pushed, "production")
    (data,) = (tmp_path / "storage").rglob(f"{sha256(LAYER).hexdigest()}/data")
    data.write_bytes(bytes(len(LAYER)))
    with pytest.raises(UntrustedArchive, match=sha256(LAYER).hexdigest()):
        pushed.blob(described(LAYER))


@pytest.mark.real_part("docker-registry")
def test_pushing_again_changes_nothing(pushed: OciArtifactRegistry) -> None:
    first, again = push(pushed, "production"), push(pushed, "production")
    assert (pushed.digest("production"), pushed.tags()) == (first.digest, ("production",))
    assert first == again


@pytest.mark.real_part("docker-registry")
def test_a_tag_is_moved(pushed: OciArtifactRegistry) -> None:
    before = push(pushed, "production")
    pushed.put_manifest(before, "v2.9.3-0123456789ab")
    after = push(pushed, "production", pack([member("other.yaml")]))
    assert (pushed.digest("production"), pushed.digest("v2.9.3-0123456789ab")) == (after.digest, before.digest)


@pytest.mark.real_part("docker-registry")
def test_requests_are_few(registry: str, clients: Clients, stack: ExitStack) -> None:
    front = stack.enter_context(FaultyRegistry(registry))
    pushed = opened(front.url, clients)
    push(pushed, "production")
    methods = ["POST", "PUT", "POST", "PUT", "PUT"]  # two for each blob, and the manifest
    assert [each.method for each in front.passed] == methods
    pushed.digest("production")
    pushed.blob(described(LAYER)).close()
    assert [each.method for each in front.passed] == [*methods, "HEAD", "GET"]


@pytest.mark.real_part("docker-registry")
def test_addresses_of_uploads_may_be_relative(tmp_path: Path, clients: Clients, stack: ExitStack) -> None:
    address = stack.enter_context(running_registry(tmp_path, http=", relativeurls: true"))
    begun = requests.post(f"{address}/v2/{PATH}/blobs/uploads/", timeout=5)
    assert begun.headers["Location"].startswith("/v2/")
    registry = opened(address, clients)
    assert registry.digest("production") != push(registry, "production").digest == registry.digest("production")


@pytest.mark.real_part("docker-registry")
def test_tags_page_by_page(pushed: OciArtifactRegistry) -> None:
    manifest = push(pushed, "production")
    tags = [f"t{number:04}" for number in range(30)]
    for tag in tags:
        pushed.put_manifest(manifest, tag)
    assert set(pushed.tags()) == {"production", *tags}


@pytest.mark.real_part("skopeo")
def test_skopeo_reads_what_we_push(pushed: OciArtifactRegistry, registry: str, tmp_path: Path) -> None:
    manifest = push(pushed, "production")
    source = f"docker://{registry.removeprefix('http://')}/{PATH}:production"
    assert skopeo("inspect", "--raw", "--tls-verify=false", source) == manifest.content
    skopeo("--insecure-policy", "copy", "--src-tls-verify=false", source, f"dir:{tmp_path / 'copy'}")
    assert (tmp_path / "copy" / sha256(LAYER).hexdigest()).read_bytes() == LAYER
    assert (tmp_path / "copy" / "manifest.json").read_bytes() == manifest.content


@pytest.mark.real_part("skopeo")
def test_we_read_what_skopeo_writes(
    pushed: OciArtifactRegistry, registry: str, clients: Clients, tmp_path: Path
) -> None:
    manifest = push(pushed, "production")
    host = registry.removeprefix("http://")
    source, target = f"docker://{host}/{PATH}:production", f"docker://{host}/copied/here:latest"
    skopeo("--insecure-policy", "copy", "--src-tls-verify=false", source, f"dir:{tmp_path / 'copy'}")
    skopeo("--insecure-policy", "copy", "--dest-tls-verify=false", f"dir:{tmp_path / 'copy'}", target)
    copied = opened(registry, clients, "copied/here")
    assert copied.manifest("latest") == manifest
    with copied.blob(described(LAYER)) as blob:
        assert blob.read() == LAYER


@pytest.mark.real_part("docker-registry")
def test_tls_with_an_authority_of_ones_own(tmp_path: Path, clients: Clients, stack: ExitStack) -> None:
    certificate, key = own_certificate(tmp_path / "tls")
    address = stack.enter_context(running_registry(tmp_path, tls=(certificate, key)))
    trusting = opened(address, clients, ca_file=str(certificate))
    assert push(trusting, "production").digest == trusting.digest("production")
    with pytest.raises(RegistryUnavailable, match=r"certificate of 127\.0\.0\.1:.* is not trusted") as caught:
        opened(address, clients).digest("production")
    assert "--ca-file" in caught.value.hint


@pytest.mark.real_part("docker-registry")
def test_plain_http_is_used_only_where_it_is_wanted(registry: str, clients: Clients) -> None:
    host = registry.removeprefix("http://")
    with pytest.raises(RegistryUnavailable, match="does not speak https") as caught:
        OciArtifactRegistry(clients(), host, PATH, NoCredentials()).digest("production")
    assert "--plain-http" in caught.value.hint


@pytest.mark.parametrize(
    ("host", "path", "name"),
    [
        ("ghcr.io", "org/app", "ghcr.io/org/app"),
        ("docker.io", "app", "registry-1.docker.io/library/app"),
        ("index.docker.io", "org/app", "registry-1.docker.io/org/app"),
    ],
)
def test_where_a_registry_is(host: str, path: str, name: str, clients: Clients) -> None:
    assert str(OciArtifactRegistry(clients(), host, path, NoCredentials())) == f"https://{name}"


def test_a_registry_that_is_not_there(clients: Clients) -> None:
    with pytest.raises(RegistryUnavailable, match="Connection refused") as caught:
        opened(f"http://127.0.0.1:{closed_port()}", clients).tags()
    assert "release source" not in caught.value.hint


@pytest.mark.real_part("docker-registry")
def test_a_hundred_megabytes_in_little_memory(registry: str, stack: ExitStack) -> None:
    front = stack.enter_context(FaultyRegistry(registry))
    done = subprocess.run(  # noqa: S603  (ours)
        [sys.executable, "-c", _HUNDRED, front.host, PATH], check=True, capture_output=True, text=True
    )
    megabytes = float(done.stdout)
    assert 10 < megabytes < 80
    assert [each.partition(" ")[0] for each in front.asked] == ["POST", "PUT", "GET"]


_HUNDRED = """
import os, random, sys, tempfile, time
from hashlib import sha256
from flux_upgrade.model.oci.manifest import Descriptor
from flux_upgrade.adapters.oci.artifact_registry import OciArtifactRegistry
from flux_upgrade.adapters.http.client import Client
from flux_upgrade.adapters.oci.registry_credentials import DockerConfig
from flux_upgrade.model.timing import Timing

client = Client(Timing(time.time, time.sleep, random.random))
registry = OciArtifactRegistry(client, sys.argv[1], sys.argv[2], DockerConfig("", "", {}), plain_http=True)
with tempfile.TemporaryFile() as layer:
    digest = sha256()
    for _ in range(100):
        chunk = os.urandom(1 << 20)
        layer.write(chunk)
        digest.update(chunk)
    descriptor = Descriptor("any", f"sha256:{digest.hexdigest()}", 100 << 20)
    registry.put_blob(layer, descriptor)
with registry.blob(descriptor) as pulled:
    assert pulled.seek(0, 2) == 100 << 20
# Not getrusage: its peak is that of whoever started this process, too.
(peak,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM:")]
print(int(peak.split()[1]) / 1024)
"""
