"""Answers belong to files: who renames a group, or puts clusters into another one, is not asked again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from convergence.asking import Opens, installations, open_in, reasons, require_rest, state_of
from convergence.fleet import CONFIG, MINOR, PATCH, Fleet, fleet_at
from convergence.runs import Ran

_LOOK = "GRAPHQL query"


def _group(fleet: Fleet, name: str, paths: str = "clusters/**") -> None:
    config = f"groups:\n  {name}:\n    paths: ['{paths}']\n" if name else "{}\n"
    fleet.people.push("main", {CONFIG: config.encode()}, "Rename a group\n")


def _closed(fleet: Fleet) -> None:
    fleet.people.close(1)


def _closed_and_deleted(fleet: Fleet) -> None:
    fleet.people.close(1)
    fleet.people.delete_branch(MINOR)


def _skipped(fleet: Fleet) -> None:
    fleet.people.tick(1, "skip")
    fleet.run()
    fleet.people.delete_branch(MINOR)


def _reverted(fleet: Fleet) -> None:
    fleet.people.mark_ready(1)
    fleet.run()
    fleet.people.revert(fleet.people.merge(1, "squash"))
    fleet.people.delete_branch(MINOR)


@pytest.mark.parametrize("refuse", [_closed, _closed_and_deleted, _skipped, _reverted])
def test_what_was_refused_stays_refused_whatever_the_group_is_called(
    refuse: Callable[[Fleet], None], draft: Fleet
) -> None:
    refuse(draft)
    wanted = reasons(draft)
    assert wanted
    for name in ("staging", "other", ""):
        _group(draft, name)
        assert reasons(draft) == wanted
    assert open_in(draft) == []


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_what_was_reverted_is_known_by_the_history_of_the_file(method: str, opens: Opens) -> None:
    fleet = opens(config="pending: summary\n", delete_branch_on_merge=True)
    fleet.run()
    fleet.people.revert(fleet.people.merge(1, method))
    fleet.people.push("main", {CONFIG: b"pending: summary\ngroups: {all: {paths: ['clusters/']}}\n"}, "Group\n")
    assert reasons(fleet)["v2.8.7"] == "reverted"


def test_what_was_approved_stays_approved_and_is_one_pull_request(draft: Fleet) -> None:
    draft.people.mark_ready(1)
    draft.run()
    _group(draft, "staging")
    draft.run()
    assert open_in(draft) == [2]
    assert (draft.repository.pulls[2].is_draft, state_of(draft, 2).approval) == (False, "2.9")
    assert state_of(draft, 1).closed == "gone"
    require_rest(draft)


def test_a_draft_that_waits_is_a_draft_in_the_new_group(draft: Fleet) -> None:
    _group(draft, "staging")
    draft.run()
    assert (open_in(draft), draft.repository.pulls[2].is_draft) == ([2], True)
    require_rest(draft)


def test_what_one_cluster_refused_another_in_its_new_group_may_have(tmp_path: Path) -> None:
    with fleet_at(tmp_path, installations(a="v2.8.8", b="v2.8.8"), tags=("v2.8.8", "v2.9.3")) as fleet:
        fleet.run()
        (refused,) = (n for n, pull in fleet.repository.pulls.items() if pull.head == "flux-upgrade/clusters.a/minor")
        fleet.people.close(refused)
        _group(fleet, "all")
        for _ in range(2):
            fleet.run()
            (number,) = open_in(fleet)
            assert fleet.repository.pulls[number].title == "Upgrade Flux to v2.9.3 in all (1 of 2 clusters)"
            changed = fleet.repository.files("flux-upgrade/all/minor")
            assert [b"v1.9.3" in changed[f"clusters/{each}/flux-system/gotk-components.yaml"] for each in "ab"] == [
                False,
                True,
            ]
        require_rest(fleet)


def test_an_approval_in_the_new_group_beats_what_was_refused_before(draft: Fleet) -> None:
    _closed_and_deleted(draft)
    _group(draft, "staging")
    draft.run(approve="staging=2.9")
    assert open_in(draft) == [2]
    require_rest(draft)
    draft.people.close(2)
    assert reasons(draft) == {"v2.9.3": "closed-by-human"}


def _calls(ran: Ran) -> tuple[str, ...]:
    assert ran.code == 0, ran.log
    return ran.calls


def test_only_a_run_that_proposes_something_asks_once_more(patch: Fleet) -> None:
    patch.people.close(1)
    patch.people.delete_branch(PATCH)
    _group(patch, "staging")
    patch.release("v2.8.6", "v2.8.7")
    assert _calls(patch.run()) == (_LOOK, _LOOK)
    patch.release("v2.8.6")
    assert _calls(patch.run()) == (_LOOK,)


def test_a_group_that_was_never_renamed_asks_once(patch: Fleet) -> None:
    assert _calls(patch.run()) == (_LOOK,)
    patch.people.close(1)
    assert _calls(patch.run()) == (_LOOK,)


def test_what_comes_under_ignore_is_closed_with_a_word(draft: Fleet) -> None:
    draft.people.push("main", {CONFIG: b"ignore: ['clusters/production/']\n"}, "Ignore a cluster\n")
    ran = draft.run()
    assert (ran.outcome, open_in(draft), state_of(draft).closed) == ("closed", [], "ignored")
    assert "**Closed:** The config file lists what it changes under" in draft.repository.pulls[1].body
    assert ran.report["pull-requests"][0]["number"] == 1
    require_rest(draft)
    draft.people.push("main", {CONFIG: b"{}\n"}, "No more\n")
    draft.run()
    assert open_in(draft) == [2], "it was no refusal"


def test_what_another_config_file_ignores_is_left_to_its_own_workflow(draft: Fleet) -> None:
    draft.people.push("main", {"ci/other.yaml": b"ignore: ['clusters/production/']\n"}, "A second workflow\n")
    for _ in range(2):
        ran = draft.run(config="ci/other.yaml")
        assert (ran.code, ran.writes, open_in(draft)) == (0, (), [1])
    require_rest(draft)
