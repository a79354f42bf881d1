"""Where a tree states the release of the flux-operator: chart, image, manifests.

flux-operator docs/guides/operator/operator-install.md, docs/charts/flux-operator.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.ranges import is_nothing
from flux_upgrade.pins.formats.resource_sets import inputs
from flux_upgrade.pins.formats.terraform_values import Modules
from flux_upgrade.pins.objects import helmfile
from flux_upgrade.pins.objects.chart_dependencies import dependencies
from flux_upgrade.pins.objects.chart_place import Lock, last
from flux_upgrade.pins.objects.flux_distribution import CHART as INSTANCE_CHART
from flux_upgrade.pins.objects.flux_distribution import Distribution
from flux_upgrade.pins.objects.operator_releases import MANIFESTS, PUBLISHED
from flux_upgrade.pins.objects.release_values import layers
from flux_upgrade.pins.objects.terraform_resources import resources
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import is_kustomization
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object, Step, Value, dotted

OPERATOR = "flux-operator"
_CHARTS: tuple[tuple[str, tuple[Step, ...], str], ...] = (
    ("HelmRelease", ("spec", "chart", "spec"), "chart"),
    ("HelmChart", ("spec",), "chart"),
)
"""Kind, and where it names a chart and its version: of Flux, and of k3s."""
_PODS = ("Deployment", "StatefulSet", "DaemonSet")
_IMAGE = re.compile(r"(?P<repository>[^@\s]+?)(?::(?P<tag>[^:/@\s]+))?(?:@(?P<digest>sha256:[0-9a-f]+))?")
_PARTS = re.compile(r"(?P<tag>[^@]*)(?:@(?P<digest>sha256:[0-9a-f]+))?")
_URL = re.compile(
    r"https://github\.com/controlplaneio-fluxcd/flux-operator"
    r"(?:/releases/(?:download/(?P<tag>[^/?#]+)|latest/download)/[^?#]+|(?:\.git)?(?://?[^?]*)?(?:\?(?:.*&)?ref=(?P<ref>[^&#]+).*)?)"
)


class OperatorPlace(NamedTuple):
    """A place where a file states a release of the flux-operator."""

    where: str
    line: int
    raw: str  # Empty where nothing is stated
    value: Value | None  # In which it stands
    version: Value | None = None  # The characters that say which release, or range of releases, it is; None: none do
    digest: Value | None = None
    repository: str = ""  # What is pinned, as in a reference to an image; empty where that stands somewhere else
    is_range: bool = False  # Whether Flux or Helm reads the version as a range
    folder: str | None = None  # The folder that the cluster is reconciled from, as `Pin.folder`
    is_artifact: bool = False  # Whether a FluxInstance takes it as its artifact
    trouble: tuple[str, str] = ("", "")  # Why it cannot be changed there, and what to do
    is_of_instance: bool = False  # Whether it is the chart flux-instance, which has the versions of the flux-operator

    @property
    def start(self) -> int:
        return self.value.start if self.value else 0

    @property
    def manifests(self) -> str:
        """The repository whose artifacts tell what the releases know."""
        return self.repository if last(self.repository) == MANIFESTS else PUBLISHED


def places(file: File, each: Object) -> Iterator[OperatorPlace]:
    kind = each.text_at("kind")
    if kind in _PODS:
        yield from images(each)
    elif kind == "OCIRepository":
        yield from _repository(each)
    elif is_kustomization(file.path, each):
        yield from _kustomization(each)
    for owner, path, field in _CHARTS:
        chart = last(each.text_at(*path, field))
        if kind == owner and chart in (OPERATOR, INSTANCE_CHART):
            found = _field(each, (*path, "version"))
            yield found._replace(version=_stated(found), is_range=True, is_of_instance=chart == INSTANCE_CHART)


def in_terraform(files: Sequence[File], tree: Snapshot) -> Iterator[tuple[File, OperatorPlace]]:
    """The chart in resources ``helm_release``, each version once: two of them may have one variable."""
    found: dict[tuple[str, int], tuple[File, OperatorPlace]] = {}
    for resource in resources(files, Modules(tree)):
        if resource.chart != OPERATOR:
            continue
        file, line, where, value = resource.placed()
        place = OperatorPlace(where, line, value.text if value else "", value, value, is_range=True)
        found.setdefault((file.path, place.start or -line), (file, place))
    yield from found.values()


def in_helmfile(file: File, each: Object, tree: Snapshot) -> Iterator[OperatorPlace]:
    """The releases of a helmfile, and their templates, with the operator's chart."""
    for release, address, lock in helmfile.of_chart(file, each, OPERATOR, tree):
        found = _field(each, (*release.entry, "version"))
        decided = helmfile.doubt(file, found.line)
        records = lock if lock is not None and lock.versions else None
        place = _of_chart(found, f"{release.called}, version", address, records)
        yield place._replace(trouble=decided) if decided[0] else place
    for release in helmfile.releases(file, each):
        if helmfile.is_rendered(release, OPERATOR):
            line = each.line_at(*release.entry)
            yield OperatorPlace(f"{release.called}, chart", line, release.chart, None, trouble=helmfile.RENDERED)


