"""Pull requests that are open once a run is done, as steps name them."""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.decision import BumpKind


class OpenPull(NamedTuple):
    number: int
    url: str
    is_draft: bool = False

    @property
    def name(self) -> str:
        return f"#{self.number}"


Pulls = Mapping[tuple[str, BumpKind], OpenPull]
"""Slug of an update group, kind of bump → the pull request that proposes it."""
