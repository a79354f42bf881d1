"""A release whose content is of another minor is refused before anything is proposed, whatever asks for it."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import written_release

from derived import published
from flows import World, fleet, listed, manifest, path_in
from flux_upgrade import main
from flux_upgrade.bootstrap.components import RenderedComponents
from flux_upgrade.manifests.derive import derive
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.plausible import require_plausible
from flux_upgrade.model.errors import ImplausibleRelease
from flux_upgrade.model.versions import ReleaseManifests
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from memory import WrittenReleases, regenerator
from memory_forge import MemoryForge
from promotion.promoting import ADDRESS, registry
from promotion.promoting import run as promoted

INSTANCE = """\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata:
  name: flux
  namespace: flux-system
spec:
  distribution:
    version: 2.8.7
    registry: ghcr.io/fluxcd
"""


def release(tag: str, of: str = "", apis: written_release.Apis = written_release.served) -> ReleaseManifests:
    """``of``: the release whose content it has; empty: its own."""
    return ReleaseManifests(tag, written_release.files(of or tag, apis), verified=True)


def edited(tag: str, name: str, pattern: str, new: str) -> ReleaseManifests:
    found = release(tag)
    text, count = re.subn(pattern, new, found.files[f"{name}.yaml"])
    assert count
    return found._replace(files={**found.files, f"{name}.yaml": text})


@pytest.mark.parametrize("tag", [*written_release.TAGS, "v2.10.0", "v2.10.1-rc.1"])
def test_the_content_of_a_release_under_its_own_name(tag: str) -> None:
    require_plausible(release(tag), map(release, written_release.TAGS))


@pytest.mark.parametrize(
    ("tag", "of"), [("v2.8.9", "v2.9.4"), ("v2.9.5", "v2.8.8"), ("v2.10.0", "v2.9.4"), ("v2.9.5", "v2.10.0")]
)
def test_the_content_of_another_minor(tag: str, of: str) -> None:
    with pytest.raises(ImplausibleRelease, match=rf"as {tag} is another release: it has source-controller v1\."):
        require_plausible(release(tag, of))


def test_one_image_of_another_minor_beside_the_right_one() -> None:
    decoy = edited("v2.8.8", "kustomize-controller", r"$", "# fluxcd/kustomize-controller:v1.9.4\n")
    with pytest.raises(ImplausibleRelease, match=r"kustomize-controller v1\.9\.4"):
        require_plausible(decoy)


def test_a_controller_without_a_version() -> None:
    with pytest.raises(ImplausibleRelease, match="names no version of source-controller"):
        require_plausible(edited("v2.8.8", "source-controller", r"/source-controller:\S+", "/other"))


def test_a_patch_of_a_minor_that_is_not_known_is_compared_with_what_was_taken_before() -> None:
    mixed = edited("v2.10.1", "helm-controller", r"(/helm-controller:v1)\.10\.", r"\1.11.")
    require_plausible(mixed)
    with pytest.raises(ImplausibleRelease, match=r"v2\.10\.0 has helm-controller v1\.10\.0, and v2\.10\.1 has v1\.11"):
        require_plausible(mixed, [release("v2.9.4"), release("v2.10.0")])


def test_a_patch_that_serves_less() -> None:
    def fewer(kind: str, tag: str) -> Sequence[str]:
        return ("v1",) if kind == "HelmRelease" else written_release.served(kind, tag)

    less = release("v2.8.8", apis=fewer)
    with pytest.raises(ImplausibleRelease, match=r"v2\.8\.7 serves v1beta2 of helmreleases\.helm"):
        require_plausible(less, [release("v2.8.7")])
    require_plausible(release("v2.8.9"), [less])  # more is served than before


def test_crds_that_cannot_be_read() -> None:
    broken = edited("v2.8.8", "helm-controller", r"\n  versions:\n", "\n  versions: {}\n  other:\n")
    with pytest.raises(ImplausibleRelease, match=r"the CRDs of v2\.8\.8 cannot be read"):
        require_plausible(broken, [release("v2.8.7")])


def test_a_component_that_the_source_lacks_is_not_compared() -> None:
    found = release("v2.8.8")
    less = {name: text for name, text in found.files.items() if name != "helm-controller.yaml"}
    require_plausible(found._replace(files=less), [release("v2.8.7")])


def test_what_a_registry_has_of_another_minor_with_every_label_changed() -> None:
    text = published(release("v2.9.4")).replace("v2.9.4", "v2.8.8")
    with pytest.raises(ImplausibleRelease, match="another release"):
        require_plausible(derive("v2.8.8", text))


Ran = tuple[int, str, str]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A mirror that has Flux 2.9 as v2.8.8, with a checksum that fits."""
    made = written_release.write_source(tmp_path / "releases", ("v2.8.7", "v2.9.4"))
    written_release.write_release(made, "v2.8.8", written_release.files("v2.9.4"))
    (made / "releases.json").write_text('[{"tag_name": "v2.9.4"}, {"tag_name": "v2.8.8"}, {"tag_name": "v2.8.7"}]')
    return made


def run(source: Path, *argv: str) -> Ran:
    out, err = io.BytesIO(), io.StringIO()
    code = main.run([*argv, f"--release-source={source}"], {}, out, err)
    return code, out.getvalue().decode(), err.getvalue()


