"""The releases that clusters run are known, and shared files suit all of them."""

from __future__ import annotations

import pytest

from discovered import manifests_in
from flows import World, fleet, manifest
from flux_upgrade.assessment.readers import Installations
from flux_upgrade.assessment.running import Running, UnverifiedInstallation, manifest_apis, running, suited
from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.manifests.proof import Proof, Verdict
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.pins.gotk_components import pin
from memory import MemoryTree, regenerator
from written_apis import served
from written_unverified import unverified

PATH = "clusters/old/flux-system/gotk-components.yaml"
NEW = "clusters/new/flux-system/gotk-components.yaml"
CONTROLLER = b"fluxcd/source-controller:v0.36.1", b"fluxcd/kustomize-controller:v1.6.1"
SERVED = b"    served: true\n"
USING = regenerator()


def running_in(files: dict[str, bytes]) -> Running:
    return running(Member(each, each.path) for each in manifests_in(MemoryTree(files), USING))


def unverified_in(content: bytes, path: str = PATH) -> list[tuple[str, bool]]:
    """Name and whether the CRDs can be read, of those that no release speaks for."""
    return [(one.name, not isinstance(manifest_apis(one), Unknown)) for one in running_in({path: content}).unverified]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(manifest("v2.8.8"), [], id="a-release"),
        pytest.param(unverified(), [(f"v0.41.2 ({PATH})", True)], id="flux-v0"),
        pytest.param(unverified("v0.0.0-dev.0"), [(f"v0.0.0-dev.0 ({PATH})", True)], id="development-build"),
        pytest.param(
            unverified("v0.0.0-dev.0").replace(*CONTROLLER), [(f"v2.6 ({PATH})", True)], id="development-build-of-2.6"
        ),
        pytest.param(unverified("").replace(*CONTROLLER), [(f"v2.6 ({PATH})", True)], id="install-yaml-of-2.6"),
        pytest.param(unverified().replace(*CONTROLLER), [(f"v0.41.2 ({PATH})", True)], id="what-is-stated-counts"),
        pytest.param(unverified(""), [(PATH, True)], id="install-yaml"),
        pytest.param(unverified(crds={}), [(f"v0.41.2 ({PATH})", False)], id="without-crds"),
        pytest.param(
            unverified().replace(b"  versions:\n", b"  version:\n", 1),
            [(f"v0.41.2 ({PATH})", False)],
            id="crd-of-another-form",
        ),
        pytest.param(b"output of a command\n" + unverified(), [(f"v0.41.2 ({PATH})", True)], id="odd-line"),
        pytest.param(b"<<<<<<< HEAD\n" + unverified(), [(PATH, False)], id="merge-conflict"),
        pytest.param(b"", [], id="empty"),
        pytest.param(b"# to be written by flux bootstrap\n", [], id="comment"),
        pytest.param(
            manifest("v2.8.8").replace(SERVED, b"    served: false\n", 1),
            [(f"v2.8.8 ({PATH}, CRDs edited)", True)],
            id="crds-edited",
        ),
        pytest.param(manifest("v2.8.8").replace(b"type: object", b"type: string", 1), [], id="schema-edited"),
        pytest.param(manifest("v2.8.8").replace(b"replicas: 1", b"replicas: 2", 1), [], id="edited-elsewhere"),
    ],
)
def test_what_no_release_speaks_for(content: bytes, expected: list[tuple[str, bool]]) -> None:
    assert unverified_in(content) == expected


def test_edited_crds_and_their_release_both_speak() -> None:
    edited = manifest("v2.8.8").replace(SERVED, b"    served: false\n", 1)
    assert running_in({PATH: edited}).releases == ("v2.8.8",)


def test_a_file_that_cannot_be_read_counts_by_its_name() -> None:
    (each,) = running([Member(pin.manifest_pin(PATH, pin.NAME, b"", Proof(Verdict.UNREADABLE)), PATH)]).unverified
    assert each == UnverifiedInstallation(PATH, "", None)


@pytest.mark.parametrize(
    ("old", "new", "path", "is_read"),
    [
        (PATH, NEW, "apps/x.yaml", True),
        (PATH, NEW, "clusters/old/x.yaml", True),
        (PATH, NEW, "clusters/new/x.yaml", False),
        (PATH, NEW, "clusters/newer/x.yaml", True),
        ("flux-system/gotk-components.yaml", NEW, "clusters/new/x.yaml", True),
        ("clusters/flux-system/gotk-components.yaml", NEW, "clusters/new/x.yaml", True),
        (PATH, "clusters/flux-system/gotk-components.yaml", "clusters/apps/x.yaml", True),
        (PATH, "flux-system/gotk-components.yaml", "apps/x.yaml", True),
    ],
)
def test_the_own_folder_of_another_cluster_is_not_read(old: str, new: str, path: str, *, is_read: bool) -> None:
    assert bool(running_in({old: unverified(), new: manifest("v2.8.8")}).readers(path)) == is_read


def test_the_folder_of_a_file_that_installs_nothing_is_shared() -> None:
    assert running_in({PATH: unverified(), "apps/gotk-components.yaml": b""}).readers("apps/x.yaml")


def test_files_suit_those_that_may_read_them() -> None:
    apis = Apis(served("v2.6.4"), served("v2.9.4"))
    readable, broken = (
        UnverifiedInstallation("a.yaml", "v0.41.2", unverified()),
        UnverifiedInstallation("b.yaml", "", None),
    )
    assert suited(apis, ()) is apis
    both = suited(apis, (readable, broken))
    assert [each.tag for each in both.unverified] == ["v0.41.2 (a.yaml)"]
    assert both.unread == ("the CRDs of b.yaml are not readable",)
    assert manifest_apis(readable) is manifest_apis(readable)


def clusters(*folders: str, version: str = "v2.8.8") -> dict[str, Cluster]:
    files = fleet(dict.fromkeys(folders, version) | {folders[-1]: "v2.9.4"})
    return {each.name: each for team in World(files).gathered().update_groups for each in team.clusters}


def test_beside_each_other() -> None:
    found = clusters("clusters/a", "clusters/b")
    elsewhere = [clusters("archive/c", "archive/d", version="v2.6.4")["archive/c"]]
    around = Installations([*found.values()], elsewhere).besides(found["clusters/a"])
    assert around.releases == ("v2.6.4", "v2.9.4")
    assert around.is_theirs("archive/c/x.yaml")
    assert not around.releases_reading("clusters/a/apps/x.yaml")
    assert around.is_theirs("clusters/b/x.yaml")
    assert not around.is_theirs("clusters/base/x.yaml")
    assert around.releases_reading("apps/x.yaml")


def test_one_in_the_other() -> None:
    found = clusters("fleet", "fleet/edge")
    outer = Installations([*found.values()]).besides(found["fleet"])
    inner = Installations([*found.values()]).besides(found["fleet/edge"])
    assert outer.is_theirs("fleet/edge/x.yaml")
    assert not inner.releases_reading("fleet/edge/x.yaml")
    assert not inner.is_theirs("fleet/x.yaml")


def test_what_is_below_an_inner_cluster_is_no_longer_the_outer_ones() -> None:
    found = clusters("fleet", "fleet/edge")
    outer = Installations([*found.values()]).besides(found["fleet"])
    assert not outer.releases_reading("fleet/x.yaml")
    assert outer.releases_reading("fleet/edge/x.yaml")
