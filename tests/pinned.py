"""Small files that pin Flux, one for each kind of version reference."""

from __future__ import annotations

from functools import cache

from flux_upgrade.manifests.options import InstallOptions
from memory import rendered


@cache
def vendored(version: str = "v2.8.7") -> str:
    """gotk-components.yaml."""
    return rendered(InstallOptions(version))


def sync(path: str, name: str = "flux-system", source: str = "GitRepository", of: str = "flux-system") -> str:
    """A Kustomization of Flux's. ``of``: what the source is called."""
    return (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        f"metadata:\n  name: {name}\n  namespace: flux-system\nspec:\n  path: {path}\n"
        f"  sourceRef:\n    kind: {source}\n    name: {of}\n"
    )


def base(version: str = "v2.8.7") -> str:
    """A kustomization with Flux as its remote base."""
    return f"kind: Kustomization\nresources:\n- https://github.com/fluxcd/flux2//manifests/install?ref={version}\n"


def instance(version: str = "2.8.7", path: str = "") -> str:
    """A FluxInstance."""
    sync = (
        f"  sync:\n    kind: GitRepository\n    url: https://github.com/acme/fleet\n    path: {path}\n" if path else ""
    )
    return (
        "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata:\n  name: flux\n"
        f'spec:\n  distribution:\n    version: "{version}"\n    registry: ghcr.io/fluxcd\n{sync}'
    )


def artifact(tag: str = "v2.8.7") -> str:
    """An OCIRepository of Flux's own artifact, and the Kustomization that installs it."""
    return (
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata:\n  name: flux-manifests\n"
        f"spec:\n  interval: 10m\n  url: oci://ghcr.io/fluxcd/flux-manifests\n  ref:\n    tag: {tag}\n---\n"
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: flux\n"
        "spec:\n  sourceRef:\n    kind: OCIRepository\n    name: flux-manifests\n"
    )


def terraform(path: str, version: str = '"v2.8.7"') -> str:
    """A resource of the provider fluxcd/flux. ``version``: an expression."""
    return f'resource "flux_bootstrap_git" "this" {{\n  path    = "{path}"\n  version = {version}\n}}\n'


def workflow(version: str = "2.8.7") -> str:
    """A job that installs the CLI."""
    return (
        "on: push\njobs:\n  check:\n    runs-on: ubuntu-latest\n    steps:\n"
        f"      - uses: fluxcd/flux2/action@main\n        with:\n          version: {version}\n"
    )


def tools(version: str = "2.8.7") -> str:
    """.tool-versions."""
    return f"flux2 {version}\n"
