"""The outcome, the outputs and the report of the Action follow from what the run did."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from flows import listed
from flux_upgrade.action.action_yml import OUTPUTS, REPORT_FILE, Outcome
from flux_upgrade.action.report import RunFacts, outcome_of, outputs, run_value
from flux_upgrade.model.errors import (
    CheckoutDiffers,
    EditConflict,
    ForbiddenByForge,
    ForgeUnavailable,
    Overtaken,
    Unreadable,
)
from flux_upgrade.model.exit_code import ExitCode
from flux_upgrade.model.versions import Release, Version
from flux_upgrade.planning.proposal import Action, Round
from flux_upgrade.planning.write_tree import exit_code
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.pull_requests import round_errors
from rounds import holding, planned, result, round_of, team_of

PATCH, MINOR, MAJOR, _ = BumpKind
ONE = planned()
ORPHAN = Hold(HoldReason.ORPHAN, "nobody refers to it")
CONFLICT = Hold(HoldReason.EDIT_CONFLICT, "a path", "take it out", EditConflict, MINOR, Version("v2.9.4"))
UNREADABLE = Hold(HoldReason.UNREADABLE, "broken", "mend it", Unreadable)
DIFFERS = Hold(HoldReason.CHECKOUT_DIFFERS, "it is behind", "git pull", CheckoutDiffers)
EDITED = Hold(HoldReason.BRANCH_EDITED, "somebody pushed", "merge it")
NEWEST = Hold(HoldReason.UP_TO_DATE)


def round_with(*actions: Action) -> Round:
    subjects = [PATCH, MINOR, MAJOR]
    return round_of(
        ONE, results=[result(ONE, action, subjects[at % 3], number=at + 1) for at, action in enumerate(actions)]
    )


@pytest.mark.parametrize(
    ("actions", "outcome"),
    [
        ([], "none"),
        ([Action.NONE, Action.NONE], "none"),
        ([Action.UNCHANGED, Action.NONE], "none"),
        ([Action.CLOSED], "closed"),
        ([Action.HELD, Action.UNCHANGED], "held"),
        ([Action.HELD, Action.CLOSED], "closed"),
        ([Action.UPDATED, Action.CLOSED, Action.HELD], "updated"),
        ([Action.UPDATED, Action.OPENED], "opened"),
    ],
)  # fmt: skip
def test_the_outcome_is_the_greatest_that_was_done(actions: Sequence[Action], outcome: str) -> None:
    assert outcome_of(round_with(*actions), written=True) == outcome


@pytest.mark.parametrize(
    ("hold", "outcome"),
    [
        (NEWEST, "none"),
        (ORPHAN, "held"),
        (Hold(HoldReason.COOLING_DOWN, "until then"), "held"),
        (CONFLICT, "failed"),
        (UNREADABLE, "failed"),
        (DIFFERS, "failed"),
    ],
)
def test_a_hold_is_an_outcome(hold: Hold, outcome: str) -> None:
    assert outcome_of(round_of(holding(hold)), written=True) == outcome
    opened = result(ONE, Action.OPENED, number=1)
    done = round_of(ONE, holding(hold, path="other"), results=[opened])
    assert outcome_of(done, written=True) == ("failed" if outcome == "failed" else "opened")


def test_a_failure_is_the_outcome_whatever_else_was_done() -> None:
    error = ForbiddenByForge("no", hint="allow it")
    done = round_of(ONE, results=[result(ONE, Action.OPENED, number=1), result(ONE, Action.FAILED, MINOR, error=error)])
    assert outcome_of(done, written=True) is Outcome.FAILED


@pytest.mark.parametrize(
    ("actions", "outcome"),
    [
        ([], "none"),
        ([Action.UNCHANGED, Action.NONE], "none"),
        ([Action.OPENED], "held"),
        ([Action.UPDATED, Action.UNCHANGED], "held"),
        ([Action.CLOSED], "held"),
        ([Action.HELD], "held"),
    ],
)
def test_what_a_dry_run_only_reports_was_not_done(actions: Sequence[Action], outcome: str) -> None:
    done = round_with(*actions)
    assert outcome_of(done, written=False) == outcome
    assert outputs(done, written=False)["outcome"] == outcome
    value = run_value(done, calls=1, written=False)
    assert (value["outcome"], value["dry-run"]) == (outcome, True)

    reported = [each["action"] for each in value["pull-requests"]]
    assert reported == [action for action in actions if action is not Action.NONE]


@pytest.mark.parametrize(("written", "task"), [(True, "merge"), (False, "upgrade")])
def test_a_pull_request_that_would_be_opened_is_not_merged(written: bool, task: str) -> None:  # noqa: FBT001
    value = run_value(round_of(planned(), results=[result(planned(), Action.OPENED)]), calls=1, written=written)
    assert [step["task"] for step in value["steps"] if "v2.8.8" in step["what"]] == [task]


def test_the_report_has_the_run_and_the_dates_of_its_releases() -> None:
    done = round_of(planned())
    current = done.plans[0].plans[0].pin.version
    releases = (
        Release(current, published_at="2026-05-12T09:12:00Z"),
        Release(Version("v2.1.0"), published_at="2023-08-24T07:47:00Z"),  # It is about none that runs
        *(Release(each.target, published_at="yesterday") for each in done.plans[0].plans[0].upgrades),
    )
    value = run_value(done, calls=1, written=True, run=RunFacts(1_786_000_000.0, "https://github.com/a/b", releases))
    assert (value["created-at"], value["run-url"]) == ("2026-08-06T07:06:40Z", "https://github.com/a/b")
    assert value["releases"] == {current: "2026-05-12T09:12:00Z"}


def test_what_fails_without_writing_is_a_failure() -> None:
    assert outcome_of(round_of(holding(CONFLICT)), written=False) is Outcome.FAILED


# Exit codes


@pytest.mark.parametrize(
    ("holds", "errors", "code"),
    [
        ([], [], 0),
        ([NEWEST], [], 0),
        ([ORPHAN], [], 0),
        ([ORPHAN, CONFLICT], [], EditConflict.exit_code),
        ([CONFLICT, UNREADABLE, DIFFERS], [], ExitCode.NEEDS_YOU),
        ([DIFFERS], [], CheckoutDiffers.exit_code),
        ([], [ForbiddenByForge("no")], ForbiddenByForge.exit_code),
        ([], [ForgeUnavailable("x"), Overtaken("x"), ForbiddenByForge("no")], ExitCode.REFUSED),
        ([DIFFERS], [ForgeUnavailable("x")], ExitCode.SOURCE),
        ([DIFFERS], [ForbiddenByForge("no")], ForbiddenByForge.exit_code),
    ],
)
def test_the_class_that_takes_precedence_decides_how_a_run_ends(
    holds: Sequence[Hold], errors: Sequence[ForbiddenByForge], code: int
) -> None:
    teams = [holding(hold, path=f"clusters/{at}") for at, hold in enumerate(holds)]
    results = [result(ONE, Action.FAILED, error=error) for error in errors]
    assert exit_code(round_errors(round_of(ONE, *teams, results=results))) == code


def test_what_a_person_has_to_do_on_a_branch_ends_green() -> None:
    done = round_of(ONE, results=[result(ONE, Action.HELD, hold=EDITED, number=1)])
    assert exit_code(round_errors(done)) == 0
    assert outcome_of(done, written=True) is Outcome.HELD


# Outputs


def test_outputs_are_those_of_the_action() -> None:
    names = {each.name for each in OUTPUTS}
    assert set(outputs(round_of(ONE), written=True)) == names - {"report", "report-file"}
    assert REPORT_FILE.endswith(".json")


def test_one_installation_tells_its_versions() -> None:
    done = round_of(ONE, results=[result(ONE, Action.OPENED, number=7), result(ONE, Action.NONE, MINOR)])
    assert outputs(done, written=True) == {
        "outcome": "opened",
        "current-version": "v2.8.7",
        "target-version": "v2.8.8",
        "pending-version": "v2.9.4",
        "pull-request-number": "7",
        "pull-request-url": "https://github.com/acme/fleet/pull/7",
        "pull-requests": '[{"number": 7, "url": "https://github.com/acme/fleet/pull/7", "operation": "opened", '
        '"target": "v2.8.8"}]',
        "artifact": "",
        "digest": "",
    }


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (["v2.8.7", "v2.8.7"], ("v2.8.7", "v2.8.8", "v2.9.4")),
        (["v2.8.7", "v2.8.8"], ("", "", "v2.9.4")),
        (["v2.8.8", "v2.9.4"], ("", "", "")),
        (["v2.9.4", "v2.9.4"], ("v2.9.4", "", "")),
        ([], ("", "", "")),
    ],
)
def test_versions_are_empty_where_installations_differ(versions: Sequence[str], expected: tuple[str, str, str]) -> None:
    teams = [planned(version, path=f"clusters/{at}") for at, version in enumerate(versions)]
    given = outputs(round_of(*teams), written=True)
    assert (given["current-version"], given["target-version"], given["pending-version"]) == expected


def test_an_approved_minor_is_the_target() -> None:
    given = outputs(round_of(planned(approve=["2.9"])), written=True)
    assert (given["target-version"], given["pending-version"]) == ("v2.9.4", "")


def test_an_installation_of_no_known_version_has_none() -> None:
    given = outputs(round_of(planned(releases=listed())), written=True)
    assert (given["target-version"], given["pending-version"]) == ("", "")


@pytest.mark.parametrize(
    ("results", "number"),
    [
        ([(Action.OPENED, PATCH, 7), (Action.OPENED, MINOR, 8)], ""),
        ([(Action.UNCHANGED, PATCH, 7)], "7"),
        ([(Action.CLOSED, PATCH, 7), (Action.UPDATED, MINOR, 8)], "8"),
        ([(Action.CLOSED, PATCH, 7)], ""),
        ([(Action.HELD, PATCH, 7)], "7"),
        ([(Action.OPENED, PATCH, 0)], ""),
        ([], ""),
    ],
)
def test_the_one_pull_request(results: Sequence[tuple[Action, BumpKind, int]], number: str) -> None:
    done = round_of(ONE, results=[result(ONE, action, subject, number=at) for action, subject, at in results])
    given = outputs(done, written=True)
    assert given["pull-request-number"] == number
    assert given["pull-request-url"].rpartition("/")[2] == number
    assert [each["number"] for each in json.loads(given["pull-requests"])] == [at for *_, at in results if at]


def test_an_issue_is_no_pull_request() -> None:
    given = outputs(round_of(ONE, results=[result(ONE, Action.OPENED, MINOR, number=3, is_issue=True)]), written=True)
    assert (given["pull-request-number"], given["pull-requests"]) == ("", "[]")
    assert given["outcome"] == "opened"


@pytest.mark.parametrize("action", Action)
def test_operations_are_of_the_outcomes(action: Action) -> None:
    (entry,) = json.loads(
        outputs(round_of(ONE, results=[result(ONE, action, number=1)]), written=True)["pull-requests"]
    )
    assert entry["operation"] in set(Outcome)


# The report


def test_the_report_has_everything_but_what_there_is_not() -> None:
    error = ForbiddenByForge("no", hint="allow it")
    both = team_of("prod", *planned().plans, *holding(UNREADABLE).plans)
    done = round_of(
        both,
        results=[
            result(both, Action.NONE, MAJOR),
            result(both, Action.FAILED, MINOR, error=error),
            result(both, Action.HELD, PATCH, number=4, hold=EDITED, warnings=["no labels"]),
        ],
    )
    value = run_value(done, calls=3, written=True)
    assert value["dry-run"] is False
    assert (value["outcome"], value["repository"], value["base"], value["calls"]) == ("failed", "acme/fleet", "main", 3)
    assert [each["update-group"] for each in value["installations"]] == ["prod", "prod"]
    assert [each["action"] for each in value["pull-requests"]] == ["failed", "held"]
    assert value["pull-requests"][0]["error"] == "no"
    assert value["pull-requests"][1]["reason"] == "branch-edited"
    assert value["pull-requests"][1]["warnings"] == ["no labels"]
    assert [each["slug"] for each in value["failures"]] == ["unreadable", "forbidden"]
    assert json.loads(json.dumps(value)) == value
