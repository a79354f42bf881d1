"""``flux-upgrade render``."""

from __future__ import annotations

from flux_upgrade.cli.options import Settings
from flux_upgrade.commands.wiring import build_flux, build_releases
from flux_upgrade.manifests.evidence import rules_for
from flux_upgrade.manifests.options import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def run(settings: Settings, out: IO[bytes], err: IO[str]) -> int:
    """Print what ``flux install --export`` prints."""
    releases, options = build_releases(settings), settings.options
    if not options.version:
        from flux_upgrade.manifests.regenerate import Regenerator
        from flux_upgrade.planning.manifest_planner import newest_stable

        options = options._replace(version=newest_stable(Regenerator(releases, build_flux(settings))))
    # What is wrong with the flags is said before anything is downloaded.
    validate(options)
    manifests = releases.manifests(options.version)
    validate(options, manifests.components)
    rules = rules_for(manifests, releases, build_flux(settings))
    text = rules.render(options)
    if rules.evidence:
        err.write(f"flux-upgrade: {options.version} is newer than the rules, but {rules.evidence}\n")
    if rules.not_covered and options.changed():
        err.write(f"  it speaks for default flags only; not covered: {', '.join(options.changed())}\n")
    if not manifests.verified:
        err.write(f"flux-upgrade: unverified: there is no checksum for the manifests of {options.version}\n")
    out.write(text.encode("utf-8", "backslashreplace"))
    return 0
