"""Resources that a cluster at Flux v0 may read are migrated only as far as its CRDs allow."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from api_use_runs import plant, run
from conformance.real_files import members, regenerator_of, rows, tell
from flux_upgrade.manifests.crds import crds_of
from flux_upgrade.manifests.documents import parse
from flux_upgrade.manifests.options import InstallOptions

pytestmark = pytest.mark.real_part("shared data")

OLD = "clusters/old/flux-system/gotk-components.yaml"
NEW = "clusters/new/flux-system/gotk-components.yaml"
KUSTOMIZATION = "resources:\n- gotk-components.yaml\n"
HELM = "name: helmreleases.helm.toolkit.fluxcd.io"
FEW = 2


@pytest.fixture(scope="module")
def manifests(conformance: Path) -> list[str]:
    """Of v0.41.2, with the CRDs of each controller."""
    names = {row["file"] for row in rows(conformance / "wild.jsonl") if row["label_version"] == "v0.41.2"}
    found = (content.decode() for _, content in members(conformance / "wild.tar.xz", names))
    whole = list(islice((each for each in found if HELM in each), FEW))
    assert len(whole) == FEW
    return whole


@pytest.fixture(scope="module")
def release(releases: Path) -> str:
    return regenerator_of(releases).regenerate(InstallOptions("v2.2.3")).text


def _resource(group: str, kind: str, version: str) -> str:
    return f"apiVersion: {group}/{version}\nkind: {kind}\nmetadata:\n  name: a\nspec: {{}}\n"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("migrate", "--to=v2.7.5"), id="migrate-2.7"),
        pytest.param(("migrate", "--to=v2.9.4"), id="migrate-2.9"),
        pytest.param(("upgrade", "--to=v2.7.5"), id="upgrade-2.7"),
        pytest.param(("upgrade", "--policy=minor"), id="upgrade-newest"),
    ],
)
def test_nothing_goes_where_the_old_cluster_does_not_serve_it(
    words: tuple[str, ...], manifests: list[str], release: str, releases: Path, tmp_path: Path
) -> None:
    for at, manifest in enumerate(manifests):
        crds = crds_of(parse(manifest.encode()).documents).values()
        folder = plant(tmp_path / str(at), {".git/HEAD": "ref: refs/heads/main\n", OLD: manifest, NEW: release})
        for path in (OLD, NEW):
            plant(folder, {path.replace("gotk-components", "kustomization"): KUSTOMIZATION})
        files = {
            f"{above}/{crd.kind}-{version}.yaml": _resource(crd.group, crd.kind, version)
            for crd in crds
            for version in crd.served
            for above in ("apps", "clusters/new")
        }
        plant(folder, files)
        ran = run(folder, releases, *words)
        moved = {path for path, text in files.items() if (folder / path).read_text() != text}
        for crd in crds:
            for path in sorted(each for each in moved if each.startswith(f"apps/{crd.kind}-")):
                version = (folder / path).read_text().split("\n")[0].rpartition("/")[2]
                assert version in crd.served, path
        assert any(path.startswith("clusters/new/") for path in moved)
        assert f"v0.41.2 ({OLD})" in ran.out
        if words[0] == "migrate":
            assert "clusters run v0.41.2, v2.2.3 (found in this repository)" in ran.out
        tell(f"{' '.join(words)} beside Flux v0: {len(files)} files, {len(moved)} moved")
