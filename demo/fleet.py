"""The repositories of the demo, and the releases that come out while they are looked at."""

from __future__ import annotations

from collections.abc import Mapping

from stage import ROOT, Clone, Surprise

WORKFLOW = ROOT / "examples" / "scheduled.yaml"
STAGING = "clusters/staging/flux-system"
PRODUCTION = "clusters/production/flux-system"
EDGE = "clusters/edge/flux-system"
MANIFEST = "gotk-components.yaml"

# The other repository: what pins Flux there, besides a vendored manifest.
PINS = {
    "clusters/production/recovery/kustomization.yaml": """\
# Applied by hand, should the cluster be built anew.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - https://github.com/fluxcd/flux2//manifests/install?ref=v2.9.3
""",
    "terraform/production.tf": """\
resource "flux_bootstrap_git" "production" {
  path    = "clusters/production"
  version = "v2.8.7"
}
""",
    "clusters/staging/flux-instance.yaml": """\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata:
  name: flux
  namespace: flux-system
spec:
  distribution:
    version: "2.8.x" # patches come by themselves
    registry: ghcr.io/fluxcd
  sync:
    kind: GitRepository
    url: https://git.example.com/fleet
    path: clusters/staging
""",
    ".github/workflows/validate.yaml": """\
on: pull_request
jobs:
  validate:
    runs-on: ubuntu-24.04
    steps:
      - uses: fluxcd/flux2/action@v2.8.7
        with:
          version: 2.8.7
""",
    ".tool-versions": "flux2 2.8.7\n",
}

# The third one: what a minor breaks, beside a cluster.
APP = "apps/shop.yaml"
_USED = """\
apiVersion: helm.toolkit.fluxcd.io/v1beta2 # as the wiki has it
kind: HelmRelease
metadata:
  name: shop
  namespace: apps
spec:
  interval: 10m
---
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Alert
metadata:
  name: shop
  namespace: apps
spec:
  eventSeverity: error
"""
_FROZEN = """\
patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: kustomize-controller
      namespace: flux-system
    spec:
      template:
        spec:
          containers:
          - name: manager
            args:
            - --watch-all-namespaces
            - --log-level=debug
            - --enable-leader-election
"""

# The fourth one: two groups, of which the second waits for the first.
HEALTHY = "kustomization/flux-system/staging"
_GROUPS = f"""\
check-images: false # the demo has no mirror to ask for them
dashboard: true
groups:
  staging:
    paths: [clusters/staging/**]
    healthy: {{context: {HEALTHY}, creator: "flux-staging[bot]"}}
  production:
    paths: [clusters/production/**]
    after: [staging]
    soak: 2d
"""

BEGINNING = "2026-07-24T05:17:00Z"
# When Flux's releases of these names were published. A minor cools down for 7 days from its .0.
DATES = {
    "v2.8.7": "2026-05-12T11:01:49Z",
    "v2.8.8": "2026-05-20T10:58:20Z",
    "v2.9.0": "2026-06-30T13:00:51Z",
    "v2.9.3": "2026-07-23T15:00:15Z",
    "v2.9.4": "2026-08-07T13:49:34Z",
}
NOTES = {
    "v2.8.8": "## Fixes\n\n- A controller no longer restarts at midnight, thanks to @octocat (#5401)\n",
    "v2.9.0": (
        "## Breaking changes\n\n- `v1beta2` of every API is no longer served. Run `flux migrate` first.\n\n"
        "## Changes\n\n- helm-controller may use two CPUs (#5377)\n- `--requeue-dependency` is set, to 5s\n"
    ),
    "v2.9.3": "## Fixes\n\n- Charts with very long names install again (#5433)\n",
    "v2.9.4": "## Fixes\n\n- The network policy `allow-webhooks` opens port 9292 alone (#5460, by @octocat)\n",
}


