"""A file of a repository: its bytes and, parsed once, its YAML documents and objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from flux_upgrade.model.errors import Unread
from flux_upgrade.snapshot import yaml_places
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, is_variable

_LARGE = 256 * 1024  # Bytes; the objects of larger files are not kept
_MOST_KEPT = 2 * 1024 * 1024  # Bytes of all files whose objects are kept, which take some 40 times as much


class Parsed:
    """Facts about the parsed files of a snapshot."""

    def __init__(self) -> None:
        self.problems: dict[str, Unread] = {}  # Path → why a document of the file cannot be read
        self.kept = 0  # Bytes of the files whose objects are kept


@dataclass(frozen=True)
class File:
    path: str  # Relative to the root, with `/`
    content: bytes
    parsed: Parsed = field(default_factory=Parsed, compare=False, repr=False)  # One for all files of a snapshot

    @property
    def objects(self) -> tuple[Object | BrokenDocument, ...]:
        """Every mapping of the file, items of Lists by themselves, and the documents that cannot be read."""
        kept: tuple[Object | BrokenDocument, ...] | None = self.__dict__.get("_objects")
        if kept is None:
            kept = yaml_places.objects(self.content)
            for parsed in kept:
                self._note(parsed)
            if len(self.content) <= _LARGE and self.parsed.kept < _MOST_KEPT:
                self.parsed.kept += len(self.content)
                self.__dict__["_objects"] = kept
        return kept

    @property
    def readable(self) -> Iterator[Object]:
        """The ``objects`` that can be read."""
        return (each for each in self.objects if isinstance(each, Object))

    def readable_where(self, is_wanted: Callable[[str], bool]) -> Iterator[Object]:
        """The readable objects of the documents whose text is wanted; the others are not parsed."""
        return (parsed for parsed in self.parsed_where(is_wanted) if isinstance(parsed, Object))

    def parsed_where(self, is_wanted: Callable[[str], bool]) -> Iterator[Object | BrokenDocument]:
        """Yield the ``objects`` of the documents whose text is wanted, and the rest after too many documents."""
        documents = yaml_places.documents_of(self.content)
        wanted = (document for document in documents if document.is_rest or is_wanted(document.text))
        for parsed in chain.from_iterable(map(yaml_places.objects_of, wanted)):
            self._note(parsed)
            yield parsed

    def _note(self, parsed: Object | BrokenDocument) -> None:
        if isinstance(parsed, BrokenDocument):
            self.parsed.problems.setdefault(self.path, problem_of(parsed))


def problem_of(document: BrokenDocument) -> Unread:
    if document.is_rest:
        return Unread.TOO_MANY_DOCUMENTS
    return Unread.TEMPLATE if is_variable(document.text) else Unread.BROKEN
