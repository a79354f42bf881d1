"""Every release source gives the same answers to the same questions."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import pytest

from adapters import worlds
from adapters.conftest import Clients
from adapters.loopback import Answer, Loopback, closed_port
from adapters.small_release import FILES, archive, checksums, member
from adapters.test_tags import NO_TAGS
from flux_upgrade.adapters.http.archive import MAX_COMPRESSED
from flux_upgrade.adapters.http.cache import DownloadCache
from flux_upgrade.adapters.http.origins import next_page
from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.adapters.releases.http import GitHubReleases, HttpReleases, asset_url
from flux_upgrade.adapters.releases.registry import FluxManifestsRegistry
from flux_upgrade.model.errors import ReleaseNotFound, SourceUnavailable, UntrustedArchive, UsageError
from flux_upgrade.model.versions import Release, Version


class Serve(Protocol):
    def __call__(self, world: worlds.World) -> worlds.Served: ...


@pytest.fixture(params=["directory", "mirror", "github"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def serve(kind: str, tmp_path: Path, server: Loopback, clients: Clients) -> Serve:
    cache = tmp_path / "cache"

    def served(world: worlds.World) -> worlds.Served:
        if kind == "directory":
            return worlds.in_folder(world, tmp_path / "releases", cache)
        client = clients(etags=tmp_path / "etags")
        return (worlds.by_mirror if kind == "mirror" else worlds.by_github)(world, server, client, cache)

    return served


def replaced(data: bytes, *, honest: bool = True) -> worlds.World:
    """A world whose v2.9.4 has ``data`` for an archive; its checksums and digest say so where ``honest``."""
    world = worlds.small_world()
    before = world.releases["v2.9.4"]["manifests.tar.gz"]
    world.releases["v2.9.4"]["manifests.tar.gz"] = data
    if honest:
        world.releases["v2.9.4"]["checksums"] = checksums(data)
    else:
        world.digests["v2.9.4"] = f"sha256:{sha256(before).hexdigest()}"
    return world


def refusal(served: worlds.Served, tag: str = "v2.9.4") -> str:
    with pytest.raises(UntrustedArchive) as caught:
        served.releases.manifests(tag)
    assert caught.value.hint
    assert caught.value.message.isprintable()
    assert served.cached() == []
    return caught.value.message


def test_lists_releases_in_their_order(serve: Serve) -> None:
    assert serve(worlds.small_world()).releases.list() == (
        Release(Version("v2.10.0-rc.1"), prerelease=True, published_at="2026-09-01T00:00:00Z"),
        Release(Version("v2.9.4"), prerelease=False, published_at="2026-08-07T13:49:34Z", notes="notes"),
        Release(Version("v2.9.3")),
        Release(Version("v0.24.0")),
    )


def test_reads_and_verifies(serve: Serve) -> None:
    served = serve(worlds.small_world())
    for _ in range(2):
        manifests = served.releases.manifests("v2.9.4")
        assert manifests.tag == "v2.9.4"
        assert manifests.verified
        assert manifests.files == {**FILES, "image-reflector-controller.yaml": "newest"}
        assert "image-reflector-controller" in manifests.components
    assert served.releases.manifests("v2.10.0-rc.1").verified


def test_downloads_an_archive_once(serve: Serve, kind: str) -> None:
    served = serve(worlds.small_world())
    for _ in range(3):
        served.releases.manifests("v2.9.4")
    downloads = [path for path in served.asked() if path.endswith("v2.9.4/manifests.tar.gz")]
    assert len(downloads) == (0 if kind == "directory" else 1)
    assert len(served.cached()) == (0 if kind == "directory" else 1)


def test_downloads_again_what_was_tampered_with_in_the_cache(serve: Serve, kind: str) -> None:
    served = serve(worlds.small_world())
    served.releases.manifests("v2.9.4")
    for path in served.cache.rglob("*"):
        if path.is_file():
            path.write_bytes(archive({**FILES, "rbac.yaml": "kind: Evil\n"}))
    assert served.releases.manifests("v2.9.4").files["rbac.yaml"] == FILES["rbac.yaml"]
    downloads = [path for path in served.asked() if path.endswith("v2.9.4/manifests.tar.gz")]
    assert len(downloads) == (0 if kind == "directory" else 2)


def test_a_release_before_checksums_is_not_verified(serve: Serve) -> None:
    assert not serve(worlds.small_world()).releases.manifests("v0.24.0").verified


def test_a_release_before_checksums_may_have_one(serve: Serve) -> None:
    world = worlds.small_world()
    world.releases["v0.24.0"]["checksums"] = checksums(world.releases["v0.24.0"]["manifests.tar.gz"])
    assert serve(world).releases.manifests("v0.24.0").verified


def test_a_release_that_is_not_there(serve: Serve) -> None:
    with pytest.raises(ReleaseNotFound) as caught:
        serve(worlds.small_world()).releases.manifests("v2.9.5")
    assert "v2.9.5" in caught.value.message
    assert "v2.9.4, v2.9.3" in caught.value.hint


def test_an_invalid_tag_makes_no_request(serve: Serve) -> None:
    served = serve(worlds.small_world())
    for tag in NO_TAGS:
        for ask in (served.releases.manifests, served.releases.published):
            with pytest.raises(ReleaseNotFound):
                ask(tag)
        with pytest.raises(ReleaseNotFound):
            served.releases.generator_hashes(tag, worlds.GENERATOR)
    assert served.asked() == []


def test_an_archive_that_differs_from_its_checksum(serve: Serve) -> None:
    world = worlds.small_world()
    tampered = archive({**FILES, "rbac.yaml": "kind: Evil\n"})
    world.releases["v2.9.4"]["manifests.tar.gz"] = tampered
    message = refusal(serve(world))
    assert sha256(tampered).hexdigest() in message
    assert "v2.9.4" in message


def test_an_archive_that_differs_from_its_checksum_and_digest(serve: Serve) -> None:
    assert "sha256" in refusal(serve(replaced(archive({**FILES, "x.yaml": ""}), honest=False)))


def test_checksums_without_the_archive(serve: Serve) -> None:
    world = worlds.small_world()
    world.releases["v2.9.4"]["checksums"] = checksums(b"", "flux_linux.tar.gz")
    assert "states 0 sha256 sums" in refusal(serve(world))


@pytest.mark.parametrize("junk", [b"", b"\xff\xfe\0", b"manifests.tar.gz\n", b"abc  manifests.tar.gz\n"])
def test_checksums_that_are_none(serve: Serve, junk: bytes) -> None:
    world = worlds.small_world()
    world.releases["v2.9.4"]["checksums"] = junk
    assert "states 0 sha256 sums" in refusal(serve(world))


def test_checksums_that_contradict_themselves(serve: Serve) -> None:
    world = worlds.small_world()
    world.releases["v2.9.4"]["checksums"] += checksums(b"other")
    assert "states 2 sha256 sums" in refusal(serve(world))


@pytest.mark.parametrize("style", ["*manifests.tar.gz", " manifests.tar.gz\r", " manifests.tar.gz "])
def test_checksums_in_other_styles(serve: Serve, style: str) -> None:
    world = worlds.small_world()
    digest = sha256(world.releases["v2.9.4"]["manifests.tar.gz"]).hexdigest()
    world.releases["v2.9.4"]["checksums"] = f"{digest.upper()} {style}\n".encode()
    assert serve(world).releases.manifests("v2.9.4").verified


def test_no_checksums(serve: Serve, kind: str) -> None:
    world = worlds.small_world()
    del world.releases["v2.9.4"]["checksums"]
    served = serve(world)
    if kind == "github":
        assert "has no flux_2.9.4_checksums.txt" in refusal(served)
    else:
        assert not served.releases.manifests("v2.9.4").verified
        assert served.cached() == []


@pytest.mark.parametrize("tag", ["v2.9.4", "v0.24.0"])
def test_a_digest_that_differs(serve: Serve, kind: str, tag: str) -> None:
    world = worlds.small_world()
    if kind != "github":
        del world.releases[tag]["checksums"]
    world.digests[tag] = f"sha256:{sha256(b'other').hexdigest()}"
    assert sha256(b"other").hexdigest() in refusal(serve(world), tag)


@pytest.mark.parametrize("digest", [None, "", "sha512:00", "sha256:xyz"])
def test_a_digest_that_is_none(serve: Serve, digest: str | None) -> None:
    world = worlds.small_world()
    world.digests["v2.9.4"] = digest
    assert serve(world).releases.manifests("v2.9.4").verified


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (archive()[:-20], "truncated"),
        (b"<html>sign in</html>", "not a gzip file"),
        (archive({"rbac.yaml": ""}), "does not contain"),
        (archive(FILES, member("../evil.yaml")), "evil"),
    ],
)
def test_an_archive_that_is_none(serve: Serve, data: bytes, why: str) -> None:
    assert why in refusal(serve(replaced(data)))


def test_an_archive_that_is_too_large(serve: Serve) -> None:
    assert "larger than" in refusal(serve(replaced(os.urandom(MAX_COMPRESSED + 1))))


def test_a_release_without_an_archive(serve: Serve) -> None:
    world = worlds.small_world()
    del world.releases["v2.9.4"]["manifests.tar.gz"]
    with pytest.raises(ReleaseNotFound, match=r"v2\.9\.4"):
        serve(world).releases.manifests("v2.9.4")


def test_what_flux_published(serve: Serve) -> None:
    releases = serve(worlds.small_world()).releases
    assert releases.published("v2.9.4") == "# Flux Version: v2.9.4\n"
    assert releases.published("v2.9.3") is None
    assert releases.published("v9.9.9") is None


def test_what_flux_published_is_not_text(serve: Serve) -> None:
    world = worlds.small_world()
    world.releases["v2.9.4"]["gotk-components.yaml"] = b"\xff\xfe"
    with pytest.raises(UntrustedArchive, match="UTF-8"):
        serve(world).releases.published("v2.9.4")


def test_hashes_of_the_generator(serve: Serve) -> None:
    releases = serve(worlds.small_world()).releases
    expected = {worlds.GENERATOR[0]: sha256(b"package install\n").hexdigest()}
    assert releases.generator_hashes("v2.9.4", worlds.GENERATOR) == expected
    assert releases.generator_hashes("v2.9.3", worlds.GENERATOR) is None


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff", b"[" * 100_000, b"<html>"])
def test_a_broken_list(kind: str, text: bytes, tmp_path: Path, server: Loopback, serve: Serve) -> None:
    served = serve(worlds.small_world())
    if kind == "directory":
        (tmp_path / "releases" / "releases.json").write_bytes(text)
    for path in ("/flux/releases.json", "/repos/fluxcd/flux2/releases?per_page=100"):
        server.route(path, Answer(text))
    with pytest.raises(SourceUnavailable) as caught:
        served.releases.list()
    assert caught.value.hint
    assert served.releases.manifests("v2.9.4").verified


def test_the_list_is_not_needed_for_one_release(kind: str, serve: Serve) -> None:
    served = serve(worlds.small_world())
    served.releases.manifests("v2.9.4")
    assert [path for path in served.asked() if "releases.json" in path or "per_page" in path] == []
    if kind == "github":
        assert len(served.asked()) == 3


# What only a folder does


def test_a_folder_without_a_list(tmp_path: Path) -> None:
    served = worlds.in_folder(worlds.small_world(), tmp_path / "releases", tmp_path)
    (tmp_path / "releases" / "releases.json").unlink()
    with pytest.raises(SourceUnavailable, match=r"releases has no releases\.json") as caught:
        served.releases.list()
    assert "add it next to the tags" in caught.value.hint
    assert served.releases.manifests("v2.9.4").verified


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "none", tmp_path / "file", "x\0y"):
        with pytest.raises(SourceUnavailable) as caught:
            DirectoryReleases(str(path))
        assert caught.value.hint


def test_a_folder_without_releases(tmp_path: Path) -> None:
    with pytest.raises(ReleaseNotFound) as caught:
        DirectoryReleases(str(tmp_path)).manifests("v2.9.4")
    assert caught.value.hint


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "v2.9.4").mkdir()
    os.mkfifo(tmp_path / "v2.9.4" / "manifests.tar.gz")
    (tmp_path / "v2.9.3" / "manifests.tar.gz").mkdir(parents=True)
    for tag in ("v2.9.4", "v2.9.3"):
        with pytest.raises(SourceUnavailable, match=r"not a file|Is a directory"):
            DirectoryReleases(str(tmp_path)).manifests(tag)


# What only the network does


def test_nobody_listens(clients: Clients, tmp_path: Path) -> None:
    url, client, cache = f"http://127.0.0.1:{closed_port()}", clients(), DownloadCache(str(tmp_path))
    github = GitHubReleases(client, cache, FluxManifestsRegistry(client, base=url), api_url=url, raw_url=url)
    for releases in (HttpReleases(url, client, cache), github):
        for ask in (releases.list, lambda r=releases: r.manifests("v2.9.4"), lambda r=releases: r.published("v2.9.4")):
            with pytest.raises(SourceUnavailable, match="is unreachable"):
                ask()


@pytest.mark.parametrize(
    "address",
    [
        "ftp://host/x",
        "host/x",
        "https://",
        "https://me:private@host/x",
        "https://host/?a",
        "https://host/#a",
        "http://[",
        "http://h:x/",
        "http://h:0/",
        "https://evil.example\\.host/x",
        "https://ho st/x",
    ],
)
def test_addresses_of_mirrors_that_cannot_be_used(clients: Clients, address: str) -> None:
    with pytest.raises(UsageError) as caught:
        HttpReleases(address, clients(), DownloadCache(None))
    assert "private" not in caught.value.message + caught.value.hint


def test_a_mirror_without_a_list(server: Loopback, clients: Clients) -> None:
    with pytest.raises(SourceUnavailable, match=r"no releases\.json"):
        HttpReleases(server.url, clients(), DownloadCache(None)).list()


# What only GitHub does


def test_pages_are_not_sent_again(server: Loopback, clients: Clients, tmp_path: Path) -> None:
    for _ in range(2):
        client = clients(etags=tmp_path / "etags")
        releases = worlds.by_github(worlds.small_world(), server, client, tmp_path / "cache").releases
        assert len(releases.list()) == 4
    assert ["if-none-match" in seen.headers for seen in server.seen] == [False] * 3 + [True] * 3
    assert server.seen[0].headers["accept"] == "application/vnd.github+json"


def test_a_repository_that_is_not_there(server: Loopback, clients: Clients) -> None:
    client = clients()
    registry = FluxManifestsRegistry(client, base=server.url)
    releases = GitHubReleases(client, DownloadCache(None), registry, api_url=server.url, repository="a/b")
    with pytest.raises(SourceUnavailable, match="no repository a/b"):
        releases.list()


def test_an_endless_list_ends(server: Loopback, clients: Clients, tmp_path: Path) -> None:
    served = worlds.by_github(worlds.small_world(), server, clients(), tmp_path)
    first = "/repos/fluxcd/flux2/releases?per_page=100"
    server.route(first, Answer(b"[]", headers={"Link": f'<{server.url}{first}>; rel="next"'}))
    assert served.releases.list() == ()
    assert len(server.seen) <= 50


def test_a_cached_archive_needs_no_download_even_before_checksums(
    server: Loopback, clients: Clients, tmp_path: Path
) -> None:
    served = worlds.by_github(worlds.small_world(), server, clients(), tmp_path)
    assert [served.releases.manifests("v0.24.0").verified for _ in range(2)] == [False, False]
    assert len([path for path in served.asked() if path.endswith("manifests.tar.gz")]) == 1


@pytest.mark.parametrize(
    ("link", "following"),
    [
        ("", None),
        ("junk", None),
        ('<https://api.github.com/x?page=2>; rel="next"', "https://api.github.com/x?page=2"),
        ('<https://api.github.com/1>; rel="prev", <https://api.github.com/3>; rel="next"', "https://api.github.com/3"),
        ('<https://api.github.com:443/2>; rel="next"', "https://api.github.com:443/2"),
        ('<https://evil.example/2>; rel="next"', None),
        ('<http://api.github.com/2>; rel="next"', None),
        ('<https://api.github.com/2>; rel="last"', None),
        ('<https://api.github.com:x/2>; rel="next"', None),
        ('<https://[/2>; rel="next"', None),
        ('</x?last=v2.9.4&n=100>; rel="next"', "https://api.github.com/x?last=v2.9.4&n=100"),
        ('<//evil.example/2>; rel="next"', None),
    ],
)
def test_the_next_page(link: str, following: str | None) -> None:
    assert next_page(link, "https://api.github.com/x") == following


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example\\@api.github.com/2",
        "https://me@api.github.com/2",
        "https://api.github.com/2 3",
        "\thttps://api.github.com/2",
        "https://api%2egithub.com/2",
    ],
)
def test_a_next_page_that_can_be_read_in_two_ways(target: str) -> None:
    with pytest.raises(SourceUnavailable, match=r"^api\.github\.com names as its next page an address with") as caught:
        next_page(f'<{target}>; rel="next"', "https://api.github.com/x")
    assert "evil" not in caught.value.message


@pytest.mark.parametrize(
    "address", [None, 7, "", "ftp://host/x", "http://host/x", "https://evil.example\\@host/x", "https://me@host/x"]
)
def test_assets_without_an_address_that_can_be_used(address: object) -> None:
    with pytest.raises(SourceUnavailable, match=r"no download URL|is not followed"):
        asset_url({"browser_download_url": address}, "It", api_url="https://api.github.com")
