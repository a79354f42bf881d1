"""Fetch GitHub's published descriptions of its APIs from npm, and the schema of SARIF from a Go module.

They go into ``.cache/github``.

Each package is pinned, and its archive must have the digest that stands here. To move a pin, change
the version, run this, and take over the digest that it tells once you trust the package.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent.parent / ".cache" / "github"


@dataclass(frozen=True)
class Source:
    """One file of one npm package; ``digest`` is the archive's, as npm states it."""

    package: str
    version: str
    digest: str
    member: str

    @property
    def path(self) -> Path:
        return CACHE / f"{self.version}-{Path(self.member).name}"


OPENAPI = Source(
    "@octokit/openapi",
    "23.0.2",
    "sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
    "package/generated/api.github.com.json",
)
GRAPHQL = Source(
    "@octokit/graphql-schema",
    "15.26.1",
    "sha512-RFDC2MpRBd4AxSRvUeBIVeBU7ojN/SxDfALUd7iVYOSeEK3gZaqR2MGOysj4Zh2xj2RY5fQAUT+Oqq7hWTraMA==",
    "package/schema.graphql",
)


SARIF_MODULE = "github.com/owenrumney/go-sarif/v3@v3.2.0"
SARIF_SUM = "h1:CeEyt2zFTT37rMhzWefVISV9fpyhA8AmqgK7VnKi1Bc="
SARIF_MEMBER = f"{SARIF_MODULE}/pkg/report/v210/sarif/schema.go"
SARIF = CACHE / "sarif-2.1.0.json"
"""The schema that OASIS publishes, as a Go module has it in a string."""


def fetch_sarif() -> None:
    """Raises ValueError for a module that is not the pinned one."""
    command = ["go", "mod", "download", "-json", SARIF_MODULE]
    done = subprocess.run(command, cwd=tempfile.gettempdir(), check=True, capture_output=True)  # noqa: S603  (ours)
    told = json.loads(done.stdout)
    if told["Sum"] != SARIF_SUM:
        raise ValueError(f"{SARIF_MODULE} has the sum {told['Sum']}, not {SARIF_SUM}")
    with zipfile.ZipFile(told["Zip"]) as archive:
        content = archive.read(SARIF_MEMBER).decode()
    CACHE.mkdir(parents=True, exist_ok=True)
    SARIF.write_text(content.split("`")[1], encoding="utf-8")


def fetch(source: Source) -> None:
    """Put one file into the cache. Raises ValueError for an archive that is not the pinned one."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", f"{source.package}@{source.version}"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  (ours)
        (archive,) = Path(folder).glob("*.tgz")
        digest = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if digest != source.digest:
            raise ValueError(f"{source.package}@{source.version} has the digest {digest}, not {source.digest}")
        with tarfile.open(archive) as tar:
            member = tar.extractfile(source.member)
            assert member is not None
            content = member.read()
    CACHE.mkdir(parents=True, exist_ok=True)
    partial = source.path.with_suffix(".partial")
    partial.write_bytes(content)
    partial.replace(source.path)


def main() -> int:
    for source in (OPENAPI, GRAPHQL):
        if not source.path.exists():
            sys.stdout.write(f"Fetching {source.package}@{source.version}\n")
            fetch(source)
    if not SARIF.exists() and shutil.which("go"):
        sys.stdout.write(f"Fetching {SARIF_MODULE}\n")
        fetch_sarif()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
