"""Which keys an SSH server may show: ``known_hosts`` for one host. The format: sshd(8)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterator

from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.patterns import fits
from flux_upgrade.model.values import NamedTuple

_URL = re.compile(r"ssh://(?:[^/@]*@)?(?P<host>\[[^\]]+\]|[^/:@]+)(?::(?P<port>[0-9]+))?(?:/|$)")
# RFC 4253, section 6.6: a length of four bytes comes first, and is a small one.
_KEY = re.compile(r"[a-z][A-Za-z0-9@._-]* AAAA[A-Za-z0-9+/]*={0,2}")
_MARKERS = ("@cert-authority", "@revoked")
_DEFAULT_PORT = "22"


class Host(NamedTuple):
    """An SSH server."""

    name: str  # In lower case; an IPv6 address without brackets
    port: str = _DEFAULT_PORT

    @property
    def entry(self) -> str:
        """As ``known_hosts`` has it: ``host``, or ``[host]:port`` where the port is not 22."""
        return self.name if self.port == _DEFAULT_PORT else f"[{self.name}]:{self.port}"

    @property
    def scan(self) -> str:
        port = "" if self.port == _DEFAULT_PORT else f"-p {self.port} "
        return f"ssh-keyscan {port}{self.name}"


def host_of(url: str) -> Host:
    """The server of an ``ssh://`` address as it stands in gotk-sync.yaml. Raises UsageError."""
    found = _URL.match(url)
    if found is None:
        raise UsageError(
            "the address of the repository is not an SSH address such as ssh://git@host/path",
            hint="fix --url, or use HTTPS with --token-auth",
        )
    return Host(found["host"].strip("[]").lower(), found["port"] or _DEFAULT_PORT)


def known_hosts(host: Host, given: str | None, published: tuple[str, ...]) -> str:
    """All keys of ``host``, a line each: out of ``given``, a file of the user's, else ``published``.

    ``published``: what the provider's API says of itself, ``ssh-ed25519 AAAA…``. Nothing is ever
    asked of the server itself: whoever answers would be believed. Raises UsageError where there
    are no keys.
    """
    if given is not None:
        lines = tuple(dict.fromkeys(_of_file(host, given)))
        source = f"--known-hosts has no key for {host.entry}"
    else:
        lines = tuple(f"{host.entry} {' '.join(key.split()[:2])}" for key in published)
        source = f"the SSH host keys of {host.entry} are unknown"
    if not any(not line.startswith("@revoked ") for line in lines):
        raise UsageError(
            source,
            hint=f"run `{host.scan} > known_hosts`, check the fingerprints with `ssh-keygen -lf known_hosts`, and add "
            "--known-hosts=known_hosts",
        )
    return "".join(f"{line}\n" for line in lines)


def fingerprint(public: str) -> str:
    """``SHA256:…`` of a public key, as ssh-keygen and forges show it. Raises ValueError for no key."""
    key = _KEY.match(public)
    if key is None:
        raise ValueError("no public key")
    digest = hashlib.sha256(base64.b64decode(key[0].split(" ")[1], validate=True)).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def _of_file(host: Host, text: str) -> Iterator[str]:
    """Lines about ``host``, rewritten for it alone: names are neither hashed nor patterns."""
    for line in text.splitlines():
        words = line.split()
        marker = words.pop(0) if words and words[0] in _MARKERS else ""
        if len(words) < 3 or words[0].startswith("#"):  # noqa: PLR2004 names, type, key
            continue
        names, key = words[0], " ".join(words[1:3])
        if _matches(names, host.entry) and _KEY.fullmatch(key):
            yield " ".join(filter(None, (marker, host.entry, key)))


def _matches(names: str, entry: str) -> bool:
    if names.startswith("|1|"):
        try:
            salt, digest = (base64.b64decode(each, validate=True) for each in names.split("|")[2:])
        except ValueError:
            return False
        return hmac.compare_digest(hmac.digest(salt, entry.encode(), "sha1"), digest)
    patterns = names.lower().split(",")
    if any(_is_like(pattern[1:], entry) for pattern in patterns if pattern.startswith("!")):
        return False
    return any(_is_like(pattern, entry) for pattern in patterns if not pattern.startswith("!"))


def _is_like(pattern: str, entry: str) -> bool:
    expression = "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern)
    return fits(expression, entry)


def shown_key(public: str) -> str:
    """A fingerprint; of what is no key, its kind."""
    try:
        return fingerprint(public)
    except ValueError:
        return public.partition(" ")[0]
