"""The whole program on an artifact of 100 MB in a real registry: its peak memory, and the time that it takes."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import requests

MOST = 80  # MB
REPOSITORY = "bench/flux"
PROGRAM = "import sys; from flux_upgrade.main import main; sys.exit(main())"


def promote(work: Path, blob: Path, source: Path, code: Path, peak: Callable[[Sequence[str]], float]) -> str:
    """A paragraph of the page. ``blob``: the layer; ``peak``: MB of a command. Without a registry, it says so."""
    program = shutil.which("docker-registry")
    if program is None:
        return "The whole command was not measured: `docker-registry` is not on PATH.\n"
    with _registry(program, work) as url:
        _push(url, blob)
        address = f"oci://{url.partition('://')[2]}/{REPOSITORY}:production"
        command = [
            *("env", "-C", str(work), f"PYTHONPATH={code}", sys.executable, "-c", PROGRAM),
            *("upgrade", address, "--plain-http", "--approve=2.9+migrated", f"--release-source={source}"),
        ]
        start = time.perf_counter()
        most = peak(command)
        taken = time.perf_counter() - start
        found = requests.get(f"{url}/v2/{REPOSITORY}/tags/list", timeout=5).json()["tags"]
    assert len(found) == 4, found  # what there was, twice: `flux migrate` ran; what was pushed, and the tag that moved
    assert most < MOST, f"{most:.0f} MB"
    return (
        f"The whole command, `flux-upgrade upgrade oci://…`, from pull to promotion against a registry on the "
        f"same machine: **{most:.0f} MB** at its peak, {taken:.1f} s.\n"
    )


@contextmanager
def _registry(program: str, work: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    config = work / "registry.yml"
    storage = f"storage: {{filesystem: {{rootdirectory: {work / 'storage'}}}}}"
    config.write_text(f"version: 0.1\nlog: {{level: error}}\n{storage}\nhttp: {{addr: '{address}'}}\n")
    running = subprocess.Popen([program, "serve", str(config)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as asked:
                if asked.connect_ex((address.partition(":")[0], int(address.rpartition(":")[2]))) == 0:
                    break
            time.sleep(0.05)
        yield f"http://{address}"
    finally:
        running.terminate()
        running.wait(5)


def _push(url: str, blob: Path) -> None:
    config = b"{}"
    described = [
        {"mediaType": media_type, "digest": f"sha256:{sha256(content).hexdigest()}", "size": len(content)}
        for media_type, content in (
            ("application/vnd.cncf.flux.config.v1+json", config),
            ("application/vnd.cncf.flux.content.v1.tar+gzip", blob.read_bytes()),
        )
    ]
    for each, content in zip(described, (config, blob.read_bytes()), strict=True):
        begun = requests.post(f"{url}/v2/{REPOSITORY}/blobs/uploads/", timeout=5)
        where = begun.headers["Location"]
        requests.put(where, params={"digest": str(each["digest"])}, data=content, timeout=60)
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": described[0],
        "layers": described[1:],
    }
    requests.put(
        f"{url}/v2/{REPOSITORY}/manifests/production",
        data=json.dumps(manifest),
        headers={"Content-Type": str(manifest["mediaType"])},
        timeout=5,
    ).raise_for_status()
