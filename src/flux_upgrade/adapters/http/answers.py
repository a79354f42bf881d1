"""Lists that come page by page, each naming the next in a ``Link`` header. Pure."""

from __future__ import annotations

from flux_upgrade.edges import origins, trouble


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
