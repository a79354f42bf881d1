"""Where an upgrade goes: into the tree, into pull requests, or to the tag of an artifact.

``plan``, ``upgrade`` and the Action do the same with each of them: read, decide, and show or apply.
"""

from __future__ import annotations

from typing import Any, Protocol

from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.values import NamedTuple


class Applied(NamedTuple):
    text: str
    failures: tuple[tuple[str, str, str], ...]  # Slug, what is wrong and what to do
    errors: tuple[type[FluxUpgradeError], ...]
    done: Any = None  # What the Action reports: a `Round`, or an `ArtifactOutcome`
    calls: int = 0  # To the forge


class Sink(Protocol):
    """``Any``: each has an inventory of its own, and plans."""

    def read(self) -> Any:
        """Everything that decisions depend on. Raises FluxUpgradeError for what is wrong with it."""

    def decide(self, inventory: Any) -> Any:
        """The plans. Nothing is written yet. Raises what planning raises."""

    def show(self, inventory: Any, plans: Any) -> str:
        """The plans, as a report."""

    def apply(self, inventory: Any, plans: Any) -> Applied:
        """Write what the plans allow; nothing in a dry run."""
