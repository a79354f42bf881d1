"""A place where a version of the chart ``flux2`` stands, whatever file it stands in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from flux_upgrade.pins.formats import go_templates, resource_sets
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Step, Value, is_variable, readable

HELM = "helm.toolkit.fluxcd.io"
SOURCE = "source.toolkit.fluxcd.io"
VERSIONS: dict[str, tuple[tuple[Step, ...], ...]] = {
    "HelmRelease": (("spec", "chart", "spec", "version"),),
    "HelmChart": (("spec", "version"),),
    "OCIRepository": (("spec", "ref", "semver"), ("spec", "ref", "tag"), ("spec", "ref", "digest")),
}
"""Where each kind says its version; of an OCIRepository's, the first that is there decides."""


CHART = "flux2"
"""github.com/fluxcd-community/helm-charts has ``flux2-sync``, ``flux2-notification`` and
``flux2-multi-tenancy`` beside it, and none of them is Flux."""
_NAME = re.compile(rf"{CHART}(?![\w.-])(?!/\w)".encode())
_SCHEMES = ("https://", "http://", "oci://")
_CONTROLLER = ("controller", "watcher")
"""How the names of the chart's values for a controller end: ``helmController``, once ``helmcontroller``."""


class ChartSource(NamedTuple):
    """Where the chart comes from."""

    repository: str  # As the port Charts takes it; empty if it is unknown
    reason: str = ""  # Why it is unknown
    hint: str = ""


class Lock(NamedTuple):
    """What another file says of the same version, and would be left behind."""

    path: str
    command: str  # What writes it anew
    versions: tuple[str, ...] = ()  # Of the chart, in the order of the file


class ChartVersionPlace(NamedTuple):
    """A place where a file states the version of the chart."""

    file: File
    line: int
    where: str
    source: ChartSource
    version: Value | None  # Of the chart: exact or a range. None: nothing is stated.
    digest: Value | None = None  # Of the chart's OCI manifest, where it is stated beside the version
    is_tag: bool = False  # Whether the version is an OCI tag, which has to be there to the letter
    lock: Lock | None = None
    remarks: tuple[str, ...] = ()
    trouble: tuple[str, str] = ("", "")  # Why the place as a whole is none that could be changed, and what to do
    target: tuple[str, str] | None = None  # Kind and name of the Kubernetes object, which patches may aim at


class Files:
    """The files of a tree that were handed over, each parsed once, and only when asked for."""

    def __init__(self, files: Sequence[File]) -> None:
        self._files = {file.path: file for file in files}
        self._parsed: dict[str, tuple[Object | BrokenDocument, ...]] = {}

    def holding(self, *marks: bytes) -> Iterator[File]:
        """The files that contain each of ``marks``."""
        return (file for file in self._files.values() if all(mark in file.content for mark in marks))

    def naming_the_chart(self) -> Iterator[File]:
        """Files that name the chart. An address below ``fluxcd/flux2/``, as in manifests, does not count."""
        return (file for file in self._files.values() if _NAME.search(file.content))

    def objects(self, file: File) -> tuple[Object | BrokenDocument, ...]:
        """What is in it, see ``go_templates.helmfile_objects``, and what ResourceSets in it make."""
        if file.path not in self._parsed:
            self._parsed[file.path] = resource_sets.with_made(go_templates.helmfile_objects(file.content))
        return self._parsed[file.path]

    def readable(self, file: File) -> Iterator[Object]:
        return (each for each in self.objects(file) if isinstance(each, Object))


def identity(each: Object) -> tuple[str, str, str, str]:
    """API group, kind, namespace and name; empty where they are not stated."""
    group = each.text_at("apiVersion").rpartition("/")[0]
    return (group, each.text_at("kind"), each.text_at("metadata", "namespace"), each.text_at("metadata", "name"))


def source_at(address: str) -> ChartSource:
    """A repository by its address, as users write it."""
    if is_variable(address):
        return ChartSource(
            "", f"the URL of the chart's repository is a variable: {address}", "write the URL as plain text"
        )
    if not address.startswith(_SCHEMES):
        return ChartSource(
            "",
            f"the chart comes from {address or 'nowhere'}, and charts are read only over https and oci",
            "write the URL of the chart's repository, or edit the version yourself",
        )
    return ChartSource(address.rstrip("/"))


def lock_at(tree: Snapshot, path: str, command: str, chart: str = CHART) -> Lock | None:
    """The lock file at ``path``, as Helm and helmfile write it; None where there is none."""
    content = tree.content(path)
    if content is None:
        return None
    versions = (
        each.text_at(*entry, "version")
        for each in readable(content)
        for entry in each.entries("dependencies")
        if each.text_at(*entry, "name").rpartition("/")[2] == chart
    )
    return Lock(path, command, tuple(versions))


def overridden(each: Object, *values: Step) -> Iterator[str]:
    """A remark for each controller whose image the values below a path pin by themselves."""
    for name in each.keys(*values):
        tag = each.text_at(*values, name, "tag")
        if tag and name.lower().endswith(_CONTROLLER):
            yield _overridden(".".join(map(str, (*values, name, "tag"))), tag)


def overridden_by_set(each: Object, *flags: Step) -> Iterator[str]:
    """The same, of values as ``helm --set`` takes them: a list of names and values."""
    yield from overridden_by(
        (each.text_at(*entry, "name"), each.text_at(*entry, "value")) for entry in each.entries(*flags)
    )


def overridden_by(flags: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The same, of names and values."""
    for name, value in flags:
        if re.fullmatch(rf".*({'|'.join(_CONTROLLER)})\.tag", name, re.IGNORECASE):
            yield _overridden(name, value)


def _overridden(name: str, tag: str) -> str:
    return f"the value {name} stays at {tag}: that controller is not updated with the chart"
