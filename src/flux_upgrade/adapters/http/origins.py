r"""The origin of a URL, and where an answer leads to: what may be followed, and what is not. Pure.

``urllib.parse`` and urllib3 disagree about some addresses: in ``http://a\@b/`` the one sees the
host b, the other connects to a. What decides where a credential goes therefore asks urllib3, and an
address that two parsers could read in two ways is not followed at all. urllib3 comes with
requests; it is imported when an address is parsed, not before.
"""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

from flux_upgrade.model.errors import SourceUnavailable
from flux_upgrade.model.text import one_line
from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from urllib3.util import Url

PORTS = {"https": 443, "http": 80}  # what is followed → its default port

_AUTHORITY = re.compile(r"(?:[^/?#]*:)?//([^/?#]*)")
_LOOPBACK = re.compile(r"(?:localhost|127\.[0-9.]+|\[::1\])(?::[0-9]+)?")
_PLAIN_HOST = re.compile(r"[A-Za-z0-9._:\[\]-]+")  # A host with its port: ASCII, without `%`


class Origin(NamedTuple):
    """What a credential is bound to. A host with a dot at its end is another one than without."""

    scheme: str
    host: str  # in lower case, in its ASCII form (IDNA); an IPv6 address in brackets
    port: int | None  # the scheme's own where none is named; None for a scheme that is not http or https


def origin(url: str) -> Origin:
    """The origin that requests connects to. Raises ValueError for an address that has none."""
    parts = _parsed(url)
    scheme = parts.scheme or ""
    return Origin(scheme, parts.host or "", parts.port or PORTS.get(scheme))


def is_loopback(host: str) -> bool:
    """Whether a host, with its port if it is named, is this machine: only there, plain http is spoken."""
    return _LOOPBACK.fullmatch(host) is not None


def host(url: str) -> str:
    """The host of a URL, with its port if it is named; without user names and passwords."""
    try:
        parts = _parsed(url)
    except ValueError:
        return "the release source"
    name = (parts.host or "").strip("[]")
    return one_line(name if parts.port is None else f"{name}:{parts.port}")


def odd_authority(url: str) -> str:
    """What makes it unclear which host a URL is for; empty: nothing does. A user may be named."""
    found = _AUTHORITY.match(url)
    authority = found[1] if found else ""
    if odd := _odd_characters(authority):
        return odd
    user, _, host = authority.rpartition("@")
    has_escape = "%" in host and not host.startswith("[")  # there it is the zone of an IPv6 address
    return "'@' or '%' in its host" if "@" in user or has_escape else ""


def oddity(reference: str) -> str:
    """What keeps an address that a server names from being followed; empty: nothing does."""
    if odd := _odd_characters(reference):
        return odd
    found = _AUTHORITY.match(reference)
    if found is None:
        return ""
    if "@" in found[1]:
        return "a user name"
    return "" if _PLAIN_HOST.fullmatch(found[1]) else "a host that is empty or not plain ASCII"


def followed(url: str, reference: str, verb: str) -> str:
    """The URL that ``reference`` leads to, where an answer of ``url`` names it; ``verb``: how.

    Raises SourceUnavailable.
    """
    if odd := oddity(reference):
        raise not_followed(url, verb, f"an address with {odd}")
    try:
        target = urljoin(url, reference)
        scheme = urlsplit(target).scheme
        if scheme in PORTS:
            origin(target)
    except ValueError:
        raise not_followed(url, verb, "an address that is not valid") from None
    if scheme not in PORTS:
        raise not_followed(url, verb, scheme or "nowhere")
    return target


def redirected(url: str, location: str, *, keeps_plain_host: bool = False) -> str:
    """The URL that ``location`` leads to from ``url``.

    Raises SourceUnavailable where that is neither https nor http, or is an address that
    two parsers could read in two ways, or https was given up for http, or another host is
    to be asked over http and must not be.
    """
    target = followed(url, location, "redirects to")
    there, here = origin(target), origin(url)
    is_another = there.host != here.host
    if there.scheme == "http" and (here.scheme == "https" or (keeps_plain_host and is_another)):
        raise not_followed(url, "redirects to", "http")
    return target


def not_followed(url: str, verb: str, what: str) -> SourceUnavailable:
    """The error for an address that an answer of ``url`` names; ``verb``: how."""
    return SourceUnavailable(
        f"{host(url)} {verb} {one_line(what)}, which is not followed",
        hint="check the URL of that host and any proxy in between",
    )


def next_page(link: str, current: str) -> str | None:
    """The address of the next page in a ``Link`` header (RFC 8288), if the host of ``current`` has it.

    Raises SourceUnavailable for an address that two parsers could read in two ways.
    """
    for entry in link.split(","):
        target, *parameters = (part.strip() for part in entry.split(";"))
        if not (target.startswith("<") and target.endswith(">") and 'rel="next"' in parameters):
            continue
        if odd := oddity(target[1:-1]):
            raise not_followed(current, "names as its next page", f"an address with {odd}")
        try:
            url = followed(current, target[1:-1], "names as its next page")
            return url if origin(url) == origin(current) else None
        except (SourceUnavailable, ValueError):
            return None
    return None


def _odd_characters(text: str) -> str:
    if "\\" in text:
        return "a backslash"
    if any(c.isspace() or not c.isprintable() for c in text):
        return "spaces or control characters"
    return ""


def _parsed(url: str) -> Url:
    from urllib3.util import parse_url

    if odd := odd_authority(url):
        raise ValueError(odd)
    parts = parse_url(url)
    # requests connects to the default port instead of port 0.
    if not parts.scheme or not parts.host or parts.port == 0:
        raise ValueError("no host, or no port that can be asked")
    return parts
