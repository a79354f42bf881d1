"""Repositories, checkouts and tokens of all kinds converge, or are held with the reason."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from convergence.asking import OLD, SUMMARY, Opens, installations, newer, open_in, reasons, require_rest
from convergence.fleet import PATCH, PATH, Fleet, fleet_at, git, installation, manifest
from error_names import require_error
from flux_upgrade.model.errors import CheckoutDiffers, ForbiddenByForge, RepositoryUnfit, Unverified
from pinned import terraform

# Other writers, groups, checkouts


def test_terraform_with_a_variable_holds(opens: Opens) -> None:
    fleet = opens(config=SUMMARY)
    configuration = terraform("clusters/production", "var.flux_version").encode()
    fleet.people.push("main", {"terraform/main.tf": configuration}, "Terraform\n")
    ran = fleet.run()
    assert (ran.code, ran.writes) == (0, ())
    assert "owned-by-terraform" in ran.log
    assert "terraform/main.tf" in ran.log


def test_a_group_has_one_pull_request(tmp_path: Path) -> None:
    config = "pending: summary\ngroups:\n  all:\n    paths: ['clusters/**']\n"
    files = installations(a="v2.8.6", b="v2.8.6", c="v2.8.7")
    with fleet_at(tmp_path, files, config, OLD) as fleet:
        fleet.run()
        assert open_in(fleet) == [1]
        branch = fleet.repository.pulls[1].head
        changed = fleet.repository.files(branch)
        for name in "abc":
            assert changed[f"clusters/{name}/flux-system/gotk-components.yaml"] == manifest("v2.8.7")
        require_rest(fleet)
        newer(fleet)
        fleet.run()
        changed = fleet.repository.files(branch)
        assert {changed[f"clusters/{name}/flux-system/gotk-components.yaml"] for name in "abc"} == {manifest("v2.8.8")}
        require_rest(fleet)
        fleet.people.merge(1, "squash")
        assert set(reasons(fleet).values()) == {"needs-approval"}


@pytest.mark.parametrize("argv", [("plan",), ("plan", "--pull-request"), ("upgrade", "--pull-request")])
def test_a_group_that_matches_nothing_is_warned_of_on_stderr(argv: tuple[str, ...], tmp_path: Path) -> None:
    config = "pending: summary\ngroups:\n  all:\n    paths: ['cluster/**']\n"
    with fleet_at(tmp_path, installations(production="v2.8.6"), config, OLD) as fleet:
        ran = fleet.command(*argv)
        assert ran.code == 0, ran.err
        assert ran.err == (
            'flux-upgrade: warning: group "all" matches nothing: paths cluster/** (nearest directory: clusters)\n'
            "  Try: correct the paths in .github/flux-upgrade.yaml, or remove the group\n"
        )
        assert "matches nothing" not in ran.log


def test_staging_goes_before_production(tmp_path: Path) -> None:
    files = installations(staging="v2.8.6", production="v2.8.6")
    with fleet_at(tmp_path, files, SUMMARY, OLD) as fleet:
        fleet.run()
        heads = {fleet.repository.pulls[number].head: number for number in open_in(fleet)}
        staging = "flux-upgrade/clusters.staging/patch"
        assert heads.keys() == {staging, PATCH}
        fleet.people.merge(heads[staging])
        assert fleet.run().writes == ("GRAPHQL updateRefs",), "the merged branch is deleted"
        require_rest(fleet)
        assert open_in(fleet) == [heads[PATCH]]
        fleet.people.close(heads[PATCH])
        newer(fleet)
        fleet.run()
        assert {fleet.repository.pulls[number].head for number in open_in(fleet)} == {staging, PATCH}


def test_a_checkout_that_is_behind_is_reported_and_nothing_written(patch: Fleet) -> None:
    behind = patch.checkout()
    patch.people.push("main", {PATH: manifest("v2.8.6") + b"# mine\n"}, "Edit\n")
    newer(patch)
    ran = patch.run(checkout=behind)
    require_error(CheckoutDiffers, ran.code, ran.log)
    assert (ran.writes, ran.outcome) == ((), "failed")
    assert "checkout" in ran.log


def test_a_checkout_that_is_dirty_is_reported_and_nothing_written(patch: Fleet, tmp_path: Path) -> None:
    dirty = tmp_path / "dirty"
    shutil.copytree(patch.checkout(), dirty)
    (dirty / PATH).write_bytes(manifest("v2.8.6").replace(b"memory: 1Gi", b"memory: 3Gi"))
    ran = patch.run(checkout=dirty)
    require_error(CheckoutDiffers, ran.code, ran.log)
    assert ran.writes == ()
    assert "uncommitted changes" in ran.log


def test_an_upgrade_that_is_not_committed_closes_nothing(patch: Fleet, tmp_path: Path) -> None:
    dirty = tmp_path / "dirty"
    shutil.copytree(patch.checkout(), dirty)
    (dirty / PATH).write_bytes(manifest("v2.8.7"))
    ran = patch.run(checkout=dirty)
    require_error(CheckoutDiffers, ran.code, ran.log)
    assert (ran.writes, open_in(patch)) == ((), [1])


def test_a_checkout_that_is_ahead_closes_nothing(patch: Fleet, tmp_path: Path) -> None:
    ahead = tmp_path / "ahead"
    shutil.copytree(patch.checkout(), ahead)
    (ahead / PATH).write_bytes(manifest("v2.8.7"))
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    git("-C", str(ahead), *who, "commit", "--quiet", "--all", "--message=Local")
    ran = patch.run(checkout=ahead)
    require_error(CheckoutDiffers, ran.code, ran.log)
    assert ran.writes == ()
    assert open_in(patch) == [1]


@pytest.mark.parametrize(
    ("version", "words"), [("", "**Approve workflows to run**"), ("3.17.0", "Close this pull request and reopen it")]
)
def test_how_checks_start_depends_on_the_server(version: str, words: str, opens: Opens) -> None:
    fleet = opens(config=SUMMARY)
    fleet.hub.enterprise_version = version
    fleet.run()
    assert words in fleet.repository.pulls[1].body
    assert ("Approve workflows" in fleet.repository.pulls[1].body) is (version == "")


def test_a_dry_run_reports_everything_and_writes_nothing(opens: Opens) -> None:
    fleet = opens()
    ran = fleet.run(dry_run="true")
    assert (ran.code, ran.writes) == (0, ())
    assert ran.log.count("would be opened") == 2
    assert not fleet.repository.pulls


def test_the_command_line_does_the_same(opens: Opens) -> None:
    fleet = opens(config=SUMMARY)
    ran = fleet.command("upgrade", "--pull-request")
    assert (ran.code, open_in(fleet)) == (0, [1]), ran.err
    require_rest(fleet)


# What cannot be


def test_an_archived_repository(patch: Fleet) -> None:
    patch.repository.settings.is_archived = True
    newer(patch)
    ran = patch.run()
    require_error(RepositoryUnfit, ran.code, ran.log)
    assert (ran.writes, ran.outcome) == ((), "failed")
    assert "archived" in ran.log


def test_a_base_that_is_not_there(opens: Opens) -> None:
    fleet = opens()
    ran = fleet.run(base="mian")
    require_error(RepositoryUnfit, ran.code, ran.log)
    assert ran.writes == ()
    assert "did you mean main?" in ran.log


def test_an_empty_repository(tmp_path: Path) -> None:
    with fleet_at(tmp_path, None, "", OLD) as fleet:
        checkout = tmp_path / "local"
        git("init", "--quiet", str(checkout))
        for path, content in installation("v2.8.6").items():
            (checkout / path).parent.mkdir(parents=True, exist_ok=True)
            (checkout / path).write_bytes(content)
        ran = fleet.run(checkout=checkout)
        require_error(RepositoryUnfit, ran.code, ran.log)
        assert ran.writes == ()
        assert "empty" in ran.log


_ALL = {"contents": "write", "pull-requests": "write", "statuses": "write", "issues": "write"}


@pytest.mark.parametrize(
    ("kind", "permissions", "says"),
    [
        ("actions", {**_ALL, "contents": "read"}, "permissions: {contents: write, pull-requests: write"),
        ("actions", {**_ALL, "pull-requests": "read"}, "permissions: {contents: write, pull-requests: write"),
        ("app", {**_ALL, "contents": "read"}, "or give the app 'Contents: read and write'"),
        ("fine-grained", {**_ALL, "contents": "read"}, "Contents: read and write"),
        ("fine-grained", {**_ALL, "pull-requests": "read"}, "Pull requests: read and write"),
    ],
)
def test_a_missing_permission_is_answered_with_the_thing_to_change(
    kind: str, permissions: dict[str, str], says: str, opens: Opens
) -> None:
    fleet = opens(config=SUMMARY)
    ran = fleet.run(token=fleet.hub.token(kind, permissions))
    require_error(ForbiddenByForge, ran.code, ran.log)
    assert (ran.outcome, open_in(fleet)) == ("failed", [])
    assert says in ran.log, ran.log
    assert fleet.run().code == 0
    assert open_in(fleet) == [1]
    require_rest(fleet)


def test_a_classic_token_without_scope(opens: Opens) -> None:
    fleet = opens(config=SUMMARY)
    ran = fleet.run(token=fleet.hub.token("classic", scopes=()))
    require_error(ForbiddenByForge, ran.code, ran.log)
    assert "the scope `repo`" in ran.log, ran.log


@pytest.mark.parametrize("kind", ["app", "classic", "fine-grained"])
def test_every_kind_of_token_can_do_it(kind: str, opens: Opens) -> None:
    fleet = opens(config=SUMMARY)
    token = fleet.hub.token(kind)
    assert fleet.run(token=token).outcome == "opened"
    newer(fleet)
    assert fleet.run(token=token).outcome == "updated"
    assert fleet.run(token=token).writes == ()


def test_the_setting_that_everybody_meets_first(opens: Opens) -> None:
    fleet = opens(config=SUMMARY, actions_may_open=False)
    ran = fleet.run()
    require_error(ForbiddenByForge, ran.code, ran.log)
    assert open_in(fleet) == []
    assert "Allow GitHub Actions to create and approve pull requests" in ran.log
    fleet.repository.settings.actions_may_open = True
    fleet.run()
    assert open_in(fleet) == [1]
    require_rest(fleet)


def test_a_token_that_has_expired(patch: Fleet) -> None:
    token = patch.hub.token("fine-grained")
    patch.hub.revoke(token)
    ran = patch.run(token=token)
    require_error(ForbiddenByForge, ran.code, ran.log)
    assert ran.writes == ()
    assert "expired" in ran.log


def test_a_repository_that_the_token_must_not_see(opens: Opens) -> None:
    fleet = opens(is_private=True)
    ran = fleet.run(token=fleet.hub.token("fine-grained", repositories=("acme/other",)))
    require_error(ForbiddenByForge, ran.code, ran.log)
    assert ran.writes == ()


@pytest.mark.parametrize("is_private", [True, False])
def test_a_token_without_statuses_does_without(is_private: object, opens: Opens) -> None:
    fleet = opens("v2.8.7", tags=("v2.8.7", "v2.8.8"), is_private=is_private)
    token = fleet.hub.token("actions", {**_ALL, "statuses": "none"})
    ran = fleet.run(token=token)
    assert (ran.code, ran.outcome) == (0, "opened")
    assert "statuses: write" in ran.log
    ran = fleet.run(token=token)
    assert (ran.code, ran.outcome) == (0, "none")
    assert "statuses: write" not in ran.log


# A release that was withdrawn


@pytest.mark.parametrize("tags", [("v2.8.6", "v2.8.8", "v2.9.3"), ("v2.8.8", "v2.9.3")])
def test_when_the_running_release_is_withdrawn_a_newer_one_is_proposed(tags: tuple[str, ...], opens: Opens) -> None:
    fleet = opens("v2.8.7", SUMMARY, tags)
    ran = fleet.run()
    assert (ran.code, ran.outcome) == (0, "opened")
    pull = fleet.repository.pulls[1]
    assert pull.title == "Upgrade Flux to v2.8.8 in clusters/production"
    assert "generates with your flags; v2.8.7 is no longer in the release source" in pull.body
    assert fleet.repository.files(PATCH)[PATH] == manifest("v2.8.8")
    require_rest(fleet)
    # Once that one is refused, the file does not go back to the release that it was compared with.
    fleet.people.close(1)
    assert reasons(fleet) == {"v2.8.8": "closed-by-human", "v2.9.3": "needs-approval"}


@pytest.mark.parametrize("tags", [("v2.8.6",), ("v2.9.3",)])
def test_a_source_that_cannot_tell_about_the_running_release_is_red(tags: tuple[str, ...], opens: Opens) -> None:
    """It ends before that release, as a mirror does that lags behind, or has none of its minor."""
    ran = opens("v2.8.7", SUMMARY, tags).run()
    require_error(Unverified, ran.code, ran.log)
    assert ran.writes == ()


def test_a_withdrawn_release_with_edits_is_red(opens: Opens) -> None:
    fleet = opens("v2.8.7", SUMMARY, ("v2.8.6", "v2.8.8"))
    edited = manifest("v2.8.7").replace(b"replicas: 1", b"replicas: 2")
    fleet.people.push("main", {PATH: edited}, "Edit\n")
    ran = fleet.run()
    require_error(Unverified, ran.code, ran.log)
    assert ran.writes == ()
