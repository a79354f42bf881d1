"""Manifests as Flux publishes them, and the flags to compare their renderings with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flux_upgrade.manifests.generators import Generator, known_generator
from flux_upgrade.manifests.options import COMPONENTS, InstallOptions
from flux_upgrade.manifests.render import render
from flux_upgrade.model.versions import ReleaseManifests, Version


def published_components(manifests: ReleaseManifests) -> tuple[str, ...]:
    """Those in ``flux-manifests``: all that the release ships, but source-watcher since v2.9.3 only."""
    has_watcher = Version(manifests.tag) >= Version("v2.9.3")
    return tuple(
        name for name in COMPONENTS if name in manifests.components and (name != "source-watcher" or has_watcher)
    )


def generator_of(tag: str) -> Generator:
    found = known_generator(tag)
    assert found is not None, tag
    return found


def published(manifests: ReleaseManifests, registry: str = "ghcr.io/fluxcd") -> str:
    """What Flux publishes: its default flags, by the release's own rules."""
    options = InstallOptions(manifests.tag, components=published_components(manifests), registry=registry)
    return render(manifests, options, generator_of(manifests.tag))


def option_sets(manifests: ReleaseManifests) -> Iterator[InstallOptions]:
    """Every flag by itself, and all at once."""
    plain, every = InstallOptions(manifests.tag), published_components(manifests)
    flags: tuple[dict[str, Any], ...] = (
        {"components": every},
        {"components": every[::-1]},
        {"components": ("source-controller", "helm-controller")},
        {"namespace": "gitops"},
        {"registry": "registry.example/mirror/flux"},
        {"registry": ""},
        {"network_policy": False},
        {"watch_all_namespaces": False},
        {"log_level": "debug"},
        {"toleration_keys": ("node.example/one", "*", "123")},
        {"image_pull_secret": "pull"},
        {"cluster_domain": "cluster.example"},
    )
    together: dict[str, Any] = {}
    yield plain
    for each in flags:
        yield plain._replace(**each)
        together |= each
    yield plain._replace(**{**together, "components": every})


def differences(
    real: ReleaseManifests, derived: ReleaseManifests, *generators: Generator
) -> list[tuple[str, InstallOptions]]:
    """Rules and flags with which the two do not render the same bytes; of no rules, the release's own."""
    return [
        (generator.since, options)
        for generator in generators or [generator_of(real.tag)]
        for options in option_sets(real)
        if render(real, options, generator) != render(derived, options, generator)
    ]
