"""Programs on PATH."""
# PATH is a string, and so is what is found on it.
# ruff: noqa: PTH113, PTH117, PTH118

from __future__ import annotations

import os


def find(search_path: str, name: str) -> str | None:
    """Where a program is; None: nowhere.

    Folders that are not absolute are passed over: a repository must not bring the program that is run on it.
    """
    for folder in search_path.split(os.pathsep):
        program = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    return None
