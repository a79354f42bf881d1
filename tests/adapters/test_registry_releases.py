"""Releases are listed, dated and read from a registry that has only copies of Flux's artifacts."""

from __future__ import annotations

import io
import json
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

import pytest
import written_release

from adapters.conftest import NOW, Clients
from adapters.loopback import closed_port
from adapters.registries import PASSWORD, USERNAME, htpasswd, push, push_blob, push_manifest, running_registry
from adapters.small_release import member, pack
from derived import published
from flux_upgrade import main
from flux_upgrade.adapters.http.cache import DownloadCache
from flux_upgrade.adapters.http.client import Client
from flux_upgrade.adapters.oci.repository import RegistryRepository, open_repository
from flux_upgrade.adapters.releases.registry import Derivation, RegistryReleases
from flux_upgrade.commands.wiring import build_releases
from flux_upgrade.config.environment import Environment
from flux_upgrade.manifests.derive import at_default_registry, derive
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import (
    ReleaseNotFound,
    SourceUnavailable,
    UnsupportedRelease,
    UntrustedArchive,
    UsageError,
)
from flux_upgrade.model.oci.manifest import MANIFEST_TYPE
from memory import WrittenReleases, rendered

pytestmark = pytest.mark.real_part("docker-registry")

PATH = "fluxcd/flux-manifests"
CREATED = "org.opencontainers.image.created"
REVISION = "org.opencontainers.image.revision"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
DERIVATION = Derivation(at_default_registry, derive)
FLAGS = (
    "--components=source-controller,kustomize-controller,notification-controller",
    "--namespace=gitops",
    "--network-policy=false",
    "--toleration-keys=one,two",
)


def text_of(tag: str, registry: str = "ghcr.io/fluxcd") -> str:
    return published(WrittenReleases((tag,)).manifests(tag), registry)


def layer_of(text: str) -> bytes:
    return pack([member("./gotk-components.yaml", text.encode())])


def publish(url: str, *tags: str, dates: Mapping[str, str] | None = None) -> None:
    """Push what Flux publishes of written releases; those of another tag only look like it."""
    for tag in tags:
        text = text_of(tag) if tag in written_release.TAGS else "other"
        annotations = {CREATED: dates[tag]} if dates and tag in dates else {}
        push(url, PATH, tag, layer_of(text), {REVISION: f"{tag}@sha1:{COMMIT}", **annotations})


@pytest.fixture
def connect(registry: str, clients: Clients) -> Callable[..., tuple[RegistryReleases, Client]]:
    """Makes a source at the registry, with a client of its own that counts."""

    def made(cache: Path | None = None, repository: str = PATH) -> tuple[RegistryReleases, Client]:
        client = clients()
        kept = DownloadCache(None if cache is None else str(cache))
        return (
            RegistryReleases(RegistryRepository(client, registry, repository), kept, DERIVATION, lambda: NOW),
            client,
        )

    return made


Connect = Callable[..., tuple[RegistryReleases, Client]]


def ago(days: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW - days * 86400))


def test_the_tags_that_are_releases_are_listed_the_newest_first(registry: str, connect: Connect) -> None:
    publish(registry, "v2.8.8", "v2.9.4", "v2.9.3", "v2.10.0", "v2.10.0-rc.1", "latest", "sha256-0.sig", "v2")
    listed = connect()[0].list()
    assert [release.tag for release in listed] == ["v2.10.0", "v2.10.0-rc.1", "v2.9.4", "v2.9.3", "v2.8.8"]
    assert [release.tag for release in listed if release.prerelease] == ["v2.10.0-rc.1"]
    assert {release.notes for release in listed} == {""}


def test_dates_are_asked_of_the_newest_patch_and_of_the_first_of_three_minors(registry: str, connect: Connect) -> None:
    tags = [f"v2.{minor}.{patch}" for minor in range(6, 11) for patch in range(6)]
    publish(registry, *tags, dates={tag: ago(100) for tag in tags})
    source, client = connect()
    dated = {release.tag: release.published_at for release in source.list() if release.published_at}
    assert dated == dict.fromkeys(["v2.10.5", "v2.10.0", "v2.9.5", "v2.9.0", "v2.8.5", "v2.8.0"], ago(100))
    assert client.sent == 1 + len(dated)
    assert source.list() == source.list()
    assert client.sent == 1 + len(dated)


