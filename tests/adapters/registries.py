"""A real registry: CNCF distribution, as Debian packages it; with whom and what it trusts."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path

import requests

from adapters.loopback import closed_port
from flux_upgrade.adapters.http.client import Client
from flux_upgrade.adapters.http.egress import Egress
from flux_upgrade.adapters.oci.artifacts import HelmCharts, RegistryArtifacts
from flux_upgrade.adapters.oci.charts import chart_versions
from flux_upgrade.adapters.oci.repository import open_repository
from flux_upgrade.model.oci.manifest import CONTENT_TYPE, MANIFEST_TYPE
from real_parts import require_program

USERNAME, PASSWORD = "ci", "right-horse"
_PASSWORD_HASH = "$2b$04$aaaaaaaaaaaaaaaaaaaaauHrYg5D3f9gePQpHo68ZyjzDQ8qltzzy"  # bcrypt


class NoCredentials:
    """A CredentialSource that has none."""

    def credential(self, host: str, path: str) -> None:
        del host, path

    def names(self, host: str) -> bool:
        del host
        return False


def allowing(*hosts: str) -> Egress:
    """These hosts, and public ones."""
    return Egress(lambda: hosts, NoCredentials().names, "allow {}".format)


def artifacts_of(connect: Callable[[], Client]) -> RegistryArtifacts:
    """As the program builds it, without credentials."""
    return RegistryArtifacts(lambda: partial(open_repository, connect()))


def charts_of(connect: Callable[[], Client]) -> HelmCharts:
    """As the program builds it."""
    return HelmCharts(lambda: partial(chart_versions, connect()))


def htpasswd(folder: Path) -> str:
    """``auth`` of a registry that takes USERNAME and PASSWORD by Basic, and nobody else."""
    file = folder / "users"
    file.write_text(f"{USERNAME}:{_PASSWORD_HASH}\n")
    return f"auth: {{htpasswd: {{realm: here, path: {file}}}}}\n"


def own_certificate(
    folder: Path, key: str = "ec -pkeyopt ec_paramgen_curve:P-256", names: str = "IP:127.0.0.1"
) -> tuple[Path, Path]:
    """Files with a certificate that only itself vouches for, and its key. ``names``: those that it is for."""
    folder.mkdir(exist_ok=True)
    certificate, private = folder / "cert.pem", folder / "key.pem"
    command = (
        f"req -x509 -newkey {key} -nodes -days 2 -subj /CN=localhost"
        f" -addext subjectAltName={names} -addext basicConstraints=critical,CA:TRUE"
    )
    arguments = [*command.split(), "-keyout", str(private), "-out", str(certificate)]
    subprocess.run([require_program("openssl"), *arguments], check=True, capture_output=True)  # noqa: S603  (ours)
    return certificate, private


def run_registry(  # noqa: PLR0913 each is a part of its config file
    folder: Path,
    auth: str = "",
    *,
    http: str = "",
    storage: str = "",
    in_memory: bool = False,
    tls: tuple[Path, Path] | None = None,
) -> Iterator[str]:
    """Its address, for as long as it runs; it keeps its blobs below ``folder``, or in memory, which is faster.

    ``auth``, ``http`` and ``storage`` are parts of its config file; ``tls`` a certificate and its key.
    """
    if tls is not None:
        http += f", tls: {{certificate: {tls[0]}, key: {tls[1]}}}"
    config = folder / "config.yml"
    driver = "inmemory: {}" if in_memory else f"filesystem: {{rootdirectory: {folder / 'storage'}}}"
    kept = f"storage: {{{driver}{storage}}}"
    process = None
    while process is None:
        address = f"127.0.0.1:{closed_port()}"
        config.write_text(f"version: 0.1\nlog: {{level: info}}\n{kept}\nhttp: {{addr: '{address}'{http}}}\n{auth}")
        process = _listening(config, folder / "log")
    try:
        yield f"{'http' if tls is None else 'https'}://{address}"
    finally:
        process.terminate()
        process.wait(5)


def _listening(config: Path, log: Path) -> subprocess.Popen[bytes] | None:
    """Start a registry, and return it once it listens; None if another process has taken its port by then."""
    with log.open("wb") as output:
        command = [require_program("docker-registry"), "serve", str(config)]
        process = subprocess.Popen(command, stdout=output, stderr=output)  # noqa: S603  (ours)
    for _ in range(200):
        if "listening on" in log.read_text():
            return process
        if process.poll() is not None:
            assert "address already in use" in log.read_text(), log.read_text()
            return None
        time.sleep(0.05)
    process.kill()
    process.wait()
    raise AssertionError(log.read_text())


running_registry = contextmanager(run_registry)


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
