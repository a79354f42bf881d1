"""A real registry: CNCF distribution, as Debian packages it."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import requests

from edges.loopback import closed_port
from flux_upgrade.edges.oci import MANIFEST_TYPE
from flux_upgrade.edges.registry import CONTENT_TYPE
from real_parts import require_program


def run_registry(folder: Path, auth: str = "") -> Iterator[str]:
    """Its address, for as long as it runs; it keeps its blobs below ``folder``."""
    program = require_program("docker-registry")
    address = f"127.0.0.1:{closed_port()}"
    config = folder / "config.yml"
    storage = f"storage: {{filesystem: {{rootdirectory: {folder / 'storage'}}}}}"
    config.write_text(f"version: 0.1\nlog: {{level: error}}\n{storage}\nhttp: {{addr: '{address}'}}\n{auth}")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, "serve", str(config)], stdout=log, stderr=log)  # noqa: S603  (ours)
    try:
        for _ in range(100):
            try:
                requests.get(f"http://{address}/v2/", timeout=1)
                break
            except requests.ConnectionError:
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.05)
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(5)


def push(url: str, path: str, tag: str, layer: bytes, annotations: Mapping[str, str] | None = None) -> str:
    """Push an artifact as ``flux push artifact`` does, two blobs and a manifest; the manifest's digest."""
    config = push_blob(url, path, b"{}", "application/vnd.cncf.flux.config.v1+json")
    manifest: dict[str, object] = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": config,
        "layers": [push_blob(url, path, layer, CONTENT_TYPE)],
    }
    if annotations is not None:
        manifest["annotations"] = dict(annotations)
    return push_manifest(url, path, tag, manifest)


def push_blob(url: str, path: str, blob: bytes, media_type: str) -> dict[str, object]:
    """Its descriptor."""
    digest = f"sha256:{sha256(blob).hexdigest()}"
    upload = requests.post(f"{url}/v2/{path}/blobs/uploads/", timeout=5).headers["Location"]
    pushed = requests.put(upload, params={"digest": digest}, data=blob, timeout=5)
    assert pushed.status_code == 201, pushed.text
    return {"mediaType": media_type, "digest": digest, "size": len(blob)}


def push_manifest(url: str, path: str, tag: str, manifest: Mapping[str, object]) -> str:
    """Its digest; an image, or an index of images that are there already."""
    headers = {"Content-Type": str(manifest["mediaType"])}
    body = json.dumps(manifest)
    put = requests.put(f"{url}/v2/{path}/manifests/{tag}", data=body, headers=headers, timeout=5)
    assert put.status_code == 201, put.text
    return f"sha256:{sha256(body.encode()).hexdigest()}"
