"""Fetch, decide, apply; and again, if somebody was faster or an answer was lost: how often, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from flux_upgrade.model.errors import FluxUpgradeError, ForgeUnavailable, Overtaken
from flux_upgrade.model.forge import ClosePull, OpenIssue, OpenPull, Step, UpdateIssue, UpdatePull
from flux_upgrade.planning.proposal import Action

_ROUNDS = 3
"""Somebody who is faster three times in a row is at work on the same branch."""
_TRIES = 2
"""Rounds where a server gives no answer: a write may have been applied all the same."""

ACTIONS: dict[type[Step], Action] = {
    OpenPull: Action.OPENED,
    OpenIssue: Action.OPENED,
    UpdatePull: Action.UPDATED,
    UpdateIssue: Action.UPDATED,
    ClosePull: Action.CLOSED,
}
"""What a step that was applied has done."""

_Fetched = TypeVar("_Fetched")


def rounds(fetch: Callable[[], _Fetched]) -> Iterator[tuple[int, _Fetched]]:
    """The number of each round, from 1, and what ``fetch`` returns at its beginning; at most three.

    The caller acts on it, and ends the rounds where no result ``may_change``. Raises what ``fetch`` raises at
    first; later that is the end, too: what was done is reported, and the next run goes on from there.
    """
    for number in range(1, _ROUNDS + 1):
        try:
            fetched = fetch()
        except FluxUpgradeError:
            if number == 1:
                raise
            return
        yield number, fetched


def may_change(error: FluxUpgradeError | None, done: int) -> bool:
    """Whether another round may end better than with ``error``: somebody was faster, or an answer was lost.

    ``done``: the rounds so far.
    """
    if isinstance(error, Overtaken):
        return done < _ROUNDS
    return isinstance(error, ForgeUnavailable) and done < _TRIES
