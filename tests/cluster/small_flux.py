"""A Flux that is small: three CRDs, two controllers; and the files of a folder bootstrapped with it."""

from __future__ import annotations

import yaml

REVISION = "main@sha1:1111111111111111111111111111111111111111"
FOLDER = "clusters/staging/flux-system"
CONTROLLERS = ("kustomize-controller", "source-controller")
_LABELS = {"app.kubernetes.io/instance": "flux-system", "app.kubernetes.io/part-of": "flux"}


def crd(group: str, plural: str, kind: str, version: str) -> dict[str, object]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "labels": {**_LABELS, "app.kubernetes.io/version": version}},
        "spec": {
            "group": group,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [served],
        },
    }


def deployment(name: str, image: str) -> dict[str, object]:
    labels = {"app": name}
    container = {"name": "manager", "image": image}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "flux-system", "labels": _LABELS},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def components(version: str = "v2.9.4") -> list[dict[str, object]]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "flux-system", "labels": {**_LABELS, "app.kubernetes.io/version": version}},
        },
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "source-controller", "namespace": "flux-system", "labels": _LABELS},
        },
        crd("source.toolkit.fluxcd.io", "gitrepositories", "GitRepository", version),
        crd("source.toolkit.fluxcd.io", "ocirepositories", "OCIRepository", version),
        crd("kustomize.toolkit.fluxcd.io", "kustomizations", "Kustomization", version),
        *(deployment(name, f"ghcr.io/fluxcd/{name}:{version}") for name in CONTROLLERS),
    ]


def git_sync(path: str = "./clusters/staging", branch: str = "main") -> list[dict[str, object]]:
    metadata = {"name": "flux-system", "namespace": "flux-system"}
    source = {
        "interval": "1m0s",
        "ref": {"branch": branch},
        "secretRef": {"name": "flux-system"},
        "url": "ssh://git@git.example.com/fleet",
    }
    reconciled = {
        "interval": "10m0s",
        "path": path,
        "prune": True,
        "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
    }
    return [
        {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": metadata, "spec": source},
        {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": metadata,
            "spec": reconciled,
        },
    ]


def oci_sync(tag: str = "staging") -> list[dict[str, object]]:
    metadata = {"name": "flux-system", "namespace": "flux-system"}
    source = {"interval": "1m0s", "ref": {"tag": tag}, "url": "oci://registry.example.com/flux"}
    reconciled = {
        "interval": "10m0s",
        "path": "./",
        "prune": True,
        "sourceRef": {"kind": "OCIRepository", "name": "flux-system"},
    }
    return [
        {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository", "metadata": metadata, "spec": source},
        {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": metadata,
            "spec": reconciled,
        },
    ]


KUSTOMIZATION = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- gotk-components.yaml
- gotk-sync.yaml
"""


def files(
    version: str = "v2.9.4", kustomization: str = KUSTOMIZATION, sync: list[dict[str, object]] | None = None
) -> dict[str, bytes]:
    """The folder's files, by their path in the repository."""
    texts = {
        "gotk-components.yaml": yaml.safe_dump_all(components(version)),
        "gotk-sync.yaml": yaml.safe_dump_all(sync or git_sync()),
        "kustomization.yaml": kustomization,
    }
    return {f"{FOLDER}/{name}": text.encode() for name, text in texts.items()}
