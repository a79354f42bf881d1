"""The images that a manifest's text names, as bots find them."""

from __future__ import annotations

import re

_IMAGE = re.compile(rb"^\s*(?:- )?image:\s*[\"']?([^\s\"'@:]+(?::\d+/[^\s\"'@:]+)?)", re.MULTILINE)


def images_in(content: bytes) -> frozenset[str]:
    """The images of ``content``, without tag and digest."""
    return frozenset(match.decode(errors="replace") for match in _IMAGE.findall(content))
