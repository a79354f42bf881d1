"""A bootstrap from a registry pushes Flux as an artifact that upgrades and rollbacks go on with, after any interruption too."""

from __future__ import annotations

import io
import json
import re
import tarfile

import pytest

from bootstrap.oci_bootstraps import CLUSTER, FILE, TAG, URL, Site, components, options
from flows import manifest
from flux_upgrade.adapters.recording import RecordingRegistry
from flux_upgrade.artifacts.promote import plan_rollback, roll_back
from flux_upgrade.bootstrap.cluster.objects import manifests_of
from flux_upgrade.bootstrap.components import FlagChange
from flux_upgrade.bootstrap.kustomization import DEFAULT, EMPTY
from flux_upgrade.bootstrap.oci_plan import commands, handover, plan_oci, push_oci
from flux_upgrade.bootstrap.options import BootstrapOptions, OciOptions
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import (
    AlreadyBootstrapped,
    Downgrade,
    EditConflict,
    FluxUpgradeError,
    Overtaken,
    RegistryUnavailable,
    ReleaseNotFound,
    StoredVersionLost,
    Unreadable,
    UnsupportedRelease,
    UntrustedArchive,
    UsageError,
)
from flux_upgrade.model.oci import reference as names
from flux_upgrade.model.oci.reference import parse_address
from memory import rendered
from memory_registry import MemoryRegistry
from promotion.promoting import ports, run

PATCHED = {"kustomization.yaml": DEFAULT + b"patches:\n- path: limits.yaml\n", "limits.yaml": b"- op: add\n"}
LIMIT = b"            memory: 1Gi\n"


def annotations_of(using: MemoryRegistry, reference: str = TAG) -> dict[str, str]:
    found: dict[str, str] = json.loads(using.at(reference).content)["annotations"]
    return found


def edited(site: Site) -> None:
    """Somebody gives a controller more memory, in the artifact."""
    files = site.flux.files(TAG)
    assert LIMIT in files[FILE]
    site.flux.add(TAG, {**files, FILE: files[FILE].replace(LIMIT, LIMIT.replace(b"1Gi", b"4Gi"), 1)})


def test_flux_is_pushed_and_an_overlay_with_nothing_in_it() -> None:
    site = Site()

    outcome = site.run(options("v2.9.4"))

    assert outcome.failure is None
    assert site.flux.files(TAG) == {FILE: manifest("v2.9.4"), "flux-system/kustomization.yaml": DEFAULT}
    assert site.fleet.files(TAG) == {"clusters/production/kustomization.yaml": EMPTY}
    pushed, overlay = outcome.flux, outcome.plan.overlay
    assert pushed is not None and overlay is not None
    assert site.flux.named == {TAG: pushed.digest, pushed.tag: pushed.digest}
    assert site.fleet.named == {TAG: overlay.stored.digest, overlay.tag: overlay.stored.digest}
    assert re.fullmatch("[0-9a-f]{12}", overlay.tag)
    assert names.version_of(pushed.tag) == "v2.9.4"


def test_the_annotations_are_those_of_the_rfc() -> None:
    site = Site()
    site.run(options("v2.8.8"))
    assert annotations_of(site.flux) == {
        "org.opencontainers.image.created": "1970-01-01T00:00:00Z",
        "org.opencontainers.image.revision": f"v2.8.8@sha1:{'a' * 40}",
        "org.opencontainers.image.source": "https://github.com/fluxcd/flux2",
    }
    annotations = annotations_of(site.fleet)
    assert annotations["org.opencontainers.image.source"] == CLUSTER.removesuffix(":production")
    assert annotations["org.opencontainers.image.revision"].startswith("production@sha256:")


def test_the_same_input_gives_the_same_digest() -> None:
    one, other = Site(), Site()
    assert one.run(options("v2.9.4"))[1:] == other.run(options("v2.9.4"))[1:]


def test_the_newest_stable_release_is_taken_where_none_is_named() -> None:
    assert Site().plan().options.install.version == "v2.9.4"


def test_blobs_first_and_the_moving_tag_last() -> None:
    site = Site()
    outcome = site.run(options("v2.9.4"))
    assert outcome.flux is not None
    assert [call.split()[-1] for call in site.flux.calls if call.startswith("put_")] == [
        "application/vnd.cncf.flux.config.v1+json",
        "application/vnd.cncf.flux.content.v1.tar+gzip",
        outcome.flux.tag,
        TAG,
    ]