def build(clone: Clone, source: str) -> None:
    """Two clusters, each with something that a plain regeneration would lose or get wrong; committed."""
    flags = ("--namespace=fleet", "--registry=registry.example.com/flux")
    staging = _rendered(clone, source, "v2.8.7", *flags, "--toleration-keys=dedicated")
    staging = _edited(staging, "kustomize-controller", "  replicas: 1\n", "  replicas: 2\n")
    memory, leader = "            memory: 1Gi\n", "        - --enable-leader-election\n"
    larger = "            memory: 2Gi # the charts are large\n"
    staging = _edited(staging, "helm-controller", memory, larger)
    staging = _edited(staging, "source-controller", leader, f"{leader}        - --concurrent=20\n")

    production = _rendered(clone, source, "v2.8.7", *flags, "--network-policy=false", "--log-level=debug")
    production = production.replace("# Flux Version: v2.8.7", "# Flux Version: v2.9.3")
    production = production.replace("/source-controller:v1.8.7", "/source-controller:v1.8.8")

    own = {
        ".github/workflows/flux-upgrade.yaml": WORKFLOW.read_bytes(),
        ".github/flux-upgrade.yaml": b"check-images: false # the demo has no mirror to ask for them\n",
    }
    _commit(clone, {**_cluster(STAGING, staging), **_cluster(PRODUCTION, production), **own})


def build_pinned(clone: Clone, source: str) -> None:
    """Two clusters whose Flux is pinned in six ways; committed."""
    manifest = _rendered(clone, source, "v2.8.7")
    pins = {path: text.encode() for path, text in PINS.items()}
    _commit(clone, {**_cluster(PRODUCTION, manifest), **pins})


def used(clone: Clone, source: str) -> Mapping[str, bytes]:
    """The files of a cluster whose apps use an old API version, and whose patch replaces a whole list."""
    files = _cluster(PRODUCTION, _rendered(clone, source, "v2.8.8"))
    kustomization = f"{PRODUCTION}/kustomization.yaml"
    return {
        **files,
        kustomization: files[kustomization] + _FROZEN.encode(),
        APP: _USED.encode(),
        ".github/flux-upgrade.yaml": b"policy: minor # what breaks nothing needs no approval\n",
    }


def in_groups(clone: Clone, source: str) -> Mapping[str, bytes]:
    """The files of two clusters in two groups."""
    manifest = _rendered(clone, source, "v2.8.7")
    own = {".github/flux-upgrade.yaml": _GROUPS.encode()}
    return {**_cluster(STAGING, manifest), **_cluster(PRODUCTION, manifest), **own}


def _commit(clone: Clone, files: Mapping[str, bytes]) -> None:
    clone.run("git", "init", "--quiet", "--initial-branch=main")
    for name, content in files.items():
        path = clone.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    clone.run("git", "add", "--all")
    clone.run("git", "commit", "--quiet", "--message", "Two clusters")


def third_cluster(clone: Clone, source: str) -> Mapping[str, bytes]:
    """The files of a cluster with an edit where v2.9 changes the same line."""
    text = _rendered(clone, source, "v2.8.8", "--namespace=fleet")
    text = _edited(text, "helm-controller", "            cpu: 1000m\n", "            cpu: 1500m\n")
    return _cluster(EDGE, text)


def _cluster(folder: str, manifest: str) -> Mapping[str, bytes]:
    """A cluster's files, as ``flux bootstrap`` lays them out."""
    texts = {
        MANIFEST: manifest,
        "kustomization.yaml": (
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
            f"resources:\n- {MANIFEST}\n- gotk-sync.yaml\n"
        ),
        "gotk-sync.yaml": (
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n"
            "metadata:\n  name: fleet\n  namespace: fleet\n"
            "spec:\n  interval: 1m0s\n  ref:\n    branch: main\n  url: https://git.example.com/fleet\n"
        ),
    }
    return {f"{folder}/{name}": text.encode() for name, text in texts.items()}


def _rendered(clone: Clone, source: str, version: str, *flags: str) -> str:
    return clone.run("flux-upgrade", "render", f"--release-source={source}", f"--version={version}", *flags)


def _edited(text: str, controller: str, old: str, new: str) -> str:
    """The manifest with one edit, in the Deployment of one controller."""
    documents = text.split("---\n")
    for index, document in enumerate(documents):
        if "kind: Deployment\n" in document and f"\n  name: {controller}\n" in document and old in document:
            documents[index] = document.replace(old, new, 1)
            return "---\n".join(documents)
    raise Surprise(f"the demo's manifest has no {old.strip()} for {controller}")
