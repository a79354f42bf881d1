"""A version that has to be spelled as the tag of a release, and the folder that stands beside it."""

from __future__ import annotations

import posixpath

from flux_upgrade.kinds.formats.yaml_places import Value, is_variable
from flux_upgrade.kinds.pin import Standing
from flux_upgrade.values import NamedTuple
from flux_upgrade.versions import is_tag


class Reading(NamedTuple):
    """What a value says: fields of ``Pin``."""

    standing: Standing
    version: str = ""
    reason: str = ""
    hint: str = ""


def read(value: Value, bare: str) -> Reading:
    """``bare``: what comes of a version without its ``v``, a sentence without a full stop."""
    if value.reason:
        return Reading(Standing.UNKNOWN, reason=value.reason, hint="write the version out in this place")
    if is_variable(value.text):
        return Reading(
            Standing.UNKNOWN,
            reason="something else puts the version in here",
            hint="change the version where it comes from",
        )
    if is_tag(value.text):
        return Reading(Standing.EXACT, version=value.text)
    if is_tag(f"v{value.text}"):
        return Reading(Standing.UNKNOWN, reason=bare, hint=f"write v{value.text}")
    return Reading(
        Standing.UNKNOWN,
        reason="it is not spelled as a release of Flux is",
        hint="write the tag of a release: v, major, minor and patch",
    )


def is_nothing(value: Value | None) -> bool:
    """Whether no value is given: the key is missing, empty or null."""
    return value is None or (not value.reason and value.text in ("", "~", "null"))


def folder_of(value: Value | None) -> str | None:
    """A path below the repository's root, cleaned; empty for the root. None: it cannot be told."""
    if value is None or value.reason or not value.text or is_variable(value.text):
        return None
    path = posixpath.normpath(value.text.lstrip("/"))
    if path == ".." or path.startswith("../"):
        return None
    return "" if path == "." else path
