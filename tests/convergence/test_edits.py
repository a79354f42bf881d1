"""What users write and push is kept, and changes on the base branch are followed."""

from __future__ import annotations

from pathlib import Path

import pytest
from github_stand_in import FAULTS, Request, Rule, to
from github_stand_in.flux import publish_releases
from github_stand_in.people import People

from convergence.asking import (
    OLD,
    SUMMARY,
    Opens,
    edited,
    held_by,
    installations,
    newer,
    open_in,
    reasons,
    require_rest,
    state_of,
)
from convergence.fleet import CONFIG, MINOR, PATCH, PATH, Fleet, fleet_at, installation, manifest
from error_names import require_error
from flux_upgrade.model import markers
from flux_upgrade.model.errors import ForbiddenByForge

# Texts


def test_a_title_that_a_person_gave_it_stays(patch: Fleet) -> None:
    patch.people.edit(1, title="Flux, please")
    require_rest(patch)
    newer(patch)
    patch.run()
    assert (patch.repository.pulls[1].title, state_of(patch).target) == ("Flux, please", "v2.8.8")
    require_rest(patch)


def test_a_title_of_ours_follows_the_target(patch: Fleet) -> None:
    newer(patch)
    patch.run()
    assert patch.repository.pulls[1].title == "Upgrade Flux to v2.8.8 in clusters/production"


def test_text_outside_the_markers_stays_as_the_browser_sends_it(patch: Fleet) -> None:
    body = patch.repository.pulls[1].body
    patch.people.edit(1, body=f"Before.\n\n{body}\n\nAfter, wait for Bob.\n")
    assert patch.run().writes == ("PATCH /pulls/1",), "that all who edited it may write is recorded"
    require_rest(patch)
    newer(patch)
    patch.run()
    updated = patch.repository.pulls[1].body
    assert updated.startswith("Before.\r\n\r\n<!-- flux-upgrade")
    assert updated.endswith("\r\n\r\nAfter, wait for Bob.\r\n")
    assert state_of(patch).target == "v2.8.8"
    assert updated.count("<!-- flux-upgrade {") == 1
    require_rest(patch)


@pytest.mark.parametrize("is_newer", [True, False])
def test_a_body_that_lost_our_block_gets_it_again_below_what_is_there(is_newer: object, patch: Fleet) -> None:
    ours = patch.repository.pulls[1].body
    patch.people.edit(1, body="I keep this short.\n")
    if is_newer:
        newer(patch)
    assert patch.run().outcome == "updated"
    pull, target = patch.repository.pulls[1], "v2.8.8" if is_newer else "v2.8.7"
    assert pull.body.startswith("I keep this short.\n\n<!-- flux-upgrade {")
    assert is_newer or pull.body == f"I keep this short.\n\n{ours}"
    assert (state_of(patch).target, pull.title) == (target, f"Upgrade Flux to {target} in clusters/production")
    assert held_by(patch, PATCH) == manifest(target)
    require_rest(patch)
    newer(patch)
    patch.run()
    assert patch.repository.pulls[1].title == "Upgrade Flux to v2.8.8 in clusters/production"
    patch.people.close(1)
    assert "closed-by-human" in reasons(patch).values()


def test_an_empty_body_gets_our_block_again(patch: Fleet) -> None:
    ours = patch.repository.pulls[1].body
    patch.people.edit(1, body="")
    assert patch.run().writes == ("PATCH /pulls/1",)
    assert patch.repository.pulls[1].body == ours
    require_rest(patch)


def test_half_a_block_takes_no_text_of_a_person_with_it(patch: Fleet) -> None:
    patch.people.tick(1, "rebase")
    begin, _, rest = patch.repository.pulls[1].body.partition("<!-- /flux-upgrade -->")
    patch.people.edit(1, body=f"{begin}{rest}Mine, below.\n")
    patch.run()
    newer(patch)
    patch.run()
    body = patch.repository.pulls[1].body
    mine, _, block = body.partition("<!-- flux-upgrade {")
    assert "Mine, below." in mine
    assert "<!--" not in mine
    assert "v2.8.8" in block
    assert state_of(patch).target == "v2.8.8"
    require_rest(patch)


