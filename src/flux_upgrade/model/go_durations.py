"""Durations in the format of Go, which Flux reads."""

from __future__ import annotations

import re

from flux_upgrade.model.errors import UsageError

_PART = r"(?:([0-9]{1,9})(?:\.([0-9]{0,9}))?|\.([0-9]{1,9}))(ns|us|µs|μs|ms|s|m|h)"
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
# Go's Duration is a signed 64-bit number of nanoseconds.
_MOST_DIGITS = 2**63 - 1
# The CRDs of Flux take no finer unit (fluxcd/source-controller, api/v1).
_FINEST = 10**6


def duration(text: str, flag: str) -> str:
    """``text`` as Go spells it. ``flag``: without its hyphens. Raises UsageError for what Flux would refuse.

    Source: Go ``time.ParseDuration`` and ``Duration.String``.
    """
    found = nanoseconds(text)
    if found is None:
        remedy = f"{text}s or {text}m" if re.fullmatch("[0-9]+", text) else "1m, 90s or 1h30m"
        raise UsageError(f"--{flag} '{text}' is not a duration such as {remedy}", hint="add a unit")
    if found == 0 or found % _FINEST:
        raise UsageError(f"--{flag} '{text}' is not a duration that Flux accepts", hint="use 1s or more")
    return spelled(found)


def nanoseconds(text: str) -> int | None:
    """Of a duration that is not negative; None for what is none."""
    if text == "0":
        return 0
    if not re.fullmatch(f"(?:{_PART})+", text):
        return None
    total = 0
    for whole, fraction, alone, unit in re.findall(_PART, text):
        digits = fraction or alone
        total += int(whole or "0") * _NANOSECONDS[unit]
        total += int(digits or "0") * _NANOSECONDS[unit] // 10 ** len(digits)
    return total if total <= _MOST_DIGITS else None


def spelled(total: int) -> str:
    """Nanoseconds as Go's ``Duration.String``, from milliseconds up: ``1h30m0s``, ``1.5s``, ``500ms``."""
    if 0 < total < _NANOSECONDS["s"]:
        return f"{_decimal(total, _NANOSECONDS['ms'])}ms"
    minutes, seconds = divmod(total, _NANOSECONDS["m"])
    hours, minutes = divmod(minutes, 60)
    above = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{above}{_decimal(seconds, _NANOSECONDS['s'])}s"


def _decimal(total: int, unit: int) -> str:
    whole, rest = divmod(total, unit)
    fraction = f".{rest:0{len(str(unit)) - 1}}".rstrip("0") if rest else ""
    return f"{whole}{fraction}"
