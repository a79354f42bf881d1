"""What stands around the installations of a repository, looked up once and only when it is asked for.

Nearly every run finds nothing to do, and imports none of what looks for other writers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from flux_upgrade.decision import Hold
from flux_upgrade.kinds import Pin
from flux_upgrade.ports import Tree
from flux_upgrade.surroundings.orphans import References

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.surroundings.terraform import TerraformOwner


class Around:
    """``tree``: the whole repository. ``is_named``: the user named one file, which is then no orphan."""

    def __init__(self, tree: Tree, *, is_named: bool = False) -> None:
        self._tree, self._is_named = tree, is_named
        self._references = References(tree)

    def is_referred_to(self, path: str) -> bool:
        """Whether a kustomization leads to the file; paths are relative to the repository's root."""
        return self._is_named or self._references.refers_to(path)

    def other_writer(
        self, path: str, target: str, history: Sequence[str], pins: Iterable[Pin] = ()
    ) -> Hold | None:
        """The hold where Terraform writes the file, unless its own pin is one of ``pins``, which move along.

        ``history``: messages of the file's commits, newest first.
        """
        from flux_upgrade.surroundings import terraform, writers

        ownership = terraform.owner_of(path, self._owners)
        if ownership is not None:
            return None if terraform.mover(ownership, pins) else terraform.hold(ownership, target)
        written = writers.writer_in(history)
        return None if written is None else writers.hold(written, target)

    def is_writer(self, pin: Pin, path: str) -> bool:
        """Whether the pin is of a resource of Terraform's that writes the file, or may."""
        from flux_upgrade.surroundings import terraform

        ownership = terraform.owner_of(path, self._owners)
        return ownership is not None and (pin.path, pin.line) == (
            ownership.owner.path,
            ownership.owner.version_line,
        )

    def remarks(self, files: Mapping[str, bytes], history: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """What to know of other writers of ``files`` (path → content), as Markdown paragraphs."""
        from flux_upgrade.surroundings import bots, writers

        found = [remark.text for remark in bots.remarks(self._tree, files)]
        for path in files:
            written = writers.writer_in(history.get(path, ()))
            remark = None if written is None else writers.remark(written)
            if remark is not None:
                found.append(remark.text)
        return tuple(dict.fromkeys(found))

    @cached_property
    def _owners(self) -> tuple[TerraformOwner, ...]:
        from flux_upgrade.surroundings import terraform

        return terraform.owners(self._tree)
