"""Objects that install the extension ``shoot-flux`` itself in Gardener, at a release of its own."""

from __future__ import annotations

from flux_upgrade.kinds.formats.yaml_places import Object, Step

CONTROLLERS = (("core.gardener.cloud", "ControllerDeployment"), ("operator.gardener.cloud", "Extension"))
"""Group and kind."""
_NAME = "shoot-flux"
_PLACES: tuple[tuple[Step, ...], ...] = (
    ("helm", "ociRepository", "ref"),
    ("helm", "ociRepository", "tag"),
    ("helm", "ociRepository", "digest"),
    ("helm", "values", "image"),
    ("providerConfig", "values", "image", "tag"),
    ("providerConfig", "values", "image"),
    ("spec", "deployment", "extension", "helm", "ociRepository", "ref"),
    ("spec", "deployment", "extension", "helm", "ociRepository", "tag"),
    ("spec", "deployment", "extension", "helm", "ociRepository", "digest"),
)
"""Of a version: in ControllerDeployment v1 and v1beta1 and in the operator's Extension."""


def version_place(each: Object) -> tuple[Step, ...] | None:
    """Where the extension's version stands; None where there is none, or it is another extension's."""
    name = each.text_at("metadata", "name")
    for place in _PLACES:
        version, repository = each.text_at(*place), each.text_at(*place[:-1], "repository")
        if version and _NAME in f"{name} {repository} {version}":
            return place
    return None
