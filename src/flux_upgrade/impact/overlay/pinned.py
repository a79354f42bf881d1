"""What a pin installs at a release, and what the repository patches over that.

Both ends of an upgrade can be told without the cluster where Flux is taken as it is released: the artifact
flux-manifests, a remote base, the distribution of a FluxInstance.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any

from flux_upgrade.clusters.graph.flux_objects import SourceKey, kustomization_of
from flux_upgrade.impact.overlay.check import ONLY_LISTS, UNREADABLE
from flux_upgrade.impact.overlay.evaluation import evaluated
from flux_upgrade.impact.overlay.result import Overlay
from flux_upgrade.kustomize.kustomization import Kustomization, Location, read
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, InstallOptions
from flux_upgrade.model.errors import Unreadable, UnsupportedRelease
from flux_upgrade.model.kubernetes_objects import part
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.flux_manifests import registry_contents
from flux_upgrade.pins.pin import Pin
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import is_kustomization
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object, readable

_NOWHERE = Location("", 0)
_OTHER_VERSION = Unknown("a kustomization or a variable sets another version")
_USUAL = "flux-system"


class Pinned(NamedTuple):
    overlays: tuple[Kustomization, ...] = ()  # Each by itself
    entry: Location = _NOWHERE  # Of a remote base, in the first of them that is evaluated
    components: tuple[str, ...] = ()  # Empty: all of the release, or of its artifact
    is_artifact: bool = False  # Of the artifact flux-manifests
    source: SourceKey | None = None  # The source of the manifest; None: this repository itself
    namespace: str = _USUAL
    is_migrated: bool = False
    """The flux-operator migrates stored objects once a release is ready: from 0.9.0
    on, unless `migrateResources` is false (its docs/api/v1/fluxinstance.md)."""

    doubt: Unknown | None = None  # The reason that the cluster may run another release than the pin's


def pinned(
    pin: Pin,
    path: str,
    tree: Snapshot,
    is_read: Callable[[str], bool],
    built: Callable[[Object], Sequence[Mapping[str, Any] | Unknown]] = lambda _: (),
) -> Pinned | Unknown:
    """Return what a pin installs.

    ``path``: of the pin, in ``tree``. ``is_read``: whether the cluster may read a file. ``built``: an object as
    kustomize builds it, for each place where it is applied; nothing, if it is applied as it is written.
    """
    # The object in which the version stands.
    found = [None, *takewhile(lambda each: each.line <= pin.line, readable(pin.content))][-1]
    if found is None:
        return Unknown("the version is not in an object")
    kind, group = found.text_at("kind"), found.text_at("apiVersion").partition("/")[0]
    if is_kustomization(path, found):
        own = Kustomization(path, pin.content, found, tree)
        folder = posixpath.dirname(path)
        above = read(tree, posixpath.dirname(folder)) if folder else None
        overlays = (above, own) if above is not None and above.leads_to(folder) else (own,)
        return Pinned(overlays, Location(path, pin.line))
    if group == "source.toolkit.fluxcd.io":
        name = SourceKey(kind, found.text_at("metadata", "namespace"), found.text_at("metadata", "name"))
        over_source = tuple(_over_source(name, pin, path, tree, is_read))
        return Pinned(over_source, is_artifact=kind == "OCIRepository", source=name)
    at = {"FluxInstance": ("spec",), "HelmRelease": ("spec", "values", "instance"), "": ("instance",)}.get(kind)
    if at is None or not found.has(*at, "distribution"):
        return Unknown("the object does not say what it installs")
    namespace = found.text_at("metadata", "namespace") if kind == "FluxInstance" else ""
    own = Kustomization(path, pin.content, found, tree, (*at, "kustomize"))
    written = _Settings(
        found.text_at(*at, "distribution", "version"),
        tuple(each.text for each in found.scalars(*at, "components")) or DEFAULT_COMPONENTS,
        not found.has(*at, "migrateResources") or found.text_at(*at, "migrateResources") == "true",
    )
    settings = [each if isinstance(each, Unknown) else _settings(part(each, *at)) for each in built(found)] or [written]
    known = [each for each in settings if isinstance(each, _Settings)]
    doubt = next((each for each in settings if isinstance(each, Unknown)), None)
    if any(each.version != written.version for each in known):
        doubt = _OTHER_VERSION
    is_one = doubt is None and len({each.components for each in known}) == 1
    return Pinned(
        (own,),
        components=known[0].components if is_one else (),
        namespace=namespace or _USUAL,
        is_migrated=doubt is None and all(each.is_migrated for each in known),
        doubt=doubt,
    )


class _Settings(NamedTuple):
    """The settings of a FluxInstance that say what is installed."""

    version: str
    components: tuple[str, ...]
    is_migrated: bool


def _settings(spec: Mapping[str, Any]) -> _Settings:
    components = spec.get("components")
    return _Settings(
        str(part(spec, "distribution").get("version") or ""),
        tuple(map(str, components)) if isinstance(components, list) and components else DEFAULT_COMPONENTS,
        spec.get("migrateResources", True) is True,
    )


def manifest_at(of: Pinned, tag: str, context: PinContext) -> bytes | Unknown:
    """Return what is installed at a release, before any patch.

    Raises ReleaseNotFound, SourceUnavailable, UntrustedArchive.
    """
    shipped = context.regenerator.manifests(tag).components
    wanted = registry_contents.components(tag, context) if of.is_artifact else of.components or shipped
    options = InstallOptions(Version(tag), of.namespace, tuple(each for each in shipped if each in wanted))
    try:
        return context.regenerator.regenerate(options).text.encode()
    except UnsupportedRelease as error:
        return Unknown(error.message)


def check_pinned(of: Pinned, tree: Snapshot, old: bytes, new: bytes) -> Overlay | Unknown | None:
    """Judge what is patched over a pin; None: nothing is."""
    # A remote base is built once, from the folder above where that takes it in; objects of Flux are each their own.
    chains = [of.overlays] if of.entry is not _NOWHERE else [(each,) for each in of.overlays]
    patching = [chain for chain in chains if any(map(_has_patches, chain))]
    overlays = []
    for chain in patching:
        found = evaluated(tree, of.entry, old, new, chain)
        if found is None:
            return UNREADABLE
        own, evaluation = found
        overlay = Overlay(own.path, tuple(evaluation.findings), turned_off=tuple(evaluation.turned_off()))
        overlays.append(overlay._replace(left_out=evaluation.left_out))
    if not overlays:
        return None
    findings = (finding for each in overlays for finding in each.findings)
    turned_off = (gone for each in overlays for gone in each.turned_off)
    left_out = tuple(crd for each in overlays for crd in each.left_out)
    return overlays[0]._replace(findings=tuple(findings), turned_off=tuple(turned_off), left_out=left_out)


def _has_patches(of: Kustomization) -> bool:
    try:
        return bool(of.data.keys() - ONLY_LISTS)
    except Unreadable:
        return False


def _over_source(
    source: SourceKey, pin: Pin, path: str, tree: Snapshot, is_read: Callable[[str], bool]
) -> Iterator[Kustomization]:
    """The Kustomizations of Flux that install from a source: those of its own file, or else all that are read."""
    own = list(_of_source(source, File(path, pin.content), tree))
    others = (tree.at(each) for each in tree.candidates() if each != path and is_read(each))
    yield from own or (each for file in others if file is not None for each in _of_source(source, file, tree))


def _of_source(source: SourceKey, file: File, tree: Snapshot) -> Iterator[Kustomization]:
    if b"kustomize.toolkit.fluxcd.io/" not in file.content or source.name.encode() not in file.content:
        return
    for each in file.readable:
        with suppress(Unreadable):  # a value with a tag that no API server takes: the object is not applied
            found = kustomization_of(each.data())
            if found is not None and is_same(found.source, source):
                yield Kustomization(file.path, file.content, each, tree, ("spec",))


def is_same(one: SourceKey, other: SourceKey) -> bool:
    """Whether they may be one object: a namespace that is not given may be any."""
    is_near = one.namespace == other.namespace or not (one.namespace and other.namespace)
    return is_near and (one.kind, one.name) == (other.kind, other.name)
