"""Releases written for the demo and the tests: the shape of Flux's manifests, none of their text.

A folder of them is a release source like any other (``--release-source``).
From one tag to the next they change what real releases change: controllers'
versions, API versions served, an argument, a limit, a network policy.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

TAGS = ("v2.0.0-rc.3", "v2.6.3", "v2.6.4", "v2.7.1", "v2.8.7", "v2.8.8", "v2.9.3", "v2.9.4")
_GROUPS = {
    "source-controller": ("source.toolkit.fluxcd.io", "GitRepository", "gitrepositories"),
    "kustomize-controller": ("kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations"),
    "helm-controller": ("helm.toolkit.fluxcd.io", "HelmRelease", "helmreleases"),
    "notification-controller": ("notification.toolkit.fluxcd.io", "Alert", "alerts"),
    "image-reflector-controller": ("image.toolkit.fluxcd.io", "ImagePolicy", "imagepolicies"),
    "image-automation-controller": ("image.toolkit.fluxcd.io", "ImageUpdateAutomation", "imageupdateautomations"),
    "source-watcher": ("source.extensions.fluxcd.io", "ArtifactGenerator", "artifactgenerators"),
}

Apis = Callable[[str, str], Sequence[str]]
"""Kind and tag → the versions that the release serves, of which the first is stored."""


def numbers(tag: str) -> tuple[int, int]:
    """Minor and patch of a tag."""
    match = re.match(r"v2\.(\d+)\.(\d+)", tag)
    assert match is not None, tag
    return int(match[1]), int(match[2])


def controller_version(tag: str) -> str:
    """The version of every controller in a release: Flux v2.8.7 ships v1.8.7."""
    minor, patch = numbers(tag)
    return f"v1.{minor}.{patch}"


def components(tag: str) -> tuple[str, ...]:
    """The controllers that a release ships; source-watcher came with v2.7.0."""
    return tuple(name for name in _GROUPS if name != "source-watcher" or numbers(tag)[0] >= 7)


def served(kind: str, tag: str) -> Sequence[str]:
    """The versions of every kind, unless somebody writes another history."""
    del kind
    return ("v1",) if numbers(tag)[0] >= 9 else ("v1", "v1beta2")


def files(tag: str, apis: Apis = served) -> dict[str, str]:
    """What the release's manifests.tar.gz holds."""
    return {
        "policies.yaml": _policies(tag),
        "rbac.yaml": _rbac(tag),
        **{f"{name}.yaml": _controller(name, tag, apis) for name in components(tag)},
    }


def _controller(name: str, tag: str, apis: Apis) -> str:
    documents = [_crd(name, tag, apis(_GROUPS[name][1], tag)), _account(name)]
    if name in ("source-controller", "notification-controller", "source-watcher"):
        documents.append(_service(name))
    return "---\n".join([*documents, _deployment(name, tag)])


def _crd(name: str, tag: str, versions: Sequence[str]) -> str:
    group, kind, plural = _GROUPS[name]
    minor, _ = numbers(tag)
    entries = "".join(
        f"""  - name: {version}
    schema:
      openAPIV3Schema:
        description: The schema of what the demo calls {kind}.
        properties:
          spec:
            properties:
              interval:
                pattern: ^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$
                type: string
            type: object
        type: object
    served: true
    storage: {"true" if version == versions[0] else "false"}
"""
        for version in versions
    )
    return f"""apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    controller-gen.kubebuilder.io/version: v0.{minor}.0
  labels:
    app.kubernetes.io/component: {name}
  name: {plural}.{group}
spec:
  group: {group}
  names:
    kind: {kind}
    listKind: {kind}List
    plural: {plural}
    singular: {kind.lower()}
  scope: Namespaced
  versions:
{entries}"""


def _account(name: str) -> str:
    return f"""apiVersion: v1
kind: ServiceAccount
metadata:
  labels:
    app.kubernetes.io/component: {name}
  name: {name}
"""


def _service(name: str) -> str:
    return f"""apiVersion: v1
kind: Service
metadata:
  labels:
    app.kubernetes.io/component: {name}
    control-plane: controller
  name: {name}
spec:
  ports:
  - name: http
    port: 80
    protocol: TCP
    targetPort: http
  selector:
    app: {name}
  type: ClusterIP
"""


def _arguments(name: str, tag: str) -> list[str]:
    arguments = ["--watch-all-namespaces", "--log-level=info", "--log-encoding=json", "--enable-leader-election"]
    if name != "notification-controller":
        arguments.insert(0, "--events-addr=http://notification-controller.flux-system.svc.cluster.local./")
    if name in ("source-controller", "source-watcher"):
        arguments += ["--storage-path=/data", f"--storage-adv-addr={name}.$(RUNTIME_NAMESPACE).svc.cluster.local."]
    if numbers(tag)[0] >= 9:
        arguments.append("--requeue-dependency=5s")
    return arguments


