"""Lists that come page by page, each naming the next in a ``Link`` header. Pure."""

from __future__ import annotations

from urllib.parse import urljoin

from flux_upgrade.edges import trouble


def next_page(link: str, current: str) -> str | None:
    """The address of the next page in a ``Link`` header (RFC 8288), if the host of ``current`` has it."""
    for entry in link.split(","):
        target, *parameters = (part.strip() for part in entry.split(";"))
        if target.startswith("<") and target.endswith(">") and 'rel="next"' in parameters:
            return _joined(current, target[1:-1])
    return None


def _joined(current: str, target: str) -> str | None:
    try:
        url = urljoin(current, target)
        return url if trouble.origin(url) == trouble.origin(current) else None
    except ValueError:
        return None
