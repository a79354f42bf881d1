"""What a ``FluxConfig`` of Gardener's extension ``shoot-flux`` says, and where its version stands.

gardener-extension-shoot-flux pkg/apis/flux/v1alpha1/types.go and defaults.go.
"""

from __future__ import annotations

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.ranges import folder_of
from flux_upgrade.snapshot.yaml_places import Object, Step

_TEMPLATES: tuple[tuple[Step, ...], ...] = (
    ("source", "template"),
    ("source", "gitRepository", "template"),
    ("source", "ociRepository", "template"),
    ("kustomization", "template"),
)
_FIRST_WITHOUT = {"v1beta1": "v2.7.0", "v1beta2": "v2.8.0"}
"""Version of the API → the release whose CRDs dropped it: GitRepository, OCIRepository, Kustomization."""
CONTROLLERS = (("core.gardener.cloud", "ControllerDeployment"), ("operator.gardener.cloud", "Extension"))
"""Group and kind of the objects that install Gardener's extensions."""
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
"""Paths of the extension's version: ControllerDeployment v1 and v1beta1, the operator's Extension."""


class Dropped(NamedTuple):
    """An API that the extension uses beside installing Flux, and that Flux has dropped."""

    release: str  # The first that does not serve it
    remark: str


OF_FIRST_GENERATION = (
    Dropped(
        "v2.8.0",
        "the first generation of the extension creates GitRepository and Kustomization as v1beta2, which"
        " Flux no longer serves since v2.8.0: check that yours creates v1",
    ),
)
"""gardener-extension-shoot-flux pkg/controller/lifecycle/actuator.go."""


def dropped(each: Object, config: tuple[Step, ...]) -> tuple[Dropped, ...]:
    """Those of the templates of a FluxConfig at ``config``."""
    found = []
    for place in _TEMPLATES:
        api_version = each.text_at(*config, *place, "apiVersion")
        release = _FIRST_WITHOUT.get(api_version.rpartition("/")[2])
        if release and ".toolkit.fluxcd.io/" in api_version:
            what = f"{each.text_at(*config, *place, 'kind')} {api_version}"
            line = each.line_at(*config, *place, "apiVersion")
            found.append(Dropped(release, f"line {line}: Flux does not serve {what} from {release} on"))
    return tuple(found)


def folder(each: Object, config: tuple[Step, ...]) -> str | None:
    """The folder that the cluster is reconciled from; None where that is in an artifact, or not said."""
    source = (*config, "source")
    kind = each.text_at(*source, "template", "kind")
    if kind == "OCIRepository" or each.has(*source, "ociRepository"):
        return None
    return folder_of(each.at(*config, "kustomization", "template", "spec", "path"))


def version_place(each: Object) -> tuple[Step, ...] | None:
    """Where the extension's version stands; None where there is none, or it is another extension's."""
    name = each.text_at("metadata", "name")
    for place in _PLACES:
        version, repository = each.text_at(*place), each.text_at(*place[:-1], "repository")
        if version and _NAME in f"{name} {repository} {version}":
            return place
    return None
