"""``flux-upgrade inspect``."""

from __future__ import annotations

from flux_upgrade.cli.options import Settings
from flux_upgrade.clusters.clusters import Member, clusters_of
from flux_upgrade.commands.output import fail, require_any, show
from flux_upgrade.commands.read import scope_of
from flux_upgrade.commands.wiring import build_pin_context
from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.pins.discover import discover
from flux_upgrade.report.inspection import Inspected, inspection_json, inspection_text
from flux_upgrade.report.wording import located

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def run(settings: Settings, out: IO[bytes], err: IO[str]) -> int:
    """Say what every installation really is, and what pins it."""
    if settings.artifact is not None:
        from flux_upgrade.commands import artifacts

        return artifacts.inspect(settings, settings.artifact, out, err)
    scope = scope_of(settings)
    context = build_pin_context(settings, scope.tree)
    everything = discover(context)
    installations = tuple(each for each in everything if each.is_manifest)
    pins = tuple(each for each in everything if not each.is_manifest)
    members = (Member(each, scope.below + each.path) for each in everything if not each.is_reported_only)
    clusters = clusters_of(members, scope.whole)
    found = Inspected(installations, pins, clusters)
    show(out, inspection_json(found) if settings.json else inspection_text(found, settings.path))
    require_any(everything, settings.path)
    broken = [each for each in installations if each.proof.verdict is Verdict.UNREADABLE]
    for each in broken:
        where = located(settings.path, each.path)
        fail(err, Unreadable.slug, f"{where}: {each.proof.reason}", each.proof.hint)
    return Unreadable.exit_code if broken else 0
