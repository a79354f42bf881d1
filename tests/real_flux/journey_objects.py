"""The content of a cluster when a journey begins: its repository, and objects that no repository has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import yaml

from real_flux.control_plane import Object
from real_flux.journey_server import manifest, storage_version
from real_flux.samples import SPECS, sample
from robot.installations import FOLDER, SYNC
from robot.journeys import Journey
from robot.releases import Flux

APPS = "apps"
_PATH = "apps/production"
_KUSTOMIZATION = f"""apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {APPS}
  namespace: flux-system
spec:
  interval: 10m0s
  path: ./{_PATH}
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
"""
_SOURCE = re.compile(r"^kind: GitRepository\nmetadata:\n  name: flux-system$", re.MULTILINE)
_ADDRESSES = ("ssh://git@example.com/octo/fleet", "https://example.com/octo/fleet.git")


def files(journey: Journey, flux: Flux, address: str) -> dict[str, str]:
    """Return the repository at an address: how Flux is installed, and two objects of each kind."""
    objects = [*samples(flux, "written", storage_version), *samples(flux, "oldest", _oldest)]
    contents: Mapping[str, str] = {
        **journey.installation.write(flux),
        f"{FOLDER}/{APPS}.yaml": _KUSTOMIZATION,
        f"{_PATH}/objects.yaml": "---\n".join(yaml.safe_dump(written, sort_keys=False) for written in objects),
    }
    return {path: _at_address(content, address) for path, content in contents.items()}


def created(repository: Mapping[str, str], flux: Flux, address: str) -> Iterator[Object]:
    """Yield an object of each kind as kubectl creates it, and the source if no file has it."""
    yield from samples(flux, "created", storage_version)
    if not any(_SOURCE.search(content) for content in repository.values()):
        yield from yaml.safe_load_all(_at_address(SYNC, address))


def samples(flux: Flux, name: str, version: Callable[[Object], str]) -> Iterator[Object]:
    """Yield an object of each kind. ``version``: the API version of those of a CRD."""
    for crd in manifest(flux):
        if crd["kind"] == "CustomResourceDefinition" and crd["spec"]["names"]["kind"] in SPECS:
            made = sample(crd["spec"]["group"], version(crd), crd["spec"]["names"]["kind"], name)
            if made["kind"] == "Kustomization":  # The default is the whole repository
                made = {**made, "spec": {**made["spec"], "path": "./missing"}}
            yield made


def _oldest(crd: Object) -> str:
    """Return the API version that has been served for the longest time."""
    served = (str(version["name"]) for version in crd["spec"]["versions"] if version["served"])
    return min(served, key=lambda name: ("beta" not in name, name))


def _at_address(content: str, address: str) -> str:
    for written in _ADDRESSES:
        content = content.replace(written, address)
    return content
