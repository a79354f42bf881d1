"""The cases of ``tests/migration``: a file, what its migration makes of it, and the report.

A document in braces.

-- settings.toml --
current = "v2.6.4"
-- before/apps/podinfo.yaml --
-- after/apps/podinfo.yaml --
-- report --
1: resource HelmRepository/podinfo v1beta2 → v1
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import txtar
from flux_upgrade.impact.api_uses.flux_file import ApiUse, FluxFile
from flux_upgrade.impact.api_uses.scan import find
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.migrate import migrate
from flux_upgrade.impact.migrate.result import Migrated
from flux_upgrade.impact.migrate.schema import Schema
from flux_upgrade.manifests.crds import ReleaseApis
from written_apis import FOLDER

SchemaOf = Callable[[str, str, str], Schema | None]

CASES = sorted(FOLDER.glob("*.txtar"))


@dataclass(frozen=True)
class MigrationCase:
    """One file of a repository, and the releases that it is migrated for."""

    archive: txtar.Archive
    path: str
    before: bytes
    patch: bool = False
    """Whether a kustomization lists it as a patch."""
    current: str = ""
    """The installed release; empty: unknown."""
    target: str = "v2.9.4"
    others: Sequence[str] = ()
    """The releases of other clusters."""
    between: Sequence[str] = ()
    """Releases from the installed one to the target, newest first."""
    schemas: bool = True
    """Whether the schemas of removed versions are available."""

    def apis(self, served: Callable[[str], ReleaseApis], schema: SchemaOf) -> Apis:
        return Apis(
            served(self.current) if self.current else None,
            served(self.target),
            tuple(map(served, self.others)),
            schema if self.schemas else lambda *_: None,
            lambda: map(served, self.between),
        )

    def find(self, content: bytes, apis: Apis) -> FluxFile | None:
        return find(self.path, content, apis.target.groups, is_patch=self.patch)

    def migrate(self, content: bytes, apis: Apis) -> Migrated | None:
        file = self.find(content, apis)
        return None if file is None else migrate(file, apis)

    def with_result(self, found: Migrated | None) -> txtar.Archive:
        """The case, with what its migration gave."""
        given = ("settings.toml", f"before/{self.path}")
        files = {name: self.archive.files[name] for name in given if name in self.archive.files}
        if found is not None and found.new != self.before:
            files[f"after/{self.path}"] = found.new
        return replace(self.archive, files={**files, "report": report(found).encode()})


def case_of(path: Path) -> MigrationCase:
    archive = txtar.read(path)
    ((name, before),) = archive.under("before").items()
    return MigrationCase(archive, name, before, **tomllib.loads(archive.text("settings.toml", "")))


def report(found: Migrated | None) -> str:
    """What a migration did about each use of a removed version."""
    if found is None:
        return "nothing to do\n"
    uses: list[tuple[ApiUse, list[str]]] = [
        (move.use, [f"{_described(move.use)} → {move.to}", *(f"  {each}" for each in move.fields)])
        for move in found.moves
    ]
    uses += [
        (
            left.use,
            [
                f"{_described(left.use)} stays: {left.reason}",
                f"  {left.detail}",
                *(f"  {each}" for each in [left.hint] if each),
            ],
        )
        for left in found.lefts
    ]
    return "".join(f"{line}\n" for _, lines in sorted(uses) for line in lines)


def _described(use: ApiUse) -> str:
    return f"{use.line}: {use.place} {'/'.join(filter(None, [use.kind, use.name]))} {use.version}"
