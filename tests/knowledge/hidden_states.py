"""Pieces of knowledge that are in no file of the checkout: the history, and the answers of a registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from knowledge.pieces import PIECES, Variant
from knowledge.repositories import Repository

_DEAD = "127.0.0.1:9"
"""A host where nothing answers."""

Taking = Callable[[Repository], Iterator[Variant]]


def shallow_history(repository: Repository) -> Iterator[Variant]:
    """Take a shallow clone."""
    yield from _mode(repository, "shallow")


def no_history(repository: Repository) -> Iterator[Variant]:
    """Take the files without Git."""
    yield from _mode(repository, "files")


def registry_unanswered(repository: Repository) -> Iterator[Variant]:
    """Replace the registry by a host where nothing answers."""
    host = repository.host.encode()
    files: dict[str, bytes | None] = {
        path: content.replace(host, _DEAD.encode()) for path, content in repository.files.items() if host in content
    }
    if host and files:
        yield Variant(files, (_DEAD,), argv=(f"--allow-hosts={_DEAD}",))


def _mode(repository: Repository, mode: str) -> Iterator[Variant]:
    if mode in repository.others:
        yield Variant({}, ("Git", "git", "shallow", "history"), mode=mode)


COSTS_AN_ACTION = ("shallow_history", "no_history", "registry_unanswered")
"""Names of the pieces that hold nothing by themselves."""


def takings() -> dict[str, Taking]:
    """Return all pieces by their names."""
    states: tuple[Taking, ...] = (shallow_history, no_history, registry_unanswered)
    in_files = {piece.__name__: (lambda repository, piece=piece: piece(repository.files)) for piece in PIECES}
    return {**in_files, **{state.__name__: state for state in states}}
