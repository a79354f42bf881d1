"""The error for an artifact that cannot be used, in words that one terminal line can show."""

from __future__ import annotations

from flux_upgrade.errors import UntrustedArchive

_LONGEST = 200
"""Characters of what is shown of somebody else's text."""


def refused(what: str, why: str) -> UntrustedArchive:
    """The error for a part of an artifact; ``what`` names it. Either may hold text from the artifact."""
    return UntrustedArchive(
        f"{_shown(what)} cannot be trusted: {_shown(why)}",
        hint="nothing was pushed; look at what `flux pull artifact` makes of it, or push it anew",
    )


def _shown(text: str) -> str:
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return escaped if len(escaped) <= _LONGEST else f"{escaped[: _LONGEST - 1]}…"
