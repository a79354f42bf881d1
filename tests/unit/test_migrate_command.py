"""`migrate` rewrites what it can, names the rest, and leaves every other byte alone."""

from __future__ import annotations

import os
import resource as limits
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from written_release import files, write_release, write_source

import written_histories
from api_use_runs import CLUSTER, cluster, left, one_processor, plant, resource, run
from cases_on_disk import contents
from error_names import error_names
from git_servers import git
from written_unverified import unverified

ACTIONS = {"GITHUB_ACTIONS": "true"}


@pytest.fixture
def source(written_source: Path) -> Path:
    return written_source


@contextmanager
def files_of_at_most(count: int) -> Iterator[None]:
    """Writes fail beyond so many bytes, as on a full disk."""
    before = limits.getrlimit(limits.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits.setrlimit(limits.RLIMIT_FSIZE, (count, before[1]))
    try:
        yield
    finally:
        limits.setrlimit(limits.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_what_can_be_migrated_is_and_the_rest_is_reported(tmp_path: Path, source: Path) -> None:
    files = {CLUSTER: cluster(), "a.yaml": resource(), "b.yaml": left(), "c.md": resource()}
    ran = run(plant(tmp_path, files), source, "migrate")
    assert ran.code == 7
    assert ran.err.startswith("flux-upgrade: 1 use of API versions that v2.9.4 does not serve [api-removed]\n")
    assert contents(tmp_path) == {path: text.encode() for path, text in (files | {"a.yaml": resource("v1")}).items()}
    assert "2 uses of API versions that v2.9.4 does not serve, in 2 files: 1 migrated, 1 to fix" in ran.out


def test_a_second_run_has_nothing_to_do(tmp_path: Path, source: Path) -> None:
    plant(tmp_path, {CLUSTER: cluster(), "a.yaml": resource()})
    assert run(tmp_path, source, "migrate").code == 0
    written = contents(tmp_path)
    ran = run(tmp_path, source, "migrate")
    nothing = "nothing uses an API version that v2.9.4 does not serve"
    assert (ran.code, ran.out) == (0, f"looked at 23 manifests in 2 files\n{nothing}\n")
    assert contents(tmp_path) == written
    assert run(tmp_path, source, "check").code == 0


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(resource().replace("\n", "\r\n"), id="crlf"),
        pytest.param(f"\ufeff{resource()}", id="byte-order-mark"),
        pytest.param(resource().rstrip("\n"), id="no-line-end"),
        pytest.param(f"{resource()}---\n# caf\udce9\na: b\n", id="latin-1-in-another-document"),
        pytest.param(f"# {'ä' * 40} \U0001f389\n{resource()}", id="odd-characters"),
    ],
)
def test_every_other_byte_and_the_mode_stay(text: str, tmp_path: Path, source: Path) -> None:
    plant(tmp_path, {"a.yaml": text})
    (tmp_path / "a.yaml").chmod(0o640)
    dry = run(tmp_path, source, "migrate", "--dry-run")
    assert dry.code == 0
    assert dry.out.startswith("--- a/a.yaml\n+++ b/a.yaml\n")
    assert (tmp_path / "a.yaml").read_bytes() == text.encode("utf-8", "surrogateescape")
    assert run(tmp_path, source, "migrate").code == 0
    moved = text.replace("/v1beta2", "/v1")
    assert (tmp_path / "a.yaml").read_bytes() == moved.encode("utf-8", "surrogateescape")
    assert (tmp_path / "a.yaml").stat().st_mode & 0o777 == 0o640


def test_a_dry_run_writes_nothing_and_ends_as_the_run_itself_would(tmp_path: Path, source: Path) -> None:
    files = {"a.yaml": resource(), "b.yaml": left()}
    plant(tmp_path, files)
    assert run(tmp_path, source, "migrate", "--dry-run").code == 7
    assert contents(tmp_path) == {path: text.encode() for path, text in files.items()}
    (tmp_path / "b.yaml").unlink()
    ran = run(tmp_path, source, "migrate", "--dry-run")
    assert ran.code == 0
    assert "-apiVersion: source.toolkit.fluxcd.io/v1beta2\n+apiVersion: source.toolkit.fluxcd.io/v1\n" in ran.out
    assert "1 use migrated · not written: dry run" in ran.out


def test_one_file_that_cannot_be_written_does_not_stop_the_others(tmp_path: Path, source: Path) -> None:
    long = f"{resource()}# {'x' * 5000}\n"
    plant(tmp_path, {"a.yaml": long, "b.yaml": resource()})
    with files_of_at_most(1000):
        ran = run(tmp_path, source, "migrate")
        again = run(tmp_path, source, "migrate", "--json")
    assert (ran.code, error_names(ran.err)) == (7, {"write-failed", "api-removed"})
    assert "flux-upgrade: a.yaml could not be written" in ran.err
    assert "  failed: a.yaml could not be written" in ran.out
    assert contents(tmp_path) == {"a.yaml": long.encode(), "b.yaml": resource("v1").encode()}
    assert [(use["path"], use["written"], use["breaks"]) for use in again.value["uses"]] == [("a.yaml", False, True)]
    assert [(each["path"], each["name"]) for each in again.value["failures"]] == [("a.yaml", "write-failed")]