def test_a_title_of_a_person_stays_though_our_block_was_lost(patch: Fleet) -> None:
    patch.people.edit(1, title="Flux, please", body="")
    newer(patch)
    patch.run()
    assert (patch.repository.pulls[1].title, state_of(patch).target) == ("Flux, please", "v2.8.8")
    require_rest(patch)


def test_what_a_person_took_away_is_not_given_again_though_our_block_was_lost(opens: Opens) -> None:
    config = f"{SUMMARY}labels: [flux]\nreviewers: [bob]\nauto-merge: patch\n"
    fleet = opens(config=config, auto_merge=True, required_contexts=("ci",))
    fleet.run()
    pull = fleet.repository.pulls[1]
    assert (pull.labels, pull.reviewers, pull.auto_merge) == (["flux"], ["bob"], "merge")
    fleet.people.unlabel(1, "flux")
    fleet.people.disable_auto_merge(1)
    pull.reviewers.clear()
    fleet.people.edit(1, body="Short.")
    for _ in range(2):
        fleet.run()
        pull = fleet.repository.pulls[1]
        assert (pull.labels, pull.reviewers, pull.auto_merge) == ([], [], "")
        newer(fleet)
    require_rest(fleet)


@pytest.mark.parametrize("is_restored", [True, False])
def test_a_draft_that_lost_our_block_is_approved_all_the_same(is_restored: object, draft: Fleet) -> None:
    draft.people.edit(1, body="I keep this short.")
    if is_restored:
        draft.run()
        require_rest(draft)
    draft.people.mark_ready(1)
    draft.run()
    newer(draft)
    draft.run()
    pull = draft.repository.pulls[1]
    assert (pull.is_draft, pull.body.startswith("I keep this short.\n\n<!--")) == (False, True)
    assert held_by(draft, MINOR) == manifest("v2.9.4")
    require_rest(draft)


def test_text_inside_the_markers_is_ours(patch: Fleet) -> None:
    body = patch.repository.pulls[1].body
    patch.people.edit(1, body=body.replace("**Verification:**", "Believe me:"))
    assert "PATCH /pulls/1" in patch.run().writes
    assert "Believe me" not in patch.repository.pulls[1].body
    require_rest(patch)


# Commits


def test_a_push_is_respected_until_a_rebase_is_asked_for(patch: Fleet) -> None:
    pushed = patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    assert edited(patch, PATCH)
    newer(patch)
    assert reasons(patch)[PATCH] == "branch-edited"
    assert patch.repository.head(PATCH) == pushed
    patch.people.tick(1, "rebase")
    patch.run()
    assert held_by(patch, PATCH) == manifest("v2.8.8")
    assert "NOTES.md" not in patch.repository.files(PATCH)
    assert "- [x]" not in patch.repository.pulls[1].body
    require_rest(patch)


def test_a_rebase_is_asked_for_by_label_too(patch: Fleet) -> None:
    patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    patch.people.label(1, "flux-upgrade/rebase")
    patch.run()
    assert "NOTES.md" not in patch.repository.files(PATCH)
    assert patch.repository.pulls[1].labels == []
    require_rest(patch)


def test_an_amended_commit_is_an_edit(patch: Fleet) -> None:
    commit = patch.repository.store.read(patch.repository.head(PATCH))
    amended = patch.repository.store.commit(
        commit.tree, commit.parents, f"Flux!\n\n{commit.message}", commit.author, commit.author
    )
    patch.people.force_push(PATCH, amended)
    assert edited(patch, PATCH)


def test_a_merge_of_the_base_into_the_branch_is_an_edit(patch: Fleet) -> None:
    store, base = patch.repository.store, patch.people.advance_base()
    head = patch.repository.head(PATCH)
    person = patch.repository.person("alice")
    merged = store.commit(store.merged_tree(base, head), [head, base], "Merge main\n", person, person)
    patch.people.force_push(PATCH, merged)
    assert edited(patch, PATCH)


