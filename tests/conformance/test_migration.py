"""Public files that use removed API versions are migrated to what Flux's CRDs accept, and nothing is missed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import txtar
from conformance.real_files import TARGET, members, rows, tell
from conformance.real_releases import Real
from flux_upgrade.impact.api_uses.flux_file import FluxFile, FluxObject, UsePlace
from flux_upgrade.impact.api_uses.scan import find
from flux_upgrade.impact.migrate.apis import Apis, age
from flux_upgrade.impact.migrate.migrate import migrate
from flux_upgrade.impact.migrate.result import Migrated
from flux_upgrade.impact.migrate.rules import rule_of
from flux_upgrade.impact.migrate.schema import Path as Steps
from flux_upgrade.impact.migrate.schema import Schema, dotted
from flux_upgrade.model.versions import Version
from flux_upgrade.snapshot.yaml_places import is_variable
from migration_cases import CASES, case_of
from spans import assert_kept_outside
from structural import validator

pytestmark = pytest.mark.real_part("shared data")


class RealApis(Real):
    """With the fields of versions that are gone."""

    @property
    def newest(self) -> list[str]:
        """The last patch of each minor, newest first."""
        return sorted(self.last.values(), key=Version, reverse=True)

    def schema(self, group: str, kind: str, version: str) -> Schema | None:
        """As the last release had it that served it."""
        for tag in self.newest:
            crd = self.served(tag).kinds.get((group, kind))
            found = crd.version(version) if crd is not None else None
            if found is not None:
                return found.schema
        return None


@pytest.fixture(scope="module")
def apis(releases: Path) -> RealApis:
    return RealApis(releases)


@dataclass
class RealFile:
    """A file and its migration."""

    row: dict[str, Any]
    file: FluxFile
    apis: Apis
    found: Migrated


@pytest.fixture(scope="module")
def files(conformance: Path, apis: RealApis) -> list[tuple[dict[str, Any], FluxFile]]:
    """Each file with its row in the index."""
    index = {row["file"]: row for row in rows(conformance / "resources.jsonl")}
    groups = apis.served(TARGET).groups
    found = []
    for name, content in members(conformance / "resources.tar.xz"):
        row = index[name]
        file = find(row["path"], content, groups)
        assert file is not None, row["path"]
        found.append((row, file))
    assert len(found) == len(index) == 564
    return found


@pytest.fixture(scope="module", params=["no current release", "the release that it runs on"])
def real(
    request: pytest.FixtureRequest, files: list[tuple[dict[str, Any], FluxFile]], apis: RealApis
) -> list[RealFile]:
    """All of them, migrated to the target."""
    found = []
    for row, file in files:
        current = None if request.param == "no current release" else apis.served(_runs_on(row, apis))
        asked = Apis(current, apis.served(TARGET), (), apis.schema, lambda: map(apis.served, apis.newest))
        became = migrate(file, asked)
        assert became is not None, row["path"]
        found.append(RealFile(row, file, asked, became))
    _tell(f"{request.param}", found)
    return found


def _runs_on(row: dict[str, Any], apis: RealApis) -> str:
    """The newest release below the target that serves whatever the file names."""
    for tag in apis.newest:
        served = {f"{crd.group}/{version}" for crd in apis.served(tag).crds.values() for version in crd.served}
        if tag != TARGET and set(row["versions"]) <= served:
            return tag
    return "v2.6.4"


def _tell(name: str, found: list[RealFile]) -> None:
    counted: Counter[str] = Counter()
    for each in found:
        counted.update(f"{move.use.place}: moved{', with fields' if move.fields else ''}" for move in each.found.moves)
        counted.update(f"{left.use.place}: left, {left.reason}" for left in each.found.lefts)
    for what, count in sorted(counted.items()):
        tell(f"migration of {len(found)} real files, {name}: {count:4} {what}")
    for each in found:
        for left in each.found.lefts:
            if left.blocks and name.startswith("no "):
                tell(f"  {each.row['file']}:{left.use.line} {left.use.kind}: {left.detail}")


def test_none_is_missed(real: list[RealFile]) -> None:
    """Whatever looks like a version that is gone, wherever it stands, has moved or has a reason."""
    missed = []
    for each in real:
        text = each.file.content.decode()
        reported = {move.use.start for move in each.found.moves}
        reported |= {left.use.start for left in each.found.lefts}
        for match in re.finditer("|".join(map(re.escape, each.row["versions"])), text):
            start = match.start() + match[0].index("/") + 1
            if not re.match(r"\w", text[match.end() : match.end() + 1]) and start not in reported:
                missed.append(f"{each.row['file']}: {match[0]} at {start}")
    assert not missed


def test_none_is_wrong(real: list[RealFile]) -> None:
    for each in real:
        content = each.file.content
        assert_kept_outside(content, each.found.new, [one for move in each.found.moves for one in move.edits])
        for move in each.found.moves:
            assert age(move.to) > age(move.use.version)
            for served in filter(None, (each.apis.current, each.apis.target)):
                assert served.serves(move.use.group, move.to, move.use.kind)
        # Nothing is left to be moved.
        again = migrate(_find(each, each.found.new), each.apis)
        assert again is None or not again.moves


def test_whatever_was_valid_is_valid(real: list[RealFile]) -> None:
    """By a validator that others wrote; variables are anything."""
    broken, valid = [], 0
    for each in real:
        before, after = each.file.objects, _find(each, each.found.new).objects
        moved = {move.use.start for move in each.found.moves if move.use.place is UsePlace.RESOURCE}
        for old, new in zip(before, after, strict=True):
            if old.start not in moved:
                continue
            schema = each.apis.schema(old.group, old.kind, old.version)
            if schema is None or list(_errors(old, schema)):
                continue
            crd = each.apis.target.kinds[new.group, new.kind].version(new.version)
            assert crd is not None
            valid += 1
            broken += [f"{each.row['file']}: {error}" for error in _errors(new, crd.schema)]
    tell(f"migration: {valid} resources that were valid, and are in the new version")
    assert not broken
    assert valid > 90


def _errors(each: FluxObject, schema: Schema) -> Iterator[str]:
    for error in validator(schema).iter_errors(each.data()):
        if not (isinstance(error.instance, str) and is_variable(error.instance)):
            yield f"{list(error.path)}: {error.message[:200]}"


def _find(each: RealFile, content: bytes) -> FluxFile:
    found = find(each.row["path"], content, each.apis.target.groups)
    assert found is not None
    return found


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_cases_on_real_releases(path: Path, apis: RealApis) -> None:
    """What ``tests/migration/apis.yaml`` has of Flux's APIs is what they are."""
    case = case_of(path)
    found = case.migrate(case.before, case.apis(apis.served, apis.schema))
    assert txtar.render(case.with_result(found)) == path.read_text()


