"""Charts of a repository that depend on a chart of Flux: ``dependencies`` of Chart.yaml, or of requirements.yaml.

helm.sh, "Charts" (dependencies, alias): the values of a dependency are below its alias, or else its name.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.objects.chart_place import Lock, lock_at
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object, Step

LOCKS = {"Chart.yaml": "Chart.lock", "requirements.yaml": "requirements.lock"}


class Dependency(NamedTuple):
    """A chart's entry for another one."""

    file: File
    object: Object
    entry: tuple[Step, ...]

    @property
    def chart(self) -> str:
        return self.object.text_at(*self.entry, "name")

    @property
    def key(self) -> str:
        """Where its values are: below its alias, or its name."""
        return self.object.text_at(*self.entry, "alias") or self.chart

    @property
    def place(self) -> str:
        alias = self.object.text_at(*self.entry, "alias")
        return f"dependency {self.chart}{f' as {alias}' if alias else ''}, version"

    @property
    def directory(self) -> str:
        """Of the chart that depends on it."""
        return posixpath.dirname(self.file.path)

    def lock(self, tree: Snapshot) -> Lock | None:
        """What else records its version: a lock file, or a copy of the chart; None if nothing does."""
        above = f"{self.directory}/".lstrip("/")
        command = f"helm dependency update {self.directory or '.'}"
        lock = lock_at(tree, f"{above}{LOCKS[posixpath.basename(self.file.path)]}", command, self.chart)
        if lock is not None:
            return lock
        archive = re.compile(rf"{re.escape(above)}charts/{re.escape(self.chart)}-\d.*")
        archives = (path for path in tree.named((".tgz",)) if archive.fullmatch(path))
        copies = (f"{above}charts/{self.chart}/Chart.yaml", *archives)
        return next((Lock(path, command) for path in copies if tree.content(path) is not None), None)


def dependencies(file: File, chart: str) -> Iterator[Dependency]:
    """The entries for ``chart``; none in a file of another name."""
    if posixpath.basename(file.path) in LOCKS:
        for each in file.readable:
            for entry in each.entries("dependencies"):
                if each.text_at(*entry, "name") == chart:
                    yield Dependency(file, each, entry)