def test_a_branch_that_github_updated_is_still_kept_current(patch: Fleet) -> None:
    for _ in range(2):
        patch.people.advance_base()
        merge = patch.people.update_branch(1)
        assert patch.run().writes == ("POST /statuses/{sha}",)
        assert patch.repository.head(PATCH) == merge
        assert patch.repository.status(merge)[markers.PROOF].state == "success"
        require_rest(patch)
    newer(patch)
    patch.run()
    assert held_by(patch, PATCH) == manifest("v2.8.8")
    assert patch.repository.store.read(patch.repository.head(PATCH)).parents == (patch.repository.head(),)
    require_rest(patch)


def test_what_is_no_longer_needed_is_closed_though_github_updated_its_branch(patch: Fleet) -> None:
    patch.people.advance_base()
    patch.people.update_branch(1)
    patch.people.push("main", {PATH: manifest("v2.8.7")}, "By hand\n")
    assert patch.run().outcome == "closed"


def test_a_branch_that_github_updated_is_used_again_once_its_pull_request_is_closed(patch: Fleet) -> None:
    patch.people.advance_base()
    patch.people.update_branch(1)
    patch.people.close(1)
    newer(patch)
    assert patch.run().outcome == "opened"
    assert held_by(patch, PATCH) == manifest("v2.8.8")
    require_rest(patch)


@pytest.mark.parametrize("method", ["merge", "squash"])
def test_a_branch_that_github_updated_is_merged(method: str, patch: Fleet) -> None:
    patch.people.advance_base()
    patch.people.update_branch(1)
    patch.people.merge(1, method)
    require_rest(patch)
    newer(patch)
    patch.run()
    assert open_in(patch) == [2]


@pytest.mark.parametrize("files", [{"NOTES.md": b"mine\n"}, {PATH: b"# nothing\n"}, {"README.md": None}])
def test_what_a_person_changes_in_the_merge_is_an_edit(files: dict[str, bytes | None], patch: Fleet) -> None:
    patch.people.advance_base()
    merge = patch.people.update_branch(1, files)
    assert edited(patch, PATCH)
    assert patch.repository.head(PATCH) == merge


def test_a_commit_below_the_merge_is_an_edit(patch: Fleet) -> None:
    patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    patch.people.advance_base()
    patch.people.update_branch(1)
    assert edited(patch, PATCH)


@pytest.mark.parametrize("is_classic", [True, False])
def test_a_branch_that_has_to_be_up_to_date_is_recreated(is_classic: object, opens: Opens) -> None:
    rules = (Rule("REQUIRED_STATUS_CHECKS", "main", is_classic=bool(is_classic), is_strict=True),)
    fleet = opens(config=SUMMARY, rules=rules, required_contexts=(markers.PROOF,))
    fleet.run()
    require_rest(fleet)
    for _ in range(2):
        base = fleet.people.advance_base()
        assert fleet.run().outcome == "updated"
        assert fleet.repository.store.read(fleet.repository.head(PATCH)).parents == (base,)
        require_rest(fleet)
    fleet.people.advance_base()
    fleet.people.update_branch(1)
    fleet.run()
    require_rest(fleet)
    fleet.people.merge(1)


def test_a_draft_is_recreated_once_it_is_ready(opens: Opens) -> None:
    rules = (Rule("REQUIRED_STATUS_CHECKS", "main", is_strict=True),)
    fleet = opens("v2.8.8", tags=("v2.8.8", "v2.9.3"), rules=rules)
    fleet.run()
    base = fleet.people.advance_base()
    require_rest(fleet)
    fleet.run(approve="2.9")
    assert fleet.repository.store.read(fleet.repository.head(MINOR)).parents == (base,)
    require_rest(fleet)


def test_a_branch_of_that_name_that_is_not_ours_is_left_alone(opens: Opens) -> None:
    fleet = opens(config=SUMMARY)
    made = fleet.people.push(PATCH, {"NOTES.md": b"mine\n"})
    assert reasons(fleet)[PATCH] == "branch-edited"
    assert fleet.repository.head(PATCH) == made
    assert not fleet.repository.pulls