def test_patches_are_dated_down_to_one_that_is_a_month_old(registry: str, connect: Connect) -> None:
    dates = {"v2.9.9": ago(1), "v2.9.8": ago(29), "v2.9.7": ago(31), "v2.9.6": ago(32), "v2.9.5": ago(99)}
    publish(registry, *dates, dates=dates)
    found = {release.tag: release.published_at for release in connect()[0].list()}
    assert found == {**dates, "v2.9.6": ""}


def test_no_more_than_four_patches_and_the_first_are_dated(registry: str, connect: Connect) -> None:
    tags = [f"v2.9.{patch}" for patch in range(9)]
    publish(registry, *tags, dates=dict.fromkeys(tags, ago(1)))
    source, client = connect()
    dated = [release.tag for release in source.list() if release.published_at]
    assert dated == ["v2.9.8", "v2.9.7", "v2.9.6", "v2.9.5", "v2.9.0"]
    assert client.sent == 1 + len(dated)


def test_the_first_day_of_time_is_no_date(registry: str, connect: Connect) -> None:
    publish(registry, "v2.9.4", "v2.9.3", dates={"v2.9.4": "1970-01-01T00:00:00Z"})
    assert {release.published_at for release in connect()[0].list()} == {""}


def test_an_artifact_that_cannot_be_trusted_has_no_date_and_does_not_stop_the_list(
    registry: str, connect: Connect, tmp_path: Path
) -> None:
    publish(registry, "v2.8.8", dates={"v2.8.8": ago(9)})
    digest = push(registry, PATH, "v2.9.4", layer_of(text_of("v2.9.4")), {CREATED: ago(1)})
    (blob,) = (tmp_path / "storage").rglob(f"{digest.removeprefix('sha256:')}/data")
    blob.write_bytes(blob.read_bytes().replace(b"flux.config", b"flux.CONFIG"))
    source, _ = connect()
    dates = {release.tag: release.published_at for release in source.list()}
    assert dates == {"v2.9.4": "", "v2.8.8": ago(9)}
    with pytest.raises(UntrustedArchive, match="sha256"):
        source.manifests("v2.9.4")


@pytest.mark.parametrize("repository", [PATH, "other/name"])
def test_a_repository_without_releases_is_no_source(registry: str, connect: Connect, repository: str) -> None:
    publish(registry, "latest")
    with pytest.raises(SourceUnavailable, match=f"{repository} has no tag of a Flux release") as caught:
        connect(repository=repository)[0].list()
    assert "v2.9.4" in caught.value.hint


def test_the_manifests_of_a_release(registry: str, connect: Connect) -> None:
    publish(registry, "v2.9.4")
    source, client = connect()
    assert source.manifests("v2.9.4") == derive("v2.9.4", text_of("v2.9.4"))
    assert not source.manifests("v2.9.4").verified
    assert source.published("v2.9.4") == text_of("v2.9.4")
    assert source.commit("v2.9.4") == COMMIT
    assert source.generator_hashes("v2.9.4", ("pkg/manifestgen/manifest.go",)) is None
    assert client.sent == 2  # one manifest, one layer


def test_a_copy_that_names_a_mirror_is_read_as_flux_s_own(registry: str, connect: Connect) -> None:
    push(registry, PATH, "v2.9.4", layer_of(text_of("v2.9.4", "mirror.example/flux")))
    source, _ = connect()
    assert source.published("v2.9.4") == text_of("v2.9.4")
    assert source.manifests("v2.9.4") == derive("v2.9.4", text_of("v2.9.4"))


def test_a_layer_is_cached_by_its_digest_and_fetched_again_if_damaged(
    registry: str, connect: Connect, tmp_path: Path
) -> None:
    publish(registry, "v2.9.4")
    cache = tmp_path / "cache"
    sent = []
    for damage in (False, False, True):
        if damage:
            (kept,) = (cache / "sha256").iterdir()
            assert kept.name == sha256(layer_of(text_of("v2.9.4"))).hexdigest()
            kept.write_bytes(b"damaged")
        source, client = connect(cache)
        assert source.manifests("v2.9.4") == derive("v2.9.4", text_of("v2.9.4"))
        sent.append(client.sent)
    assert sent == [2, 1, 2]


def test_a_release_that_is_not_there(registry: str, connect: Connect) -> None:
    publish(registry, "v2.9.3", "v2.9.4")
    source, _ = connect()
    with pytest.raises(ReleaseNotFound, match=rf"{PATH} has no Flux release v2\.9\.9") as caught:
        source.manifests("v2.9.9")
    assert "use one of v2.9.4, v2.9.3" in caught.value.hint
    assert source.published("v2.9.9") is None
    assert source.commit("v2.9.9") == ""
    empty, _ = connect(repository="other/name")
    with pytest.raises(ReleaseNotFound, match=r"v2\.9\.9"):
        empty.manifests("v2.9.9")


