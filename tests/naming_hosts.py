"""Repositories that name a host, ``HOST``, for each way in which a command would ask it about a version."""

from __future__ import annotations

HOST = "HOST"
_DIGEST = f"sha256:{'a' * 64}"
_CHART = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: fluxcd, namespace: flux-system}
spec: {interval: 1h, REPOSITORY}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: flux, namespace: flux-system}
spec:
  interval: 1h
  chart: {spec: {chart: flux2, version: 2.14.0, sourceRef: {kind: HelmRepository, name: fluxcd}}}
"""
FILES = {
    "a digest of flux-manifests": f"""\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {{name: flux-manifests, namespace: flux-system}}
spec:
  interval: 10m
  url: oci://{HOST}/fluxcd/flux-manifests
  ref: {{digest: {_DIGEST}}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: flux, namespace: flux-system}}
spec: {{interval: 1h, path: ./, prune: true, sourceRef: {{kind: OCIRepository, name: flux-manifests}}}}
""",
    "the artifact of a FluxInstance": f"""\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {{name: flux, namespace: flux-system}}
spec:
  distribution:
    version: 2.8.x
    registry: ghcr.io/fluxcd
    artifact: oci://{HOST}/controlplaneio-fluxcd/flux-operator-manifests:v0.38.1
""",
    "a Helm repository": _CHART.replace("REPOSITORY", f"url: https://{HOST}/charts"),
    "a Helm repository over http": _CHART.replace("REPOSITORY", f"url: http://{HOST}/charts"),
    "a Helm repository in a registry": _CHART.replace("REPOSITORY", f"type: oci, url: oci://{HOST}/charts"),
}
"""What it is → the file; ``inspect`` and ``plan`` look each of them up."""

AT_THE_CHANGE = f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: flux}}
spec: {{template: {{spec: {{containers: [{{name: flux, image: "{HOST}/fluxcd/flux-cli:v2.8.7@{_DIGEST}"}}]}}}}}}
"""
"""One that is looked up when it is changed."""


def naming(host: str, what: str) -> str:
    return FILES[what].replace(HOST, host)