@pytest.mark.parametrize("name", ["flux-upgrade", "flux-upgrade/clusters.production", f"{PATCH}/mine"])
def test_a_branch_whose_name_is_in_the_way_is_reported(name: str, opens: Opens) -> None:
    fleet = opens(config=SUMMARY)
    fleet.people.force_push(name, fleet.repository.head())
    assert reasons(fleet)[PATCH] == "branch-blocked"
    assert f"the branch {name} exists" in fleet.run().summary
    fleet.people.delete_branch(name)
    assert fleet.run().outcome == "opened"
    require_rest(fleet)


FREEZING = (
    Rule("NON_FAST_FORWARD", "flux-upgrade/**/*"),
    Rule("UPDATE", "flux-upgrade/**/*"),
    Rule("NON_FAST_FORWARD", "flux-upgrade/**/*", is_classic=True),
)


@pytest.mark.parametrize("rule", FREEZING)
def test_a_rule_against_force_pushes_is_reported_once_there_is_something_to_push(rule: Rule, patch: Fleet) -> None:
    patch.repository.settings.rules = (rule,)
    require_rest(patch)
    newer(patch)
    assert reasons(patch)[PATCH] == "branch-blocked"
    assert "forbid force pushes" in patch.run().summary
    assert held_by(patch, PATCH) == manifest("v2.8.7")
    patch.repository.settings.rules = ()
    assert patch.run().outcome == "updated"


def test_a_rule_that_does_not_bind_the_token_changes_nothing(patch: Fleet) -> None:
    patch.repository.settings.rules = (Rule("NON_FAST_FORWARD", bypass=(patch.token.login,)),)
    newer(patch)
    assert patch.run().outcome == "updated"
    ran = patch.run()
    assert (ran.writes, ran.calls) == ((), ("GRAPHQL query", ran.calls[-1]))


def test_what_is_no_longer_needed_but_was_pushed_to_stays_open(patch: Fleet) -> None:
    patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    patch.people.push("main", {PATH: manifest("v2.8.7")}, "By hand\n")
    assert reasons(patch)[PATCH] == "branch-edited"
    assert open_in(patch) == [1]


def test_a_busy_base_changes_nothing(patch: Fleet) -> None:
    head = patch.repository.head(PATCH)
    for _ in range(3):
        patch.people.advance_base()
        require_rest(patch)
    assert patch.repository.head(PATCH) == head


def test_an_edit_on_the_base_is_carried_into_a_new_commit(patch: Fleet) -> None:
    edited = manifest("v2.8.6").replace(b"memory: 1Gi", b"memory: 2Gi", 1)
    patch.people.push("main", {PATH: edited}, "More memory\n")
    ran = patch.run()
    assert ran.outcome == "updated"
    assert held_by(patch, PATCH) == manifest("v2.8.7").replace(b"memory: 1Gi", b"memory: 2Gi", 1)
    head = patch.repository.store.read(patch.repository.head(PATCH))
    assert head.parents == (patch.repository.head(),)
    assert "1 manual edit" in patch.repository.pulls[1].body
    require_rest(patch)


def test_a_branch_with_a_conflict_is_recreated(patch: Fleet) -> None:
    clash = manifest("v2.8.6").replace(b"v2.8.6", b"v2.8.6 ", 1)
    patch.people.push("main", {PATH: clash}, "A blank in the header\n")
    assert patch.repository.mergeable(patch.repository.pulls[1]) == "CONFLICTING"
    assert patch.run().outcome == "updated"
    assert patch.repository.mergeable(patch.repository.pulls[1]) == "MERGEABLE"
    require_rest(patch)


