"""Values of the chart flux-instance in a release of a helmfile: inline, in files, and set.

helmfile.readthedocs.io, "Configuration", and pkg/state/state.go: Helm gets the values in their order, then the
secrets, then what is set; a later one goes before an earlier one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cache

from flux_upgrade.model.patterns import fits
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats import go_templates
from flux_upgrade.pins.formats.config_maps import ABSENT, TEMPLATE
from flux_upgrade.pins.objects.flux_distribution import VALUES, Distribution, Source, combined
from flux_upgrade.pins.objects.helmfile import HelmfileRelease
from flux_upgrade.pins.objects.release_values import TOO_MANY, Stated, ValuesSource
from flux_upgrade.snapshot.kustomize_files import joined
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Step

_ACTION = re.compile(r"\{\{(?:(?!\{\{|\}\}).)*+\}\}")
_RELEASE = re.compile(r"\{\{-?[ \t]*\.Release\.(Name|Namespace)[ \t]*-?\}\}")
_FIELD = f"values.{'.'.join(VALUES)}.distribution"
_VERSION, _ARTIFACT = ("distribution", "version"), ("distribution", "artifact")
_MOST = 20  # Values of a release, and of what it inherits from, that are looked at: the last ones
_MOST_FILES = 100  # That one templated name may match
_MOST_NAMES = 50  # Templated names of a document of a helmfile that are looked for
_MOST_FOUND = 1_000  # Distributions of a document of a helmfile whose values are looked at
_LONGEST = 1_000  # Characters of a name of a file
_FLAGS = ("setString", "set")  # What goes before the other first
_NAMES = "files with templated names"


class _Set(NamedTuple):
    """Names and values, as ``helm --set`` takes them."""

    release: HelmfileRelease
    above: tuple[Step, ...]  # Of the release, or of a template that it inherits from
    named: dict[str, dict[str, int]]  # By flag: where each name is set last

    def stated(self, *keys: str) -> Stated | None:
        name = ".".join((*VALUES, *keys))
        for flag, indices in self.named.items():
            value = self.release.object.at(*self.above, flag, indices[name], "value") if name in indices else None
            if value is not None:
                return Stated(self.release.file, value, f"{flag} {name}")
        return None


class _Read(NamedTuple):
    """What could be looked at for one set of values."""

    sources: tuple[Source, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()  # What could not be, and why


class HelmfileValues:
    """Values of the releases in one document of a helmfile; what several of them have is read once."""

    def __init__(self, tree: Snapshot) -> None:
        self._tree = tree
        self._left = _MOST_FOUND
        self._file = cache(self._read_file)  # By path and name
        self._matching: dict[str, list[_Read]] = {}  # By templated paths
        self._lists: dict[tuple[int, int], dict[str, int]] = {}  # Of names and values
        self._templates: dict[tuple[int, int], bool] = {}  # Whether a mapping has actions

    def distributions(self, release: HelmfileRelease) -> Iterator[Distribution]:
        """One for each file that a templated name, like ``values/{{ .Environment.Name }}.yaml``, may match."""
        layers = [*self._layers(release)] if self._left else [_unread("values of the release", TOO_MANY)]
        several = next((layer for layer in layers if len(layer) > 1), None)
        if several is not None and len(several) > self._left:
            layers[layers.index(several)] = _unread(_NAMES, TOO_MANY)
            several = None
        for choice in several or [_Read()]:
            self._left = max(self._left - 1, 0)
            # Only the first layer distinguishes several files: of another, what they state is open.
            read_ones = [
                choice if layer is several else layer[0] if len(layer) == 1 else _unread(_NAMES, TEMPLATE)[0]
                for layer in layers
            ]
            sources = [source for each in read_ones for source in each.sources]
            unread = dict.fromkeys([*(found for each in read_ones for found in each.unread), *_elsewhere(release)])
            each, entry = release.object, release.entry
            found = combined(release.called, release.file, each.line_at(*entry), _FIELD, sources)
            yield found._replace(
                of_chart=True,
                unread=", and ".join(f"{name}, {why}" for name, why in unread),
                is_rendered=any(why == TEMPLATE for _, why in unread),
                is_cut=any(why == TOO_MANY for _, why in unread),
            )

    def _layers(self, release: HelmfileRelease) -> Iterator[list[_Read]]:
        """What goes before the others first; for each layer, what it may be."""
        each, left, is_cut = release.object, _MOST, False
        for above in (release.entry, *release.templates):
            yield [_Read((_Set(release, above, {flag: self._set(each, above, flag) for flag in _FLAGS}),))]
            count = each.count(*above, "values")
            looked_at = min(count, left)
            left, is_cut = left - looked_at, is_cut or looked_at < count
            for index in range(count - 1, count - 1 - looked_at, -1):
                yield self._layer(release, above, (*above, "values", index))
        if is_cut:
            yield _unread(f"the values before the last {_MOST}", TOO_MANY)

    def _set(self, each: Object, above: tuple[Step, ...], flag: str) -> dict[str, int]:
        place = each.identity(*above, flag)
        if place not in self._lists:
            count = each.count(*above, flag)
            self._lists[place] = {each.text_at(*above, flag, index, "name"): index for index in range(count)}
        return self._lists[place]

    def _layer(self, release: HelmfileRelease, above: tuple[Step, ...], entry: tuple[Step, ...]) -> list[_Read]:
        inline = release.object.below(*entry)
        if inline is None:
            return self._named(release, release.object.text_at(*entry))
        source = ValuesSource(release.file, release.object, (*entry, *VALUES), hidden=len(above))
        place = inline.identity()
        if place not in self._templates:
            self._templates[place] = "{{" in inline.text
        is_open = self._templates[place] and source.stated(*_VERSION) is None
        return [_Read((source,), (("values of the release", TEMPLATE),) if is_open else ())]

    def _named(self, release: HelmfileRelease, text: str) -> list[_Read]:
        """The files of values that a name matches: one, as a rule."""
        if len(text) > _LONGEST:
            return _unread("values of the release", "whose name is too long")
        known = {"Name": release.object.text_at(*release.entry, "name")}
        known["Namespace"] = release.object.text_at(*release.entry, "namespace")
        name = _RELEASE.sub(lambda match: known[match[1]] or match[0], text)
        path = joined(posixpath.dirname(release.file.path), _ACTION.sub("\0", name))
        if not _ACTION.sub("", name).strip():
            return _unread("values of the release", TEMPLATE)
        if "\0" not in path:
            return [self._file(path, text)]
        if path not in self._matching:
            if len(self._matching) >= _MOST_NAMES:
                return _unread(_NAMES, TOO_MANY)
            self._matching[path] = self._of_pattern(path, text)
        return self._matching[path]

    def _of_pattern(self, path: str, text: str) -> list[_Read]:
        pattern = "[^/]+".join(map(re.escape, path.split("\0")))
        matching = [each for each in self._tree.named((path.rpartition("\0")[2],)) if fits(pattern, each)]
        if not matching:
            return _unread(text, ABSENT)
        if len(matching) > _MOST_FILES:
            return _unread(f"the {len(matching)} files {text}", TOO_MANY)
        return [each for each in (self._file(found, found) for found in matching) if _says(each)] or [_Read()]

    def _read_file(self, path: str, text: str) -> _Read:
        file = self._tree.at(path)
        if file is None:
            return _Read((), ((text, ABSENT),))
        values, is_template = go_templates.objects(file.content), go_templates.is_template(file.content)
        if len(values) != 1 or isinstance(values[0], BrokenDocument):
            why = TEMPLATE if is_template else "which is not one document of YAML"
            return _Read((), ((path, why),) if file.content.strip() else ())
        source = ValuesSource(file, values[0], VALUES)
        is_open = is_template and source.stated(*_VERSION) is None
        return _Read((source,), ((path, TEMPLATE),) if is_open else ())


def _unread(name: str, why: str) -> list[_Read]:
    return [_Read((), ((name, why),))]


def _elsewhere(release: HelmfileRelease) -> Iterator[tuple[str, str]]:
    each, entry = release.object, release.entry
    if each.count(*entry, "secrets"):
        yield "the secrets of the release", "which are encrypted"
    name = each.text_at("defaultInherit")
    for template in [*reversed(release.inherited), *([name] if name else [])]:
        if not each.has("templates", template):
            yield f"the template {template}", "which is in another file"
    if release.skipped:
        yield f"the templates before the last {len(release.inherited)}", TOO_MANY
    if each.has(*entry, "<<"):
        yield "the anchor that the release merges", TEMPLATE


def _says(found: _Read) -> bool:
    return bool(found.unread) or any(source.stated(*keys) for source in found.sources for keys in (_VERSION, _ARTIFACT))
