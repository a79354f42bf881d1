"""A bootstrap changes only what its flags ask for in a repository with Flux: edits, line ends and the version stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bootstrap.bootstraps import options
from flux_upgrade.adapters.local.files import Directory
from flux_upgrade.bootstrap.components import FlagChange, RenderedComponents
from flux_upgrade.bootstrap.files import FilesPlan, RootSync, plan_files, root_syncs
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions
from flux_upgrade.model.errors import (
    AlreadyBootstrapped,
    Downgrade,
    EditConflict,
    FluxUpgradeError,
    ReleaseNotFound,
    Unreadable,
    Unverified,
    UsageError,
)
from flux_upgrade.snapshot.snapshot import Snapshot
from memory import MemoryTree, WrittenReleases, regenerator

FOLDER = "clusters/staging/flux-system"
MANIFEST, SYNC, LISTING = (
    f"{FOLDER}/{name}" for name in ("gotk-components.yaml", "gotk-sync.yaml", "kustomization.yaml")
)
CONFIG_MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\n"
COMPONENTS = RenderedComponents(regenerator())


def planned(tree: dict[str, bytes], asked: BootstrapOptions) -> FilesPlan:
    return plan_files(asked, MemoryTree(tree), COMPONENTS)


def bootstrapped(asked: BootstrapOptions | None = None) -> dict[str, bytes]:
    """A repository with Flux in it, as a first bootstrap leaves it."""
    return after({}, planned({}, asked or options()))


def after(tree: dict[str, bytes], plan: FilesPlan) -> dict[str, bytes]:
    for each in plan.changes:
        assert tree.get(each.path) == each.before != each.after
    return {**tree, **{each.path: each.after for each in plan.changes}}


def test_an_empty_repository_gets_the_three_files_of_the_newest_release() -> None:
    plan = planned({}, options(""))
    assert [each.path for each in plan.changes] == [MANIFEST, SYNC, LISTING]
    assert plan.version == "v2.9.4"
    assert plan.manifest is not None and plan.manifest.verified


@pytest.mark.parametrize("content", [b"", b"---\n", b"# Filled by flux bootstrap\n"])
def test_placeholders_are_filled_and_the_patches_beside_them_stay(content: bytes) -> None:
    listing = b"resources:\n- gotk-components.yaml\n- gotk-sync.yaml\npatches:\n- path: patch.yaml\n"
    placeholders = {MANIFEST: content, SYNC: content, LISTING: listing}
    tree = after(placeholders, planned(placeholders, options()))
    assert tree == {**bootstrapped(), LISTING: listing}


def test_a_folder_on_disk_is_read_the_same_way(tmp_path: Path) -> None:
    empty = {f"{FOLDER}/.gitkeep": b""}
    tree = after(empty, planned(empty, options()))
    for path, content in tree.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    assert b"resources:\n- .gitkeep\n" in tree[LISTING]
    assert plan_files(options(), Snapshot(Directory(str(tmp_path))), COMPONENTS) == planned(tree, options())


def test_the_root_of_the_repository_is_a_path_too() -> None:
    plan = planned({}, options(path=""))
    assert plan.changes[0].path == "flux-system/gotk-components.yaml"
    assert b"  path: ./\n" in plan.changes[1].after


def test_a_second_run_without_a_version_keeps_that_of_the_installation() -> None:
    plan = planned(bootstrapped(options("v2.6.4")), options(""))
    assert (plan.version, plan.changes, plan.shown) == ("v2.6.4", (), ())
    assert plan.kept == (MANIFEST, SYNC, LISTING)


def test_other_flags_are_shown_one_by_one() -> None:
    tree = bootstrapped()
    asked = options(
        "",
        auth=Auth.TOKEN,
        branch="live",
        interval="5m",
        recurse_submodules=True,
        install={"log_level": "debug", "network_policy": False},
    )
    plan = planned(tree, asked)
    assert plan.shown == (
        FlagChange("network-policy", "true", "false"),
        FlagChange("log-level", "info", "debug"),
        FlagChange("url", "ssh://git@github.com/example/fleet", "https://github.com/example/fleet.git"),
        FlagChange("branch", "main", "live"),
        FlagChange("interval", "1m0s", "5m0s"),
        FlagChange("recurse-submodules", "false", "true"),
    )
    assert plan.kept == (LISTING,)
    assert planned(after(tree, plan), asked).changes == ()
    assert after(tree, plan) == bootstrapped(asked._replace(install=asked.install._replace(version="v2.9.4")))


def test_a_version_that_was_given_is_taken() -> None:
    tree = bootstrapped(options("v2.6.4"))
    plan = planned(tree, options("v2.9.4"))
    assert plan.shown == (FlagChange("version", "v2.6.4", "v2.9.4"),)
    assert after(tree, plan) == bootstrapped()


def test_the_order_of_components_is_kept() -> None:
    ordered = ("helm-controller", "kustomize-controller", "notification-controller", "source-controller")
    tree = bootstrapped(options(install={"components": ordered}))
    assert planned(tree, options("")).changes == ()


def test_edits_of_the_manifest_are_carried() -> None:
    tree = bootstrapped()
    tree[MANIFEST] = tree[MANIFEST].replace(b"  replicas: 1\n", b"  replicas: 2\n", 1)
    assert planned(tree, options()).changes == ()
    plan = planned(tree, options(install={"log_level": "debug"}))
    (edit,) = plan.edits
    assert edit.startswith("Deployment/") and edit.endswith(" spec.replicas")
    assert b"  replicas: 2\n" in plan.changes[0].after


def test_an_image_that_was_bumped_in_place_stays() -> None:
    assert planned(bumped(), options()).changes == ()


def test_edits_of_the_sync_are_carried() -> None:
    tree = bootstrapped()
    tree[SYNC] = (
        tree[SYNC]
        .replace(b"  prune: true\n", b"  prune: true # see the wiki\n  decryption:\n    provider: sops\n")
        .replace(b"  secretRef:\n    name: flux-system\n", b"")
        + b"---\n"
        + CONFIG_MAP
    )
    assert planned(tree, options()).changes == ()
    plan = planned(tree, options(branch="live"))
    assert plan.shown == (FlagChange("branch", "main", "live"),)
    assert plan.edits == (
        "GitRepository/flux-system spec.secretRef",
        "Kustomization/flux-system spec.decryption.provider",
        "Kustomization/flux-system spec.prune",
        "ConfigMap/mine",
    )
    (change,) = plan.changes
    assert change.after.decode() == (
        "# This manifest was generated by flux. DO NOT EDIT.\n---\n"
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n"
        "metadata:\n  name: flux-system\n  namespace: flux-system\n"
        "spec:\n  interval: 1m0s\n  ref:\n    branch: live\n  url: ssh://git@github.com/example/fleet\n---\n"
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        "metadata:\n  name: flux-system\n  namespace: flux-system\n"
        "spec:\n  decryption:\n    provider: sops\n  interval: 10m0s\n  path: ./clusters/staging\n"
        "  prune: true # see the wiki\n  sourceRef:\n    kind: GitRepository\n    name: flux-system\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\n"
    )
    assert planned(after(tree, plan), options(branch="live")).changes == ()


def test_a_source_that_follows_no_branch_goes_on_so() -> None:
    tree = bootstrapped()
    tree[SYNC] = tree[SYNC].replace(b"    branch: main\n", b"    semver: 1.x\n")
    plan = planned(tree, options(branch="live", interval="2m"))
    assert plan.shown == (FlagChange("interval", "1m0s", "2m0s"),)
    assert b"  ref:\n    semver: 1.x\n" in plan.changes[0].after


@pytest.mark.parametrize(("provider", "flags"), [("azure", []), ("github", ["provider of the GitRepository"])])
def test_a_provider_that_no_flag_stands_for_stays(provider: str, flags: list[str]) -> None:
    tree = bootstrapped()
    tree[SYNC] = tree[SYNC].replace(b"  ref:\n", f"  provider: {provider}\n  ref:\n".encode())
    assert [each.flag for each in planned(tree, options()).shown] == flags


def test_a_sync_of_flux_0_gets_the_api_of_flux_2() -> None:
    tree = bootstrapped()
    new = tree[SYNC]
    tree[SYNC] = (
        new.replace(b"source.toolkit.fluxcd.io/v1\n", b"source.toolkit.fluxcd.io/v1beta1\n")
        .replace(b"kustomize.toolkit.fluxcd.io/v1\n", b"kustomize.toolkit.fluxcd.io/v1beta1\n")
        .replace(b"  interval: 1m0s\n", b"  gitImplementation: go-git\n  interval: 1m0s\n")
        .replace(b"# This manifest was generated by flux. DO NOT EDIT.\n", b"")
        + b"  validation: client\n"
    )
    plan = planned(tree, options())
    assert [each.flag for each in plan.shown] == ["apiVersion of the GitRepository", "apiVersion of the Kustomization"]
    assert plan.edits == ()
    assert plan.changes[0].after == new


@pytest.mark.parametrize(
    "reformatted",
    [
        lambda content: content.replace(b"\n", b"\r\n"),
        lambda content: content.removesuffix(b"\n"),
        lambda content: b"\xef\xbb\xbf" + content,
        lambda content: content.replace(b"branch: main", b'branch: "main"'),
        lambda content: content.replace(b"interval: 1m0s", b"interval: 60s"),
    ],
)
def test_another_form_of_the_same_is_left_alone(reformatted: Any) -> None:
    tree = {path: reformatted(content) for path, content in bootstrapped().items()}
    assert planned(tree, options()).changes == ()


def test_line_ends_stay_as_they_are() -> None:
    tree = {path: content.replace(b"\n", b"\r\n") for path, content in bootstrapped().items()}
    plan = planned(tree, options(branch="live", install={"log_level": "debug"}))
    assert len(plan.changes) == 2
    for each in plan.changes:
        assert each.before is not None
        assert each.after.count(b"\n") == each.after.count(b"\r\n") == each.before.count(b"\n")


@pytest.mark.parametrize(
    ("listing", "unlisted"),
    [
        (b"", ("gotk-components.yaml", "gotk-sync.yaml")),
        (b"resources:\n- ./gotk-components.yaml\n", ("gotk-sync.yaml",)),
        (b"# mine\nresources: [gotk-sync.yaml, gotk-components.yaml]\npatches: []\n", ()),
    ],
)
def test_the_users_kustomization_is_kept_and_what_it_does_not_list_is_reported(
    listing: bytes, unlisted: tuple[str, ...]
) -> None:
    plan = planned({LISTING: listing}, options())
    assert [each.path for each in plan.changes] == [MANIFEST, SYNC]
    assert (plan.kept, plan.unlisted) == ((LISTING,), unlisted)


def other_flux(path: str = "./clusters/staging", namespace: str = "infra", more: str = "") -> bytes:
    asked = options(path=path, install={"namespace": namespace})
    sync = planned({}, asked).changes[1].after
    return sync + more.encode()


def bumped() -> dict[str, bytes]:
    """A bot has bumped a controller in place."""
    tree = bootstrapped()
    return {**tree, MANIFEST: tree[MANIFEST].replace(b"source-controller:v1.9.4", b"source-controller:v1.9.9")}


REFUSED: list[tuple[str, dict[str, bytes], BootstrapOptions, type[FluxUpgradeError], str]] = [
    ("another-path", {SYNC: other_flux("clusters/live", "flux-system")}, options(), AlreadyBootstrapped, 'reconciles "./clusters/live"'),
    ("another-flux", {"clusters/staging/infra/gotk-sync.yaml": other_flux()}, options(), AlreadyBootstrapped, "another Flux reconciles"),
    ("another-flux-by-another-name", {"bootstrap/flux.yml": other_flux("/clusters/staging/")}, options(), AlreadyBootstrapped, "bootstrap/flux.yml"),
    ("another-kustomization", {f"{FOLDER}/kustomization.yml": b"resources: []\n"}, options(), UsageError, "rename"),
    ("no-sync", {SYNC: CONFIG_MAP}, options(), Unreadable, f"{SYNC}: no GitRepository found"),
    ("broken-sync", {SYNC: b"a: ["}, options(), Unreadable, f"{SYNC}: line 2 is not valid YAML"),
    ("conflict-markers", {SYNC: b"<<<<<<< a\n=======\n>>>>>>> b\n"}, options(), Unreadable, f"{SYNC}: merge conflict"),
    ("no-text", {SYNC: b"\xff\xfe"}, options(), Unreadable, f"{SYNC}: line 1 is not UTF-8"),
    ("broken-kustomization", {LISTING: b"a: ["}, options(), Unreadable, f"{LISTING}: line 2 is not valid YAML"),
    ("no-manifest", {MANIFEST: CONFIG_MAP}, options(), Unreadable, f"{MANIFEST}: "),
    ("unverified", {MANIFEST: bootstrapped()[MANIFEST].replace(b"v2.9.4", b"v2.9.9")}, options(), Unverified, f"{MANIFEST}: "),
    ("downgrade", bootstrapped(), options("v2.6.4"), Downgrade, "newer than v2.6.4"),
    ("newer-controller", bumped(), options(install={"log_level": "debug"}), Downgrade, "source-controller runs v1.9.9"),
    ("no-such-release", {}, options("v2.99.0"), ReleaseNotFound, "v2.99.0"),
    ("too-old", bootstrapped(options("v2.6.4")), options("", sparse_checkout=("a",)), UsageError, "v2.6.4 does not support --sparse-checkout"),
    ("no-such-component", {}, options("v2.6.4", install={"components": ("source-watcher",)}), UsageError, "source-watcher"),
    ("no-such-component-there", bootstrapped(options("v2.6.4")), options("", install={"components": ("source-controller", "source-watcher")}), UsageError, "source-watcher"),
    ("no-namespace", {}, options(install={"namespace": "A_b"}), UsageError, "--namespace"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tree", "asked", "error", "message"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED]
)
def test_what_would_do_harm_is_refused(
    tree: dict[str, bytes], asked: BootstrapOptions, error: type[FluxUpgradeError], message: str
) -> None:
    with pytest.raises(error) as raised:
        planned(tree, asked)
    assert message in f"{raised.value} {raised.value.hint}"
    assert raised.value.hint


def test_an_edit_that_a_flag_would_overwrite_is_a_conflict() -> None:
    tree = bootstrapped()
    tree[MANIFEST] = tree[MANIFEST].replace(b"--log-level=info", b"--log-level=trace", 1)
    with pytest.raises(EditConflict, match="log-level"):
        planned(tree, options(install={"log_level": "debug"}))


ENTERPRISE = "ghcr.io/controlplaneio-fluxcd/distroless"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(ENTERPRISE, {}, id="the default is Flux's"),
        pytest.param(ENTERPRISE, {"registry": "ghcr.io/fluxcd"}, id="to Flux's"),
        pytest.param(ENTERPRISE, {"registry": "ghcr.io/controlplaneio-fluxcd/alpine"}, id="to another variant"),
        pytest.param("ghcr.io/fluxcd", {"registry": ENTERPRISE}, id="from Flux's"),
    ],
)
def test_the_distribution_of_the_images_is_never_switched(old: str, new: dict[str, str]) -> None:
    tree = bootstrapped(options(install={"registry": old}))
    with pytest.raises(UsageError, match=f"{MANIFEST}: .*ControlPlane's distribution") as raised:
        planned(tree, options(install=new))
    assert f"--registry={old}" in raised.value.hint


def test_the_registry_of_controlplane_is_kept_where_the_flag_says_so() -> None:
    tree = bootstrapped(options("v2.9.3", install={"registry": ENTERPRISE}))
    plan = planned(tree, options("v2.9.4", install={"registry": ENTERPRISE}))
    assert after(tree, plan)[MANIFEST].count(f"image: {ENTERPRISE}/".encode()) == 4


def test_an_edit_of_the_sync_that_a_flag_would_overwrite_is_a_conflict() -> None:
    tree = bootstrapped()
    tree[SYNC] = tree[SYNC].replace(b"  ref:\n", b"  recurseSubmodules: soon\n  ref:\n")
    assert planned(tree, options()).changes == ()
    with pytest.raises(EditConflict, match=f"{SYNC}: .*spec.recurseSubmodules"):
        planned(tree, options(recurse_submodules=True))


def test_flags_are_looked_at_before_anything_is_fetched() -> None:
    releases = WrittenReleases()
    with pytest.raises(UsageError, match="--owner is missing"):
        plan_files(options("", owner=""), MemoryTree({}), RenderedComponents(regenerator(releases)))
    assert releases.asked == []


def test_a_field_that_only_a_flag_stands_for_is_no_conflict() -> None:
    tree = bootstrapped()
    tree[SYNC] = tree[SYNC].replace(b"branch: main", b"branch: test")
    assert planned(tree, options()).shown == (FlagChange("branch", "test", "main"),)


@pytest.mark.parametrize(
    "neighbour",
    [
        other_flux("clusters/live"),
        other_flux().replace(b"  prune: true\n", b"  prune: true\n  kubeConfig:\n    secretRef:\n      name: x\n"),
        other_flux().replace(b"  name: infra\n", b"  name: apps\n"),
        b"{{ if }}\nkustomize.toolkit.fluxcd.io\n",
        b"\xff kustomize.toolkit.fluxcd.io",
    ],
)
def test_neighbours_are_no_hindrance(neighbour: bytes) -> None:
    plan = planned({"clusters/other/gotk-sync.yaml": neighbour}, options())
    assert len(plan.changes) == 3


def test_for_many_clusters_the_tree_is_searched_once() -> None:
    tree = MemoryTree({"clusters/staging/infra/gotk-sync.yaml": other_flux()})
    roots = root_syncs(tree)
    assert roots == (RootSync("clusters/staging/infra/gotk-sync.yaml", "./clusters/staging", "infra"),)
    with pytest.raises(AlreadyBootstrapped):
        plan_files(options(), tree, COMPONENTS, roots)
    assert plan_files(options(), tree, COMPONENTS, ()).changes


@pytest.mark.parametrize("path", ["", "~", "null", "./"])
def test_a_flux_without_a_path_reconciles_the_root(path: str) -> None:
    neighbour = other_flux().replace(b" ./clusters/staging", f" {path}".encode())
    assert other_flux() != neighbour
    with pytest.raises(AlreadyBootstrapped):
        planned({"clusters/other/gotk-sync.yaml": neighbour}, at(""))


def at(path: str) -> BootstrapOptions:
    return options()._replace(path=path)


@pytest.mark.parametrize(("first", "second"), [("", "clusters/staging"), ("clusters", ""), ("a", "a/b")])
def test_a_flux_inside_the_folder_of_another_one_is_refused(first: str, second: str) -> None:
    tree = after({}, planned({}, at(first)))
    with pytest.raises(AlreadyBootstrapped, match="overlap"):
        planned(tree, at(second))


@pytest.mark.parametrize(("first", "second"), [("", "clusters/staging"), ("clusters", "")])
def test_an_outer_folder_may_say_what_of_it_is_applied(first: str, second: str) -> None:
    tree = after({}, planned({}, at(first)))
    assert planned({**tree, "kustomization.yaml": b"resources: []\n"}, at(second)).changes


def test_a_flux_of_another_namespace_may_be_inside() -> None:
    tree = after({}, planned({}, at("")))
    inner = at("tenants/a")
    inner = inner._replace(install=inner.install._replace(namespace="tenant-a"))
    assert planned(tree, inner).changes
