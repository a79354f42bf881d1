"""What the tests of convergence have counted, for the terminal's summary (and from there for the docs)."""

from __future__ import annotations

LINES: list[str] = []
