from __future__ import annotations

import pytest

from healthy.carefulness import Change, Comparison, Rank, rank, table
from healthy.decisions import Decision, Place

READY = Decision("v2.8.8", "v2.9.4", "ready", merges=True)
ACTION = READY._replace(merges=False, actions=("flux migrate, before",))
WAITING = READY._replace(state="needs approval")
HELD = READY._replace(state="held", reason="overlay-breaks", merges=False)
BLOCKED = HELD._replace(reason="force-recreates")
PLACE = Place("acme", "history", "approved", "clusters/production minor")


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (Decision("v2.9.4", "", "up to date", "up-to-date"), Rank.NOTHING),
        (Decision("v2.9.4", "", "held", "floating"), Rank.NOTHING),
        (READY, Rank.READY),
        (ACTION, Rank.READY_WITH_ACTION),
        (WAITING, Rank.WAITS),
        (HELD._replace(reason="cooling-down"), Rank.WAITS),
        (HELD._replace(reason="waits-for-group"), Rank.WAITS),
        (HELD, Rank.HELD),
        (HELD._replace(reason="migration-pending"), Rank.HELD),
        (BLOCKED, Rank.BLOCKED),
        (HELD._replace(reason="a later reason"), Rank.BLOCKED),
        (Decision("", "", "failed", "nothing-found"), Rank.BLOCKED),
    ],
)
def test_ranks(decision: Decision, expected: Rank) -> None:
    assert rank(decision) is expected


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [
        (READY, READY, Change.SAME),
        (READY, ACTION, Change.MORE),
        (ACTION, WAITING, Change.MORE),
        (WAITING, HELD, Change.MORE),
        (HELD, BLOCKED, Change.MORE),
        (HELD, ACTION, Change.LESS),
        (READY, READY._replace(target="v2.7.5"), Change.MORE),
        (READY._replace(target="v2.7.5"), READY, Change.LESS),
        (WAITING, WAITING._replace(actions=ACTION.actions), Change.ACTION),
        (WAITING, WAITING._replace(merges=False), Change.ACTION),
        (WAITING._replace(merges=False), WAITING, Change.LESS),
        (ACTION, ACTION._replace(actions=("another",)), Change.SAME),
        (ACTION, ACTION._replace(actions=("another", *ACTION.actions)), Change.ACTION),
    ],
)
def test_changes(before: Decision, now: Decision, change: Change) -> None:
    assert Comparison(PLACE, before, now).change is change


def test_a_lost_auto_merge() -> None:
    assert Comparison(PLACE, READY, ACTION).loses_auto_merge
    assert not Comparison(PLACE, ACTION, READY).loses_auto_merge


def test_the_table_has_a_line_for_each_mode() -> None:
    more = Comparison(PLACE, READY, ACTION)
    same = Comparison(PLACE._replace(mode="files"), ACTION, ACTION)
    _, files, history = table([more, same, more._replace(now=READY)])
    assert " ".join(files.split()) == "files 1 0 ( 0.0%) 0 ( 0.0%) 1 (100.0%) 0 ( 0.0%)"
    assert " ".join(history.split()) == "history 2 1 ( 50.0%) 0 ( 0.0%) 1 ( 50.0%) 0 ( 0.0%)"


def test_a_decision_as_text() -> None:
    assert str(ACTION) == "v2.8.8 → v2.9.4: ready, flux migrate, before"
    assert str(Decision("", "", "held", "unverified")) == "unknown: held, unverified"
    assert str(READY) == "v2.8.8 → v2.9.4: ready, auto-merge"