def in_chart(file: File, tree: Snapshot) -> Iterator[OperatorPlace]:
    """The operator's chart as a dependency of another one, in Chart.yaml."""
    for each in dependencies(file, OPERATOR):
        repository = each.object.text_at(*each.entry, "repository").rstrip("/")
        found = _field(each.object, (*each.entry, "version"))
        yield _of_chart(found, each.place, f"{repository}/{OPERATOR}", each.lock(tree))


def _of_chart(found: OperatorPlace, where: str, address: str, lock: Lock | None) -> OperatorPlace:
    """The version of the chart at an address, which ``lock`` records, too."""
    command = f"set the version, run `{lock.command}`, commit both files" if lock else ""
    # A registry has the chart's tags without the `v` that Helm accepts.
    is_tag = address.startswith("oci://") and not found.raw.startswith(("v", "="))
    return found._replace(
        where=where,
        version=_stated(found),
        repository=address.removeprefix("oci://") if is_tag else "",
        is_range=True,
        trouble=(f"{lock.path} also records the chart", command) if lock else ("", ""),
    )


def images(each: Object) -> Iterator[OperatorPlace]:
    """The images of the operator in a workload, or in a patch of one."""
    for entry in each.entries("spec", "template", "spec", "containers"):
        found = image(each.at(*entry, "image"), where_of(each, (*entry, "image")))
        if found is not None and last(found.repository) == OPERATOR:
            yield found


def image(value: Value | None, where: str) -> OperatorPlace | None:
    """What a reference to an image, or to an artifact, says; None where it is no reference."""
    address = value.text.removeprefix("oci://") if value else ""
    match = _IMAGE.fullmatch(address)
    if value is None or match is None:
        return None
    before = len(value.text) - len(address)
    tag, digest = (
        value.part(before + match.start(name), before + match.end(name)) if match[name] else None
        for name in ("tag", "digest")
    )
    return OperatorPlace(where, value.line, _joined(tag, digest), value, tag, digest, match["repository"])


def override(file: File, each: Object, context: PinContext) -> Iterator[tuple[File, OperatorPlace]]:
    """The image in the values of a HelmRelease of the operator's chart, which goes before the chart's ``appVersion``.

    The values may be in another file.
    """
    chart = each.text_at("spec", "chart", "spec", "chart") or each.text_at("spec", "chartRef", "name")
    if each.text_at("kind") != "HelmRelease" or last(chart) != OPERATOR:
        return
    for layered in layers(file, each, context.config_maps, "image"):
        tags, repositories = (
            [stated for one in layered if (stated := one.stated("image", key))] for key in ("tag", "repository")
        )
        found = next((tag for tag in tags if not is_nothing(tag.value)), None)
        if found is not None:
            named = (stated.value.text for stated in repositories)
            repository = next(filter(None, named), f"ghcr.io/controlplaneio-fluxcd/{OPERATOR}")
            place = OperatorPlace(f"{each.called()}, {found.field}", found.value.line, found.value.text, found.value)
            yield found.file, _with_parts(place, found.value, None)._replace(repository=repository)