def test_a_link_is_not_followed(tmp_path: Path, source: Path) -> None:
    outside = plant(tmp_path / "outside", {"a.yaml": resource()})
    inside = plant(tmp_path / "inside", {"b.yaml": resource()})
    (inside / "a.yaml").symlink_to(outside / "a.yaml")
    (inside / "folder").symlink_to(outside)
    assert run(inside, source, "migrate").code == 0
    assert (outside / "a.yaml").read_text() == resource()
    assert (inside / "b.yaml").read_text() == resource("v1")


def test_one_file_of_a_repository(tmp_path: Path, source: Path) -> None:
    files = {".git/HEAD": "", CLUSTER: cluster("v2.7.1"), "apps/a.yaml": resource(), "apps/b.yaml": resource()}
    plant(tmp_path, files)
    ran = run(tmp_path / "apps", source, "migrate", "a.yaml")
    assert ran.code == 0
    assert ran.out.startswith("a.yaml\n  1 use migrated · written\n")
    assert "clusters run v2.7.1" in ran.out
    assert contents(tmp_path / "apps") == {"a.yaml": resource("v1").encode(), "b.yaml": resource().encode()}


def test_versions_go_to_what_every_cluster_serves(tmp_path: Path, source: Path) -> None:
    """A version that no release of the source serves any more is known to those that do."""
    plant(tmp_path, {"a.yaml": resource()})
    ran = run(tmp_path, source, "migrate", "--json", "--from=v2.9.3", "--from=v2.6.4")
    (use,) = ran.value["uses"]
    assert (use["action"], use["to"], use["written"]) == ("move", "v1", True)


OLD = "clusters/old/flux-system/gotk-components.yaml"


@pytest.mark.parametrize("others", [{CLUSTER: cluster()}, {}])
def test_what_an_unverified_cluster_may_read_goes_no_farther(
    others: dict[str, str], tmp_path: Path, source: Path
) -> None:
    files = {OLD: unverified().decode(), "a.yaml": resource(), **others}
    plant(tmp_path, files)
    ran = run(tmp_path, source, "migrate")
    assert ran.code == 7
    assert contents(tmp_path) == {path: text.encode() for path, text in files.items()}
    assert f"v0.41.2 ({OLD}) serves v1beta1 and v1beta2" in ran.out
    assert f"\nnote: {OLD} (v0.41.2) has the CRDs that this cluster serves" in ran.out
    assert f"\nclusters run v0.41.2{', v2.8.8' if others else ''} (found in this repository)\n" in ran.out
    value = run(tmp_path, source, "migrate", "--json").value
    assert value["running"] == ["v0.41.2", *(["v2.8.8"] if others else [])]
    assert value["unverified"] == [{"path": OLD, "version": "v0.41.2", "read": True}]
    assert run(tmp_path, source, "migrate", "--from=v2.8.8").code == 0, "the user knows better"


def test_the_own_folder_of_another_cluster_is_migrated(tmp_path: Path, source: Path) -> None:
    own = "clusters/production/own.yaml"
    plant(tmp_path, {OLD: unverified().decode(), CLUSTER: cluster(), "a.yaml": resource(), own: resource()})
    assert run(tmp_path, source, "migrate").code == 7
    assert (tmp_path / own).read_text() == resource("v1")
    assert (tmp_path / "a.yaml").read_text() == resource()


@pytest.mark.parametrize("is_pipe", [False, True])
def test_nothing_is_moved_for_a_cluster_whose_crds_cannot_be_read(
    tmp_path: Path, source: Path, *, is_pipe: bool
) -> None:
    plant(tmp_path, {OLD: "<<<<<<< HEAD\n", CLUSTER: cluster(), "a.yaml": resource()})
    if is_pipe:
        (tmp_path / OLD).unlink()
        os.mkfifo(tmp_path / OLD)
    ran = run(tmp_path, source, "migrate")
    assert (ran.code, error_names(ran.err)) == (7, {"api-removed", *(["unreadable"] if is_pipe else [])})
    assert (tmp_path / "a.yaml").read_text() == resource()
    assert f"note: {OLD} (no known release) has no readable CRDs" in ran.out
    assert run(tmp_path, source, "migrate", "--json").value["unverified"] == [
        {"path": OLD, "version": None, "read": False}
    ]


