"""In a repository with many version references, each cluster has its pull request, and the tools have theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from convergence.asking import open_in, require_rest
from convergence.fleet import PATH, Fleet, fleet_at, installation, manifest
from error_names import require_error
from flux_upgrade.model.errors import ForbiddenByForge
from pinned import base, instance, terraform, tools, workflow

RECOVERY, TERRAFORM = "clusters/production/recovery/kustomization.yaml", "terraform/production.tf"
STAGING, TOOLS, WORKFLOW = "clusters/staging/flux.yaml", ".tool-versions", ".github/workflows/check.yaml"
PINS = {
    RECOVERY: base("v2.9.3"),
    TERRAFORM: terraform("clusters/production"),
    STAGING: instance("2.8.8", "clusters/staging"),
    TOOLS: tools("2.8.7"),
}
PRODUCTION_MINOR, STAGING_MINOR = (f"flux-upgrade/clusters.{name}/minor" for name in ("production", "staging"))
TOOLS_PATCH, TOOLS_MINOR = (f"flux-upgrade/flux-cli-89e36c/{subject}" for subject in ("patch", "minor"))


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[Fleet]:
    files = installation("v2.8.7") | {path: text.encode() for path, text in PINS.items()}
    with fleet_at(tmp_path, files, "policy: minor") as fleet:
        yield fleet


def heads(fleet: Fleet) -> dict[str, int]:
    """Branch of each open pull request → its number."""
    return {fleet.repository.pulls[number].head: number for number in open_in(fleet)}


def changed(fleet: Fleet, branch: str) -> Mapping[str, bytes]:
    """Files of a branch that are not those of the base."""
    before = fleet.repository.files()
    return {path: text for path, text in fleet.repository.files(branch).items() if before[path] != text}


def test_each_cluster_has_a_pull_request_and_the_tools_have_one(mixed: Fleet) -> None:
    ran = mixed.run()
    assert (ran.code, ran.outcome) == (0, "opened"), ran.log
    assert heads(mixed).keys() == {PRODUCTION_MINOR, STAGING_MINOR, TOOLS_PATCH}
    assert changed(mixed, PRODUCTION_MINOR) == {
        PATH: manifest("v2.9.4"),
        RECOVERY: base("v2.9.4").encode(),
        TERRAFORM: terraform("clusters/production", '"v2.9.4"').encode(),
    }
    assert changed(mixed, STAGING_MINOR) == {STAGING: instance("2.9.4", "clusters/staging").encode()}
    # No cluster is newer so far.
    assert changed(mixed, TOOLS_PATCH) == {TOOLS: tools("2.8.8").encode()}
    again = mixed.run()
    assert (again.outcome, again.calls) == ("none", ("GRAPHQL query",))


def test_the_tools_go_on_when_a_cluster_does(mixed: Fleet) -> None:
    mixed.run()
    patch = heads(mixed)[TOOLS_PATCH]
    mixed.people.merge(heads(mixed)[STAGING_MINOR], "squash")
    ran = mixed.run()
    assert ran.code == 0, ran.log
    assert heads(mixed).keys() == {PRODUCTION_MINOR, TOOLS_MINOR}
    assert changed(mixed, TOOLS_MINOR) == {TOOLS: tools("2.9.4").encode()}
    assert "v2.9.4 is proposed instead" in mixed.repository.pulls[patch].body
    require_rest(mixed)
    for number in open_in(mixed):
        mixed.people.merge(number, "squash")
    mixed.run()
    last = mixed.run()
    assert (last.outcome, last.calls, open_in(mixed)) == ("none", ("GRAPHQL query",), [])
    assert not last.report["drift"]


def test_drift_is_reported_first_in_pull_request_summary_and_report(mixed: Fleet) -> None:
    ran = mixed.run()
    sentence = f"v2.9.3 in `{RECOVERY}:3`. After the merge, they are equal."
    assert sentence in mixed.repository.pulls[heads(mixed)[PRODUCTION_MINOR]].body.partition("**Verification")[0]
    drift = "> **Drift**: clusters/production: its version references disagree: v2.8.7 in "
    assert ran.summary.partition("| Cluster |")[0].count(drift) == 1
    assert [each["cluster"] for each in ran.report["drift"]] == ["clusters/production"]


def test_pins_catch_up_with_a_manifest_that_was_upgraded_by_hand(mixed: Fleet) -> None:
    mixed.run()
    mixed.people.push("main", {PATH: manifest("v2.9.4")}, "By hand\n")
    mixed.run()
    production = "flux-upgrade/clusters.production/patch"
    assert heads(mixed).keys() == {production, STAGING_MINOR, TOOLS_MINOR}
    assert changed(mixed, production).keys() == {RECOVERY, TERRAFORM}
    assert mixed.repository.pulls[heads(mixed)[production]].title == "Align Flux with v2.9.4 in clusters/production"
    require_rest(mixed)


def test_the_tools_go_back_no_further_than_a_cluster_that_is_reverted(mixed: Fleet) -> None:
    mixed.run()
    number = heads(mixed)[STAGING_MINOR]
    mixed.people.merge(number, "squash")
    mixed.run()
    mixed.people.revert(mixed.repository.pulls[number].merge_commit)
    mixed.run()
    assert heads(mixed).keys() == {PRODUCTION_MINOR, TOOLS_PATCH}
    require_rest(mixed)


def test_a_refusal_is_for_the_whole_set(mixed: Fleet) -> None:
    mixed.run()
    mixed.people.close(heads(mixed)[PRODUCTION_MINOR])
    mixed.run()
    assert heads(mixed).keys() == {STAGING_MINOR, TOOLS_PATCH, "flux-upgrade/clusters.production/patch"}
    assert changed(mixed, "flux-upgrade/clusters.production/patch").keys() == {PATH, TERRAFORM}
    require_rest(mixed)


@pytest.mark.parametrize(
    ("kind", "permissions", "is_held"),
    [
        pytest.param("actions", None, True, id="of-the-job"),
        pytest.param(
            "app",
            {
                "contents": "write",
                "pull-requests": "write",
                "issues": "write",
                "statuses": "write",
                "workflows": "write",
            },
            False,
            id="of-an-app",
        ),
    ],
)
def test_a_workflow_is_changed_with_a_token_that_may(
    kind: str, permissions: Mapping[str, str] | None, mixed: Fleet, *, is_held: bool
) -> None:
    mixed.people.push("main", {WORKFLOW: workflow("2.8.7").encode()}, "Check\n")
    token = mixed.hub.token(kind, permissions)
    ran = mixed.run(token=token)
    assert ran.code == 0, ran.log
    assert ("workflow-permission" in ran.summary) is is_held
    assert changed(mixed, TOOLS_PATCH).keys() == ({TOOLS} if is_held else {TOOLS, WORKFLOW})
    body = mixed.repository.pulls[heads(mixed)[TOOLS_PATCH]].body
    assert (f"`{WORKFLOW}:8` stays at the current version: GITHUB_TOKEN cannot change a workflow" in body) is is_held
    assert mixed.run(token=token).calls == ("GRAPHQL query",)


@pytest.mark.parametrize("kind", ["app", "classic", "fine-grained"])
def test_a_token_that_may_not_and_does_not_say_so_ends_red_after_all_else(kind: str, mixed: Fleet) -> None:
    mixed.people.push("main", {WORKFLOW: workflow("2.8.7").encode()}, "Check\n")
    ran = mixed.run(token=mixed.hub.token(kind))
    require_error(ForbiddenByForge, ran.code, ran.log)
    assert ran.outcome == "failed"
    assert heads(mixed).keys() == {PRODUCTION_MINOR, STAGING_MINOR}
    (failure,) = ran.report["failures"]
    assert "Workflows: read and write" in failure["remedy"]
    assert "to `ignore`" in failure["remedy"]
