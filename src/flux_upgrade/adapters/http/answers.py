"""What answers hold: JSON, and the next page in a ``Link`` header. Pure."""

from __future__ import annotations

from flux_upgrade.adapters.http import origins, trouble
from flux_upgrade.model.errors import SourceUnavailable
from flux_upgrade.model.text import one_line


def parse_json(data: bytes, what: str) -> object:
    """The JSON value in ``data``. Raises SourceUnavailable; ``what`` names it there."""
    import json

    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        raise malformed(what, "is not JSON") from None
    return value


def malformed(what: str, why: str) -> SourceUnavailable:
    """The error for an answer of another shape; ``what`` names it."""
    return SourceUnavailable(
        f"{one_line(what)} {why}",
        hint="it should be GitHub's list of release objects, a list with at least tag_name in each",
    )


def next_page(link: str, current: str) -> str | None:
    """The address of the next page in a ``Link`` header (RFC 8288), if the host of ``current`` has it.

    Raises SourceUnavailable for an address that two parsers could read in two ways.
    """
    for entry in link.split(","):
        target, *parameters = (part.strip() for part in entry.split(";"))
        if target.startswith("<") and target.endswith(">") and 'rel="next"' in parameters:
            return _joined(current, target[1:-1])
    return None


def _joined(current: str, target: str) -> str | None:
    if odd := origins.oddity(target):
        raise trouble.not_followed(current, "names as its next page", f"an address with {odd}")
    try:
        url = origins.followed(current, target)
        return url if origins.origin(url) == origins.origin(current) else None
    except ValueError:
        return None
