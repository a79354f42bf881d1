"""Which addresses of reports become links, on any page."""

from __future__ import annotations

import re

# ASCII without quotes, brackets, backslashes and spaces: it cannot leave an attribute of HTML, or a link of Markdown.
_HTTPS = re.compile(
    r"https://[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~%/#?=&+:@,;-]*)?"
)


def safe(url: str) -> str:
    """``url`` if it is https and plain; else empty."""
    return url if len(url) <= 2000 and _HTTPS.fullmatch(url) else ""  # noqa: PLR2004 as browsers have it