def test_a_move_that_an_unverified_cluster_limits_says_so(tmp_path: Path) -> None:
    def apis(kind: str, tag: str) -> tuple[str, ...]:
        del kind
        return ("v1", "v1beta2") if tag == "v2.9.4" else ("v1", "v1beta2", "v1beta1")

    source = write_source(tmp_path / "releases", ("v2.8.8",))
    for tag in ("v2.9.3", "v2.9.4"):
        write_release(source, tag, files(tag, apis))
    tree = plant(tmp_path / "tree", {OLD: unverified().decode(), "a.yaml": resource("v1beta1")})
    ran = run(tree, source, "migrate")
    assert ran.code == 0
    assert (tree / "a.yaml").read_text() == resource("v1beta2")
    assert f"    v0.41.2 ({OLD}) serves no newer version that the target serves.\n" in ran.out


def test_what_stays_is_annotated_in_github_actions(tmp_path: Path, source: Path) -> None:
    plant(tmp_path, {"a.yaml": resource(), "b.yaml": left()})
    ran = run(tmp_path, source, "migrate", env=ACTIONS)
    (annotation,) = ran.annotations
    assert ",file=b.yaml,line=1::GitRepo/misspelled: " in annotation
    assert ran.out.splitlines()[0].startswith("::stop-commands::")
    plant(tmp_path, {"a.yaml": resource()})
    ran = run(tmp_path, source, "migrate", "--dry-run", env=ACTIONS)
    assert ran.out.splitlines()[0].startswith("::stop-commands::"), "a diff shows anybody's text"


def test_a_large_tree_is_migrated_by_several_processes_as_by_one(tmp_path: Path, source: Path) -> None:
    texts = {f"{at % 7}/{at}.yaml": resource("v1beta2" if at % 9 == 0 else "v1") for at in range(1100)}
    one, several = (plant(tmp_path / name, texts) for name in ("one", "several"))
    with one_processor():
        first = run(one, source, "migrate")
    assert run(several, source, "migrate") == first
    assert contents(one) == contents(several) == dict.fromkeys(texts, resource("v1").encode())


SYNC = """apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: flux-system
  namespace: flux-system
spec:
  url: https://example.com/fleet
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: flux-system
  namespace: flux-system
spec:
  path: ./clusters/{name}
  sourceRef:
    kind: GitRepository
    name: flux-system
"""
LISTING = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"


def of_cluster(name: str, release: str) -> dict[str, str]:
    """Write a cluster that reads two sources: one in its directory, and one in `shared`."""
    system = f"clusters/{name}/flux-system"
    return {
        f"{system}/gotk-components.yaml": written_histories.manifest(release).decode(),
        f"{system}/gotk-sync.yaml": SYNC.format(name=name),
        f"{system}/kustomization.yaml": f"{LISTING}- gotk-components.yaml\n- gotk-sync.yaml\n",
        f"clusters/{name}/apps/kustomization.yaml": f"{LISTING}- source.yaml\n- ../../../shared/source.yaml\n",
        f"clusters/{name}/apps/source.yaml": resource(),
    }


@pytest.mark.parametrize("path", [".", "clusters/production"])
def test_a_file_is_migrated_for_the_clusters_that_read_it(path: str, tmp_path: Path) -> None:
    # Staging serves only the old version, so a file that it reads stays as it is.
    source = write_source(tmp_path / "releases", written_histories.TAGS, apis=written_histories.served)
    files = {**of_cluster("staging", "v2.5.1"), **of_cluster("production", "v2.7.5"), "shared/source.yaml": resource()}
    fleet = plant(tmp_path / "fleet", files)
    git("init", "--quiet", at=fleet)
    ran = run(fleet, source, "migrate", path, "--to=v2.8.8")
    migrated = "clusters/production/apps/source.yaml"
    assert {name for name, text in files.items() if (fleet / name).read_text() != text} == {migrated}
    assert (fleet / migrated).read_text() == resource("v1")
    # Staging's own file is left to the user. The shared one is migrated once staging is upgraded.
    assert ("Step 1  Migrate" in ran.out) == (path == ".")
    assert "the clusters at v2.5.1 come first" in ran.out
    assert ran.code == (7 if path == "." else 0)
    left = ["shared/source.yaml", *(["clusters/staging/apps/source.yaml"] if path == "." else [])]
    assert all(
        f"{name}\n  line 1: GitRepository/podinfo: source.toolkit.fluxcd.io/v1beta2 is not" in ran.out for name in left
    )


def test_what_follows_a_migration_is_said(tmp_path: Path, source: Path) -> None:
    ran = run(plant(tmp_path, {CLUSTER: cluster(), "a.yaml": resource()}), source, "migrate")
    merge = "Review the changed files, commit them, and merge them. Wait until Flux has reconciled them"
    assert ran.out.endswith(
        f"""
Step 1  {merge}
Step 2  Plan the upgrade to v2.9.4
        $ flux-upgrade plan --release-source={source}

Next:     {merge[:1].lower()}{merge[1:]} (step 1)
"""
    )