def test_a_second_run_writes_nothing() -> None:
    site = Site()
    site.run(options("v2.9.4"))

    outcome = site.run(options("v2.9.4"))

    assert (outcome.flux, outcome.plan.overlay, outcome.failure) == (None, None, None)
    assert site.writes == []
    assert [call.split()[0] for call in site.flux.calls] == ["digest", "manifest", "blob", "tags"]


def test_flux_alone() -> None:
    site = Site()
    asked = options("v2.9.4", OciOptions(URL))
    outcome = push_oci(plan_oci(asked, None, components(), ports(site.flux), None), ports(site.flux), None)
    assert (outcome.failure, outcome.plan.overlay) == (None, None)
    assert site.flux.files(TAG)[FILE] == manifest("v2.9.4")


def test_what_the_cluster_has_is_never_touched() -> None:
    site = Site()
    before = site.fleet.add(TAG, {"apps.yaml": b"a: 1\n"})
    site.run(options("v2.9.4"))
    assert site.fleet.named == {TAG: before.digest}


def test_the_namespace_is_the_folder() -> None:
    site = Site()
    assert site.run(options("v2.9.4", namespace="gitops")).failure is None
    assert set(site.flux.files(TAG)) == {"gitops/gotk-components.yaml", "gitops/kustomization.yaml"}


def test_a_kustomization_of_ones_own() -> None:
    site = Site()
    site.run(options("v2.9.4"), PATCHED)
    assert site.flux.files(TAG) == {
        FILE: manifest("v2.9.4"),
        **{f"flux-system/{name}": content for name, content in PATCHED.items()},
    }
    assert site.run(options("v2.9.4"), PATCHED).flux is None


def test_a_kustomization_that_is_there_stays_where_none_is_named() -> None:
    site = Site()
    site.run(options("v2.9.4"), PATCHED)
    assert site.run(options("v2.9.4")).flux is None


def test_another_kustomization_takes_its_place_and_a_rollback_returns() -> None:
    site = Site()
    site.run(options("v2.9.4"), PATCHED)
    before = site.flux.named[TAG]

    outcome = site.run(options("v2.9.4"), {"kustomization.yaml": DEFAULT})

    assert outcome.failure is None
    assert "flux-system/limits.yaml" not in site.flux.files(TAG)
    assert annotations_of(site.flux)["flux-upgrade.previous"] == before
    address = parse_address(URL)
    roll_back(plan_rollback(address, "", site.flux), site.flux)
    assert site.flux.named[TAG] == before


def test_other_flags_are_shown_flag_by_flag() -> None:
    site = Site()
    site.run(options("v2.8.8"))

    plan = site.plan(options(log_level="debug", network_policy=False))

    assert plan.manifest.shown == (
        FlagChange("network-policy", "true", "false"),
        FlagChange("log-level", "info", "debug"),
    )
    wanted = InstallOptions("v2.8.8", log_level="debug", network_policy=False)
    assert plan.files[FILE] == rendered(wanted).encode()
    assert site.run(plan.options).failure is None
    assert site.run(plan.options).flux is None


def test_an_installation_keeps_its_version() -> None:
    site = Site()
    site.run(options("v2.8.8"))
    outcome = site.run(options())
    assert (outcome.flux, outcome.plan.options.install.version) == (None, "v2.8.8")


def test_a_newer_version_that_is_named_is_taken() -> None:
    site = Site()
    site.run(options("v2.8.7"))
    outcome = site.run(options("v2.8.8"))
    assert outcome.plan.manifest.shown == (FlagChange("version", "v2.8.7", "v2.8.8"),)
    assert site.flux.files(TAG)[FILE] == manifest("v2.8.8")


def test_a_newer_version_without_api_versions_that_may_be_stored_is_not() -> None:
    site = Site()
    site.run(options("v2.8.8"))
    with pytest.raises(StoredVersionLost):
        site.run(options("v2.9.4"))
    assert site.writes == []


def test_an_older_version_is_not() -> None:
    site = Site()
    site.run(options("v2.9.4"))
    with pytest.raises(Downgrade):
        site.run(options("v2.8.8"))
    assert site.writes == []


