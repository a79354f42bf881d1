"""Kustomizations that a release concerns."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.breaks.row import Found
from flux_upgrade.resources.flux_file import FluxObject


def substituted(kustomization: FluxObject) -> Iterator[Found]:
    """Those that put in variables; where there are none, nothing is substituted."""
    build = ("spec", "postBuild")
    if kustomization.keys(*build, "substitute") or kustomization.count(*build, "substituteFrom"):
        yield Found(kustomization.key_line_at(*build))


def composed(kustomization: FluxObject) -> Iterator[Found]:
    """Those with components."""
    if kustomization.count("spec", "components"):
        yield Found(kustomization.key_line_at("spec", "components"))
