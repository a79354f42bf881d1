"""``flux-upgrade render``."""

from __future__ import annotations

from flux_upgrade.cli.options import RenderOptions
from flux_upgrade.commands.output import Console
from flux_upgrade.commands.wiring import build_flux, build_regenerator, build_releases
from flux_upgrade.config.environment import Environment
from flux_upgrade.manifests.options import validate, variables_refused_by_flux
from flux_upgrade.manifests.plausible import require_plausible
from flux_upgrade.manifests.render import rules_for


def run(options: RenderOptions, environment: Environment, console: Console) -> int:
    releases, install = build_releases(environment, options.release_source), options.install
    if not install.version:
        from flux_upgrade.planning.manifest_planner import newest_stable

        install = install._replace(version=newest_stable(build_regenerator(environment, releases)))
    # What is wrong with the flags is said before anything is downloaded.
    validate(install)
    manifests = releases.manifests(install.version)
    require_plausible(manifests)
    validate(install, manifests.components)
    rules = rules_for(manifests, releases, build_flux(environment))
    text = rules.render(install)
    if refused := variables_refused_by_flux(install):
        console.warn(
            f"`flux install` refuses a variable in {' and '.join(refused)}\n"
            "replace it in the manifest before you apply it"
        )
    if rules.evidence:
        console.tell(f"flux-upgrade: {install.version} is newer than the rules, but {rules.evidence}\n")
    if rules.not_covered and install.changed():
        changed = ", ".join(install.changed())
        console.tell(f"  it speaks for default flags only; not covered: {changed}\n")
    if not manifests.verified:
        console.fail("no-checksum", f"there is no checksum for the manifests of {install.version}", "")
    # It is for a file, made of a release and flags: a word in it that a secret has, too, has to stay.
    console._replace(mask=str).show(text)
    return 0
