"""Counts how often a run opens the files of a repository, and how often Git reads a blob for it."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

_NO_READ = os.O_WRONLY | os.O_RDWR | getattr(os, "O_DIRECTORY", 0)
_roots: dict[int, str] = {}
"""Descriptor of a log → the directory, with ``/``, whose files are logged."""


@contextlib.contextmanager
def opened_below(root: Path) -> Iterator[Counter[str]]:
    """Count, until the block ends, the opens of regular files for reading; those in ``.git`` do not count.

    The counter is filled at the end of the block. Forked processes count as well.
    """
    _install()
    opened: Counter[str] = Counter()
    with tempfile.TemporaryFile() as log:
        _roots[log.fileno()] = f"{root.resolve()}/"
        try:
            yield opened
        finally:
            del _roots[log.fileno()]
        log.seek(0)
        paths = log.read().decode("utf-8", "surrogateescape").split("\0")
    opened.update(path for path in paths if path and (root / path).is_file())


@functools.cache
def _install() -> None:
    """Install the audit hook, once in a process: it cannot be removed."""
    sys.addaudithook(_log)


def _log(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or not _roots:
        return
    path, _, flags = arguments
    if isinstance(path, int) or flags & _NO_READ:
        return
    absolute = os.path.abspath(os.fsdecode(path))
    for log, root in _roots.items():
        if absolute.startswith(root) and not absolute.startswith(f"{root}.git/"):
            # A write by descriptor opens nothing, and reaches the log from a forked process.
            os.write(log, f"{absolute.removeprefix(root)}\0".encode("utf-8", "surrogateescape"))


def repeated(reads: Mapping[str, int], written: Iterable[str] = ()) -> dict[str, int]:
    """Return what is read more than once.

    A file that is ``written`` is compared twice: before the first file of a run is staged, and before it is replaced.
    """
    compared = frozenset(written)
    return {name: count for name, count in reads.items() if count > 1 + 2 * (name in compared)}


def write_git(program: Path, git: str, tee: str) -> None:
    """Write a ``git`` that logs the names of the blobs that it prints; see ``blobs_read``."""
    log = _blob_log(program)
    program.write_text(
        "#!/bin/sh\n"
        f'case " $* " in *" cat-file --batch"*) ;; *) exec {git} "$@" ;; esac\n'
        f'{tee} -a {log} | {git} "$@"\n'
        f"status=$?; echo >> {log}; exit $status\n"
    )
    program.chmod(0o755)


def blobs_read(program: Path) -> Counter[str]:
    """Count how often the ``git`` of ``write_git`` was asked for a blob since the last call."""
    log = _blob_log(program)
    asked = log.read_text().split() if log.exists() else []
    log.unlink(missing_ok=True)
    return Counter(asked)


def _blob_log(program: Path) -> Path:
    return program.with_name("blobs.txt")