def test_there_and_back_again_is_the_old_artifact_and_a_rollback_still_returns() -> None:
    site = Site()
    first = site.run(options("v2.9.4")).flux
    second = site.run(options("v2.9.4", log_level="debug")).flux

    third = site.run(options("v2.9.4")).flux

    assert first is not None
    assert second is not None
    assert third is not None
    assert third.digest == first.digest
    roll_back(plan_rollback(parse_address(URL), "", site.flux), site.flux)
    assert site.flux.named[TAG] == second.digest


def test_edits_of_the_manifest_stay() -> None:
    site = Site()
    site.run(options("v2.9.4"))
    edited(site)
    before = site.flux.files(TAG)[FILE]
    assert site.run(options("v2.9.4")).plan.files[FILE] == before

    plan = site.plan(options("v2.9.4", network_policy=False))

    assert plan.files[FILE].count(b"4Gi") == before.count(b"4Gi") == 1


def test_an_edit_that_a_flag_would_change_is_not_lost() -> None:
    site = Site()
    site.run(options("v2.9.4"))
    files = site.flux.files(TAG)
    files[FILE] = files[FILE].replace(b"- --log-level=info", b"- --log-level=error", 1)
    site.flux.add(TAG, files)
    with pytest.raises(EditConflict) as caught:
        site.plan(options("v2.9.4", log_level="debug"))
    assert "log-level" in caught.value.message
    assert caught.value.hint


OTHERS = {
    "no Flux": {"app.yaml": b"kind: Deployment\n"},
    "two": {FILE: manifest("v2.9.4"), "b/gotk-components.yaml": manifest("v2.9.4")},
    "elsewhere": {"gotk-components.yaml": manifest("v2.9.4")},
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_something_else_is_refused(what: str) -> None:
    site = Site()
    site.flux.add(TAG, OTHERS[what])
    with pytest.raises(AlreadyBootstrapped) as caught:
        site.run(options("v2.9.4"))
    assert caught.value.hint
    assert site.writes == []


def test_a_broken_manifest_is_reported_with_its_place() -> None:
    site = Site()
    site.flux.add(TAG, {FILE: b"<<<<<<< HEAD\n"})
    with pytest.raises(Unreadable, match=f"^{URL}/{FILE}: merge conflict"):
        site.run(options("v2.9.4"))
    assert site.writes == []


def test_an_artifact_of_another_user_with_flux_is_adopted() -> None:
    site = Site()
    link = tarfile.TarInfo("current")
    link.type, link.linkname = tarfile.SYMTYPE, "flux-system"
    files = {FILE: manifest("v2.9.4"), "flux-system/kustomization.yaml": DEFAULT, "notes.txt": b"mine\n"}
    site.flux.add(TAG, {**files, "current": link})
    assert site.run(options("v2.9.4")).flux is None

    assert site.run(options("v2.9.4", log_level="debug")).failure is None

    assert site.flux.files(TAG)["notes.txt"] == b"mine\n"
    with pytest.raises(AlreadyBootstrapped, match="links or special names"):
        site.run(options("v2.9.4", log_level="debug"), PATCHED)
    site.flux.add(TAG, files)
    assert site.run(options("v2.9.4"), PATCHED).failure is None
    assert site.flux.files(TAG) == {**files, **{f"flux-system/{name}": content for name, content in PATCHED.items()}}


def test_the_next_upgrade_takes_it_further_and_a_bootstrap_knows_it_again() -> None:
    site = Site()
    site.run(options("v2.8.7"), PATCHED)

    assert run(site.flux).failure is None

    assert site.flux.files(TAG)[FILE] == manifest("v2.8.8")
    assert site.run(options()).flux is None
    assert site.run(options(log_level="debug")).failure is None
    assert site.flux.files(TAG)["flux-system/limits.yaml"] == PATCHED["limits.yaml"]


def test_a_push_that_came_first_is_not_overwritten() -> None:
    site = Site()
    plan = site.plan(options("v2.9.4"))
    theirs = site.flux.add(TAG, {"theirs.yaml": b"a: 1\n"})

    outcome = push_oci(plan, ports(site.flux), site.fleet)

    assert isinstance(outcome.failure, Overtaken)
    assert site.flux.named[TAG] == theirs.digest


def test_something_else_under_the_immutable_tag_is_not_taken() -> None:
    site = Site()
    plan = site.plan(options("v2.9.4"))
    assert plan.flux is not None
    site.flux.add(plan.flux.tag, {FILE: b"other"})
    outcome = push_oci(plan, ports(site.flux), site.fleet)
    assert isinstance(outcome.failure, UntrustedArchive)
    assert TAG not in site.flux.named


@pytest.mark.parametrize("again", [False, True], ids=["first", "with other flags"])
def test_broken_off_at_any_call_the_next_run_finishes(*, again: bool) -> None:
    def prepared() -> Site:
        site = Site()
        if again:
            site.run(options("v2.9.4"))
        return site

    whole = prepared()
    asked = options("v2.9.4", log_level="debug")
    wanted = whole.run(asked)
    calls = len(whole.flux.calls) + len(whole.fleet.calls)
    assert wanted.flux is not None
    for broken in range(calls):
        site, left = prepared(), [broken]

        def before(_: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == -1:
                raise RegistryUnavailable("gone", hint="run again")

        site.flux.before = site.fleet.before = before
        old = site.flux.named.get(TAG)
        with_failure = _failure(site, asked)
        site.flux.before = site.fleet.before = str
        assert with_failure is not None or left[0] < 0
        assert site.flux.named.get(TAG) in (old, wanted.flux.digest)
        assert site.run(asked).failure is None
        assert site.flux.files(TAG) == whole.flux.files(TAG)
        assert site.fleet.files(TAG) == whole.fleet.files(TAG)
        assert site.flux.named == whole.flux.named


def _failure(site: Site, asked: BootstrapOptions) -> FluxUpgradeError | None:
    try:
        return site.run(asked).failure
    except FluxUpgradeError as error:
        return error


def test_a_dry_run_writes_nothing() -> None:
    site = Site()
    dry = ports(site.flux)._replace(registry=RecordingRegistry(site.flux))
    fleet = RecordingRegistry(site.fleet)

    outcome = push_oci(plan_oci(options("v2.9.4"), None, components(), dry, fleet), dry, fleet)

    assert outcome.failure is None
    assert outcome.flux is not None
    assert not site.flux.named
    assert not site.fleet.named
    assert site.writes == []


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (options("v2.9.4", OciOptions("oci://x/y")), UsageError),
        (options("v2.9.4", components=("source-watcher", "nonsense")), UsageError),
        (options("v2.9.9"), ReleaseNotFound),
        (options("v0.41.2"), UnsupportedRelease),
    ],
    ids=["address", "component", "release", "old release"],
)
def test_bad_input_is_refused_before_anything_is_written(asked: BootstrapOptions, error: type[Exception]) -> None:
    site = Site()
    with pytest.raises(error):
        site.run(asked)
    assert site.writes == []


