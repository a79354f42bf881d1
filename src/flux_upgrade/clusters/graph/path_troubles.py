"""Troubles of a path that is not known, or is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flux_upgrade.clusters.graph.builds import PlacedItem, Trouble
from flux_upgrade.clusters.graph.flux_objects import FluxKustomization, LocalChart, SourceKey, is_text_template
from flux_upgrade.clusters.graph.substitution import unknown_in
from flux_upgrade.model.kubernetes_objects import part
from flux_upgrade.model.text import repository_path


def path_trouble(
    reader: FluxKustomization | LocalChart, place: PlacedItem, above: str, *, is_there: bool
) -> tuple[Trouble, ...]:
    """Return what is the matter with a path; empty if nothing is. ``above``: as ``Root.above``."""
    path = repository_path(reader.path)
    if unknown := unknown_in(reader.path):
        is_open = path == unknown
        effect = ": each directory that it may be counts as read" if is_there else ", and no directory matches"
        message = f"{called(reader)} reads {reader.path}, and {unknown} is not in Git{'' if is_open else effect}"
        return (Trouble(place.path, place.line, message, is_open),)
    if is_there:
        return ()
    location = "outside of the directory that was looked at" if above else "not in this repository"
    return (
        Trouble(place.path, place.line, f"{called(reader)} reads {path}, which is {location}", is_outside=bool(above)),
    )


def template_trouble(data: Mapping[str, Any], place: PlacedItem) -> tuple[Trouble, ...]:
    """Return the trouble of a ResourceSet whose Kustomizations are a text; empty for anything else."""
    if not is_text_template(data):
        return ()
    message = f"the Kustomizations of ResourceSet {part(data, 'metadata').get('name')} come from a text template"
    return (Trouble(place.path, place.line, message, is_open=True),)


def called(reader: FluxKustomization | LocalChart) -> str:
    return (
        f"HelmRelease {reader.release}"
        if isinstance(reader, LocalChart)
        else f"{reader.namespace}/{reader.name}".strip("/")
    )


def spelled(key: SourceKey) -> str:
    return f"{key.kind} {key.namespace}/{key.name}".strip()
