"""A place where a version of the chart ``flux2`` stands, whatever file it stands in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.readings import Reading, unknown
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object, Step, Value, is_variable

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
LOCAL = unknown("the chart is a local directory, which sets the version", "update the chart in that directory")
_SCHEMES = ("https://", "http://", "oci://")
_CONTROLLER = ("controller", "watcher")
"""How the names of the chart's values for a controller end: ``helmController``, once ``helmcontroller``."""


ChartSource = str | Reading
"""The chart's repository, as the port Charts takes it, or why it is unknown."""


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


def holding(files: Sequence[File], *marks: bytes) -> Iterator[File]:
    """Yield the files that contain all ``marks``."""
    return (file for file in files if all(mark in file.content for mark in marks))


def naming_the_chart(files: Sequence[File]) -> Iterator[File]:
    """Yield the files that name the chart. An address below ``fluxcd/flux2/``, as in manifests, does not count."""
    return (file for file in files if _NAME.search(file.content))


def identity(each: Object) -> tuple[str, str, str, str]:
    """API group, kind, namespace and name; empty where they are not stated."""
    group = each.text_at("apiVersion").rpartition("/")[0]
    return (group, each.text_at("kind"), each.text_at("metadata", "namespace"), each.text_at("metadata", "name"))


def last(address: str) -> str:
    """Return the last word of an address, or of a repository's name."""
    return address.rstrip("/").rpartition("/")[2]


def source_at(address: str) -> ChartSource:
    """A repository by its address, as users write it."""
    if is_variable(address):
        return unknown(f"the URL of the chart's repository is a variable: {address}", "write the URL as plain text")
    if not address.startswith(_SCHEMES):
        return unknown(
            f"the chart comes from {address or 'nowhere'}, and charts are read only over https and oci",
            "write the URL of the chart's repository, or edit the version yourself",
        )
    return address.rstrip("/")


def lock_at(tree: Snapshot, path: str, command: str, chart: str = CHART) -> Lock | None:
    """The lock file at ``path``, as Helm and helmfile write it; None where there is none."""
    file = tree.at(path)
    if file is None:
        return None
    versions = (
        each.text_at(*entry, "version")
        for each in file.readable
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
