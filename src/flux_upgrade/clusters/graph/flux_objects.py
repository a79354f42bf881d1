"""Flux's objects that lead from one file to others, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flux_upgrade.model.kubernetes_objects import KUSTOMIZATION, part
from flux_upgrade.model.text import repository_path
from flux_upgrade.model.values import NamedTuple

_FLUX = b".toolkit.fluxcd.io/"
_RELEASE = ("helm.toolkit.fluxcd.io", "HelmRelease")
SOURCES = ("GitRepository", "OCIRepository", "Bucket")
INSTALLING = ("FluxInstance", "HelmRelease")  # Kinds that may install Flux, by the flux-operator
KINDS = frozenset({"Kustomization", *INSTALLING, *SOURCES, "ResourceSet", "List"})
_OPERATOR = b"fluxcd.controlplane.io/"


class SourceKey(NamedTuple):
    """What a ``sourceRef`` names."""

    kind: str
    namespace: str
    name: str


class FluxSource(NamedTuple):
    """A GitRepository, an OCIRepository or a Bucket."""

    key: SourceKey
    url: str
    ignore: str | None  # `spec.ignore`; None: source-controller's defaults
    is_suspended: bool = False


class FluxKustomization(NamedTuple):
    """A Kustomization of kustomize-controller (kustomize.toolkit.fluxcd.io)."""

    namespace: str
    name: str
    path: str  # `spec.path`, as it stands there once variables are put in
    source: SourceKey
    is_remote: bool = False  # Whether `spec.kubeConfig` leads to another cluster than the one that reconciles it
    spec: Mapping[str, Any] = {}

    @property
    def folder(self) -> str:
        """Relative to the root of the source; empty for the root."""
        return repository_path(self.path)


class BuiltObject(NamedTuple):
    """An object that may install Flux, with patches applied and variables substituted."""

    path: str  # File that has it
    kind: str
    name: str  # Name in the file, before a kustomization renames it
    data: Mapping[str, Any]
    is_certain: bool = True  # False: a step of a kustomization over it could not be followed


class LocalChart(NamedTuple):
    """A chart in a folder of a repository that a HelmRelease installs."""

    release: str  # `apps/podinfo`
    path: str
    source: SourceKey
    values: tuple[str, ...]  # Files that `spec.chart.spec.valuesFiles` names, relative to the source's root


def may_lead(content: bytes) -> bool:
    # One letter is found many times as fast as a word, and a word from behind twice as fast as by `in`.
    return b"x" in content and (content.rfind(_FLUX) >= 0 or content.rfind(_OPERATOR) >= 0)


def may_lead_unread(text: str) -> bool:
    """Return whether a document that cannot be read may lead to other files."""
    is_chart = _RELEASE[1] in text and any(kind in text for kind in SOURCES)
    return KUSTOMIZATION.group in text or _OPERATOR.decode() in text or is_chart


def is_of_flux(content: bytes) -> bool:
    return _FLUX in content


def kustomization_of(data: Mapping[str, Any], default: str = "") -> FluxKustomization | None:
    """None where it is something else. ``default``: the namespace of what states none."""
    if _kind(data) != KUSTOMIZATION:
        return None
    spec, (namespace, name) = part(data, "spec"), _name(data, default)
    source = _source_key(part(spec, "sourceRef"), namespace)
    return FluxKustomization(namespace, name, str(spec.get("path") or ""), source, "kubeConfig" in spec, spec)


def source_of(data: Mapping[str, Any], default: str = "") -> FluxSource | None:
    """None where it is something else. ``default``: the namespace of what states none."""
    group, kind = _kind(data)
    if group != "source.toolkit.fluxcd.io" or kind not in SOURCES:
        return None
    spec = part(data, "spec")
    ignore = spec.get("ignore")
    key = SourceKey(kind, *_name(data, default))
    return FluxSource(key, str(spec.get("url") or ""), ignore if isinstance(ignore, str) else None, is_suspended(spec))


def is_suspended(spec: Mapping[str, Any]) -> bool:
    """Return whether ``spec.suspend`` stops the reconciliation; a variable that has no value here may."""
    return str(spec.get("suspend") or False).lower() != "false"


def chart_of(data: Mapping[str, Any], default: str = "") -> LocalChart | None:
    """The chart of a HelmRelease that takes it from a repository; None for anything else."""
    if _kind(data) != _RELEASE:
        return None
    namespace, name = _name(data, default)
    chart = part(data, "spec", "chart", "spec")
    source = _source_key(part(chart, "sourceRef"), namespace)
    if source.kind not in SOURCES:
        return None
    values = chart.get("valuesFiles")
    files = tuple(map(str, values)) if isinstance(values, list) else ()
    return LocalChart(f"{namespace}/{name}".strip("/"), str(chart.get("chart") or ""), source, files)


def resources_of(data: Mapping[str, Any]) -> Sequence[Any]:
    """The objects that a ResourceSet of the flux-operator applies, its inputs not put in; none for anything else."""
    if _kind(data) != ("fluxcd.controlplane.io", "ResourceSet"):
        return ()
    resources = part(data, "spec").get("resources")
    return resources if isinstance(resources, list) else ()


def is_text_template(data: Mapping[str, Any]) -> bool:
    """Return whether a ResourceSet makes Kustomizations of a text, whose paths are unknown."""
    text = part(data, "spec").get("resourcesTemplate")
    is_set = _kind(data) == ("fluxcd.controlplane.io", "ResourceSet")
    return is_set and isinstance(text, str) and KUSTOMIZATION.group in text


def inputs_of(data: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """``spec.inputs`` of a ResourceSet; one without values where it has none, or where a provider has more."""
    spec = part(data, "spec")
    inputs = spec.get("inputs")
    known = [each for each in inputs if isinstance(each, dict)] if isinstance(inputs, list) else []
    return known if known and not spec.get("inputsFrom") else [*known, {}]


def value_sources(post_build: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Kind and name of each of ``substituteFrom``, and whether it is optional."""
    sources = post_build.get("substituteFrom")
    for each in sources if isinstance(sources, list) else ():
        fields = each if isinstance(each, dict) else {}
        yield str(fields.get("kind") or ""), str(fields.get("name") or ""), bool(fields.get("optional"))


def _kind(data: Mapping[str, Any]) -> tuple[str, str]:
    return str(data.get("apiVersion") or "").partition("/")[0], str(data.get("kind") or "")


def _name(data: Mapping[str, Any], default: str) -> tuple[str, str]:
    metadata = part(data, "metadata")
    return str(metadata.get("namespace") or default), str(metadata.get("name") or "")


def _source_key(reference: Mapping[str, Any], namespace: str) -> SourceKey:
    where = str(reference.get("namespace") or namespace)
    return SourceKey(str(reference.get("kind") or ""), where, str(reference.get("name") or ""))