def test_each_field_that_is_gone_has_a_rule(apis: RealApis) -> None:
    """Of every kind, from each version that there was to every newer one of any release."""
    without: set[tuple[str, str, str, Steps]] = set()
    counted: Counter[str] = Counter()
    for kind, old, new, path, what in _differences(apis):
        counted[what] += 1
        if what == "gone":
            tell(f"fields: {kind} {old} → {new}: {dotted(path)} is gone")
            without |= set() if rule_of(kind, path) else {(kind, old, new, path)}
    tell(f"fields: {', '.join(f'{count} {what}' for what, count in sorted(counted.items()))}")
    assert not without
    assert counted["gone"] > 20


def _differences(apis: RealApis) -> Iterator[tuple[str, str, str, Steps, str]]:
    """Topmost fields that a newer version has not, and what it demands besides."""
    versions: dict[tuple[str, str], dict[str, list[Schema]]] = {}
    for tag in sorted(apis.stable, key=Version):
        for key, crd in apis.served(tag).kinds.items():
            for version in crd.versions:
                schemas = versions.setdefault(key, {}).setdefault(version.name, [])
                if version.schema not in schemas[-1:]:
                    schemas.append(version.schema)
    for (_, kind), found in sorted(versions.items()):
        for old, schemas in found.items():
            for new in (name for name in found if age(name) > age(old)):
                fewer = (each for schema in schemas for each in _fewer((), schema, found[new][-1]))
                for path, what in dict.fromkeys(fewer):
                    yield kind, old, new, path, what


def _fewer(path: Steps, old: Schema, new: Schema) -> Iterator[tuple[Steps, str]]:
    if new.get("x-kubernetes-preserve-unknown-fields"):
        return
    for word in ("enum", "pattern", "maxLength", "maxItems", "minLength"):
        if word in new and old.get(word) != new[word]:
            if word == "enum" and set(old.get(word) or ()) <= set(new[word]) and word in old:
                continue
            if word == "maxLength" and old.get(word, 1 << 30) <= new[word]:
                continue
            yield path, f"has another {word}"
    for name in set(new.get("required") or ()) - set(old.get("required") or ()):
        yield (*path, name), "is required"
    for name, schema in (old.get("properties") or {}).items():
        if name not in (new.get("properties") or {}):
            yield (*path, name), "gone"
        else:
            yield from _fewer((*path, name), schema, new["properties"][name])
    if isinstance(old.get("items"), dict) and isinstance(new.get("items"), dict):
        yield from _fewer((*path, 0), old["items"], new["items"])
