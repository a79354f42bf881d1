"""Releases of a helmfile, by their charts, and the templates that they inherit from.

helmfile.readthedocs.io, "Configuration"; helmfile pkg/state/chart_dependency.go (lock files).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats import go_templates
from flux_upgrade.pins.objects.chart_place import Lock, last, lock_at
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import joined
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Step, is_variable

TEMPLATE = ("it is inside a condition or a loop of the template", "edit the version yourself")
RENDERED = ("a template or an included file sets its chart", "edit the version in the file that the template reads")
"""Why a release ``is_rendered`` is not changed, and what to do."""
_MOST = 20  # Templates that a release inherits from, that are looked at: the last ones
_CHART = re.compile(r"""^[ \t]*+(?:-[ \t]++)?chart:[ \t]*+["']?([^\s"'#]++)""", re.MULTILINE)


class HelmfileRelease(NamedTuple):
    """A release, or a template of releases."""

    file: File
    object: Object
    entry: tuple[Step, ...]  # Its place: `("releases", 0)`, `("templates", "flux")`
    chart: str  # As it is written, or inherited: `controlplane/flux-instance`; empty where there is none
    templates: tuple[tuple[Step, ...], ...] = ()  # What it inherits from, as far as it is in the same document
    inherited: tuple[str, ...] = ()  # The names of what it inherits from, the last one first
    skipped: int = 0  # How many more there are, before those
    hidden: frozenset[str] = frozenset()  # Charts, of which it may inherit one from those

    @property
    def called(self) -> str:
        name = self.object.text_at(*self.entry, "name") or self.entry[1]
        return f"{str(self.entry[0]).removesuffix('s')} {name}"


def releases(file: File, each: Object) -> Iterator[HelmfileRelease]:
    """Every release in a document of a helmfile, then every template; nothing in other documents."""
    if each.has("kind") or not (each.count("releases") or each.keys("templates")):
        return
    charts = {name: each.text_at("templates", name, "chart") for name in each.keys("templates")}
    of_templates = frozenset(map(last, charts.values()))
    for entry in each.entries("releases"):
        count = each.count(*entry, "inherit")
        skipped = max(count - _MOST, 0)
        names = tuple(each.text_at(*entry, "inherit", at, "template") for at in range(count - 1, skipped - 1, -1))
        known = [name for name in names if name in charts]
        own = (each.text_at(*entry, "chart"), *(charts[name] for name in known))
        chart = next(filter(None, own), "")
        hidden = of_templates if skipped and not chart else frozenset[str]()
        templates = tuple(("templates", name) for name in known)
        yield HelmfileRelease(file, each, entry, chart, templates, names, skipped, hidden)
    for name, chart in charts.items():
        yield HelmfileRelease(file, each, ("templates", name), chart)


def of_chart(
    file: File, each: Object, chart: str, tree: Snapshot
) -> Iterator[tuple[HelmfileRelease, str, Lock | None]]:
    """Yield the releases that state the chart themselves, with its address and the lock file that they share.

    If an anchor gives several of them one version, yield the first.
    """
    found = [release for release in releases(file, each) if last(each.text_at(*release.entry, "chart")) == chart]
    known, locked = (_repositories(tree, file), _lock(found[0], tree)) if found else ({}, None)
    seen: set[int] = set()
    for release in found:
        version = each.at(*release.entry, "version")
        if version is None or version.start not in seen:
            seen.update([version.start] if version else [])
            yield release, _address(release, known), locked


def is_of(release: HelmfileRelease, chart: str) -> bool:
    """Whether it is a release of the chart, which a template may have named."""
    return release.entry[0] == "releases" and last(release.chart) == chart


def is_rendered(release: HelmfileRelease, chart: str) -> bool:
    """Whether a template, or a file that is not looked at, names the chart of a release with the chart's name."""
    if chart in release.hidden:
        return True
    if release.entry[0] != "releases" or release.object.text_at(*release.entry, "name") != chart:
        return False
    inherits = release.object.has(*release.entry, "inherit") or release.object.has("defaultInherit")
    return is_variable(release.chart) or (not release.chart and inherits)


def _parts(file: File) -> Iterator[Object]:
    return (each for each in go_templates.helmfile_objects(file) if isinstance(each, Object))


def doubt(file: File, line: int) -> tuple[str, str]:
    """Why the line may not show what is installed, and what to do; empty where it is."""
    return TEMPLATE if go_templates.is_conditional(file.content, line) else ("", "")


def _address(release: HelmfileRelease, repositories: dict[str, str]) -> str:
    """Where the chart is: ``oci://…/flux2``, ``https://…/flux2``; empty if its repository is not declared."""
    chart = release.chart.rstrip("/")
    if chart.startswith("oci://"):
        return chart
    alias, _, below = chart.partition("/")
    return f"{repositories[alias].rstrip('/')}/{below}" if alias in repositories else ""


def _repositories(tree: Snapshot, file: File) -> dict[str, str]:
    """Address by name, of all parts of the file and of its bases."""
    parts = [*_parts(file)]
    for each in tuple(parts):
        for entry in each.entries("bases"):
            base = tree.at(joined(posixpath.dirname(file.path), each.text_at(*entry)))
            parts += _parts(base) if base else ()
    found = {}
    for each in parts:
        for entry in each.entries("repositories"):
            url, is_oci = each.text_at(*entry, "url"), each.text_at(*entry, "oci") == "true"
            found[each.text_at(*entry, "name")] = f"oci://{url}" if is_oci else url
    return found


def _lock(release: HelmfileRelease, tree: Snapshot) -> Lock | None:
    """The lock file of the helmfile, with the versions of the release's chart; None where there is none."""
    path, stated = release.file.path, release.object.text_at("lockFilePath")
    name = path.removesuffix(".gotmpl").removesuffix(".yaml").removesuffix(".yml")
    found = joined(posixpath.dirname(path), stated) if stated else f"{name}.lock"
    return lock_at(tree, found, f"helmfile --file {path} deps", last(release.chart))


def in_broken(broken: BrokenDocument, chart: str) -> Iterator[int]:
    """The lines, 1-based, with the chart, in a helmfile that is no YAML: a template, as a rule."""
    if go_templates.HELMFILE.search(broken.text):
        for match in _CHART.finditer(broken.text):
            if last(match[1]) == chart:
                yield broken.line + broken.text.count("\n", 0, match.start())
