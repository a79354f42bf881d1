"""What a ``FluxConfig`` of Gardener's extension ``shoot-flux`` says, and what it takes from the API of Flux.

gardener-extension-shoot-flux pkg/apis/flux/v1alpha1/types.go and defaults.go.
"""

from __future__ import annotations

from flux_upgrade.kinds.formats.release_tag import folder_of
from flux_upgrade.kinds.formats.yaml_places import Object, Step
from flux_upgrade.values import NamedTuple
from flux_upgrade.versions import Version

_TEMPLATES: tuple[tuple[Step, ...], ...] = (
    ("source", "template"),
    ("source", "gitRepository", "template"),
    ("source", "ociRepository", "template"),
    ("kustomization", "template"),
)
_FIRST_WITHOUT = {"v1beta1": "v2.7.0", "v1beta2": "v2.8.0"}
"""Version of the API → the release whose CRDs dropped it: GitRepository, OCIRepository, Kustomization."""


class Dropped(NamedTuple):
    """An API that the extension uses beside installing Flux, and that Flux has dropped."""

    release: str
    """The first that does not serve it."""
    remark: str


OF_FIRST_GENERATION = (
    Dropped(
        "v2.8.0",
        "the first generation of the extension creates GitRepository and Kustomization as v1beta2, which"
        " Flux does not serve from v2.8.0 on: check that yours creates v1",
    ),
)
"""gardener-extension-shoot-flux pkg/controller/lifecycle/actuator.go"""


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


def refused(apis: tuple[Dropped, ...], target: str) -> tuple[str, ...]:
    """The remarks about what a cluster with Flux ``target`` does not know."""
    version = Version.parse(target)
    return tuple(each.remark for each in apis if version and version >= Version(each.release[1:]))


def folder(each: Object, config: tuple[Step, ...]) -> str | None:
    """The folder that the cluster is reconciled from; None where that is in an artifact, or not said."""
    source = (*config, "source")
    kind = each.text_at(*source, "template", "kind")
    if kind == "OCIRepository" or each.has(*source, "ociRepository"):
        return None
    return folder_of(each.at(*config, "kustomization", "template", "spec", "path"))
