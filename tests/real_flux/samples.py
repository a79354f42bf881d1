"""The smallest valid ``spec`` of each kind that Flux has removed versions of; the same in all of its versions."""

from __future__ import annotations

from typing import Any

_SOURCE = {"kind": "GitRepository", "name": "flux-system"}
SPECS: dict[str, dict[str, Any]] = {
    "Alert": {"providerRef": {"name": "chat"}, "eventSources": [{"kind": "Kustomization", "name": "*"}]},
    "Bucket": {"bucketName": "podinfo", "endpoint": "minio.example.com", "interval": "1m"},
    "GitRepository": {"url": "https://git.example.com/org/fleet", "interval": "1m"},
    "HelmChart": {"chart": "podinfo", "interval": "1m", "sourceRef": {"kind": "HelmRepository", "name": "podinfo"}},
    "HelmRelease": {
        "interval": "1m",
        "chart": {"spec": {"chart": "podinfo", "sourceRef": {"kind": "HelmRepository", "name": "podinfo"}}},
    },
    "HelmRepository": {"url": "https://charts.example.com", "interval": "1m"},
    "ImagePolicy": {"imageRepositoryRef": {"name": "podinfo"}, "policy": {"semver": {"range": "1.x"}}},
    "ImageRepository": {"image": "registry.example.com/podinfo", "interval": "1m"},
    "ImageUpdateAutomation": {
        "interval": "1m",
        "sourceRef": _SOURCE,
        "git": {"commit": {"author": {"email": "flux@example.com"}}},
    },
    "Kustomization": {"interval": "1m", "path": "./", "prune": True, "sourceRef": _SOURCE},
    "OCIRepository": {"url": "oci://registry.example.com/podinfo", "interval": "1m"},
    "Provider": {"type": "slack", "channel": "general", "secretRef": {"name": "chat"}},
    "Receiver": {
        "type": "github",
        "events": ["push"],
        "resources": [{"kind": "GitRepository", "name": "flux-system"}],
        "secretRef": {"name": "webhook"},
    },
}


def sample(group: str, version: str, kind: str, name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "flux-system"}
    return {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": metadata, "spec": SPECS[kind]}
