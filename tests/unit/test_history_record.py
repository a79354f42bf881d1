"""A search of the history is recorded, and repeated only if its question changes or its answer was incomplete."""

from __future__ import annotations

import json

import pytest

from flux_upgrade.impact.impact import PastRelease, Refused, Stored
from flux_upgrade.impact.stored_versions.history import HistoryQuery, read, written
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version
from replacing import replace

ASKED = HistoryQuery("clusters/a/gotk-components.yaml", b"content", Version("v2.8.8"), Version("v2.9.4"), ())
OLD = Refused("alerts.example", "Alert", "v1beta2", PastRelease("v2.1.0", "2023-08-24T00:00:00Z", ()))
NOW = Refused("receivers.example", "Receiver", "v1beta3", PastRelease("v2.8.8", "", ()))
FOUND = Stored((OLD, NOW), (NOW,), "2.8")


def test_what_was_written_is_read() -> None:
    assert read([written(ASKED, FOUND)], ASKED) == FOUND
    assert read([written(ASKED, Stored())], ASKED) == Stored()


def test_the_same_answers_whoever_ran_flux_migrate_since() -> None:
    line = written(ASKED, FOUND)
    ran = replace(ASKED, migrated=("v2.8.8",))
    assert read([line], ran) == Stored((NOW,), (NOW,), "2.8", resolved=(OLD, NOW))
    assert written(ran, Stored((NOW,), (NOW,), "2.8", resolved=(OLD, NOW))) == line


@pytest.mark.parametrize(
    "other",
    [
        replace(ASKED, path="clusters/b/gotk-components.yaml"),
        replace(ASKED, content=b"another"),
        replace(ASKED, target="v2.9.5"),
        replace(ASKED, migrated=("v2.7.5",)),
    ],
)
def test_another_question_is_asked_anew(other: HistoryQuery) -> None:
    assert read([written(ASKED, FOUND)], other) is None


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "1", json.dumps([ASKED.key, [["a"]], []]), json.dumps([ASKED.key, [1], []])]
)
def test_what_people_wrote_there_is_nothing(line: str) -> None:
    assert read([line], ASKED) is None


def test_what_could_not_be_had_is_asked_again() -> None:
    assert not written(ASKED, replace(FOUND, unknown=Unknown("the checkout is shallow")))
