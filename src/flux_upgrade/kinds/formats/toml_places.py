"""TOML with the places of its strings, proved by reading the file again with something else there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from flux_upgrade.errors import Unreadable
from flux_upgrade.kinds.formats.yaml_places import Value
from flux_upgrade.textedit import line_of

_MARK = "flux-upgrade-was-here"
_LONGEST = 200_000
"""Characters: it is read once for each place that may be the right one."""
_MOST = 50
"""Such places."""
_BYTE_ORDER_MARK = "\ufeff"

Path = tuple[str | int, ...]


def parsed(text: str) -> dict[str, Any]:
    """The file's values. Raises Unreadable."""
    import tomllib  # late: few trees have such files

    if len(text) > _LONGEST:
        raise Unreadable("larger than people write TOML", hint="split the file")
    try:
        return tomllib.loads(text.removeprefix(_BYTE_ORDER_MARK))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"no valid TOML: {error}", hint="mend the file first") from error


def strings(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every string below a value, with its path."""
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
    for match in islice(re.finditer(rf"(?<=[\"']){re.escape(written)}(?=[\"'])", text), _MOST):
        start, end = match.span()
        try:
            after = dict(strings(parsed(text[:start] + _MARK + text[end:])))
        except Unreadable:
            continue
        if after == {**before, path: _MARK}:
            return Value(written, start, end, line_of(text, start))
    return None
