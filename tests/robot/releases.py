"""The CRDs of Flux's releases, read without the program."""

from __future__ import annotations

import tarfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

CONTROLLERS = ("source", "kustomize", "helm", "notification")
OF_IMAGES = ("image-reflector", "image-automation")


class Flux(NamedTuple):
    """A release, with its image controllers or without."""

    release: str  # A tag
    has_images: bool
    source: Path  # Directory with the releases


@cache
def crds(flux: Flux) -> bytes:
    """Return the CRDs of a release, as its files have them."""
    names = (*CONTROLLERS, *(OF_IMAGES if flux.has_images else ()))
    with tarfile.open(flux.source / flux.release / "manifests.tar.gz") as archive:
        files = {Path(each.name).name: archive.extractfile(each) for each in archive.getmembers() if each.isfile()}
        return b"\n---\n".join(
            found.read() for name in names if (found := files[f"{name}-controller.yaml"]) is not None
        )
