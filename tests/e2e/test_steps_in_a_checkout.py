"""Upgrades in a checkout start from the release that the cluster runs: that of the commit that Flux follows."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import written_release

from cases_on_disk import run_in
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import ApiRemoved
from git_servers import Bare, git
from memory import WrittenReleases, regenerator
from real_parts import require_program
from written_histories import served

PATH = "clusters/staging/flux-system/gotk-components.yaml"
SYNC = "clusters/staging/flux-system/gotk-sync.yaml"
KUSTOMIZATION = "clusters/staging/flux-system/kustomization.yaml"
RELEASES = ("v2.5.1", "v2.6.4", "v2.7.5", "v2.8.6", "v2.8.7", "v2.8.8", "v2.9.4")
USING = regenerator(WrittenReleases(RELEASES, served))
PENDING = "held: step-pending"
STEP = "Commit v2.7.5, merge it into main, and wait until Flux has reconciled it"
AGAIN = "Plan the next step, to v2.9.4, on an up-to-date main"


@cache
def manifest(release: str) -> bytes:
    """Render what Flux itself would write."""
    return USING.regenerate(InstallOptions(release)).text.encode()


def sync(branch: str) -> bytes:
    """Write the source of a cluster that follows a branch."""
    source = f"kind: GitRepository\nmetadata:\n  name: flux-system\nspec:\n  ref: {{branch: {branch}}}\n"
    return f"apiVersion: source.toolkit.fluxcd.io/v1\n{source}".encode()


class Clone:
    """A clone of a repository whose branch ``main`` a cluster follows."""

    def __init__(self, folder: Path, release: str) -> None:
        self.releases = written_release.write_source(folder / "releases", RELEASES, apis=served)
        server = Bare.make(folder / "server.git")
        self.root, self.path = folder / "clone", folder / "bin"
        git("clone", "--quiet", f"file://{server.folder}", self.root)
        self.write(PATH, manifest(release))
        self.write(SYNC, sync("main"))
        self.write(KUSTOMIZATION, b"resources: [gotk-components.yaml, gotk-sync.yaml]\n")
        self.commit()
        git("checkout", "--quiet", "-B", "main", at=self.root)
        self.push()
        self.path.mkdir()
        for name in ("git", "env"):  # Git is run by both
            (self.path / name).symlink_to(require_program(name))

    def write(self, path: str, content: bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(content)

    def commit(self) -> None:
        git("add", "--all", at=self.root)
        git("commit", "--quiet", "-m", "Change", at=self.root)

    def push(self) -> None:
        git("push", "--quiet", "origin", "HEAD:main", at=self.root)

    def run(self, *args: str, code: int = 0) -> str:
        ran = run_in(self.root, self.releases, args, path=str(self.path))
        assert ran.exit_code == code, ran.err
        return ran.out

    def decision(self, *args: str) -> dict[str, Any]:
        """Return the last decision of ``plan``."""
        decision: dict[str, Any] = json.loads(self.run("plan", "--json", *args))["installations"][0]["decisions"][-1]
        return decision

    @property
    def release(self) -> str:
        content = (self.root / PATH).read_bytes()
        return next(each for each in RELEASES if content == manifest(each))


def commands(report: str) -> list[str]:
    """Return what a report shows as something to type."""
    lines = (line.strip() for line in report.splitlines())
    return [line.removeprefix("Next:").strip("$ ") for line in lines if line.startswith(("$ ", "Next:"))]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path, "v2.5.1")


def first_step(clone: Clone) -> str:
    report = clone.run("upgrade", "--approve=2.7")
    assert clone.release == "v2.7.5"
    return report


def test_a_later_step_is_no_command_of_the_run_that_writes_the_first(clone: Clone) -> None:
    assert commands(clone.run("plan"))[-1] == "flux-upgrade upgrade --approve=2.7"
    report = first_step(clone)
    assert "v2.9.4  minor" not in report
    assert "merge them into main. Wait until Flux has reconciled v2.7.5" in " ".join(report.split())
    assert AGAIN in report
    following = "review the changed files, commit them, and merge them into main. Wait until Flux has reconciled v2.7.5"
    assert commands(report) == ["flux-upgrade plan", f"{following} (step 1)"]


def test_a_step_stops_while_the_one_before_is_uncommitted(clone: Clone) -> None:
    first_step(clone)
    for args in (["plan"], ["upgrade", "--approve=2.7", "--approve=2.9"], ["upgrade", "--policy=minor"]):
        report = clone.run(*args)
        assert f"v2.7.5 → v2.9.4  minor  {PENDING}, see step 1" in report
        assert "main has v2.5.1, from which v2.9.4 takes several steps: v2.7.5 → v2.9.4" in report
        assert commands(report)[1:] == [f"{STEP[:1].lower()}{STEP[1:]} (step 1)"]
    report = clone.run("plan")
    assert STEP in report
    assert AGAIN in report
    clone.run("upgrade", "--to=v2.9.4", code=ApiRemoved.exit_code)
    assert clone.release == "v2.7.5"


@pytest.mark.parametrize("branch", ["main", "upgrade"])
def test_a_step_stops_while_the_one_before_is_not_merged(clone: Clone, branch: str) -> None:
    git("checkout", "--quiet", "-B", branch, at=clone.root)
    first_step(clone)
    clone.commit()
    assert PENDING in clone.run("upgrade", "--approve=2.9")
    assert clone.release == "v2.7.5"
    clone.push()
    assert PENDING not in clone.run("upgrade", "--approve=2.9")
    assert clone.release == "v2.9.4"


def test_a_patch_goes_on_if_it_is_one_step_from_the_branch(tmp_path: Path) -> None:
    clone = Clone(tmp_path, "v2.8.6")
    clone.write(PATH, manifest("v2.8.7"))
    assert "main has v2.8.6, and the upgrade is checked from there" in clone.run("upgrade", "--details")
    assert clone.release == "v2.8.8"


def test_a_minor_that_is_one_step_goes_on_and_has_what_it_means_from_the_branch(tmp_path: Path) -> None:
    clone = Clone(tmp_path, "v2.6.4")
    clone.write(PATH, manifest("v2.7.5"))
    decision = clone.decision("--policy=minor")
    assert (decision["action"], decision["target"]) == ("upgrade", "v2.9.4")
    assert decision["impact"]["base"] == {"release": "v2.6.4", "branch": "main", "unknown": None}
    assert "v2beta1" in str(decision["impact"]["changes"]["crds"])  # v2.7.5 does not serve it


def test_a_file_that_is_beyond_the_first_step_is_restored(clone: Clone) -> None:
    clone.write(PATH, manifest("v2.8.7"))
    report = clone.run("upgrade", "--approve=2.9")
    assert "Step 1  Restore v2.5.1 in the file first, to take the steps in order\n" in report
    decision = clone.decision()
    assert decision["reason"] == "step-pending"
    assert decision["remedy"].endswith("to take the steps in order; then run flux-upgrade again")


def test_a_first_step_that_is_not_written_yet_is_still_the_first(clone: Clone) -> None:
    clone.write(PATH, manifest("v2.6.4"))
    decision = clone.decision("--policy=minor")
    assert (decision["action"], decision["target"]) == ("upgrade", "v2.7.5")
    assert decision["impact"]["steps"] == ["v2.7.5", "v2.9.4"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (sync("stable"), "the checkout has no origin/stable"),
        (b"kind: GitRepository\nspec: {}\n", "no gotk-sync.yaml has a branch"),
    ],
)
def test_without_the_branch_the_commit_has_to_do_and_that_is_said(clone: Clone, content: bytes, why: str) -> None:
    clone.write(SYNC, content)
    first_step(clone)
    report = clone.run("plan")
    assert PENDING in report
    assert "Step 1  Commit and merge v2.7.5, and wait until Flux has reconciled it\n" in report
    clone.commit()
    report = clone.run("plan")
    assert "Check which release the cluster runs" in report
    assert f"the checked-out commit has v2.7.5, and the upgrade is checked from there: {why}" in report


def test_without_git_the_release_that_runs_is_to_be_checked(clone: Clone) -> None:
    shutil.rmtree(clone.root / ".git")
    report = first_step(clone)
    assert "merge them. Wait until `flux version` shows that the cluster runs v2.7.5" in report
    assert [each for each in commands(report) if each.startswith("flux-upgrade")] == ["flux-upgrade plan"]
    report = clone.run("plan")
    assert "Check with `flux version` that the cluster runs v2.7.5" in report
    assert commands(report)[0] == "flux version"


def test_an_untracked_file_is_not_committed_yet(clone: Clone) -> None:
    moved = PATH.replace("staging", "production")
    clone.write(moved, manifest("v2.7.5"))
    clone.write(KUSTOMIZATION.replace("staging", "production"), b"resources: [gotk-components.yaml]\n")
    report = clone.run("plan", "clusters/production")
    assert "The checkout does not show it: it is not committed yet" in report
    clone.commit()
    assert "The checkout does not show it: it is not on main yet" in clone.run("plan", "clusters/production")


def test_a_flux_instance_has_its_branch(tmp_path: Path) -> None:
    clone, path = Clone(tmp_path, "v2.5.1"), "clusters/operated/flux.yaml"
    instance = """\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux, namespace: flux-system}
