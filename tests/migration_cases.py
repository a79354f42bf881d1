"""The folders of ``tests/migration``: each is a file, and what becomes of it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flux_upgrade.impact.api_uses.flux_file import ApiUse, FluxFile
from flux_upgrade.impact.api_uses.scan import find
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.migrate import migrate
from flux_upgrade.impact.migrate.result import Migrated
from flux_upgrade.impact.migrate.schema import Schema
from flux_upgrade.manifests.crds import ReleaseApis
from written_apis import FOLDER

SchemaOf = Callable[[str, str, str], Schema | None]


@dataclass(frozen=True)
class MigrationCase:
    """``before.*``, ``after.*`` (absent: nothing changes), ``case.toml``, ``told.txt``."""

    folder: Path
    description: str
    path: str
    """Where the file stands in the repository."""
    is_patch: bool
    """Whether a kustomization takes it for a patch."""
    current: str
    """Release; empty: nobody said."""
    target: str
    others: tuple[str, ...]
    between: tuple[str, ...]
    knows_schemas: bool
    """Whether anybody has those of versions that are gone."""

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def before(self) -> Path:
        (found,) = self.folder.glob("before.*")
        return found

    @property
    def after(self) -> Path:
        return self.before.with_name(self.before.name.replace("before", "after"))

    @property
    def told(self) -> Path:
        return self.folder / "told.txt"

    def apis(self, served: Callable[[str], ReleaseApis], schema: SchemaOf) -> Apis:
        return Apis(
            served(self.current) if self.current else None,
            served(self.target),
            tuple(map(served, self.others)),
            schema if self.knows_schemas else lambda *_: None,
            tuple(map(served, self.between)),
        )

    def find(self, content: bytes, apis: Apis) -> FluxFile | None:
        return find(self.path, content, apis.target.groups, is_patch=self.is_patch)


def all_cases() -> list[MigrationCase]:
    return [_read(path.parent) for path in sorted(FOLDER.glob("*/case.toml"))]


def _read(folder: Path) -> MigrationCase:
    stated = tomllib.loads((folder / "case.toml").read_text())
    (before,) = folder.glob("before.*")
    case = MigrationCase(
        folder,
        stated.pop("description"),
        stated.pop("path", f"apps/podinfo{before.suffix}"),
        stated.pop("patch", False),
        stated.pop("current", ""),
        stated.pop("target", "v2.9.4"),
        tuple(stated.pop("others", ())),
        tuple(stated.pop("between", ())),
        stated.pop("schemas", True),
    )
    assert not stated, f"{case.name}/case.toml: unknown keys {', '.join(stated)}"
    return case


def migrated(case: MigrationCase, content: bytes, apis: Apis) -> Migrated | None:
    file = case.find(content, apis)
    return None if file is None else migrate(file, apis)


def told(found: Migrated | None) -> str:
    """What came of a file, use by use."""
    if found is None:
        return "nothing to do\n"
    uses: list[tuple[ApiUse, list[str]]] = [
        (move.use, [f"{_named(move.use)} → {move.to}", *(f"  {each}" for each in move.fields)])
        for move in found.moves
    ]
    uses += [
        (
            left.use,
            [
                f"{_named(left.use)} stays: {left.reason}",
                f"  {left.detail}",
                *(f"  {each}" for each in [left.hint] if each),
            ],
        )
        for left in found.lefts
    ]
    return "".join(f"{line}\n" for _, lines in sorted(uses) for line in lines)


def _named(use: ApiUse) -> str:
    return f"{use.line}: {use.place} {'/'.join(filter(None, [use.kind, use.name]))} {use.version}"
