"""Versions and semver ranges that users pin Flux by: what they come to today, and how they are raised."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from functools import lru_cache

from flux_upgrade.model.errors import UnsupportedPin, UsageError
from flux_upgrade.model.versions import Version, is_tag
from flux_upgrade.pins.formats.readings import Reading, unknown
from flux_upgrade.pins.pin import PinState
from flux_upgrade.policy.semver_range import Constraint
from flux_upgrade.snapshot.yaml_places import Value, is_variable

_SERIES = re.compile(r"([~^]?)(\s*)(v?)(\d+)(?:\.(\d+)(?:\.(\d+|[xX*]))?)?")
_WILDCARD = re.compile(r"\s*([~^]?v?)\d+\.([xX*])((?:\.[xX*])?)\s*")
_EXACT = re.compile(r"=?v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")


@lru_cache(maxsize=64)  # A file repeats its ranges
def parsed(text: str) -> Constraint | None:
    """None where it is no range."""
    if not text.isascii():  # Go's digits and spaces are
        return None
    try:
        return Constraint(text)
    except UsageError:
        return None


def is_exact(text: str) -> bool:
    """Whether one version is all that the text allows: ``2.9.4``, ``v2.9.4``, ``=2.9.4``."""
    return _EXACT.fullmatch(text) is not None and is_tag(f"v{text.lstrip('=v')}")


def allows(text: str, tag: str) -> bool:
    """Whether the range admits the release; False for what is no range, or no release."""
    constraint, version = parsed(text), Version.parse(tag)
    return constraint is not None and version is not None and constraint.allows(version)


def newest(text: str, tags: Iterable[str]) -> str:
    """The highest of ``tags`` that the range admits; empty where there is none."""
    constraint = parsed(text)
    versions = (Version.parse(tag) for tag in tags)
    able = [each for each in versions if each is not None and constraint and constraint.allows(each)]
    return str(max(able)) if able else ""


def raised(text: str, tag: str) -> str | None:
    """The range, as it is spelled, with ``tag`` in it; None where that takes a person.

    A series follows: ``2.8.x`` to ``2.9.x``, ``~2.8.3`` to ``~2.9.4``, ``2.x`` to ``3.x``. Whatever has
    several comparisons is left alone.
    """
    if allows(text, tag):
        return text
    match, version = _SERIES.fullmatch(text.strip()), Version.parse(tag)
    if version is None:
        return None
    if match is None:
        wildcard = _WILDCARD.fullmatch(text)
        return f"{wildcard[1]}{version.numbers[0]}.{wildcard[2]}{wildcard[3]}" if wildcard else None
    operator, gap, prefix, _, minor, patch = match.groups()
    core = str(version.numbers[0]) if minor is None else version.minor
    if patch is not None:
        core += f".{patch if patch in 'xX*' else version.numbers[2]}"
    new = text.replace(match[0].strip(), f"{operator}{gap}{prefix}{core}")
    return new if allows(new, tag) else None


def require_raised(text: str, tag: str, place: str) -> str:
    """The range, raised as by ``raised``. Raises UnsupportedPin if that takes a person.

    ``place``: ``FILE:LINE``.
    """
    new = raised(text, tag)
    if new is None:
        raise UnsupportedPin(
            f"{place}: the range {text} does not include {tag} and cannot be changed safely",
            hint=f"write a range that includes {tag}",
        )
    return new


def read(value: Value, bare: str) -> Reading:
    """``bare``: what comes of a version without its ``v``, a sentence without a full stop."""
    if value.reason:
        return unknown(value.reason, "write the version as plain text")
    if is_variable(value.text):
        return unknown("another file or tool sets the version", "edit the version where it is set")
    if is_tag(value.text):
        return Reading(PinState.EXACT, value.text)
    if is_tag(f"v{value.text}"):
        return unknown(bare, f"write v{value.text}")
    return unknown("it is not written like a Flux release", "write a release's tag, like v2.9.4")


def tag_of(text: str) -> str:
    """The release that ``2.9.4`` or ``v2.9.4`` names, as a tag of Git or of a registry; else empty."""
    tag = text if text.startswith("v") else f"v{text}"
    # No tag in a registry has a plus sign, and no release of Flux has one.
    return tag if is_tag(tag) and "+" not in tag else ""


def respelled(tag: str, like: str) -> str:
    """The tag with or without its ``v``, as ``like`` has it."""
    return tag if like.startswith("v") else tag.removeprefix("v")


def is_nothing(value: Value | None) -> bool:
    """Whether no value is given: the key is missing, empty or null."""
    return value is None or (not value.reason and value.text in ("", "~", "null"))


def folder_of(value: Value | None) -> str | None:
    """A path below the repository's root, cleaned; empty for the root. None: it is unknown."""
    if value is None or value.reason or not value.text or is_variable(value.text):
        return None
    path = posixpath.normpath(value.text.lstrip("/"))
    if path == ".." or path.startswith("../"):
        return None
    return "" if path == "." else path
