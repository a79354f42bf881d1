"""``flux-upgrade inspect``."""

from __future__ import annotations

from flux_upgrade.build import build_regenerator, build_tree
from flux_upgrade.commands.printing import fail, require_any, show
from flux_upgrade.errors import Unreadable
from flux_upgrade.kinds import discover
from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.report.inspection import inspection_json, inspection_text
from flux_upgrade.report.wording import located
from flux_upgrade.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def run(settings: Settings, out: IO[bytes], err: IO[str]) -> int:
    """Say what every installation really is."""
    installations = list(discover(build_tree(settings.path), build_regenerator(settings)))
    show(
        out,
        inspection_json(installations) if settings.json else inspection_text(installations, settings.path),
    )
    require_any(installations, settings.path)
    broken = [each for each in installations if each.proof.verdict is Verdict.UNREADABLE]
    for each in broken:
        where = located(settings.path, each.path)
        fail(err, Unreadable.slug, f"{where}: {each.proof.reason}", each.proof.hint)
    return Unreadable.exit_code if broken else 0
