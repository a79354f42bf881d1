"""Flux deletes and recreates CRDs if the Kustomization that applies them forces it, wherever that is."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from flows import World, listed
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.model.file_history import FileRevisions
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy
from memory import MemoryCharts, MemoryHistory, regenerator
from own_artifacts import MemoryOwnArtifacts
from written_histories import TAGS, manifest, releases

FORCE = "  force: true\n"
ENABLED = "kustomize.toolkit.fluxcd.io/force: enabled"
ON_A_JOB = f"annotations: {{{ENABLED}}}"
COMMON = f"  commonMetadata:\n    annotations:\n      {ENABLED}\n"
POINTER = "{op: add, path: /metadata/annotations/kustomize.toolkit.fluxcd.io~1force, value: enabled}"
SYNC = "clusters/a/flux-system/gotk-sync.yaml"
TAG = "v2.6.4-000000000000"
COMMUNITY = "https://fluxcd-community.github.io/helm-charts"
CHARTS = {"2.16.4": "2.6.4", "2.17.0": "2.7.5", "2.18.3": "2.8.8", "2.19.1": "2.9.4"}
PUBLISHED = "oci://ghcr.io/fluxcd-community/charts"
BY_REFERENCE = f"""\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {{name: charts, namespace: flux-system}}
spec:
  url: {PUBLISHED}/flux2
  ref: {{tag: 2.16.4}}
