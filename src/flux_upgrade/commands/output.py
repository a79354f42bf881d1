"""What every command prints in the same way."""

from __future__ import annotations

from collections.abc import Sequence

from flux_upgrade.model.errors import NothingFound
from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from flux_upgrade.cli.options import UpgradeOptions
    from flux_upgrade.planning.plan import UpdateGroupPlan
    from flux_upgrade.planning.planner import Inventory


class Console(NamedTuple):
    """Where a command prints."""

    out: IO[bytes]
    err: IO[str]

    def show(self, text: str) -> None:
        """Print a report. File names may hold bytes that are no text (PEP 383); they are shown as escapes."""
        self.out.write(text.encode("utf-8", "backslashreplace"))
        self.out.flush()

    def fail(self, slug: str, message: str, hint: str) -> None:
        """One thing that went wrong, and what to do about it."""
        self.err.write(f"flux-upgrade: {slug}: {message}\n" + (f"  {hint}\n" if hint else ""))

    def warn(self, text: str) -> None:
        """A warning; what follows its first line is what to do about it."""
        message, _, hint = text.partition("\n")
        self.fail("warning", message, hint)


def require_any(installations: Sequence[object], path: str) -> None:
    """Raises NothingFound where there is no installation."""
    if not installations:
        raise NothingFound(
            f"there is nothing that pins Flux in {path}",
            hint="give the root of the repository, or the file or folder of gotk-components.yaml; "
            "a new one is made with `flux-upgrade render`",
        )


def show_plans(
    options: UpgradeOptions, inventory: Inventory, plans: Sequence[UpdateGroupPlan], console: Console
) -> None:
    """Print them, after what is wrong with the groups of the config file."""
    # Late: other commands show no plans.
    from flux_upgrade.report.plans import plans_json, plans_text

    for each in inventory.void:
        console.warn(each.text)
    if options.json:
        console.show(plans_json(plans, inventory.reported_only, inventory.void))
    else:
        console.show(plans_text(plans, inventory.reported_only))
