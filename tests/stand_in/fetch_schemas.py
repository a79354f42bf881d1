"""Fetch GitHub's published descriptions of its APIs, from npm, into ``.cache/github`` (needs npm).

Each package is pinned, and its archive must have the digest that stands here. To move a pin, change
the version, run this, and take over the digest that it tells once you trust the package.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
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
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
