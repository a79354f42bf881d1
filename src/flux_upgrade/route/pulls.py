"""Pull requests that are open once a run is done, as steps name them."""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.policy.feedback import APPROVED


class OpenPull(NamedTuple):
    number: int  # 0: the host has no pull requests, and the branch is all there is
    url: str
    is_draft: bool = False
    is_issue: bool = False  # In place of a draft
    branch: str = ""
    waiting: frozenset[str] = frozenset()  # Paths of the installations that wait for the merge of a migration

    @property
    def name(self) -> str:
        return f"#{self.number}" if self.number else f"the branch `{self.branch}`"

    @property
    def merge(self) -> str:
        return f"mark {self.name} as ready for review, and merge it" if self.is_draft else f"merge {self.name}"

    @property
    def approve(self) -> str:
        """Return how a draft is approved; empty if there is none."""
        if not self.number:
            return ""
        if self.is_issue:
            return f"add the label `{APPROVED}` to {self.name}"
        return f"mark {self.name} as ready for review"


Pulls = Mapping[tuple[str, BumpKind], OpenPull]
"""Slug of an update group, kind of bump → the pull request that proposes it."""
