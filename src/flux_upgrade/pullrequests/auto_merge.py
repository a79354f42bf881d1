"""Auto-merge of a pull request: when it is turned on, and when what we turned on is turned off again. Pure.

GitHub turns it off for a draft. Whoever turns off what we turned on has decided: it stays off.
"""

from __future__ import annotations

from collections.abc import Iterable

from flux_upgrade.model.forge import Extras, PullRequest
from flux_upgrade.model.markers import AUTO_MERGE, AUTO_MERGE_OFF
from flux_upgrade.model.values import NamedTuple

_RECORDS = (AUTO_MERGE, AUTO_MERGE_OFF)


class Change(NamedTuple):
    given: tuple[str, ...]  # ``MarkerState.given`` by then
    starts: bool = False
    stops: bool = False  # After ``given`` is written: a run that ends in between leaves that to the next one


def given(extras: Extras) -> tuple[str, ...]:
    """``MarkerState.given`` of a pull request that is opened with them."""
    return (*extras.names, *([AUTO_MERGE] if extras.auto_merge else []))


def change(pull: PullRequest, before: Iterable[str], viewer: str, extras: Extras, *, makes_draft: bool) -> Change:
    """What becomes of it. ``before``: what ``pull`` was given; ``viewer``: login of the token, empty if unknown."""
    rest = tuple(name for name in before if name not in _RECORDS)
    record = next((name for name in before if name in _RECORDS), "")
    is_on = pull.merges_for is not None
    is_ours = is_on and _is_ours(pull.merges_for or "", viewer, record)
    if extras.auto_merge:
        starts = not is_on and record != AUTO_MERGE
        kept = AUTO_MERGE if starts or is_ours else record
        return Change((*rest, *filter(None, [kept])), starts=starts)
    if record and (is_ours or makes_draft):
        record = AUTO_MERGE_OFF
    return Change((*rest, *filter(None, [record])), stops=is_ours and not makes_draft and not pull.is_draft)


def _is_ours(login: str, viewer: str, record: str) -> bool:
    """Whether we turned it on: a user with a personal token has the same login, and then only the record shows it."""
    if login and viewer and login.lower() != viewer.lower():
        return False
    return bool(record) or (bool(viewer) and viewer.endswith("[bot]"))
