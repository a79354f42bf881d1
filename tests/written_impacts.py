"""The impact of an upgrade, from the few lines that ``settings.toml`` in ``tests/pull_requests`` has on it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.clusters.graph.builds import Trouble
from flux_upgrade.config.config import Known, Migrate
from flux_upgrade.impact.api_uses.flux_file import ApiUse, UsePlace
from flux_upgrade.impact.diff.changes import Changes
from flux_upgrade.impact.diff.compare import manifest_changes
from flux_upgrade.impact.impact import Detour, Harm, Hit, Managed, PastRelease, Refused, Stored
from flux_upgrade.impact.kubernetes_versions import fit
from flux_upgrade.impact.migrate.result import Left, Migrated, Move, Reason
from flux_upgrade.impact.overlay.result import Overlay, OverlayFinding, OverlayVerdict
from flux_upgrade.impact.stored_versions.history import DroppedVersions, managed, versions_dropped
from flux_upgrade.manifests.crds import ReleaseApis, crds_of
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.file_history import Mentions
from flux_upgrade.model.text import TextEdit
from flux_upgrade.model.unknown import Unknown, known_or
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.pin import Pin, PinChange, Role
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.policy.decision import Bump, BumpKind

Stated = Mapping[str, Any]
Release = tuple[str, bytes]
_API = re.compile(r"([a-z]+(?:\.[a-z]+)*\.fluxcd\.io)/(v[0-9a-z]+)")
_KIND = re.compile(r"^\s*(?:- )?kind: (\w+)", re.MULTILINE)
_NAME = re.compile(r"^\s*(?:- )?name: (\S+)", re.MULTILINE)


def impact(stated: Stated, files: Mapping[str, str], old: Release, new: Release) -> Assessment:
    """``files``: the repository's; ``old``, ``new``: tag and manifest, whose changes are really looked for.

    ``moves`` and ``lefts`` are places in ``files``; ``refused``, ``after-migrate`` and ``said`` what was
    stored; ``breaks``, ``overlay``, ``orphaned``, ``steps``, ``detour``, ``migrated``, ``unread``, ``unfollowed``,
    ``known``, ``kubernetes``, ``cli`` and ``unknown`` as their values have it. ``pin``: no manifest is known. ``migrate``, of the settings: whether `flux migrate` has
    to run is really decided; ``mentions`` and ``missing`` is what the history tells,
    ``was-migrated`` that a merged pull request moved manifests.
    """
    overlay = stated.get("overlay")
    changed = Unknown("a pin") if stated.get("pin") else compared(old[1], new[1])
    found = Assessment(
        changes=changed,
        files=migrated(stated, files),
        stored=Stored(
            refused=tuple(map(_refused, stated.get("refused", ()))),
            after_migrate=tuple(map(_refused, stated.get("after-migrate", ()))),
            cli=stated.get("cli", ""),
            unknown=Unknown(stated["unknown"]) if "unknown" in stated else None,
            resolved=tuple(map(_refused, stated.get("said", ()))),
        ),
        breaks=tuple(map(_hit, stated.get("breaks", ()))),
        overlay=_overlay(overlay, known_or(changed, None)) if overlay is not None else None,
        kubernetes=fit(stated.get("kubernetes", ""), new[0]),
        orphaned=tuple(use(each, files) for each in stated.get("orphaned", ())),
        upgrade_path=tuple(stated.get("steps", ())),
        detour=_detour(stated["detour"]) if "detour" in stated else None,
        migrated=tuple(stated.get("migrated", ())),
        unread=tuple(stated.get("unread", ())),
        unfollowed=tuple(Trouble(**trouble) for trouble in stated.get("unfollowed", ())),
        known=tuple(Known(**entry) for entry in stated.get("known", ())),
    )
    return found._replace(managed=_managed(stated, found, old, new)) if "migrate" in stated else found


def _detour(stated: Stated) -> Detour:
    stored = tuple((kind, version) for kind, version in stated.get("stored", ()))
    return Detour(Version(stated["target"]), stored, stated.get("uses", 0))


def _managed(stated: Stated, found: Assessment, old: Release, new: Release) -> Managed | None:
    before, after = (ReleaseApis(tag, crds_of(parse(text).documents)) for tag, text in (old, new))
    dropped = versions_dropped(before, after, None)
    used = {f"{each.group}/{each.version}" for each in found.in_use}
    is_along = stated["migrate"] == Migrate.WITH_UPGRADE
    asked = DroppedVersions(
        dropped, dropped & used, stated.get("was-migrated", False), is_along, Version(old[0]), Version(new[0])
    )
    mentions = Mentions(tuple(stated.get("mentions", ())), Unknown(stated["missing"]) if "missing" in stated else None)
    return managed(asked, found.migrated, mentions)


def compared(old: bytes, new: bytes) -> Changes:
    """What really changes between two manifests."""
    return manifest_changes(parse(old).documents, parse(new).documents)


def migrated(stated: Stated, files: Mapping[str, str]) -> tuple[Migrated, ...]:
    """The files with places that are moved or left."""
    moves: dict[str, list[Move]] = {}
    lefts: dict[str, list[Left]] = {}
    for each in stated.get("moves", ()):
        found = use(each, files)
        edit = TextEdit(found.start, found.end, found.version, each["to"])
        moves.setdefault(found.path, []).append(
            Move(
                found,
                each["to"],
                (edit,),
                tuple(each.get("fields", ())),
                was_served=each.get("was_served", True),
                undeclared=each.get("undeclared", ""),
            )
        )
    for each in stated.get("lefts", ()):
        found = use(each, files)
        left = Left(found, Reason(each["reason"]), each.get("detail", ""), each.get("hint", ""))
        left = left._replace(is_broken_already=each.get("is_broken_already", False))
        lefts.setdefault(found.path, []).append(left)
    return tuple(
        Migrated(path, files[path].encode(), tuple(moves.get(path, ())), tuple(lefts.get(path, ())))
        for path in sorted({*moves, *lefts})
    )


def use(stated: Stated, files: Mapping[str, str]) -> ApiUse:
    """The API version in a line of a file; kind and name are those below it, unless they are stated."""
    path, line = stated["path"], stated["line"]
    lines = files[path].splitlines(keepends=True)
    start = sum(map(len, lines[: line - 1]))
    match = _API.search(files[path], start, start + len(lines[line - 1]))
    assert match is not None, f"{path}:{line} names no API version of Flux's"
    below = files[path][match.end() :].partition("\n---")[0]
    kind, name = (re.search(pattern, below) for pattern in (_KIND, _NAME))
    return ApiUse(
        path,
        line,
        group=match[1],
        version=match[2],
        kind=stated.get("kind", kind[1] if kind else ""),
        name=stated.get("name", name[1] if name else ""),
        namespace=stated.get("namespace", ""),
        place=UsePlace(stated.get("place", "resource")),
        start=match.start(2),
        end=match.end(2),
    )


def _hit(stated: Mapping[str, Any]) -> Hit:
    return Hit(**{"namespace": "", "keep": "", **stated, "harm": Harm(stated.get("harm", Harm.DIFFERS))})


def _refused(stated: Stated) -> Refused:
    ran = PastRelease(stated.get("release", ""), stated.get("since", ""), ())
    return Refused(f"{stated['kind'].lower()}s.{stated['group']}", stated["kind"], stated["version"], ran)


def _overlay(stated: Stated, built: Changes | None) -> Overlay:
    builder = stated.get("builder", "")
    return Overlay(
        stated["path"],
        tuple(map(_finding, stated.get("findings", ()))),
        builder,
        stated.get("failed", ""),
        stated.get("unbuilt", ""),
        built if builder else None,
    )


def _finding(stated: Stated) -> OverlayFinding:
    return OverlayFinding(
        stated["path"],
        stated.get("line", 1),
        stated["what"],
        OverlayVerdict(stated.get("verdict", "applies")),
        stated.get("detail", ""),
        stated.get("hint", ""),
        tuple(stated.get("drops", ())),
        already=stated.get("already", False),
    )


def migrations(stated: Stated, files: Mapping[str, str], *, approved: bool) -> Iterator[tuple[Plan, Upgrade]]:
    """What is moved before an upgrade: ``version``, ``target``, ``waiting``, ``moves``, ``lefts``."""
    for file in migrated(stated, files):
        why = f"{stated['target']} no longer serves the old API versions"
        candidate = Bump(BumpKind.MIGRATION, stated["target"], approved, why=why)
        upgrade = Upgrade(candidate, PinChange(), moved=(file,), waiting=tuple(stated["waiting"]))
        resources = Pin(file.path, "resources", file.content, role=Role.RESOURCES, version=Version(stated["version"]))
        yield Plan(resources, file.path, (upgrade,)), upgrade


def repeated(stated: Stated, files: Mapping[str, str], times: int) -> tuple[Stated, Mapping[str, str]]:
    """The same for many files: ``{n}`` in a path is a number."""

    def numbered(each: Iterable[Stated], number: int) -> list[Stated]:
        return [{**one, "path": one["path"].replace("{n}", f"{number:03}")} for one in each]

    numbers = range(1, times + 1)
    more = {key: [one for n in numbers for one in numbered(stated.get(key, ()), n)] for key in ("moves", "lefts")}
    texts = {path.replace("{n}", f"{n:03}"): text for path, text in files.items() for n in numbers}
    return {**stated, **more}, texts
