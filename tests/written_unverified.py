"""Manifests in Flux's form that no release can verify."""

from __future__ import annotations

from collections.abc import Mapping

import written_crds

CRDS = {
    "gitrepositories.source.toolkit.fluxcd.io": "v1beta1 v1beta2*",
    "kustomizations.kustomize.toolkit.fluxcd.io": "v1beta1 v1beta2*",
    "helmreleases.helm.toolkit.fluxcd.io": "v2beta1*",
}
"""What Flux v0.41 serves of some kinds."""


def unverified(version: str = "v0.41.2", crds: Mapping[str, str] = CRDS) -> bytes:
    """With a controller. ``version`` empty: neither header nor labels tell one, as in install.yaml."""
    text = written_crds.manifest(version, crds).decode() + f"---\n{_deployment(version)}"
    if version:
        return text.encode()
    kept = (line for line in text.splitlines() if not line.startswith("#") and "/version:" not in line)
    return "".join(f"{line}\n" for line in kept).encode()


def _deployment(version: str) -> str:
    return f"""apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app.kubernetes.io/instance: flux-system
    app.kubernetes.io/part-of: flux
    app.kubernetes.io/version: {version}
  name: source-controller
  namespace: flux-system
spec:
  selector:
    matchLabels:
      app: source-controller
  template:
    metadata:
      labels:
        app: source-controller
    spec:
      containers:
      - args:
        - --log-level=info
        image: ghcr.io/fluxcd/source-controller:v0.36.1
        name: manager
"""
