"""What a build of kustomizations can reach, by what is written in them: nothing but the files given, or more. Pure.

kustomize-controller builds without kustomize's load restrictor, in a file system that ends at the root of the source
(fluxcd/pkg, kustomize: ``SecureBuild``). The programs on PATH have no such file system. A build without the restrictor
therefore starts only if each kustomization in it is plain: fields that are known to name files or to name none, and no
name that leads above the root of what was given. Whatever could make a name out of several texts is not plain.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

from flux_upgrade.model.text import is_below
from flux_upgrade.model.values import NamedTuple

_NAMES = ("kustomization.yaml", "kustomization.yml", "kustomization")  # In lower case: some file systems ignore case
_SYNC = "gotk-sync.yaml"
_PLAIN = frozenset(
    (
        *("apiVersion", "kind", "metadata", "resources", "bases", "components", "crds", "configurations", "openapi"),
        *("namespace", "namePrefix", "nameSuffix", "labels", "commonLabels", "commonAnnotations", "buildMetadata"),
        *("patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "vars", "images", "replicas"),
        *("configMapGenerator", "secretGenerator", "generatorOptions", "sortOptions"),
    )
)
"""Fields of kustomize's api/types/kustomization.go without those of plugins and charts: what is read for these is
named in objects, which other fields can put together."""
_NO_FILES = "literals"  # Of generators: values, which may well begin with `/`
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Reach(NamedTuple):
    is_confined: bool  # Nothing but the files given can be read
    climbs: bool  # One of these is named by a kustomization that is not above it: the restrictor refuses that


class _Unclear(Exception):
    """What a text is for kustomize, or which file it names, is not certain."""


def reach_of(files: Mapping[str, bytes], folder: str) -> Reach:
    """Of a build of ``folder``. ``files``: path → content, all that the program finds."""
    given: dict[str, list[bytes]] = {}
    for path, content in files.items():
        given.setdefault(_join(path).lower(), []).append(content)
    waiting = [_join(folder).lower()]
    seen, climbs = {*waiting}, False
    try:
        while waiting:
            here = waiting.pop()
            for named in _named_in(given, here):
                climbs = climbs or (named in given and not is_below(named, "" if here == "." else here))
                if named not in seen and any(_join(named, each) in given for each in _NAMES):
                    seen.add(named)
                    waiting.append(named)
    except (_Unclear, yaml.YAMLError, ValueError):
        return Reach(is_confined=False, climbs=climbs)
    return Reach(is_confined=True, climbs=climbs)


def _named_in(given: Mapping[str, list[bytes]], folder: str) -> Iterator[str]:
    """Each path, relative to the root, that the kustomizations there may name. Raises _Unclear."""
    for name in _NAMES:
        for content in given.get(_join(folder, name), ()):
            for field, text in _texts(content, _PLAIN):
                if field != _NO_FILES:
                    yield from _paths(folder, text)
    for content in given.get(_join(folder, _SYNC), ()):
        # The only files that `flux build` adds of the Kustomization in it.
        for field, text in _texts(content):
            # They are read in any case, where U+017F is an `s` (Go, encoding/json).
            if field.casefold() == "components":
                yield from _paths(folder, text)


def _paths(folder: str, text: str) -> Iterator[str]:
    """What it names: itself, or `path` of `key=path`. Raises _Unclear where that leads above the root."""
    # macOS takes letters with accents that are spelled in two ways for one name.
    if not text.isascii():
        raise _Unclear
    for name in {text, text.partition("=")[2]}:
        path = _join(folder, name.strip())
        if path.startswith(("/", "../")) or path == "..":
            raise _Unclear
        yield path.lower()


def _texts(content: bytes, plain: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Its values at any depth, each with the field that it is of; ``plain``: the only fields that it may have.

    It is read event by event: a deep file or many aliases cost nothing. Raises _Unclear for aliases and tags, which
    make another text of one, and with ``plain`` also for a second document.
    """
    open_: list[_Open] = []
    documents = 0
    for event in yaml.parse(content, Loader=_Loader):
        documents += isinstance(event, yaml.DocumentStartEvent)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None) or (plain and documents > 1):
            raise _Unclear
        value = event.value if isinstance(event, yaml.ScalarEvent) else None
        if isinstance(event, yaml.CollectionEndEvent):
            open_.pop()
        elif open_ and open_[-1].is_mapping and open_[-1].key is None:
            if value is None or (plain and len(open_) == 1 and value not in plain):
                raise _Unclear
            open_[-1].key = value
        elif value is not None or isinstance(event, yaml.CollectionStartEvent):
            field = open_[-1].taken() if open_ else ""
            if value is None:
                open_.append(_Open(isinstance(event, yaml.MappingStartEvent), field))
            else:
                yield field, value


@dataclass
class _Open:
    """A list or mapping whose end was not read yet."""

    is_mapping: bool
    field: str  # That it is the value of; of a list in a list, that of the outer one
    key: str | None = None  # Of a mapping, whose value comes next

    def taken(self) -> str:
        """The field of the value that comes."""
        field, self.key = self.field if self.key is None else self.key, None
        return field


def _join(folder: str, name: str = "") -> str:
    return posixpath.normpath(posixpath.join(folder, name))
