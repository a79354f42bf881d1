"""What Flux's generator hands to kustomize, for default flags, as an overlay on disk."""

from __future__ import annotations

from pathlib import Path

from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.manifests.options import InstallOptions


def overlay(folder: Path, releases: DirectoryReleases, options: InstallOptions) -> Path:
    """Write it into ``folder``, which is to be made."""
    manifests = releases.manifests(options.version)
    (folder / "roles").mkdir(parents=True)
    for name, text in manifests.files.items():
        (folder / ("roles/rbac.yaml" if name == "rbac.yaml" else name)).write_text(text)
    (folder / "namespace.yaml").write_text(
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: flux-system\n  labels:\n"
        "    pod-security.kubernetes.io/warn: restricted\n"
        "    pod-security.kubernetes.io/warn-version: latest\n"
    )
    (folder / "roles" / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: flux-system\n"
        "resources: [rbac.yaml]\nnameSuffix: -flux-system\n"
    )
    (folder / "kustomization.yaml").write_text(_kustomization(options))
    return folder


def _kustomization(options: InstallOptions) -> str:
    patches = []
    for component in options.components:
        arguments = {"watch-all-namespaces": "true", "log-level": "info"}
        if component != "notification-controller":
            host = "notification-controller.$(RUNTIME_NAMESPACE).svc.cluster.local"
            arguments = {"events-addr": f"http://{host}./", **arguments}
        lines = [
            f"      - {{op: replace, path: /spec/template/spec/containers/0/args/{index}, value: --{flag}={value}}}"
            for index, (flag, value) in enumerate(arguments.items())
        ]
        if component in ("source-controller", "source-watcher"):
            address = f"--storage-adv-addr={component}.$(RUNTIME_NAMESPACE).svc.cluster.local."
            lines.append(f"      - {{op: replace, path: /spec/template/spec/containers/0/args/6, value: {address}}}")
        if component in ("helm-controller", "kustomize-controller") and "source-watcher" in options.components:
            gate = "--feature-gates=ExternalArtifact=true"
            lines.append(f"      - {{op: add, path: /spec/template/spec/containers/0/args/-, value: {gate}}}")
        patches.append(f"  - target: {{kind: Deployment, name: {component}}}\n    patch: |-\n" + "\n".join(lines))
    resources = "".join(f"  - {component}.yaml\n" for component in options.components)
    images = "".join(
        f"  - {{name: fluxcd/{component}, newName: ghcr.io/fluxcd/{component}}}\n" for component in options.components
    )
    selector = "- {op: add, path: /spec/template/spec/nodeSelector, value: {kubernetes.io/os: linux}}"
    return f"""apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: flux-system
sortOptions:
  order: fifo
resources:
  - namespace.yaml
  - policies.yaml
  - roles
{resources}labels:
  - pairs:
      app.kubernetes.io/instance: flux-system
      app.kubernetes.io/part-of: flux
      app.kubernetes.io/version: {options.version}
    fields:
      - {{path: metadata/labels, create: true}}
      - {{path: spec/template/metadata/labels, create: true, kind: Deployment}}
images:
{images}patches:
  - target: {{kind: Deployment}}
    patch: |-
      {selector}
{chr(10).join(patches)}
"""
