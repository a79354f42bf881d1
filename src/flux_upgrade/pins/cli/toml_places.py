"""The Flux CLI in the configuration of mise (mise.jdx.dev/configuration.html): where, and at what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from flux_upgrade.errors import Unreadable
from flux_upgrade.kinds.formats.toml_places import Path, parsed
from flux_upgrade.kinds.parts.cli_versions import tag_of
from flux_upgrade.textedit import decoded
from flux_upgrade.values import NamedTuple

_FILE = re.compile(r"(?:.*/)?(?:\.?mise(?:\.[\w-]+)*|\.?mise/(?:config(?:\.[\w-]+)*|conf\.d/[^/]+))\.toml")
_FLUX = re.compile(
    r"(?:flux2|(?:aqua|ubi|github):fluxcd/flux2|asdf:(?:https://github\.com/)?tablexi/asdf-flux2(?:\.git)?"
    r"|go:github\.com/fluxcd/flux2/v2/cmd/flux)(?:\[[^]]*\])?"
)
"""The short name of mise's registry, and the backends; options may follow in brackets."""
_OWN_NAMES = ("flux", "fluxcd")
"""What people call it themselves, when they add the plugin."""


class Tool(NamedTuple):
    """The CLI in a file."""

    path: Path
    """Where its (first) version stands: ``("tools", "flux2", "version")``."""
    version: object
    """Text, unless something else stands there."""
    others: tuple[str, ...] = ()
    """Versions that follow the first, which is what ``flux`` runs."""


def is_mise_file(path: str) -> bool:
    """Whether mise reads a file of that name."""
    return _FILE.fullmatch(path) is not None


def is_flux(name: str) -> bool:
    """Whether a tool of that name is the Flux CLI."""
    return _FLUX.fullmatch(name) is not None


def may_be_flux(name: str) -> bool:
    """Whether it is, if its version is one of Flux."""
    return name in _OWN_NAMES


def tools(text: str) -> Iterator[tuple[str, Tool]]:
    """Name and tool, for the whole project and for single tasks. Raises Unreadable."""
    data = parsed(text)
    yield from _below(data.get("tools"), ("tools",))
    tasks = data.get("tasks")
    for name, task in tasks.items() if isinstance(tasks, dict) else ():
        if isinstance(task, dict):
            yield from _below(task.get("tools"), ("tasks", name, "tools"))


def locked(content: bytes) -> str | None:
    """The release that a ``mise.lock`` holds for the CLI, empty where it is unclear; None: none at all."""
    try:
        found = parsed(decoded(content)).get("tools")
    except Unreadable:
        return "" if b"flux2" in content else None
    entries = next((each for name, each in _items(found) if is_flux(name)), None)
    if entries is None:
        return None
    first = entries[0] if isinstance(entries, list) and len(entries) == 1 else entries
    version = first.get("version") if isinstance(first, dict) else ""
    return tag_of(version) if isinstance(version, str) else ""


def _below(found: object, path: Path) -> Iterator[tuple[str, Tool]]:
    for name, value in _items(found):
        if is_flux(name) or may_be_flux(name):
            yield name, _tool(value, (*path, name))


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