@pytest.mark.parametrize("tag", ["latest", "2.9.4", "../v2.9.4"])
def test_what_is_no_release_is_not_asked_for(registry: str, connect: Connect, tag: str) -> None:
    publish(registry, "latest")
    source, client = connect()
    for ask in (source.manifests, source.published, source.commit):
        with pytest.raises(ReleaseNotFound):
            ask(tag)
    assert client.sent == 0


@pytest.mark.parametrize("revision", ["", "v2.9.4", f"v2.9.3@sha1:{COMMIT}", f"v2.9.4@sha1:{COMMIT}0", "x"])
def test_a_revision_that_names_no_commit_of_the_tag(registry: str, connect: Connect, revision: str) -> None:
    push(registry, PATH, "v2.9.4", layer_of(text_of("v2.9.4")), {REVISION: revision})
    assert connect()[0].commit("v2.9.4") == ""


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (layer_of(text_of("v2.9.3")), "header is not that of v2.9.4"),
        (layer_of("other"), "not what Flux published"),
        (pack([member("install.yaml", b"other")]), "0 files named gotk-components.yaml"),
        (pack([member("gotk-components.yaml", b"\xff")]), "not UTF-8"),
        (b"no archive", "not a gzip"),
    ],
)
def test_an_artifact_of_something_else_is_refused(registry: str, connect: Connect, layer: bytes, why: str) -> None:
    push(registry, PATH, "v2.9.4", layer)
    with pytest.raises(UntrustedArchive, match=why) as caught:
        connect()[0].manifests("v2.9.4")
    assert caught.value.hint


def test_a_layer_of_another_type_is_refused(registry: str, connect: Connect) -> None:
    config = push_blob(registry, PATH, b"{}", "application/vnd.oci.image.config.v1+json")
    layer = push_blob(registry, PATH, layer_of(text_of("v2.9.4")), "application/vnd.oci.image.layer.v1.tar+gzip")
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config, "layers": [layer]}
    push_manifest(registry, PATH, "v2.9.4", manifest)
    with pytest.raises(UntrustedArchive, match="not have exactly one layer"):
        connect()[0].manifests("v2.9.4")


def test_a_layer_of_another_digest_is_refused_and_not_kept(registry: str, connect: Connect, tmp_path: Path) -> None:
    publish(registry, "v2.9.4")
    hexadecimal = sha256(layer_of(text_of("v2.9.4"))).hexdigest()
    (blob,) = (tmp_path / "storage").rglob(f"{hexadecimal}/data")
    blob.write_bytes(bytes(blob.stat().st_size))
    with pytest.raises(UntrustedArchive, match=hexadecimal):
        connect(tmp_path / "cache")[0].manifests("v2.9.4")
    assert not (tmp_path / "cache").exists()


def test_a_release_before_flux_2_is_refused(registry: str, connect: Connect) -> None:
    push(registry, PATH, "v0.41.2", layer_of(text_of("v2.9.4").replace("v2.9.4", "v0.41.2")))
    source, _ = connect()
    assert [release.tag for release in source.list()] == ["v0.41.2"]
    with pytest.raises(UnsupportedRelease):
        source.manifests("v0.41.2")


def test_a_registry_that_wants_a_password(locked_registry: str, clients: Clients) -> None:
    repository = open_repository(clients(), f"{locked_registry.removeprefix('http://')}/{PATH}")
    source = RegistryReleases(repository, DownloadCache(None), DERIVATION, lambda: NOW)
    for ask in (source.list, lambda: source.manifests("v2.9.4"), lambda: source.published("v2.9.4")):
        with pytest.raises(SourceUnavailable):
            ask()
    assert source.commit("v2.9.4") == ""


def test_a_registry_that_is_not_there(clients: Clients) -> None:
    repository = open_repository(clients(), f"127.0.0.1:{closed_port()}/{PATH}")
    source = RegistryReleases(repository, DownloadCache(None), DERIVATION, lambda: NOW)
    for ask in (source.list, lambda: source.manifests("v2.9.4")):
        with pytest.raises(SourceUnavailable, match=r"127\.0\.0\.1"):
            ask()


@pytest.mark.parametrize(
    "address",
    [
        "oci://",
        "oci://registry.example",
        f"oci://registry.example/{PATH}:v2.9.4",
        f"oci://registry.example/{PATH}@sha256:{'0' * 64}",
        f"oci://someone:secret@registry.example/{PATH}",
        f"oci://registry.example/{PATH}?token=secret",
        "oci://registry.example/Upper",
    ],
)
def test_an_address_that_is_no_repository_s_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(UsageError, match="--release-source") as caught:
        build_releases(Environment(), address)
    assert "secret" not in caught.value.message + caught.value.hint
    assert "without a tag" in caught.value.hint


