"""One small world of releases, served as a folder, by a mirror and by GitHub's stand-in."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from adapters.loopback import Answer, Loopback
from adapters.small_release import archive, checksums, member, pack
from flux_upgrade.adapters.http.cache import DownloadCache
from flux_upgrade.adapters.http.client import Client
from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.adapters.releases.http import GitHubReleases, HttpReleases
from flux_upgrade.adapters.releases.registry import FluxManifestsRegistry
from flux_upgrade.model.oci.manifest import CONTENT_TYPE, MANIFEST_TYPE
from flux_upgrade.model.ports import Releases

GENERATOR = ("pkg/manifestgen/install/install.go", "pkg/manifestgen/install/options.go")
ASSETS = ("manifests.tar.gz", "checksums")
REPOSITORY = "/fluxcd/flux2"
REGISTRY = "/v2/fluxcd/flux-manifests"


@dataclass
class World:
    """Releases by tag; each maps ``manifests.tar.gz``, ``checksums`` and other paths to content."""

    releases: dict[str, dict[str, bytes]]
    listed: list[dict[str, object]] = field(default_factory=list)
    digests: dict[str, str | None] = field(default_factory=dict)
    """What the release object says of the archive, where that is not the truth."""

    def objects(self, url: str) -> list[dict[str, object]]:
        return [self._object(entry, url) for entry in self.listed]

    def _object(self, entry: dict[str, object], url: str) -> dict[str, object]:
        tag = str(entry.get("tag_name"))
        assets = []
        for name in ASSETS:
            content = self.releases.get(tag, {}).get(name)
            if content is not None:
                digest: object = f"sha256:{sha256(content).hexdigest()}"
                if name == "manifests.tar.gz":
                    digest = self.digests.get(tag, digest)
                asset = file_name(tag, name)
                address = f"{url}/download/{tag}/{asset}"
                assets.append({"name": asset, "digest": digest, "browser_download_url": address})
        return {**entry, "assets": assets}


def file_name(tag: str, name: str) -> str:
    return f"flux_{tag[1:]}_checksums.txt" if name == "checksums" else name


def small_world() -> World:
    def release(text: str) -> dict[str, bytes]:
        data = archive({**_files(), "image-reflector-controller.yaml": text})
        return {"manifests.tar.gz": data, "checksums": checksums(data)}

    newest = release("newest") | {
        "gotk-components.yaml": b"# Flux Version: v2.9.4\n",
        GENERATOR[0]: b"package install\n",
    }
    unsigned = release("old")
    unsigned["checksums"] = checksums(b"something else", "flux_darwin.tar.gz")
    return World(
        releases={"v2.9.4": newest, "v2.9.3": release("older"), "v2.10.0-rc.1": release("next"), "v0.24.0": unsigned},
        listed=[
            {"tag_name": "v2.10.0-rc.1", "draft": False, "prerelease": True, "published_at": "2026-09-01T00:00:00Z"},
            {"tag_name": "v2.11.0", "draft": True},
            {"tag_name": "v2.9.4", "prerelease": False, "published_at": "2026-08-07T13:49:34Z", "body": "notes"},
            {"tag_name": "nightly"},
            {"tag_name": "v2.9.3", "published_at": None},
            {"tag_name": "v0.24.0"},
            {"tag_name": 7},
            {},
        ],
    )


def _files() -> dict[str, str]:
    from adapters.small_release import FILES

    return dict(FILES)


@dataclass
class Served:
    releases: Releases
    cache: Path
    requests: Loopback | None

    def cached(self) -> list[str]:
        return [path.name for path in self.cache.rglob("*") if path.is_file()]

    def asked(self) -> list[str]:
        return [] if self.requests is None else self.requests.paths()


def in_folder(world: World, folder: Path, cache: Path) -> Served:
    """Laid out in a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "releases.json").write_text(json.dumps(world.objects("https://host")))
    for tag, assets in world.releases.items():
        for name, content in assets.items():
            path = folder / tag / file_name(tag, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return Served(DirectoryReleases(str(folder)), cache, None)


def by_mirror(world: World, server: Loopback, client: Client, cache: Path) -> Served:
    """On a web server."""
    server.route("/flux/releases.json", Answer(json.dumps(world.objects("https://host")).encode()))
    for tag, assets in world.releases.items():
        for name, content in assets.items():
            server.route(f"/flux/{tag}/{file_name(tag, name)}", Answer(content))
    return Served(HttpReleases(f"{server.url}/flux/", client, DownloadCache(str(cache))), cache, server)


def by_github(world: World, server: Loopback, client: Client, cache: Path) -> Served:
    """By GitHub's API, its downloads, its raw files and the registry."""
    objects = world.objects(server.url)
    api = f"/repos{REPOSITORY}/releases"
    pages = [objects[:3], objects[3:5], objects[5:]]
    for number, page in enumerate(pages, 1):
        path = f"{api}?per_page=100" + (f"&page={number}" if number > 1 else "")
        headers = {"ETag": f'"{number}"'}
        if number < len(pages):
            headers["Link"] = (
                f'<{server.url}{api}?per_page=100&page=1>; rel="prev", '
                f'<{server.url}{api}?per_page=100&page={number + 1}>; rel="next"'
            )
        server.route(path, Answer(json.dumps(page).encode(), headers=headers))
    for entry in objects:
        tag = str(entry.get("tag_name"))
        if not entry.get("draft"):
            server.route(f"{api}/tags/{tag}", Answer(json.dumps(entry).encode(), headers={"ETag": f'"{tag}"'}))
    for tag, assets in world.releases.items():
        for name, content in assets.items():
            if name in ASSETS:
                server.route(f"/download/{tag}/{file_name(tag, name)}", Answer(content))
            elif name == "gotk-components.yaml":
                serve_artifact(server, tag, pack([member(f"flux-system/{name}", content)]))
            else:
                server.route(f"/raw{REPOSITORY}/{tag}/{name}", Answer(content))
    registry = FluxManifestsRegistry(client, base=server.url)
    releases = GitHubReleases(
        client, DownloadCache(str(cache)), registry, api_url=server.url, raw_url=f"{server.url}/raw"
    )
    return Served(releases, cache, server)


def serve_artifact(server: Loopback, tag: str, layer: bytes, media_type: str = CONTENT_TYPE) -> str:
    """Route an artifact with one layer; the path of its blob."""
    digest = f"sha256:{sha256(layer).hexdigest()}"
    manifest = {"schemaVersion": 2, "layers": [{"mediaType": media_type, "digest": digest, "size": len(layer)}]}
    headers = {"Content-Type": MANIFEST_TYPE}
    server.route(f"{REGISTRY}/manifests/{tag}", Answer(json.dumps(manifest).encode(), headers=headers))
    server.route(f"{REGISTRY}/blobs/{digest}", Answer(layer))
    return f"{REGISTRY}/blobs/{digest}"
