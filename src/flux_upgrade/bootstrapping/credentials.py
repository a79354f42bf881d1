"""Whether what is to be handed over can be what it is said to be. Nothing of it is shown."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator

from flux_upgrade.bootstrapping.access import Given
from flux_upgrade.errors import UsageError

_PEM = re.compile(
    r"-----BEGIN (?P<kind>(?:RSA )?PRIVATE KEY)-----\s+(?P<body>[A-Za-z0-9+/=\s]+)-----END (?P=kind)-----"
)
"""What source-controller reads: PKCS #1 or #8, not encrypted. Source: golang-jwt, ``rsa_utils.go``."""


def require_sound(given: Given) -> None:
    """Raises UsageError with all that cannot be used."""
    problems = tuple(_problems(given))
    if problems:
        said, hints = zip(*problems, strict=True)
        raise UsageError("; ".join(said), hint="; ".join(hints))


def _problems(given: Given) -> Iterator[tuple[str, str]]:
    """What is wrong, and what to do about it."""
    if not _is_a_word(given.token):
        yield (
            "the token for Flux has a blank, a line break or another character in it that no token has",
            "set FLUX_UPGRADE_SYNC_TOKEN to the token alone",
        )
    key = given.app.private_key if given.app is not None else ""
    if key and not _is_pem(key):
        yield (
            "the private key of the GitHub App is not one in PEM, or is encrypted",
            "give what GitHub made, with its lines: --app-private-key or FLUX_UPGRADE_APP_PRIVATE_KEY",
        )


def _is_a_word(token: str) -> bool:
    return token.isprintable() and " " not in token


def _is_pem(text: str) -> bool:
    found = _PEM.fullmatch(text.strip())
    if found is None:
        return False
    try:
        return bool(b64decode("".join(found["body"].split()), validate=True))
    except ValueError:
        return False