def tree_of(root: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def content(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


PINNED = {"clusters/staging/flux.yaml": INSTANCE.encode()}
REMOTE = {
    "clusters/staging/kustomization.yaml": b"resources:\n- github.com/fluxcd/flux2//manifests/install?ref=v2.8.7\n"
}


@pytest.mark.parametrize("options", [[], ["--approve=2.8"], ["--approve=2.9"]])
def test_nothing_is_written_and_no_other_release_is_taken(options: list[str], source: Path, tmp_path: Path) -> None:
    root = tree_of(tmp_path / "tree", fleet({"clusters/staging": "v2.8.7"}))
    before = content(root)
    code, out, err = run(source, "upgrade", str(root), *options)
    assert code == ImplausibleRelease.exit_code
    assert "v2.8.7 → v2.8.8  patch  held: implausible-release" in out
    assert "v2.9.4" not in out
    assert "it has source-controller v1.9.4, and Flux 2.8 has v1.8 [implausible-release]" in err
    assert content(root) == before


def test_an_older_patch_is_not_taken_instead(source: Path, tmp_path: Path) -> None:
    (source / "v2.8.8").rename(source / "v2.8.9")
    written_release.write_release(source, "v2.8.8", written_release.files("v2.8.8"))
    listed = ", ".join(f'{{"tag_name": "{tag}"}}' for tag in ("v2.9.4", "v2.8.9", "v2.8.8", "v2.8.7"))
    (source / "releases.json").write_text(f"[{listed}]")
    root = tree_of(tmp_path / "tree", fleet({"clusters/staging": "v2.8.7"}))
    checksums = source / "v2.8.9" / "flux_2.8.8_checksums.txt"
    checksums.rename(source / "v2.8.9" / "flux_2.8.9_checksums.txt")
    code, out, _ = run(source, "upgrade", str(root))
    assert code == ImplausibleRelease.exit_code
    assert "v2.8.7 → v2.8.9  patch  held: implausible-release" in out
    assert "v2.8.8" not in out


@pytest.mark.parametrize(
    "files", [fleet({"clusters/staging": "v2.8.7"}), PINNED, REMOTE], ids=["manifest", "FluxInstance", "remote base"]
)
@pytest.mark.parametrize("options", [[], ["--to=v2.8.8"]], ids=["newest", "asked for"])
def test_whatever_refers_to_it(files: Mapping[str, bytes], options: list[str], source: Path, tmp_path: Path) -> None:
    root = tree_of(tmp_path / "tree", files)
    before = content(root)
    code, _, err = run(source, "upgrade", str(root), *options)
    assert code == ImplausibleRelease.exit_code
    assert "[implausible-release]" in err
    assert content(root) == before


@pytest.mark.parametrize(
    "command",
    [["render", "--version=v2.8.8"], ["check", "--to=v2.8.8"], ["migrate", "--to=v2.8.8"]],
    ids=lambda command: command[0],
)
def test_commands_that_name_it(command: list[str], source: Path, tmp_path: Path) -> None:
    old = b"apiVersion: helm.toolkit.fluxcd.io/v1beta2\nkind: HelmRelease\nmetadata:\n  name: app\n"
    root = tree_of(tmp_path / "tree", {**fleet({"clusters/staging": "v2.8.7"}), "apps/app.yaml": old})
    before = content(root)
    given = [] if command[0] == "render" else [str(root)]
    code, out, err = run(source, *command, *given)
    assert code == ImplausibleRelease.exit_code, err
    assert "[implausible-release]" in err
    assert out == ""
    assert content(root) == before


def test_no_new_cluster_gets_it() -> None:
    releases = WrittenReleases()
    releases.files["v2.8.8"] = written_release.files("v2.9.4")
    made = RenderedComponents(regenerator(releases))
    with pytest.raises(ImplausibleRelease):
        made.made(InstallOptions("v2.8.8"))
    with pytest.raises(ImplausibleRelease):
        made.taken("gotk-components.yaml", manifest("v2.8.7"), InstallOptions("v2.8.8"))


def test_no_pull_request_is_opened() -> None:
    releases = WrittenReleases()
    releases.files["v2.8.8"] = written_release.files("v2.9.4")
    files = fleet({"clusters/staging": "v2.8.7"})
    forge = MemoryForge(dict(files))
    ran = World(files, using=regenerator(releases), releases=listed("v2.8.7", "v2.8.8", "v2.9.4")).run(forge)
    assert not forge.pulls
    (plan,) = ran.plans[0].plans
    assert [(type(each), each.reason, each.target) for each in plan.decisions if isinstance(each, Hold)] == [
        (Hold, HoldReason.IMPLAUSIBLE_RELEASE, "v2.8.8")
    ]
    assert plan.path == path_in("clusters/staging")


def test_no_artifact_is_pushed_and_no_tag_is_moved() -> None:
    releases = WrittenReleases()
    releases.files["v2.8.8"] = written_release.files("v2.9.4")
    using = registry("v2.8.7")
    before = using.at(ADDRESS.tag)
    outcome = promoted(using, releases=releases)
    assert [hold.reason for hold in outcome.plan.plan.holds] == [HoldReason.IMPLAUSIBLE_RELEASE]
    assert not [call for call in using.calls if call.startswith("put_")]
    assert using.at(ADDRESS.tag) == before
    assert manifest("v2.8.7") in using.files(ADDRESS.tag).values()