def filled(place: OperatorPlace, maker: Object | None) -> Iterator[OperatorPlace]:
    """One for each input of the ResourceSet that fills the version; itself where none does."""
    values = inputs(place.version, maker) if place.version and not place.digest else []
    if not values:
        yield place
    for value, path in values:
        where = f"{place.where.rpartition(', ')[0]}, {dotted(path)}"
        yield place._replace(where=where, line=value.line, raw=value.text, value=value, version=value)


def artifact(found: Distribution) -> tuple[File, OperatorPlace] | None:
    """The operator's artifact that a FluxInstance takes, and its file; None where it takes no such."""
    stated = found.artifact
    place = image(stated.value, f"{found.owner}, {stated.field}") if stated else None
    if stated is None or place is None or last(place.repository) != MANIFESTS:
        return None
    return stated.file, place._replace(folder=found.folder, is_artifact=True)


def where_of(each: Object, path: Sequence[Step]) -> str:
    """``HelmRelease flux-system/flux-operator, spec.chart.spec.version``."""
    return ", ".join(filter(None, (each.called(), dotted(path))))


def _repository(each: Object) -> Iterator[OperatorPlace]:
    """Digest goes before semver, semver before the tag: source-controller api/v1/ocirepository_types.go."""
    repository = each.text_at("spec", "url").removeprefix("oci://").rstrip("/")
    name = last(repository)
    if name not in (OPERATOR, MANIFESTS, INSTANCE_CHART):
        return
    fields = {name: _field(each, ("spec", "ref", name)) for name in ("digest", "semver", "tag")}
    stated = [name for name, found in fields.items() if _stated(found) is not None]
    found = fields[stated[0] if stated else "tag"]
    found = found._replace(repository=repository, is_of_instance=name == INSTANCE_CHART)
    tag = _stated(fields["tag"])
    if "digest" in stated:
        found = _with_parts(found, tag, found.value)
        yield found._replace(raw=_joined(found.version, found.digest))
    elif "semver" in stated:
        yield found._replace(version=found.value, is_range=True)
    else:
        yield _with_parts(found, tag, None)


def _kustomization(each: Object) -> Iterator[OperatorPlace]:
    for entry in each.entries("resources"):
        value = each.at(*entry)
        match = _URL.fullmatch(value.text) if value else None
        if value and match:
            group = "tag" if match["tag"] else "ref"
            version = value.part(*match.span(group)) if match[group] else None
            yield OperatorPlace(where_of(each, entry), value.line, match[group] or "", value, version)
    for entry in each.entries("images"):
        name = each.text_at(*entry, "name")
        if last(name) == OPERATOR:
            found = _field(each, (*entry, "digest" if each.has(*entry, "digest") else "newTag"))
            tag, digest = _stated(_field(each, (*entry, "newTag"))), each.at(*entry, "digest")
            repository = each.text_at(*entry, "newName") or name
            yield _with_parts(found, tag, digest)._replace(repository=repository)


def _with_parts(found: OperatorPlace, tag: Value | None, digest: Value | None) -> OperatorPlace:
    """A tag may have a digest behind it: ``v0.58.1@sha256:…``, as Renovate pins it."""
    match = _PARTS.fullmatch(tag.text) if tag else None
    if tag is None or match is None or not match["digest"] or digest is not None:
        return found._replace(version=tag, digest=digest)
    own = tag.part(*match.span("tag")) if match["tag"] else None
    return found._replace(version=own, digest=tag.part(*match.span("digest")))


def _field(each: Object, path: tuple[Step, ...]) -> OperatorPlace:
    value = each.at(*path)
    line = value.line if value else each.line_at(*path[:-1])
    written = "" if value is None or is_nothing(value) else value.text
    return OperatorPlace(where_of(each, path), line, written, value)


def _stated(found: OperatorPlace) -> Value | None:
    is_odd = found.value is not None and found.value.reason
    return found.value if found.raw or is_odd else None


def _joined(tag: Value | None, digest: Value | None) -> str:
    return "@".join(each.text for each in (tag, digest) if each is not None)