def test_pull_requests_of_forks_do_not_count(opens: Opens) -> None:
    fleet = opens(config=SUMMARY)
    for number in range(12):
        fleet.people.open_from_fork(PATCH, {f"x{number}": b"x\n"}, "Mine")
    fleet.people.close(1)
    assert fleet.run().outcome == "opened"
    assert open_in(fleet)[-1] == 13
    for number in range(12):
        fleet.people.open_from_fork(PATCH, {f"y{number}": b"y\n"}, "Mine")
    require_rest(fleet)
    fleet.people.close(13)
    assert reasons(fleet)["v2.8.7"] == "closed-by-human"


def test_a_pull_request_into_another_base_is_left_alone(patch: Fleet) -> None:
    patch.people.push("stable", {**installation("v2.8.6")}, "Stable\n")
    patch.repository.retarget(patch.repository.pulls[1], "stable")
    assert reasons(patch)[PATCH] == "branch-edited"
    patch.people.close(1)
    patch.run()
    assert (open_in(patch), patch.repository.pulls[2].base) == ([2], "main")
    require_rest(patch)


# Several minors, groups that change


def test_a_wider_policy_closes_the_patch_that_the_minor_holds(opens: Opens) -> None:
    fleet = opens()
    fleet.run()
    assert len(open_in(fleet)) == 2
    fleet.people.push("main", {CONFIG: b"policy: minor\n"}, "Let minors go\n")
    fleet.run()
    (number,) = open_in(fleet)
    assert (state_of(fleet, number).subject, fleet.repository.pulls[number].is_draft) == ("minor", False)
    assert {state_of(fleet, each).closed for each in fleet.repository.pulls} == {"", "superseded"}
    require_rest(fleet)


def test_a_draft_moves_on_to_the_next_minor(opens: Opens) -> None:
    fleet = opens("v2.6.4", tags=("v2.6.4", "v2.7.1"))
    fleet.run()
    fleet.release("v2.6.4", "v2.7.1", "v2.8.8")
    fleet.run()
    assert (open_in(fleet), state_of(fleet).target) == ([1], "v2.8.8")
    require_rest(fleet)


def test_an_approved_minor_stays_when_the_next_one_comes(opens: Opens) -> None:
    fleet = opens("v2.6.4", tags=("v2.6.4", "v2.7.1"))
    fleet.run()
    fleet.people.mark_ready(1)
    fleet.release("v2.6.4", "v2.7.1", "v2.8.8")
    fleet.run()
    assert (open_in(fleet), state_of(fleet).target, state_of(fleet).approval) == ([1], "v2.7.1", "2.7")
    assert reasons(fleet) == {"v2.8.8": "needs-approval"}
    fleet.people.merge(1)
    fleet.run()
    assert (state_of(fleet, 2).target, fleet.repository.pulls[2].is_draft) == ("v2.8.8", True)


def test_who_refused_a_minor_is_asked_about_the_next(opens: Opens) -> None:
    fleet = opens("v2.6.4", tags=("v2.6.4", "v2.7.1"))
    fleet.run()
    fleet.people.close(1)
    fleet.release("v2.6.4", "v2.7.1", "v2.8.8")
    fleet.run()
    assert (open_in(fleet), state_of(fleet, 2).target) == ([2], "v2.8.8")
    require_rest(fleet)


def test_a_minor_cools_down_before_there_is_a_draft(opens: Opens) -> None:
    fleet = opens("v2.8.8")
    publish_releases(fleet.hub, {"v2.8.8": "2026-01-12T09:00:00Z", "v2.9.3": "2026-02-27T09:00:00Z"})
    source = {"release-source": f"{fleet.hub.api_url}/repos/fluxcd/flux2"}
    assert reasons(fleet, source) == {"v2.9.3": "cooling-down"}
    fleet.hub.clock.advance(days=5)
    assert fleet.run(source).outcome == "opened"
    assert fleet.run(source).writes == ()


