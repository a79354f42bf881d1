"""Builds the action's image from the Dockerfile, with buildah and podman: no Docker engine is needed.

``python tests/e2e/image.py`` builds it, prints its size above the base, and fails
where that is more than the budget. The base is pulled; where its registry is out of
reach, a stand-in with the same Debian and the same Python is made with debootstrap,
once (about two minutes), and kept in ``.cache/image``.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "image"
PROGRAMS = ("buildah", "podman", "runc", "debootstrap")
BUDGET = 37_000_000
"""Bytes that the image may have above its base."""
_IMAGE = "localhost/flux-upgrade:test"
_STAND_IN = "localhost/flux-upgrade-base"
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_PACKAGES = "python3,python3-pip,ca-certificates"
_NOT_KEPT = ("var/cache/apt", "var/lib/apt/lists", "usr/share/locale", "usr/share/man")


class Image(NamedTuple):
    """An image that was built."""

    reference: str
    above_base: int
    """Bytes."""
    base: str
    """What it was built upon: the Dockerfile's, or a stand-in for it."""


class CannotBuild(Exception):
    """A program failed; what it said."""


def missing_programs() -> tuple[str, ...]:
    """Those that are needed, and are not on PATH."""
    return tuple(name for name in PROGRAMS if shutil.which(name) is None)


def build() -> Image:
    """Build the image from the working tree. Raises CannotBuild."""
    CACHE.mkdir(parents=True, exist_ok=True)
    # A folder that ignores itself: nothing in it is anybody's but this module's.
    (CACHE.parent / ".gitignore").write_text("*\n")
    wanted = base_of((ROOT / "Dockerfile").read_text())
    base = _base(wanted)
    _run(
        *("buildah", *_store(), "bud", "--isolation", "chroot", "--network", "host", "--layers"),
        *("--pull-never", "--quiet", "--build-context", f"{wanted}=docker-image://{base}"),
        *_certificates(),
        *("--tag", _IMAGE, str(ROOT)),
    )
    size = int(inspect(_IMAGE, "{{.Size}}"))
    return Image(_IMAGE, size - int(inspect(base, "{{.Size}}")), base)


def describe(image: Image) -> str:
    """Its size, in one line."""
    size, budget = image.above_base / 1e6, BUDGET / 1e6
    return f"{image.reference}: {size:.1f} MB above {image.base}; at most {budget:.0f} MB"


def inspect(reference: str, template: str) -> str:
    """What podman knows of an image, as a Go template asks for it."""
    return _run("podman", *_store(), "image", "inspect", "--format", template, reference)


class Container(NamedTuple):
    """What is run in a container."""

    env: Mapping[str, str]
    volumes: Sequence[tuple[Path, str]]
    workdir: str
    entrypoint: str = ""
    arguments: Sequence[str] = ()


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the command: the machine's, and the values that are not among the arguments."""
    return {**os.environ, **{name: value for name, value in variables.items() if _is_by_name(name)}}  # noqa: TID251 podman's


def _is_by_name(name: str) -> bool:
    """Return whether a variable may hold a secret. Podman itself reads none of these."""
    return name.startswith(("INPUT_", "GITHUB_", "FLUX_UPGRADE_"))


def run_command(image: str, container: Container) -> list[str]:
    """The command that runs a container as the runner does: as root, on the host's network.

    Arguments of a process can be read by each user of a machine, so secrets are in the environment, as the runner has
    them.
    """
    # Neither cgroups nor higher limits are to be had inside of a container, where CI may be.
    return [
        *("podman", *_store(), "--cgroup-manager", "cgroupfs", "--runtime", "runc", "run", "--rm"),
        *("--network", "host", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"),
        *("--workdir", container.workdir),
        *(f"--env={name}" if _is_by_name(name) else f"--env={name}={value}" for name, value in container.env.items()),
        *(f"--volume={source}:{target}" for source, target in container.volumes),
        *((f"--entrypoint={container.entrypoint}",) if container.entrypoint else ()),
        image,
        *container.arguments,
    ]


def base_of(dockerfile: str) -> str:
    """The base that a Dockerfile begins with."""
    found = re.search(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    if found is None:
        raise CannotBuild("the Dockerfile has no FROM")
    return found[1]


def _base(wanted: str) -> str:
    """The reference of an image that is there: the one that is wanted, or its stand-in."""
    registry = f"docker.io/library/{wanted}"
    if not _try("buildah", *_store(), "pull", "--quiet", "--policy", "missing", registry).returncode:
        return registry
    # Another recipe is another stand-in.
    recipe = hashlib.sha256(f"{wanted}{_PACKAGES}{_NOT_KEPT}".encode()).hexdigest()[:12]
    reference = f"{_STAND_IN}:{recipe}"
    if _try("podman", *_store(), "image", "exists", reference).returncode:
        _debootstrap(reference, suite=wanted.partition("@")[0].rpartition("-")[2])
    return reference


def _debootstrap(reference: str, suite: str) -> None:
    tree = CACHE / "rootfs"
    shutil.rmtree(tree, ignore_errors=True)
    mirror = _run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Label: Debian", "Created-By: Packages")
    _run("debootstrap", "--variant=minbase", f"--include={_PACKAGES}", suite, str(tree), mirror.splitlines()[0])
    for folder in _NOT_KEPT:
        shutil.rmtree(tree / folder, ignore_errors=True)
    packed = CACHE / "rootfs.tar"
    _run("tar", "--create", "--file", str(packed), "--directory", str(tree), "--exclude=./dev/*", ".")
    path = "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    _run("podman", *_store(), "import", "--quiet", "--change", path, str(packed), reference)
    packed.unlink()
    shutil.rmtree(tree)


def _store() -> tuple[str, ...]:
    return ("--root", str(CACHE / "store"), "--runroot", str(CACHE / "run"), "--storage-driver", "overlay")


def _certificates() -> tuple[str, ...]:
    """Where a proxy stands between this machine and the packages, its CA is in the machine's list."""
    there = Path(_CERTIFICATES).exists()
    return ("--volume", f"{_CERTIFICATES}:{_CERTIFICATES}:ro") if there else ()


def _run(*command: str) -> str:
    done = _try(*command)
    if done.returncode:
        raise CannotBuild(f"{command[0]} failed ({done.returncode}):\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout.strip()


def _try(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 every command is written above
        command, capture_output=True, encoding="utf-8", errors="replace", check=False
    )


def main() -> int:
    """Build, and say how large it is."""
    if missing := missing_programs():
        sys.stderr.write(f"the image needs {', '.join(missing)}\n")
        return 1
    image = build()
    sys.stdout.write(f"{describe(image)}\n")
    return int(image.above_base > BUDGET)


if __name__ == "__main__":
    sys.exit(main())
