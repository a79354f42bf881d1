"""Rules of the repository that would refuse our branch or our commit are held before the first write."""

from __future__ import annotations

import pytest
from github_stand_in import Rule

from convergence.asking import SUMMARY, Opens, held_by, newer, open_in, reasons, require_rest
from convergence.fleet import PATCH, Fleet, manifest

COVERING = ("~ALL", "flux-upgrade/**/*", "flux-upgrade/*/*", "**/patch", "flux-upgrade/clusters.production/patch")
OTHERS = ("*", "flux-upgrade/*", "flux-upgrade/**", "main", "release/**/*")


@pytest.mark.parametrize("branches", COVERING)
def test_a_rule_against_creating_our_branch_is_held(branches: str, opens: Opens) -> None:
    fleet = opens(config=SUMMARY, rules=(Rule("CREATION", branches),))
    assert reasons(fleet)[PATCH] == "branch-blocked"
    ran = fleet.run()
    assert f"the repository's rules forbid the creation of {PATCH}" in ran.summary
    assert "Settings > Rules" in ran.summary
    fleet.repository.settings.rules = ()
    assert fleet.run().outcome == "opened"
    require_rest(fleet)


@pytest.mark.parametrize("branches", OTHERS)
def test_a_rule_against_creating_other_branches_changes_nothing(branches: str, opens: Opens) -> None:
    fleet = opens(config=SUMMARY, rules=(Rule("CREATION", branches),))
    assert fleet.run().outcome == "opened"
    assert len(fleet.run().calls) == 1


def test_a_rule_against_creating_a_branch_is_no_rule_against_updating_it(patch: Fleet) -> None:
    patch.repository.settings.rules = (Rule("CREATION"),)
    newer(patch)
    assert patch.run().outcome == "updated"
    require_rest(patch)


def test_a_rule_that_does_not_bind_the_token_does_not_keep_it_from_creating_a_branch(opens: Opens) -> None:
    fleet = opens(config=SUMMARY, rules=(Rule("CREATION", bypass=("github-actions[bot]",)),))
    assert fleet.run().outcome == "opened"
    require_rest(fleet)


@pytest.mark.parametrize("kind", ["classic", "fine-grained"])
def test_a_commit_that_github_does_not_sign_is_held(kind: str, opens: Opens) -> None:
    fleet = opens(config=SUMMARY, rules=(Rule("REQUIRED_SIGNATURES", "flux-upgrade/**/*"),))
    fleet.token = fleet.hub.token(kind)
    assert reasons(fleet)[PATCH] == "branch-blocked"
    ran = fleet.run()
    assert f"the repository's rules require signed commits on {PATCH}" in ran.summary
    assert "use GITHUB_TOKEN or the token of an app" in ran.summary
    fleet.token = fleet.hub.token("app")
    assert fleet.run().outcome == "opened"
    assert len(fleet.run().calls) == 1
    require_rest(fleet)


@pytest.mark.parametrize("is_classic", [True, False])
def test_an_update_that_github_does_not_sign_is_held(is_classic: object, patch: Fleet) -> None:
    rule = Rule("REQUIRED_SIGNATURES", "flux-upgrade/**/*", is_classic=bool(is_classic))
    patch.repository.settings.rules = (rule,)
    patch.token = patch.hub.token("classic")
    patch.run()
    require_rest(patch)
    newer(patch)
    assert reasons(patch)[PATCH] == "branch-blocked"
    assert held_by(patch, PATCH) == manifest("v2.8.7")
    patch.token = patch.hub.token("actions")
    assert patch.run().outcome == "updated"
    require_rest(patch)


def test_who_may_bypass_the_rule_need_not_sign(opens: Opens) -> None:
    fleet = opens(config=SUMMARY, rules=(Rule("REQUIRED_SIGNATURES", bypass=("alice",)),))
    fleet.token = fleet.hub.token("classic")
    assert fleet.run().outcome == "opened"
    assert open_in(fleet) == [1]
    require_rest(fleet)