spec:
  distribution: {version: 2.6.4, registry: ghcr.io/fluxcd}
  sync: {kind: GitRepository, url: https://example.com/fleet, ref: refs/heads/main, path: clusters/operated}
"""
    clone.write(SYNC, sync("stable"))
    clone.write(path, instance.encode())
    clone.commit()
    clone.push()
    clone.write(path, instance.replace("2.6.4", "2.7.5").encode())
    decisions = json.loads(clone.run("plan", "--json", "--policy=minor", "clusters/operated"))["installations"][0]
    assert decisions["current"] == "v2.7.5"
    base = decisions["decisions"][-1]["impact"]["base"]
    assert base == {"release": "v2.6.4", "branch": "main", "unknown": None}


def test_clusters_may_follow_different_branches(clone: Clone) -> None:
    clone.write("clusters/other/gotk-sync.yaml", sync("stable"))
    first_step(clone)
    assert STEP in clone.run("plan")


def test_the_first_step_takes_every_reference_of_the_cluster(clone: Clone) -> None:
    base, address = "clusters/staging/copy/kustomization.yaml", "https://github.com/fluxcd/flux2/manifests/install"
    clone.write(base, f"resources: ['{address}?ref=v2.5.1']\n".encode())
    clone.commit()
    clone.push()
    first_step(clone)
    assert b"v2.7.5" in (clone.root / base).read_bytes()
    for args in (["--approve=2.9"], ["--policy=minor"]):
        clone.run("upgrade", *args)
        assert b"v2.7.5" in (clone.root / base).read_bytes()
    clone.run("upgrade", "--to=v2.9.4", code=ApiRemoved.exit_code)
    assert b"v2.7.5" in (clone.root / base).read_bytes()


@pytest.mark.parametrize("release", [b"v2.4.9", b"v0.41.2"])
def test_a_release_that_the_source_lacks_holds_what_it_stored(clone: Clone, release: bytes) -> None:
    clone.write(PATH, manifest("v2.5.1").replace(b"v2.5.1", release))
    clone.commit()
    clone.push()
    clone.write(PATH, manifest("v2.7.5"))
    decision = clone.decision("--policy=minor")
    assert (decision["action"], decision["reason"]) == ("hold", "blocked-by-api-removal")
    assert "the API server would reject gitrepositories.source.toolkit.fluxcd.io" in decision["detail"]
    report = clone.run("plan", "--policy=minor")
    assert "the API server would reject" in report
    assert "the API server rejects" not in report


def test_a_release_beyond_one_step_names_the_step_that_comes_first(clone: Clone) -> None:
    report = clone.run("plan", "--to=v2.9.4")
    assert "Step 1  Upgrade to v2.7.5 first\n" in report
    assert "Step 2" not in report
    assert commands(report) == ["flux-upgrade upgrade --to=v2.7.5"] * 2
    refused = clone.run("upgrade", "--to=v2.9.4", code=ApiRemoved.exit_code)
    assert "multi-step" not in refused
    clone.run("upgrade", "--to=v2.7.5")
    assert clone.release == "v2.7.5"


def test_a_jump_lists_what_blocks_it(clone: Clone) -> None:
    report = clone.run("plan", "--multi-step=false")
    assert (
        "Step 1  Upgrade to v2.7.5 first, and run `flux migrate` there: the API server rejects the CRDs of v2.9.4\n"
        in report
    )
    assert "stored GitRepository as v1beta2" in report


def test_minors_that_are_approved_together_are_one_row(clone: Clone) -> None:
    report = clone.run("upgrade", "--approve=2.7", "--approve=2.9")
    rows = [line for line in report.splitlines() if "  minor  " in line]
    assert rows == ["clusters/staging  v2.5.1 → v2.7.5  minor  upgraded (step 1 of 2, then v2.9.4)"]
    assert "v2.9.4 comes first" not in report
    assert "--approve" not in report


def test_a_patch_is_merged_before_the_next_minor(tmp_path: Path) -> None:
    clone = Clone(tmp_path, "v2.8.6")
    report = clone.run("upgrade")
    merge, approve = (line for line in report.splitlines() if line.startswith("Step "))
    assert merge == "Step 1  Review the changed files, commit them, and merge them into main"
    assert approve == "Step 2  Approve Flux 2.9"
    assert "Next:     review the changed files, commit them, and merge them into main (step 1)\n" in report


def test_a_cluster_whose_branch_is_unknown_has_its_own_merge(tmp_path: Path) -> None:
    clone = Clone(tmp_path, "v2.8.6")
    clone.write(PATH.replace("staging", "other"), manifest("v2.8.6"))
    clone.write(SYNC.replace("staging", "other"), sync("stable"))
    clone.write(KUSTOMIZATION.replace("staging", "other"), b"resources: [gotk-components.yaml, gotk-sync.yaml]\n")
    clone.commit()
    clone.push()
    report = clone.run("upgrade")
    merges = [line[8:] for line in report.splitlines() if "commit them" in line and line.startswith("Step ")]
    review = "Review the changed files, commit them, and merge them"
    assert merges == [f"{review} (clusters/other)", f"{review} into main (clusters/staging)"]


def test_the_minor_after_the_one_that_is_approved_is_named(tmp_path: Path) -> None:
    report = Clone(tmp_path, "v2.7.5").run("plan", "--approve=2.8")
    rows = [line for line in report.splitlines() if "  minor  " in line]
    assert rows == ["clusters/staging  v2.7.5 → v2.8.8  minor  ready (then v2.9.4)"]


@pytest.fixture
def migrating(clone: Clone) -> Clone:
    """Use an API version that no release after v2.6.4 serves."""
    alert = "apiVersion: notification.toolkit.fluxcd.io/v1beta1\nkind: Alert\nmetadata: {name: shop, namespace: apps}\n"
    clone.write("clusters/staging/alert.yaml", alert.encode())
    clone.commit()
    clone.push()
    return clone


@pytest.mark.parametrize("command", ["plan", "upgrade"])
def test_minors_after_a_step_that_is_held_are_one_row_with_it(migrating: Clone, command: str) -> None:
    report = migrating.run(command, "--approve=2.7")
    rows = [line for line in report.splitlines() if "  minor  " in line]
    held = "held: migration-pending (then v2.9.4), see step 1"
    assert rows == [f"clusters/staging  v2.5.1 → v2.7.5  minor  {held}"]
    assert "1 cluster: 1 held" in report
    assert "Approve" not in report
    assert [line for line in commands(report) if "--approve" in line] == ["flux-upgrade upgrade --approve=2.7"]


def test_minors_that_are_approved_together_are_one_row_while_the_first_is_held(migrating: Clone) -> None:
    report = migrating.run("plan", "--approve=2.7", "--approve=2.9")
    rows = [line for line in report.splitlines() if "  minor  " in line]
    held = "held: migration-pending (then v2.9.4), see step 1"
    assert rows == [f"clusters/staging  v2.5.1 → v2.7.5  minor  {held}"]


def test_a_minor_after_a_step_that_is_held_names_the_way(migrating: Clone) -> None:
    decision = migrating.decision("--approve=2.7")
    assert (decision["target"], decision["reason"]) == ("v2.8.8", "step-pending")
    assert decision["detail"] == "it is a later step: v2.7.5 → v2.9.4"
    reached = "upgrade to v2.7.5, merge it into main, and wait until Flux has reconciled it"
    then = "then run `flux-upgrade upgrade --approve=2.9` on an up-to-date main"
    assert decision["remedy"] == f"{reached}; {then}"
    details = migrating.run("plan", "--approve=2.7", "--details")
    assert "approve 2.9 to upgrade now" not in details
    assert f"{reached}; {then}" in " ".join(details.split())


def test_a_minor_after_a_step_that_is_held_waits_for_a_cluster_without_git(migrating: Clone) -> None:
    shutil.rmtree(migrating.root / ".git")
    decision = migrating.decision("--approve=2.7")
    assert decision["remedy"] == "wait until `flux version` shows that the cluster runs v2.7.5; then approve 2.9"
