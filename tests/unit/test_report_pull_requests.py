"""The report of a run says what was done with each pull request, and steers no terminal."""

from __future__ import annotations

from flux_upgrade.model.errors import CheckoutDiffers, EditConflict, ForbiddenByForge
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.proposal import Action
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.pull_requests import round_failures, round_text
from rounds import holding, planned, result, round_of

PATCH, MINOR, MAJOR, _ = BumpKind
ONE = planned()
EDITED = Hold(HoldReason.BRANCH_EDITED, "another user pushed", "merge it")


def below_the_plans(text: str) -> list[str]:
    return text.rpartition("\n\n")[2].splitlines()


def test_what_was_done_stands_below_the_plans() -> None:
    done = round_of(
        ONE,
        results=[
            result(ONE, Action.OPENED, PATCH, number=1, warnings=["the label flux does not exist"]),
            result(ONE, Action.HELD, MINOR, number=2, hold=EDITED),
            result(ONE, Action.NONE, MAJOR),
        ],
    )
    text = round_text(done, calls=6, written=True)
    assert text.startswith(
        "clusters/staging/flux-system/gotk-components.yaml  v2.8.7\n  patch: upgrade v2.8.7 → v2.8.8\n"
    )
    assert below_the_plans(text) == [
        "clusters/staging · patch: opened · https://github.com/acme/fleet/pull/1",
        "  warning: the label flux does not exist",
        "clusters/staging · minor: held · https://github.com/acme/fleet/pull/2",
        "  branch-edited: another user pushed",
        "  to unblock: merge it",
        "6 calls to acme/fleet",
    ]


def test_a_dry_run_says_what_would_be_done() -> None:
    done = round_of(
        ONE,
        results=[
            result(ONE, Action.OPENED, PATCH),
            result(ONE, Action.UNCHANGED, MINOR, number=2),
            result(ONE, Action.HELD, MAJOR, number=3, hold=EDITED),
        ],
    )
    assert below_the_plans(round_text(done, calls=1, written=False)) == [
        "clusters/staging · patch: would be opened · flux-upgrade/clusters.staging/patch",
        "clusters/staging · minor: unchanged · https://github.com/acme/fleet/pull/2",
        "clusters/staging · major: held · https://github.com/acme/fleet/pull/3",
        "  branch-edited: another user pushed",
        "  to unblock: merge it",
        "1 call to acme/fleet",
    ]


def test_what_has_no_remedy_promises_none() -> None:
    hold = Hold(HoldReason.BRANCH_EDITED, "another user pushed")
    text = round_text(round_of(ONE, results=[result(ONE, Action.HELD, hold=hold)]), calls=1, written=True)
    assert "remedy" not in below_the_plans(text)[1]
    assert len(below_the_plans(text)) == 3


def test_failures_are_those_of_installations_and_of_pull_requests() -> None:
    conflict = Hold(HoldReason.EDIT_CONFLICT, "a path", "take it out", EditConflict, MINOR, Version("v2.9.4"))
    held = holding(conflict, Hold(HoldReason.ORPHAN, "nobody"))
    error = ForbiddenByForge("the token may not", hint="allow it")
    done = round_of(held, results=[result(ONE, Action.FAILED, error=error), result(ONE, Action.HELD, hold=EDITED)])
    assert list(round_failures(done)) == [
        ("edit-conflict", "clusters/staging: a path", "take it out"),
        ("forbidden", "clusters/staging: the token may not", "allow it"),
    ]


def test_a_detail_that_names_the_file_is_not_given_its_name_twice() -> None:
    hold = Hold(HoldReason.CHECKOUT_DIFFERS, "a/gotk.yaml has changes", "commit them", CheckoutDiffers)
    done = round_of(holding(hold, path="a/gotk.yaml"))
    assert list(round_failures(done)) == [("checkout-differs", "a/gotk.yaml has changes", "commit them")]


def test_nothing_that_steers_a_terminal_is_shown() -> None:
    hold = Hold(HoldReason.BRANCH_EDITED, "by \x1b[31mred\x1b[0m\r\n::error::x", "do\x07")
    held = holding(hold, path="clusters/\x1b[2J\u202eodd")
    text = round_text(round_of(held, results=[result(held, Action.HELD, hold=hold)]), calls=1, written=True)
    assert all(line.isprintable() for line in text.splitlines())
    assert "\n::error" not in text


def test_where_everything_is_ignored_that_is_said() -> None:
    assert round_text(round_of(), calls=1, written=True).startswith(
        "nothing to upgrade: each installation is ignored by"
    )
