"""The ways to install Flux that the robot meets: the files of a release, and the release that files install."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from conformance.real_files import regenerator_of
from flux_upgrade.manifests.options import InstallOptions
from robot.releases import CONTROLLERS, OF_IMAGES, Flux

FOLDER = "clusters/production"
SYNC = f"""apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: flux-system
  namespace: flux-system
spec:
  interval: 1m0s
  ref:
    branch: main
  secretRef:
    name: flux-system
  url: ssh://git@example.com/octo/fleet
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: flux-system
  namespace: flux-system
spec:
  interval: 10m0s
  path: ./{FOLDER}
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
"""
_MANIFEST = f"{FOLDER}/flux-system/gotk-components.yaml"
_TERRAFORM = "infra/flux.tf"
_OCI_IN_V1 = 6  # Minor from which on v1 of OCIRepository is served
_RELEASE = re.compile(r"\bv?(2\.\d+\.\d+)\b")


class Installation(NamedTuple):
    name: str
    write: Callable[[Flux], Mapping[str, str]]
    place: str  # Path of the file with the release
    is_content: bool = False  # The file is what is installed
    has_all: bool = False  # Has the image controllers in any case
    is_operated: bool = False  # The flux-operator runs `flux migrate` by itself
    is_for_terraform: bool = False  # A merge changes nothing in the cluster before Terraform applies it
    twin: str = ""  # Path of a second file that has to name the same release

    def release(self, files: Mapping[str, str]) -> str:
        """Return the release that files install."""
        content = files[self.place]
        if not self.is_content:
            return _only_release(content)
        release = content.partition("# Flux Version: ")[2].partition("\n")[0]
        assert not self.twin or _only_release(files[self.twin]) == release, files[self.twin]
        return release


def _only_release(content: str) -> str:
    releases = set(_RELEASE.findall(content))
    assert len(releases) == 1, content
    return f"v{releases.pop()}"


def _kustomization(*resources: str) -> str:
    lines = "".join(f"- {each}\n" for each in resources)
    return f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{lines}"


@cache
def rendered(flux: Flux) -> str:
    """Return what ``flux install --export`` prints."""
    options = InstallOptions(flux.release)
    if flux.has_images:
        options = options._replace(components=(*options.components, *(f"{name}-controller" for name in OF_IMAGES)))
    return regenerator_of(flux.source).regenerate(options).text


def _manifest(flux: Flux) -> Mapping[str, str]:
    return {
        _MANIFEST: rendered(flux),
        f"{FOLDER}/flux-system/gotk-sync.yaml": SYNC,
        f"{FOLDER}/flux-system/kustomization.yaml": _kustomization("gotk-components.yaml", "gotk-sync.yaml"),
    }


def _install_yaml(flux: Flux) -> Mapping[str, str]:
    return {
        f"{FOLDER}/flux/install.yaml": rendered(flux),
        f"{FOLDER}/flux/kustomization.yaml": _kustomization("install.yaml", "sync.yaml"),
        f"{FOLDER}/flux/sync.yaml": SYNC,
    }


def _remote_base(flux: Flux) -> Mapping[str, str]:
    address = "https://github.com/fluxcd/flux2/releases/download/{tag}/install.yaml"
    if not flux.has_images:
        address = "github.com/fluxcd/flux2/manifests/install?ref={tag}"
    return {
        f"{FOLDER}/flux/kustomization.yaml": _kustomization(address.format(tag=flux.release), "sync.yaml"),
        f"{FOLDER}/flux/sync.yaml": SYNC,
    }


def _flux_manifests(flux: Flux) -> Mapping[str, str]:
    api = "v1" if int(flux.release.split(".")[1]) >= _OCI_IN_V1 else "v1beta2"
    artifact = f"""apiVersion: source.toolkit.fluxcd.io/{api}
kind: OCIRepository
metadata:
  name: flux-manifests
  namespace: flux-system
spec:
  interval: 10m
  ref:
    tag: {flux.release}
  url: oci://ghcr.io/fluxcd/flux-manifests
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: flux
  namespace: flux-system
spec:
  interval: 10m
  path: ./
  prune: true
  sourceRef:
    kind: OCIRepository
    name: flux-manifests
"""
    return {f"{FOLDER}/flux.yaml": artifact, f"{FOLDER}/sync.yaml": SYNC}


def _instance(flux: Flux) -> Mapping[str, str]:
    components = [*CONTROLLERS, *(OF_IMAGES if flux.has_images else ())]
    lines = "".join(f"  - {each}-controller\n" for each in components)
    instance = f"""apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata:
  name: flux
  namespace: flux-system
spec:
  distribution:
    version: "{flux.release.removeprefix("v")}"
    registry: ghcr.io/fluxcd
  components:
{lines}  sync:
    kind: GitRepository
    url: https://example.com/octo/fleet.git
    ref: refs/heads/main
    path: {FOLDER}
"""
    return {f"{FOLDER}/flux.yaml": instance}


def _terraform(flux: Flux) -> Mapping[str, str]:
    extra = ", ".join(f'"{name}-controller"' for name in OF_IMAGES if flux.has_images)
    resource = f"""terraform {{
  required_providers {{
    flux = {{
      source = "fluxcd/flux"
    }}
  }}
}}

resource "flux_bootstrap_git" "this" {{
  path             = "{FOLDER}"
  version          = "{flux.release}"
  components_extra = [{extra}]
}}
"""
    return {_TERRAFORM: resource}


def _terraform_and_manifest(flux: Flux) -> Mapping[str, str]:
    return {**_terraform(flux), **_manifest(flux)}


OWN_ARTIFACT = Installation(
    "own artifact",
    lambda flux: {"flux-system/gotk-components.yaml": rendered(flux)},
    "flux-system/gotk-components.yaml",
    is_content=True,
)
INSTALLATIONS = (
    Installation("manifest", _manifest, _MANIFEST, is_content=True),
    Installation("install.yaml", _install_yaml, f"{FOLDER}/flux/install.yaml", is_content=True),
    Installation("remote base", _remote_base, f"{FOLDER}/flux/kustomization.yaml", has_all=True),
    Installation("flux-manifests", _flux_manifests, f"{FOLDER}/flux.yaml", has_all=True),
    Installation("FluxInstance", _instance, f"{FOLDER}/flux.yaml", is_operated=True),
    Installation("Terraform", _terraform, _TERRAFORM, is_for_terraform=True),
    Installation("Terraform and manifest", _terraform_and_manifest, _MANIFEST, is_content=True, twin=_TERRAFORM),
)
