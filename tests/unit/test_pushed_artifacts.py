"""Which directory of a repository is an artifact, by the commands of its workflows."""

from __future__ import annotations

import pytest

from flux_upgrade.clusters.graph.flux_objects import SourceKey
from flux_upgrade.clusters.graph.pushed import PushedArtifacts
from flux_upgrade.clusters.roots import graph_of
from memory import MemoryTree

KEY = SourceKey("OCIRepository", "flux-system", "flux-system")
URL = "oci://ghcr.io/acme/fleet"
WORKFLOW = ".github/workflows/push.yaml"


def folder_of(text: str, path: str = WORKFLOW, url: str = URL, key: SourceKey = KEY) -> str | None:
    return PushedArtifacts(MemoryTree({path: text.encode()}), {"github.com/acme/fleet"}).folder_of(key, url)


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        pytest.param("run: flux push artifact oci://ghcr.io/acme/fleet:latest --path=./deploy\n", "deploy", id="plain"),
        pytest.param('run: flux push artifact oci://ghcr.io/acme/fleet:v1 --path "deploy/"\n', "deploy", id="quoted"),
        pytest.param("run: flux push artifact --path=. oci://ghcr.io/acme/fleet\n", "", id="the root, no tag"),
        pytest.param(
            "run: |\n  flux push artifact \\\n    oci://ghcr.io/${{ github.repository }}:$TAG \\\n    --path=./deploy\n",
            "deploy",
            id="this repository",
        ),
        pytest.param(
            "run: flux push artifact oci://ghcr.io/${{ github.repository_owner }}/fleet:x --path=a\n", "a", id="owner"
        ),
        pytest.param(
            "env:\n  WHERE: ghcr.io/acme/fleet\nrun: flux push artifact oci://$WHERE:x --path=$GITHUB_WORKSPACE/a\n",
            "a",
            id="variables",
        ),
        pytest.param("# flux push artifact oci://ghcr.io/acme/fleet --path=a\n", None, id="a comment"),
        pytest.param("run: flux push artifact oci://ghcr.io/acme/other --path=a\n", None, id="another artifact"),
        pytest.param("run: flux push artifact oci://ghcr.io/acme/fleet --path=$UNKNOWN\n", None, id="unknown path"),
        pytest.param("run: flux push artifact oci://$UNKNOWN/fleet --path=a\n", None, id="unknown registry"),
        pytest.param("A: ${{ env.A }}\nrun: flux push artifact oci://${{ env.A }} --path=a\n", None, id="a circle"),
    ],
)
def test_a_command_says_which(text: str, folder: str | None) -> None:
    assert folder_of(text) == folder


def test_where_it_is_looked_for() -> None:
    text = "flux push artifact oci://ghcr.io/acme/fleet:latest --path=./deploy\n"
    assert folder_of(text, "Makefile") == "deploy"
    assert folder_of(text, "hack/push.sh") == "deploy"
    assert folder_of(text, "docs/push.yaml") is None


def test_an_artifact_that_is_made_of_several_directories() -> None:
    push = "run: flux push artifact oci://ghcr.io/acme/fleet:{0} --path=./{0}\n"
    assert folder_of(push.format("staging") + push.format("production")) is None
    assert folder_of(push.format("staging") * 2) == "staging"


def test_of_what() -> None:
    text = "run: flux push artifact oci://ghcr.io/acme/fleet:latest --path=./deploy\n"
    assert folder_of(text, url="oci://GHCR.io/acme/fleet/") == "deploy"
    assert folder_of(text, key=KEY._replace(kind="GitRepository")) is None
    assert folder_of(text, url="https://ghcr.io/acme/fleet") is None


OBJECTS = """apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata:
  name: {name}
  namespace: flux-system
spec:
  url: oci://ghcr.io/acme/{artifact}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {name}
  namespace: flux-system
spec:
  path: ./{path}
  sourceRef:
    kind: OCIRepository
    name: {name}
"""


def test_a_sync_and_a_source_that_are_pushed_from_here() -> None:
    files = {
        WORKFLOW: "run: |\n  flux push artifact oci://ghcr.io/acme/fleet --path=deploy\n"
        "  flux push artifact oci://ghcr.io/acme/apps --path=apps\n",
        "deploy/a/flux-system/gotk-sync.yaml": OBJECTS.format(name="flux-system", artifact="fleet", path="a"),
        "deploy/a/apps.yaml": OBJECTS.format(name="apps", artifact="apps", path="podinfo"),
        "apps/podinfo/release.yaml": "kind: HelmRelease\n",
        "podinfo/release.yaml": "kind: HelmRelease\n",
    }
    tree = MemoryTree({path: text.encode() for path, text in files.items()})
    (reads,) = graph_of((), tree, ["https://github.com/acme/fleet"]).clusters
    assert [each.folder for each in reads.reconciliations] == ["deploy/a", "apps/podinfo"]
    assert "apps/podinfo/release.yaml" in reads.files
    assert "podinfo/release.yaml" not in reads.files
