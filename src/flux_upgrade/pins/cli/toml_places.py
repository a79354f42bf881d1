"""The Flux CLI in the TOML files of mise (mise.jdx.dev/configuration.html): version and place."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import decoded, line_of
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.ranges import tag_of
from flux_upgrade.snapshot.yaml_places import Value

_MARK = "flux-upgrade-was-here"
_LONGEST = 200_000  # Characters: it is read once for each place that may be the right one
_MOST = 50  # Such places
_ALL_READ = 500_000  # Characters that are read for all of them, of files that people write
_BYTE_ORDER_MARK = "\ufeff"

Path = tuple[str | int, ...]
_FILE = re.compile(r"(?:.*/)?(?:\.?mise(?:\.[\w-]+)*|\.?mise/(?:config(?:\.[\w-]+)*|conf\.d/[^/]+))\.toml")
_FLUX = re.compile(
    r"(?:flux2|(?:aqua|ubi|github):fluxcd/flux2|asdf:(?:https://github\.com/)?tablexi/asdf-flux2(?:\.git)?"
    r"|go:github\.com/fluxcd/flux2/v2/cmd/flux)(?:\[[^]]*\])?"
)
"""The short name of mise's registry, and the backends; options may follow in brackets."""
_OWN_NAMES = ("flux", "fluxcd")  # What people call it themselves, when they add the plugin


def parsed(text: str) -> dict[str, Any]:
    """The file's values. Raises Unreadable."""
    if len(text) > _LONGEST:
        raise Unreadable("the TOML file is too large", hint="split the file")
    try:
        return tomllib.loads(text.removeprefix(_BYTE_ORDER_MARK))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not valid TOML: {error}", hint="fix the file first") from error


def strings(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from strings(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from strings(each, (*path, index))


def place_of(text: str, path: Path, written: str) -> Value | None:
    """Where the string at ``path`` stands; None where that cannot be proved.

    Of all the places where the text stands in quotes it is the one at which another text changes
    that value, and no other.
    """
    before = dict(strings(parsed(text)))
    most = min(_MOST, 1 + _ALL_READ // max(len(text), 1))
    for match in islice(re.finditer(rf"(?<=[\"']){re.escape(written)}(?=[\"'])", text), most):
        start, end = match.span()
        try:
            after = dict(strings(parsed(text[:start] + _MARK + text[end:])))
        except Unreadable:  # Another text breaks the file here: it is no value
            continue
        if after == {**before, path: _MARK}:
            return Value(written, start, end, line_of(text, start))
    return None


class Tool(NamedTuple):
    """The CLI in a file."""

    path: Path  # Where its (first) version stands: `("tools", "flux2", "version")`
    version: object  # Text, unless something else stands there
    others: tuple[str, ...] = ()  # Versions that follow the first, which is what `flux` runs


def is_mise_file(path: str) -> bool:
    return _FILE.fullmatch(path) is not None


def is_flux(name: str) -> bool:
    return _FLUX.fullmatch(name) is not None


def may_be_flux(name: str) -> bool:
    """Whether it is by its name, or by that and a version that is one of Flux."""
    return is_flux(name) or name in _OWN_NAMES


def tools(text: str, is_wanted: Callable[[str], object]) -> Iterator[tuple[str, Tool]]:
    """Name and tool, for the whole project and for single tasks. Raises Unreadable.

    ``is_wanted``: whether a tool of that name is.
    """
    data = parsed(text)
    tables: list[tuple[Path, object]] = [(("tools",), data.get("tools"))]
    tasks = ((name, task) for name, task in _items(data.get("tasks")) if isinstance(task, dict))
    tables += [(("tasks", name, "tools"), task.get("tools")) for name, task in tasks]
    for path, table in tables:
        yield from ((name, _tool(value, (*path, name))) for name, value in _items(table) if is_wanted(name))


def locked(content: bytes) -> str | None:
    """The release that a ``mise.lock`` holds for the CLI, empty where it is unclear; None: none at all."""
    try:
        found = parsed(decoded(content)).get("tools")
    except Unreadable:  # A broken file that names the CLI is unclear
        return "" if b"flux2" in content else None
    entries = next((each for name, each in _items(found) if is_flux(name)), None)
    if entries is None:
        return None
    first = entries[0] if isinstance(entries, list) and len(entries) == 1 else entries
    version = first.get("version") if isinstance(first, dict) else ""
    return tag_of(version) if isinstance(version, str) else ""


def _items(found: object) -> Iterator[tuple[str, object]]:
    if isinstance(found, Mapping):
        yield from found.items()


def _tool(value: object, path: Path) -> Tool:
    if isinstance(value, list) and value:
        first = _tool(value[0], (*path, 0))
        return first._replace(others=tuple(str(_tool(each, path).version) for each in value[1:]))
    if isinstance(value, dict):
        return Tool((*path, "version"), value.get("version"))
    return Tool(path, value)