def test_a_minor_that_became_a_patch_is_closed_while_the_next_minor_cools_down(opens: Opens) -> None:
    fleet = opens("v2.8.8")
    dates = {"v2.8.8": "2026-01-12T09:00:00Z", "v2.9.2": "2026-01-20T09:00:00Z", "v2.9.3": "2026-01-27T09:00:00Z"}
    publish_releases(fleet.hub, dates)
    source = {"release-source": f"{fleet.hub.api_url}/repos/fluxcd/flux2"}
    fleet.run(source)
    assert (open_in(fleet), state_of(fleet).target) == ([1], "v2.9.3")
    fleet.people.push("main", {PATH: manifest("v2.9.2")}, "By hand\n")
    publish_releases(fleet.hub, {"v2.10.0": "2026-02-27T09:00:00Z"})
    fleet.run(source)
    assert state_of(fleet).closed == "other-size"
    assert (open_in(fleet), state_of(fleet, 2).target) == ([2], "v2.9.3")
    assert reasons(fleet, source) == {"v2.10.0": "cooling-down"}


def test_an_installation_that_is_gone_leaves_no_pull_request(patch: Fleet) -> None:
    files: dict[str, bytes | None] = dict.fromkeys(installation("v2.8.6"))
    patch.people.push("main", {**files, **installation("v2.8.7", "clusters/other")}, "Move\n")
    patch.run()
    assert open_in(patch) == []
    require_rest(patch)


def test_installations_that_become_a_group_have_its_pull_request_alone(tmp_path: Path) -> None:
    files = installations(a="v2.8.6", b="v2.8.6")
    with fleet_at(tmp_path, files, SUMMARY, OLD) as fleet:
        fleet.run()
        assert len(open_in(fleet)) == 2
        config = b"pending: summary\ngroups:\n  all:\n    paths: ['clusters/**']\n"
        fleet.people.push("main", {CONFIG: config}, "Group them\n")
        fleet.run()
        fleet.run()
        assert [fleet.repository.pulls[number].head for number in open_in(fleet)] == ["flux-upgrade/all/patch"]
        require_rest(fleet)
        fleet.people.push("main", {CONFIG: SUMMARY.encode()}, "Ungroup them\n")
        fleet.run()
        fleet.run()
        assert len(open_in(fleet)) == 2
        require_rest(fleet)


def test_flags_that_are_to_change_have_a_pull_request_that_can_be_refused(opens: Opens) -> None:
    fleet = opens("v2.8.7", "pending: summary\nflags:\n  network-policy: false\n")
    fleet.run()
    assert held_by(fleet, PATCH) == manifest("v2.8.7", network_policy=False)
    require_rest(fleet)
    newer(fleet)
    fleet.run()
    assert held_by(fleet, PATCH) == manifest("v2.8.8", network_policy=False)
    require_rest(fleet)
    fleet.people.close(1)
    fleet.run()
    assert held_by(fleet, PATCH) == manifest("v2.8.7", network_policy=False)
    fleet.people.close(open_in(fleet)[0])
    assert open_in(fleet) == []
    assert "closed-by-human" in reasons(fleet).values()


# Forges without drafts


@pytest.fixture
def issue(opens: Opens) -> Fleet:
    """An issue is open for v2.9.3, for there are no drafts."""
    fleet = opens("v2.8.8", tags=("v2.8.8", "v2.9.3"), drafts=False)
    ran = fleet.run()
    assert (ran.code, ran.outcome, open_in(fleet)) == (0, "opened", [])
    assert fleet.repository.issues[1].labels == ["flux-upgrade/pending"]
    return fleet


def test_an_issue_stands_in_for_a_draft_and_is_kept_current(issue: Fleet) -> None:
    require_rest(issue)
    assert "issue [#1]" in issue.run().summary
    newer(issue)
    issue.run()
    assert "v2.9.4" in issue.repository.issues[1].body
    assert len(issue.repository.issues) == 1
    require_rest(issue)


def test_its_label_opens_the_pull_request_and_closes_the_issue(issue: Fleet) -> None:
    issue.people.label(1, "flux-upgrade/approved")
    assert issue.run().outcome == "opened"
    assert (open_in(issue), issue.repository.issues[1].state) == ([2], "closed")
    assert not issue.repository.pulls[2].is_draft
    require_rest(issue)
    newer(issue)
    issue.run()
    assert state_of(issue, 2).target == "v2.9.4"
    require_rest(issue)


