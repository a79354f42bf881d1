"""``flux-upgrade rollback``."""

from __future__ import annotations

from flux_upgrade.artifacts.report_text import rollback_text
from flux_upgrade.artifacts.rollback import plan_rollback, roll_back
from flux_upgrade.cli.options import Settings
from flux_upgrade.commands.output import show
from flux_upgrade.commands.wiring import build_registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def run(settings: Settings, out: IO[bytes], err: IO[str]) -> int:
    """Have a tag stand for what it stood for before."""
    del err  # what goes wrong is raised
    assert settings.artifact is not None  # noqa: S101 settings have seen to it
    registry = build_registry(settings, settings.artifact)
    planned = plan_rollback(settings.artifact, settings.back_to, registry)
    roll_back(planned, registry)
    show(out, rollback_text(planned, written=not settings.dry_run))
    return 0
