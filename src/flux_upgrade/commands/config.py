"""``flux-upgrade config check``."""

from __future__ import annotations

from flux_upgrade.build import read_text
from flux_upgrade.commands.printing import show
from flux_upgrade.config import check_report
from flux_upgrade.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def run(settings: Settings, out: IO[bytes], err: IO[str]) -> int:
    """Say what the config file means, or everything that is wrong with it."""
    del err
    show(
        out,
        check_report(
            read_text(settings.path, "name the file: flux-upgrade config check FILE"), settings.path
        ),
    )
    return 0
