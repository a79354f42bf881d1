"""Whether the rules hold for a release: known, proved by evidence, or not at all.

Evidence for a release newer than the rules, in this order: (a) the generator's
source at that tag is, by hash, one that the rules were made from; (b) what Flux
published for the release comes out byte for byte; (c) a ``flux`` binary of that
version does the work itself. Without any of them nothing is rendered: a wrong
file is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable

from flux_upgrade.manifests.generators import (
    GENERATOR_PATHS,
    GENERATORS,
    Generator,
    generator_of_sources,
    known_generator,
)
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.render import header, render
from flux_upgrade.model.errors import UnsupportedRelease
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import ReleaseManifests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.ports import FluxCli, Releases

Render = Callable[[InstallOptions], str]


class Rules(NamedTuple):
    """How one release is rendered, and why that is right."""

    render: Render
    generator: Generator | None
    """None where the Flux CLI renders."""
    evidence: str = ""
    """Empty for a release that the rules were compared with; else a sentence for the report."""
    not_covered: bool = False
    """True where the evidence speaks for default flags only."""


def rules_for(manifests: ReleaseManifests, releases: Releases, flux: FluxCli) -> Rules:
    """The rules for a release. Raises UnsupportedRelease, SourceUnavailable, UntrustedArchive."""
    tag = manifests.tag

    def by(generator: Generator) -> Render:
        return lambda options: render(manifests, options, generator)

    if tag.startswith(("v0.", "v1.")):
        raise UnsupportedRelease(
            f"{tag} is older than Flux 2", hint="render it with the Flux CLI of that version"
        )
    known = known_generator(tag)
    if known is not None:
        return Rules(by(known), known)
    hashes = releases.generator_hashes(tag, GENERATOR_PATHS)
    if hashes is not None and (same := generator_of_sources(dict(hashes))) is not None:
        return Rules(by(same), same, f"the generator's source at {tag} is that of Flux {same.since}")
    published = releases.published(tag)
    if published is not None:
        for generator in reversed(GENERATORS):
            if _reproduces(published, manifests, generator):
                why = f"the manifest that Flux published for {tag} comes out byte for byte"
                return Rules(by(generator), generator, why, not_covered=True)
    if flux.version() == tag:
        export = flux.install_export
        return Rules(lambda options: export(options.command_line()), None, f"rendered by flux {tag}")
    raise _unsupported(tag, published, hashes is not None)


def _reproduces(published: str, manifests: ReleaseManifests, generator: Generator) -> bool:
    for line in published.splitlines()[:8]:
        if line.startswith("# Components: "):
            components = tuple(line.removeprefix("# Components: ").split(","))
            options = InstallOptions(manifests.tag)._replace(components=components)
            is_like = set(components) <= set(manifests.components) and published.startswith(header(options))
            return is_like and published == render(manifests, options, generator)
    return False


def _unsupported(tag: str, published: str | None, source_differs: bool) -> UnsupportedRelease:  # noqa: FBT001 private
    reason = f"the source of its generator {'differs' if source_differs else 'is not at hand'}"
    if published is None:
        return UnsupportedRelease(
            f"{tag} is newer than the rules of this flux-upgrade; {reason}, and the manifest that Flux "
            "publishes for each release is not there yet",
            hint="it appears minutes after the release: run again later",
            pending=True,
        )
    return UnsupportedRelease(
        f"{tag} is newer than the rules of this flux-upgrade; {reason}, and the manifest that Flux published "
        "for it does not come out byte for byte",
        hint=f"use a newer flux-upgrade, or put the flux CLI {tag} on PATH: it will be used",
    )