"""
HELM = f"""\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {{name: charts, namespace: flux-system}}
spec: {{url: {COMMUNITY}}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: flux
  namespace: flux-system
spec:
  chart:
    spec:
      chart: flux2
      version: 2.16.4
      sourceRef: {{kind: HelmRepository, name: charts}}
"""
SOURCE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: flux-system
  namespace: flux-system
spec:
  url: ssh://git@example.com/fleet
  ref:
    branch: main
---
"""
OCI = f"""\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata:
  name: flux
  namespace: flux-system
spec:
  url: oci://ghcr.io/acme/flux
  ref:
    tag: {TAG}
"""
FORCE_BY_PATCH = """\
resources: [flux-system/gotk-sync.yaml, flux.yaml, sources]
patches:
- patch: |
    - {op: add, path: /spec/force, value: true}
  target: {kind: Kustomization, name: flux}
"""


def flux(name: str, path: str, more: str = "", kind: str = "GitRepository", source: str = "flux-system") -> str:
    """Return a Kustomization of Flux; line 8 is the first of ``more``."""
    return (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        f"metadata:\n  name: {name}\n  namespace: flux-system\nspec:\n  path: {path}\n{more}"
        f"  prune: true\n  sourceRef:\n    kind: {kind}\n    name: {source}\n"
    )


def sync(more: str = "") -> str:
    return SOURCE + flux("flux-system", "./clusters/a", more)


def vendored(more: str = "", folder: str = "infra/flux") -> dict[str, str]:
    """Return the files of a cluster with a manifest that the Kustomization `flux` applies."""
    return {
        SYNC: sync(),
        "clusters/a/flux.yaml": flux("flux", "./infra/flux", more),
        "clusters/a/sources/kustomization.yaml": "resources: []\n",
        f"{folder}/core.yaml": manifest("v2.6.4").decode(),
        f"{folder}/kustomization.yaml": "resources:\n- core.yaml\n",
    }


def in_artifact(more: str = "") -> dict[str, str]:
    """Return the files of a cluster that pins an artifact with Flux."""
    return {
        SYNC: sync(),
        "clusters/a/sources/kustomization.yaml": "resources: [flux.yaml]\n",
        "clusters/a/sources/flux.yaml": OCI,
        "clusters/a/flux.yaml": flux("flux", "./", more, "OCIRepository", "flux"),
    }


def forced(files: Mapping[str, str], path: str) -> tuple[str, ...]:
    """Return the places that let Flux recreate CRDs in the next minor upgrade of the installation at ``path``."""
    artifacts = MemoryOwnArtifacts(stated={TAG: {"digest": f"sha256:{1:064}", "version": "v2.6.4"}})
    world = World(
        {name: text.encode() for name, text in files.items()},
        Config(Group(governance=Governance(policy=Policy(bump=MaxBump.MINOR)))),
        listed(*TAGS),
        regenerator(releases()),
        own=artifacts if files[path] is OCI else None,
        charts=MemoryCharts({url: {"flux2": CHARTS} for url in (COMMUNITY, PUBLISHED)}),
        history=MemoryHistory({path: FileRevisions(missing=Unknown("the checkout is shallow"))}),
    )
    plans = [plan for group in plan_update_groups(world.gathered()) for plan in group.plans]
    plan = next(plan for plan in plans if plan.path == path)
    (decision,) = plan.decisions
    impact = plan.impact_of(decision)
    assert impact is not None
    is_held = isinstance(decision, Hold) and decision.reason is HoldReason.FORCE_RECREATES
    assert is_held == bool(impact.forced.places)
    return impact.forced.places


OVERLAY = {"infra/flux/kustomization.yaml": "resources:\n- ../../base\n"}
WITH_BASE = vendored(folder="base") | OVERLAY
WITHOUT_SYNC = {path: text for path, text in (vendored(FORCE, folder="base") | OVERLAY).items() if path != SYNC}
FROM_ARTIFACT = in_artifact()["clusters/a/flux.yaml"]
IN_PATCH_FILE = {
    "infra/flux/kustomization.yaml": "resources: [../../base]\npatches:\n- path: crds.yaml\n",
    "infra/flux/crds.yaml": f"metadata:\n  annotations:\n    {ENABLED}\n",
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(vendored(FORCE), "clusters/a/flux.yaml:8", id="force"),
        pytest.param(vendored("  force: ${FORCE}\n"), "clusters/a/flux.yaml:8", id="variable"),
        pytest.param(vendored(COMMON), "clusters/a/flux.yaml:10", id="common-metadata"),
        pytest.param(vendored(f"  patches:\n  - patch: '- {POINTER}'\n"), "clusters/a/flux.yaml:9", id="patches"),
        pytest.param(
            vendored() | {"clusters/a/kustomization.yaml": FORCE_BY_PATCH},
            "clusters/a/flux.yaml:1",
            id="force-by-patch",
        ),
    ],
)
def test_a_vendored_manifest_that_another_kustomization_applies(files: dict[str, str], expected: str) -> None:
    assert forced(files, "infra/flux/core.yaml") == (expected,)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(vendored(FORCE, folder="base") | OVERLAY, "clusters/a/flux.yaml:8", id="force"),
        pytest.param(WITHOUT_SYNC, "clusters/a/flux.yaml:8", id="unknown-root"),
        pytest.param(
            WITH_BASE
            | {"infra/flux/kustomization.yaml": f"resources: [../../base]\nlabels:\n- pairs: {{{ENABLED}}}\n"},
            "infra/flux/kustomization.yaml:3",
            id="label",
        ),
        pytest.param(WITH_BASE | IN_PATCH_FILE, "infra/flux/crds.yaml:3", id="patch-file"),
    ],
)
def test_a_vendored_manifest_below_an_overlay(files: dict[str, str], expected: str) -> None:
    assert forced(files, "base/core.yaml") == (expected,)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(in_artifact(FORCE), "clusters/a/flux.yaml:8", id="force"),
        pytest.param(in_artifact(COMMON), "clusters/a/flux.yaml:10", id="common-metadata"),
        pytest.param(
            in_artifact() | {"clusters/a/kustomization.yaml": FORCE_BY_PATCH},
            "clusters/a/flux.yaml:1",
            id="force-by-patch",
        ),
    ],
)
def test_an_artifact_that_a_kustomization_applies(files: dict[str, str], expected: str) -> None:
    assert forced(files, "clusters/a/sources/flux.yaml") == (expected,)