def _deployment(name: str, tag: str) -> str:
    arguments = "".join(f"        - {argument}\n" for argument in _arguments(name, tag))
    cpu = "2000m" if numbers(tag)[0] >= 9 and name == "helm-controller" else "1000m"
    return f"""apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app.kubernetes.io/component: {name}
    control-plane: controller
  name: {name}
spec:
  replicas: 1
  selector:
    matchLabels:
      app: {name}
  strategy:
    type: Recreate
  template:
    metadata:
      annotations:
        prometheus.io/port: "8080"
        prometheus.io/scrape: "true"
      labels:
        app: {name}
    spec:
      containers:
      - args:
{arguments}        env:
        - name: RUNTIME_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        image: fluxcd/{name}:{controller_version(tag)}
        imagePullPolicy: IfNotPresent
        name: manager
        ports:
        - containerPort: 8080
          name: http-prom
          protocol: TCP
        - containerPort: 9440
          name: healthz
          protocol: TCP
        resources:
          limits:
            cpu: {cpu}
            memory: 1Gi
          requests:
            cpu: 100m
            memory: 64Mi
        volumeMounts:
        - mountPath: /tmp
          name: temp
      priorityClassName: system-cluster-critical
      serviceAccountName: {name}
      terminationGracePeriodSeconds: 10
      volumes:
      - emptyDir: {{}}
        name: temp
"""


def _policies(tag: str) -> str:
    port = "    ports:\n    - port: 9292\n      protocol: TCP\n" if numbers(tag) >= (9, 4) else ""
    return f"""apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: allow-egress
spec:
  egress:
  - {{}}
  ingress:
  - from:
    - podSelector: {{}}
  podSelector: {{}}
  policyTypes:
  - Ingress
  - Egress
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: allow-webhooks
spec:
  ingress:
  - from:
    - namespaceSelector: {{}}
{port}  podSelector:
    matchLabels:
      app: notification-controller
  policyTypes:
  - Ingress
"""


def _rbac(tag: str) -> str:
    groups = sorted({_GROUPS[name][0] for name in components(tag)})
    rules = "".join(f"- apiGroups:\n  - {group}\n  resources:\n  - '*'\n  verbs:\n  - '*'\n" for group in groups)
    subjects = "".join(
        f"- kind: ServiceAccount\n  name: {name}\n  namespace: flux-system\n" for name in components(tag)
    )
    return f"""apiVersion: v1
kind: ResourceQuota
metadata:
  name: critical-pods
spec:
  hard:
    pods: "1000"
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: crd-controller
rules:
{rules}- apiGroups:
  - ""
  resources:
  - events
  verbs:
  - create
  - patch
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  labels:
    rbac.authorization.k8s.io/aggregate-to-view: "true"
  name: flux-view
rules:
- apiGroups:
  - source.toolkit.fluxcd.io
  resources:
  - '*'
  verbs:
  - get
  - list
  - watch
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: cluster-reconciler
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: cluster-admin
subjects:
- kind: ServiceAccount
  name: kustomize-controller
  namespace: flux-system
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: crd-controller
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: crd-controller
subjects:
{subjects}"""


def archive(contents: dict[str, str]) -> bytes:
    """A manifests.tar.gz, the same bytes each time."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, text in sorted(contents.items()):
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return gzip.compress(packed.getvalue(), mtime=0)


def write_release(source: Path, tag: str, contents: dict[str, str]) -> None:
    """Put one release into a source."""
    folder = source / tag
    folder.mkdir(parents=True)
    data = archive(contents)
    (folder / "manifests.tar.gz").write_bytes(data)
    checksum = f"{hashlib.sha256(data).hexdigest()}  manifests.tar.gz\n"
    (folder / f"flux_{tag.removeprefix('v')}_checksums.txt").write_text(checksum)


def write_source(
    source: Path, tags: tuple[str, ...] = TAGS, dates: Mapping[str, str] | None = None, apis: Apis = served
) -> Path:
    """A whole release source: a folder that ``--release-source`` takes.

    ``dates``: when releases were published, RFC 3339; without one, the source does not tell.
    """
    for tag in tags:
        write_release(source, tag, files(tag, apis))
    listed = [
        {
            "tag_name": tag,
            "draft": False,
            "prerelease": "-" in tag,
            "published_at": (dates or {}).get(tag, ""),
            "assets": [],
        }
        for tag in reversed(tags)
    ]
    (source / "releases.json").write_text(json.dumps(listed, indent=1))
    return source
