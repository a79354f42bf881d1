"""``mode: bootstrap`` gets from a repository without Flux to its first upgrade, on the stand-in for GitHub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.bootstraps import BRANCH, FILES, FOLDER, NAME, Site, opened, pushed
from e2e.fleet import WHERE, everything, git, image_of
from flux_upgrade.action.action_yml import OUTPUTS

README = {"README.md": b"Fleet\n"}
CONFIG = b"""\
bootstrap:
  flags:
    components-extra: [image-reflector-controller]
  clusters:
    staging:
      path: clusters/staging
    production:
      path: clusters/production
      network-policy: false
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """The action in a process."""
    with opened(tmp_path) as found:
        yield found


def changes(site: Site, branch: str = BRANCH) -> str:
    return git("--git-dir", str(site.repository().git), "diff", f"main..{branch}")


# An empty repository


@WHERE
def test_an_empty_repository_gets_its_first_commit(where: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with opened(tmp_path, image_of(where, request)) as site:
        repository = site.hub.create_repository(NAME)
        first = site.bootstrap()
        assert (first.exit_code, first.outputs["outcome"]) == (0, "updated"), first.log
        assert site.written() == [pushed()]
        assert sorted(repository.files()) == sorted(FILES)
        assert git("--git-dir", str(repository.git), "rev-list", "--count", "main") == "1\n"
        assert (first.outputs["target-version"], first.annotations) == ("v2.9.4", ())
        # There is nothing to merge.
        assert "merged" not in first.log + first.summary
        assert "kubectl apply --server-side -k ./clusters/staging/flux-system" in first.summary

        again = site.bootstrap()
        assert (again.exit_code, again.outputs["outcome"], site.written()) == (0, "none", [])
        for done in (first, again):
            assert set(done.outputs) == {each.name for each in OUTPUTS}
            assert site.job.value not in everything(done)


# A repository with something in it


@WHERE
def test_a_repository_with_content_gets_one_pull_request(
    where: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with opened(tmp_path, image_of(where, request)) as site:
        repository = site.hub.create_repository(NAME, README)
        first = site.bootstrap()
        assert (first.exit_code, first.outputs["outcome"]) == (0, "opened"), first.log
        (pull,) = repository.pulls.values()
        assert (pull.head, pull.base, pull.is_draft) == (BRANCH, "main", False)
        assert pull.title == "Bootstrap Flux v2.9.4 in clusters/staging"
        assert set(repository.files(BRANCH)) - set(repository.files()) == set(FILES)
        assert "**Action required**" in pull.body
        assert "gh repo deploy-key add identity.pub" in pull.body
        assert "Merge this pull request." in pull.body
        assert first.outputs["pull-request-url"] == f"{site.hub.url}/{NAME}/pull/1"
        assert json.loads(first.outputs["pull-requests"])[0]["target"] == "v2.9.4"
        (status,) = repository.status(pull.head_sha).values()
        assert status.state == "success"

        again = site.bootstrap()
        assert (again.exit_code, again.outputs["outcome"], site.written()) == (0, "none", [])
        for done in (first, again):
            assert set(done.outputs) == {each.name for each in OUTPUTS}
            assert site.job.value not in everything(done)


def test_other_flags_update_the_pull_request_until_it_is_merged(site: Site) -> None:
    repository = site.hub.create_repository(NAME, README)
    site.bootstrap()
    other = {"flags": "network-policy: false\ncomponents-extra: [image-reflector-controller]\n"}
    assert "kind: NetworkPolicy" in changes(site)

    done = site.bootstrap(other)
    assert (done.exit_code, done.outputs["outcome"], len(repository.pulls)) == (0, "updated", 1), done.log
    assert "kind: NetworkPolicy" not in changes(site)
    assert "image-reflector-controller" in repository.pulls[1].body
    assert site.bootstrap(other).outputs["outcome"] == "none"
    assert site.written() == []

    repository.people.merge(1)
    merged = site.bootstrap(other)
    assert (merged.exit_code, merged.outputs["outcome"], site.written()) == (0, "none", [])


def test_other_flags_after_the_merge_are_shown_one_by_one(site: Site) -> None:
    repository = site.hub.create_repository(NAME, README)
    site.bootstrap()
    repository.people.merge(1)
    done = site.bootstrap({"flags": "log-level=debug interval=5m"})
    assert (done.exit_code, done.outputs["outcome"], sorted(repository.pulls)) == (0, "opened", [1, 2])
    assert "--log-level: info → debug" in done.log
    assert "--interval: 1m0s → 5m0s" in done.log
    assert {line for line in changes(site).splitlines() if line.startswith("+  ")} >= {"+  interval: 5m0s"}


def test_what_a_person_closed_stays_closed_until_a_person_asks(site: Site) -> None:
    repository = site.hub.create_repository(NAME, README)
    assert site.bootstrap(event="push").outputs["outcome"] == "opened"
    repository.people.close(1)

    pushed_again = site.bootstrap(event="push")
    assert (pushed_again.exit_code, pushed_again.outputs["outcome"]) == (0, "held")
    assert (site.written(), "closed-by-human" in pushed_again.summary) == ([], True)

    by_hand = site.bootstrap(event="workflow_dispatch")
    assert (by_hand.exit_code, by_hand.outputs["outcome"]) == (0, "opened"), by_hand.log
    assert [each.state for each in repository.pulls.values()] == ["closed", "open"]


def test_a_dry_run_writes_nothing(site: Site) -> None:
    repository = site.hub.create_repository(NAME, README)
    done = site.bootstrap({"dry-run": "true"})
    assert (done.exit_code, done.outputs["outcome"], site.written()) == (0, "held", [])
    assert ("would be opened" in done.log, repository.pulls) == (True, {})


def test_a_kustomization_that_is_there_is_kept(site: Site) -> None:
    kept = b"resources:\n- gotk-components.yaml\n- gotk-sync.yaml\n- mine.yaml\n"
    path = f"{FOLDER}/kustomization.yaml"
    repository = site.hub.create_repository(NAME, {path: kept, f"{FOLDER}/mine.yaml": b"kind: X\n"})
    assert site.bootstrap().outputs["outcome"] == "opened"
    assert repository.files(BRANCH)[path] == kept


def test_several_clusters_are_one_pull_request(site: Site) -> None:
    repository = site.hub.create_repository(NAME, {**README, ".github/flux-upgrade.yaml": CONFIG})
    done = site.run({"mode": "bootstrap"}, checkout=NAME)
    assert (done.exit_code, done.outputs["outcome"]) == (0, "opened"), done.log
    (pull,) = repository.pulls.values()
    assert pull.head == "flux-upgrade/clusters/bootstrap"
    files = repository.files(pull.head)
    for cluster, policies in (("staging", True), ("production", False)):
        content = files[f"clusters/{cluster}/flux-system/gotk-components.yaml"]
        assert b"image-reflector-controller" in content
        assert (b"kind: NetworkPolicy" in content) is policies
        assert f"path: ./clusters/{cluster}".encode() in files[f"clusters/{cluster}/flux-system/gotk-sync.yaml"]
        assert cluster in pull.body
    again = site.run({"mode": "bootstrap"})
    assert (again.outputs["outcome"], site.written()) == ("none", [])


# What comes next


@pytest.mark.parametrize("is_empty", [True, False], ids=["first-commit", "merged"])
def test_the_next_scheduled_run_needs_no_configuration(site: Site, *, is_empty: bool) -> None:
    repository = site.hub.create_repository(NAME, None if is_empty else README)
    assert site.bootstrap({"flags": "version=v2.8.7 log-level=debug"}).exit_code == 0
    if not is_empty:
        repository.people.merge(1, "squash")

    done = site.run({}, event="schedule", checkout=NAME)
    assert (done.exit_code, done.outputs["outcome"]) == (0, "opened"), done.log
    assert {each.head: each.is_draft for each in repository.pulls.values() if each.state == "open"} == {
        "flux-upgrade/clusters.staging/patch": False,
        "flux-upgrade/clusters.staging/minor": True,
    }
    assert done.outputs["current-version"] == "v2.8.7"
    # With the flags of the bootstrap, which nobody has repeated.
    patched = repository.files("flux-upgrade/clusters.staging/patch")[f"{FOLDER}/gotk-components.yaml"]
    assert b"--log-level=debug" in patched
    assert b"v2.8.8" in patched

    # The bootstrap leaves the version to it.
    held = site.bootstrap({"flags": "log-level=debug"})
    assert (held.outputs["outcome"], held.outputs["target-version"], site.written()) == ("none", "v2.8.7", [])