@pytest.mark.parametrize(
    ("files", "path"),
    [
        pytest.param(vendored(), "infra/flux/core.yaml", id="none"),
        pytest.param(vendored("  force: false\n"), "infra/flux/core.yaml", id="false"),
        pytest.param(
            vendored() | {"clusters/a/apps.yaml": flux("apps", "./apps", FORCE), "apps/a.yaml": "a: 1\n"},
            "infra/flux/core.yaml",
            id="others-force",
        ),
        pytest.param(
            WITH_BASE | {"apps/kustomization.yaml": f"commonAnnotations: {{{ENABLED}}}\n"},
            "base/core.yaml",
            id="others-annotation",
        ),
        pytest.param(
            vendored()
            | {"infra/flux/job.yaml": f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, {ON_A_JOB}}}\n"},
            "infra/flux/core.yaml",
            id="job-beside",
        ),
        pytest.param(in_artifact(), "clusters/a/sources/flux.yaml", id="artifact"),
        pytest.param(
            in_artifact() | {SYNC: sync(FORCE)}, "clusters/a/sources/flux.yaml", id="what-applies-the-kustomization"
        ),
        pytest.param(
            in_artifact() | {"clusters/a/flux.yaml": f"{FROM_ARTIFACT}---\n{flux('apps', './apps', FORCE)}"},
            "clusters/a/sources/flux.yaml",
            id="in-the-same-file",
        ),
    ],
)
def test_what_applies_something_else_does_not_count(files: dict[str, str], path: str) -> None:
    assert forced(files, path) == ()


def upgraded(fields: str) -> dict[str, str]:
    """Return the files of a cluster with the chart of Flux; ``fields``: of `spec.upgrade`."""
    return {SYNC: sync(), HELM_PATH: f"{HELM}  upgrade:\n{fields}"}


HELM_PATH = "clusters/a/flux.yaml"
UNINSTALL = "    remediation:\n      retries: 3\n      strategy: uninstall\n"
UNINSTALL_BY_PATCH = """\
resources: [flux-system/gotk-sync.yaml, flux.yaml]
patches:
- patch: |
    - {op: add, path: /spec/upgrade, value: {remediation: {retries: -1, strategy: uninstall}}}
  target: {kind: HelmRelease}
"""


@pytest.mark.parametrize(
    ("files", "line"),
    [
        pytest.param(upgraded(UNINSTALL), 20, id="uninstall"),
        pytest.param(upgraded(UNINSTALL.replace("uninstall", "${STRATEGY}")), 20, id="variable"),
        pytest.param(upgraded(UNINSTALL.replace("retries: 3", "remediateLastFailure: true")), 20, id="last-failure"),
        pytest.param(
            {SYNC: sync(), HELM_PATH: HELM, "clusters/a/kustomization.yaml": UNINSTALL_BY_PATCH}, 6, id="by-patch"
        ),
    ],
)
def test_a_release_of_the_chart_that_is_uninstalled_after_a_failure(files: dict[str, str], line: int) -> None:
    assert forced(files, HELM_PATH) == (f"{HELM_PATH}:{line}",)


def test_a_release_that_refers_to_the_chart() -> None:
    release = HELM.partition("---\n")[2].partition("  chart:\n")[0]
    reference = "  chartRef: {kind: OCIRepository, name: charts}\n"
    files = {
        SYNC: sync(),
        HELM_PATH: BY_REFERENCE,
        "clusters/a/release.yaml": f"{release}{reference}  upgrade:\n{UNINSTALL}",
        "clusters/a/other.yaml": f"{release}{reference.replace('charts', 'others')}  upgrade:\n{UNINSTALL}",
    }
    assert forced(files, HELM_PATH) == ("clusters/a/release.yaml:11",)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(upgraded("    force: true\n    crds: CreateReplace\n"), id="force-replaces-in-place"),
        pytest.param(upgraded(UNINSTALL.replace("uninstall", "rollback")), id="rollback"),
        pytest.param(upgraded("    remediation:\n      strategy: uninstall\n"), id="no-retries"),
        pytest.param(upgraded(f"    strategy: {{name: RetryOnFailure}}\n{UNINSTALL}"), id="only-retries"),
        pytest.param(
            upgraded(f"{UNINSTALL}  values: {{crds: {{annotations: {{helm.sh/resource-policy: keep}}}}}}\n"), id="kept"
        ),
        pytest.param(
            upgraded("    crds: Skip\n")
            | {
                "clusters/a/other.yaml": upgraded(UNINSTALL)[HELM_PATH]
                .partition("---\n")[2]
                .replace("flux2", "podinfo")
            },
            id="another-chart",
        ),
        pytest.param(upgraded("    crds: Skip\n") | {SYNC: sync(FORCE)}, id="by-helm-not-by-kustomize"),
    ],
)
def test_a_release_of_the_chart_that_stays(files: dict[str, str]) -> None:
    assert forced(files, HELM_PATH) == ()