def test_without_a_cluster_the_files_are_handed_over() -> None:
    plan = Site().plan(options("v2.9.4"), PATCHED)
    files = handover(plan)
    assert set(files) == {*plan.files, "flux-system/gotk-sync.yaml"}
    assert b"gotk-sync" not in files["flux-system/kustomization.yaml"]
    assert files["flux-system/gotk-sync.yaml"].count(b"kind: OCIRepository\n") == 4
    assert commands(plan) == (
        "kubectl apply --server-side -k ./flux-system",
        "kubectl --namespace=flux-system wait deployment --all --for=condition=Available --timeout=5m",
        "kubectl apply -f ./flux-system/gotk-sync.yaml",
    )


def test_what_is_handed_over_is_what_a_cluster_is_given() -> None:
    plan = Site().plan(options("v2.9.4"))
    components, sync = manifests_of(handover(plan), "flux-system", "flux-system", None)
    assert [(each["kind"], each["metadata"]["name"]) for each in sync] == [
        ("OCIRepository", "flux-components"),
        ("Kustomization", "flux-components"),
        ("OCIRepository", "flux-system"),
        ("Kustomization", "flux-system"),
    ]
    assert "Deployment" in {each["kind"] for each in components}


def test_temporary_files_are_let_go_of() -> None:
    site, made = Site(), []

    def spool() -> io.BytesIO:
        made.append(io.BytesIO())
        return made[-1]

    site.run(options("v2.9.4"))
    del site.flux.named[TAG]
    using = ports(site.flux)._replace(spool=spool, commit_of=lambda _: "b" * 40)
    assert (
        push_oci(plan_oci(options("v2.9.4"), None, components(), using, site.fleet), using, site.fleet).failure is None
    )
    assert [each.closed for each in made] == [True]
