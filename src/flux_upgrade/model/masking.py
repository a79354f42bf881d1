"""Secrets, taken out of whatever a run writes: reports, warnings, files for the runner, and texts of pull requests."""

from __future__ import annotations

import json
import string
from collections.abc import Iterable
from html import escape

from flux_upgrade.model.markdown import plain

# Fewer characters than any token has would be found in every other word.
_SHORTEST = 4
_UNRESERVED = f"{string.ascii_letters}{string.digits}-._~"


class Mask:
    """The secrets that are known so far. A run has one, and everything that it writes goes through it."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms: tuple[str, ...] = ()
        self.hide(secrets)

    def __repr__(self) -> str:
        return "Mask()"

    def hide(self, secrets: Iterable[str]) -> None:
        """From now on, as they are and as texts have them: Markdown, JSON, HTML, addresses."""
        forms = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
        # One secret may be a part of another.
        self._forms = tuple(sorted(forms.union(self._forms), key=len, reverse=True))

    def __call__(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, "***")
        return text


def _forms(secret: str) -> Iterable[str]:
    quoted = (json.dumps(secret, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False))
    markdown = plain(secret, len(secret))
    # RFC 3986, section 2.1.
    address = "".join(
        chr(byte) if chr(byte) in _UNRESERVED else f"%{byte:02X}" for byte in secret.encode("utf-8", "surrogateescape")
    )
    return (secret, *quoted, markdown, escape(secret), address, json.dumps(markdown)[1:-1])
