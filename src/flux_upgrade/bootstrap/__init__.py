"""Flux in a repository that has none: its files, its access to the repository, and what is left to do.

What is written is what ``flux bootstrap`` of that version writes (fluxcd/flux2, ``pkg/bootstrap``).
"""

from __future__ import annotations