def test_an_issue_that_is_closed_is_a_refusal(issue: Fleet) -> None:
    issue.people.close(1)
    assert reasons(issue) == {"v2.9.3": "closed-by-human"}
    newer(issue)
    assert "closed-by-human" in reasons(issue).values()
    issue.people.reopen(1)
    issue.run()
    assert "v2.9.4" in issue.repository.issues[1].body
    issue.people.close(1)
    issue.run(approve="2.9")
    assert open_in(issue) == [2]


def test_an_issue_that_a_bot_closed_is_opened_again(issue: Fleet) -> None:
    People(issue.repository, "stale[bot]").close(1)
    assert issue.run().outcome == "opened"
    assert [number for number, each in issue.repository.issues.items() if each.state == "open"] == [2]
    require_rest(issue)


def test_a_dispatch_opens_the_pull_request_too(issue: Fleet) -> None:
    issue.run(approve="2.9")
    assert (open_in(issue), issue.repository.issues[1].state) == ([2], "closed")
    require_rest(issue)


# What is said about it


def test_one_comment_says_that_a_push_stops_us_and_how_to_go_on(draft: Fleet) -> None:
    draft.people.push(MINOR, {"NOTES.md": b"mine\n"})
    ran = draft.run()
    assert (ran.code, ran.outcome) == (0, "held")
    (comment,) = draft.repository.pulls[1].comments
    assert "no longer updates this pull request, because another user pushed to its branch" in comment.body
    assert "tick **rebase** in the description or add the label `flux-upgrade/rebase`" in comment.body
    require_rest(draft)
    draft.people.push(MINOR, {"NOTES.md": b"mine, still\n"}, "More\n")
    newer(draft)
    require_rest(draft)
    # Once it was recreated, the next push is another one.
    draft.people.tick(1, "rebase")
    assert draft.run().outcome == "updated"
    require_rest(draft)
    draft.people.push(MINOR, {"NOTES.md": b"mine\n"})
    draft.run()
    assert len(draft.repository.pulls[1].comments) == 2
    require_rest(draft)


def test_a_locked_conversation_is_a_warning(draft: Fleet) -> None:
    draft.people.push(MINOR, {"NOTES.md": b"mine\n"})
    draft.hub.fail(FAULTS["403 permission"], to("POST", "/comments"))
    ran = draft.run()
    assert (ran.code, ran.outcome) == (0, "held")
    assert "comment on the pull request" in ran.log
    draft.undisturbed()
    draft.run()
    assert len(draft.repository.pulls[1].comments) == 1
    require_rest(draft)


def test_a_run_that_ends_between_comment_and_note_does_not_repeat_it(draft: Fleet) -> None:
    draft.people.push(MINOR, {"NOTES.md": b"mine\n"})
    draft.hub.fail(FAULTS["403 permission"], to("PATCH", "/pulls/"))
    ran = draft.run()
    require_error(ForbiddenByForge, ran.code, ran.log)
    draft.undisturbed()
    draft.run()
    assert len(draft.repository.pulls[1].comments) == 1
    require_rest(draft)


def test_nothing_is_said_where_people_have_taken_our_text_away(draft: Fleet) -> None:
    draft.people.push(MINOR, {"NOTES.md": b"mine\n"})
    draft.people.edit(1, body="Mine.")
    require_rest(draft)
    assert not draft.repository.pulls[1].comments


def test_a_comment_of_a_user_is_not_deleted_though_it_has_our_mark(patch: Fleet) -> None:
    head = patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    pull = patch.repository.pulls[1]

    def write(_: int, request: Request) -> None:
        if request.method == "GET" and request.path.endswith("/comments") and len(pull.comments) == 1:
            patch.repository.comment(pull, f"<!-- flux-upgrade:stopped {head} -->\nMine.\n", "mallory")

    patch.hub.before_call = write
    patch.run()
    patch.undisturbed()
    assert [each.author for each in pull.comments] == ["github-actions[bot]", "mallory"]
    require_rest(patch)
