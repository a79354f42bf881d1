"""Values of the chart flux-instance in a release of a helmfile: inline, in files, and set.

helmfile.readthedocs.io, "Configuration", and pkg/state/state.go: Helm gets the values in their order, then the
secrets, then what is set; a later one goes before an earlier one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from flux_upgrade.model.files import Tree
from flux_upgrade.pins.formats import go_templates
from flux_upgrade.pins.formats.kustomize_files import joined, read
from flux_upgrade.pins.formats.yaml_places import BrokenDocument, Step
from flux_upgrade.pins.objects.flux_distribution import (
    VALUES,
    Distribution,
    DistributionSource,
    Source,
    Stated,
    combined,
)
from flux_upgrade.pins.objects.helmfile import HelmfileRelease
from flux_upgrade.pins.pin import SourceFile

_ACTION = re.compile(r"\{\{(?:(?!\{\{|\}\}).)*+\}\}")
_RELEASE = re.compile(r"\{\{-?[ \t]*\.Release\.(Name|Namespace)[ \t]*-?\}\}")
_FIELD = f"values.{'.'.join(VALUES)}.distribution"
_VERSION, _ARTIFACT = ("distribution", "version"), ("distribution", "artifact")
_MOST = 20  # Values of a release that are looked at: the last ones
_ABSENT = "which is not in this repository"
_TEMPLATE = "which is a template"


class _Set(NamedTuple):
    """Names and values, as ``helm --set`` takes them."""

    release: HelmfileRelease
    above: tuple[Step, ...]  # Of the release, or of a template that it inherits from

    def stated(self, *keys: str) -> Stated | None:
        each, name = self.release.object, ".".join((*VALUES, *keys))
        for flag in ("setString", "set"):
            for entry in reversed([*each.entries(*self.above, flag)]):
                value = each.at(*entry, "value")
                if value is not None and each.text_at(*entry, "name") == name:
                    return Stated(self.release.file, value, f"{flag} {name}")
        return None


class _Read(NamedTuple):
    """What could be looked at for one set of values."""

    sources: tuple[Source, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()  # What could not be, and why


def distributions(release: HelmfileRelease, tree: Tree) -> Iterator[Distribution]:
    """One for each file that a templated name, like ``values/{{ .Environment.Name }}.yaml``, may stand for."""
    layers = [each for above in (release.entry, *release.templates) for each in _layers(release, above, tree)]
    several = next((layer for layer in layers if len(layer) > 1), None)
    for choice in several or [_Read()]:
        read_ones = [choice if layer is several else _first(layer) for layer in layers]
        sources = [source for each in read_ones for source in each.sources]
        unread = dict.fromkeys([*(found for each in read_ones for found in each.unread), *_elsewhere(release)])
        each, entry = release.object, release.entry
        found = combined(release.called, release.file, each.line_at(*entry), _FIELD, sources)
        yield found._replace(
            of_chart=True,
            unread=", and ".join(f"{name}, {why}" for name, why in unread),
            values="the release's values",
            is_rendered=any(why == _TEMPLATE for _, why in unread),
        )


def _first(layer: list[_Read]) -> _Read:
    """Of several files only the first layer is told apart: of another, what they state is open."""
    if len(layer) == 1:
        return layer[0]
    return _Read((), (("files with templated names", _TEMPLATE),))


def _elsewhere(release: HelmfileRelease) -> Iterator[tuple[str, str]]:
    each, entry = release.object, release.entry
    if each.count(*entry, "secrets"):
        yield "the secrets of the release", "which are encrypted"
    inherited = [each.text_at(*item, "template") for item in each.entries(*entry, "inherit")]
    name = each.text_at("defaultInherit")
    for template in [*inherited, *([name] if name else [])]:
        if not each.has("templates", template):
            yield f"the template {template}", "which is in another file"
    if each.has(*entry, "<<"):
        yield "the anchor that the release merges", _TEMPLATE


def _layers(release: HelmfileRelease, above: tuple[Step, ...], tree: Tree) -> Iterator[list[_Read]]:
    """What goes before the others first; for each layer, what it may be."""
    yield [_Read((_Set(release, above),))]
    values = [*release.object.entries(*above, "values")]
    for entry in reversed(values[-_MOST:]):
        inline = release.object.below(*entry)
        if inline is not None:
            source = DistributionSource(release.file, release.object, (*entry, *VALUES), len(above))
            is_open = "{{" in inline.text and source.stated(*_VERSION) is None
            unread = (("values of the release", _TEMPLATE),) if is_open else ()
            yield [_Read((source,), unread)]
        else:
            yield _named(release, release.object.text_at(*entry), tree)
    if len(values) > _MOST:
        yield [_Read((), ((f"its first {len(values) - _MOST} values", "which are too many to read"),))]


def _named(release: HelmfileRelease, text: str, tree: Tree) -> list[_Read]:
    """The files of values that a name stands for: one, as a rule."""
    known = {"Name": release.object.text_at(*release.entry, "name")}
    known["Namespace"] = release.object.text_at(*release.entry, "namespace")
    name = _RELEASE.sub(lambda match: known[match[1]] or match[0], text)
    path = joined(posixpath.dirname(release.file.path), _ACTION.sub("\0", name))
    if not _ACTION.sub("", name).strip():
        return [_Read((), (("values of the release", _TEMPLATE),))]
    if "\0" not in path:
        return [_file(path, text, tree)]
    pattern = re.compile("[^/]+".join(map(re.escape, path.split("\0"))))
    matching = sorted(each for each in tree.named((path.rpartition("\0")[2],)) if pattern.fullmatch(each))
    if not matching:
        return [_Read((), ((text, _ABSENT),))]
    return [each for each in (_file(found, found, tree) for found in matching) if _says(each)] or [_Read()]


def _says(found: _Read) -> bool:
    return bool(found.unread) or any(source.stated(*keys) for source in found.sources for keys in (_VERSION, _ARTIFACT))


def _file(path: str, text: str, tree: Tree) -> _Read:
    content = read(tree, path)
    if content is None:
        return _Read((), ((text, _ABSENT),))
    file = SourceFile(path, content)
    values = go_templates.objects(content)
    is_template = go_templates.is_template(content)
    if len(values) != 1 or isinstance(values[0], BrokenDocument):
        why = _TEMPLATE if is_template else "which is not one document of YAML"
        return _Read((), ((path, why),) if content.strip() else ())
    source = DistributionSource(file, values[0], VALUES)
    is_open = is_template and source.stated(*_VERSION) is None
    return _Read((source,), ((path, _TEMPLATE),) if is_open else ())