def run(tmp_path: Path, *argv: str) -> tuple[int, str, str]:
    out, err = io.BytesIO(), io.StringIO()
    env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": ""}
    return main.run(argv, env, out, err), out.getvalue().decode(), err.getvalue()


def at(registry: str) -> str:
    return f"--release-source=oci://{registry.removeprefix('http://')}/{PATH}"


def test_an_installation_is_taken_to_the_newest_patch_as_from_a_folder(
    registry: str, tmp_path: Path, written_source: Path
) -> None:
    publish(registry, *(tag for tag in written_release.TAGS if "-" not in tag))
    old = run(tmp_path, "render", f"--release-source={written_source}", "--version=v2.9.3", *FLAGS)[1]
    written = {}
    for source in (at(registry), f"--release-source={written_source}"):
        manifest = tmp_path / source[-5:] / "gotk-components.yaml"
        manifest.parent.mkdir()
        manifest.write_text(old)
        code, out, err = run(tmp_path, "upgrade", str(manifest.parent), source)
        assert (code, err) == (0, ""), out
        written[source] = manifest.read_text()
    assert (
        written[at(registry)]
        == run(tmp_path, "render", f"--release-source={written_source}", "--version=v2.9.4", *FLAGS)[1]
    )
    assert len(set(written.values())) == 1
    code, out, _ = run(tmp_path, "upgrade", str(tmp_path / at(registry)[-5:]), at(registry))
    assert code == 0
    assert "up to date" in out


def test_there_is_no_checksum_for_what_comes_from_a_registry(registry: str, tmp_path: Path) -> None:
    publish(registry, "v2.9.3", "v2.9.4")
    code, out, err = run(tmp_path, "render", at(registry))
    assert (code, out) == (0, rendered(InstallOptions("v2.9.4")))
    assert "no-checksum" in err


def test_a_registry_that_wants_a_password_gets_the_one_in_docker_s_file(tmp_path: Path) -> None:
    with running_registry(tmp_path) as everybody_s:
        publish(everybody_s, "v2.9.4")
    with running_registry(tmp_path, htpasswd(tmp_path)) as locked:
        code, out, err = run(tmp_path, "render", at(locked))
        assert (code != 0, out) == (True, "")
        auth = b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
        (tmp_path / ".docker").mkdir()
        logins = {"auths": {locked.removeprefix("http://"): {"auth": auth}}}
        (tmp_path / ".docker" / "config.json").write_text(json.dumps(logins))
        code, out, log = run(tmp_path, "render", at(locked))
    assert (code, out) == (0, rendered(InstallOptions("v2.9.4")))
    assert PASSWORD not in err + log
    assert auth not in err + log


@pytest.mark.parametrize(("days", "reason"), [(1, "cooling-down"), (20, "needs approval")])
def test_a_minor_cools_down_by_the_date_of_its_first_artifact(
    registry: str, tmp_path: Path, days: int, reason: str
) -> None:
    date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - days * 86400))
    publish(registry, "v2.8.8", "v2.9.3", dates={"v2.9.3": date})
    manifest = tmp_path / "gotk-components.yaml"
    manifest.write_text(rendered(InstallOptions("v2.8.8")))
    code, out, _ = run(tmp_path, "plan", str(manifest), at(registry))
    assert code == 0
    assert reason in out


def test_what_flux_did_not_publish_is_left_alone(registry: str, tmp_path: Path) -> None:
    """source-watcher is in the artifact since v2.9.3 only: before, nothing can be said of it."""
    publish(registry, "v2.8.8", "v2.9.3", "v2.9.4")
    manifest = tmp_path / "gotk-components.yaml"
    components = ("source-controller", "source-watcher")
    old, new = (rendered(InstallOptions(tag, components=components)) for tag in ("v2.8.8", "v2.9.3"))
    manifest.write_text(old)
    _, out, _ = run(tmp_path, "upgrade", str(manifest), at(registry), "--to=v2.9.4")
    assert "the release source has no source-watcher of v2.8.8" in out
    assert manifest.read_text() == old
    manifest.write_text(new)
    assert run(tmp_path, "upgrade", str(manifest), at(registry))[0] == 0
    assert manifest.read_text() == rendered(InstallOptions("v2.9.4", components=components))
