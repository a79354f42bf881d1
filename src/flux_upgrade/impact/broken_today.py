"""What Flux refuses today already, with the release that runs: a version, a field or a template that is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from flux_upgrade.impact.api_uses.flux_file import ApiUse, FluxFile, FluxObject, UsePlace
from flux_upgrade.impact.behaviour.table import BREAK_RULES
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.migrate import migrate
from flux_upgrade.impact.migrate.result import Reason
from flux_upgrade.impact.migrate.rules import rule_of
from flux_upgrade.impact.migrate.schema import Schema, dotted, unknown
from flux_upgrade.manifests.crds import ReleaseApis
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.values import NamedTuple

Schemas = Callable[[str, str, str], Schema | None]
_CERTAIN = (Reason.NEEDS_HAND, Reason.NO_BRIDGE, Reason.UNKNOWN_KIND)
"""Of what cannot be moved, that which is certain to be applied as it stands."""


class BrokenToday(NamedTuple):
    """A resource that the running release does not reconcile."""

    path: str
    line: int  # 1-based
    kind: str
    name: str
    namespace: str
    what: str  # A clause without markup
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """Which resource, what is wrong, and what to do."""
        who = " ".join(filter(None, (self.kind, self.name)))
        return f"{who}: {self.what}. {self.remedy}".rstrip()


def broken_today(
    files: Iterable[FluxFile], served: ReleaseApis, schema: Schemas = lambda *_: None
) -> Iterator[BrokenToday]:
    """In the order of the files. ``served``: of the release that runs. ``schema``: as ``Apis`` has it."""
    apis = Apis(None, served, schema=schema)
    for file in files:
        yield from _versions(file, apis)
        for resource in file.objects:
            if resource.place is UsePlace.RESOURCE:
                with suppress(Unreadable):  # a value with a tag that no API server takes: the object is not applied
                    yield from _fields(file.path, resource, served)
                yield from _templates(file.path, resource, served)


def _versions(file: FluxFile, apis: Apis) -> Iterator[BrokenToday]:
    migrated = migrate(file, apis)
    if migrated is None:
        return
    tag = apis.target.tag
    found = [(move.use, f"Migrate it to {move.to}: `flux-upgrade migrate --to {tag}`") for move in migrated.moves]
    found += [(left.use, left.hint) for left in migrated.lefts if left.reason in _CERTAIN]
    for use, remedy in sorted(found, key=lambda each: each[0].start):
        if use.is_applied:
            yield _of(use.path, use, use.line, f"{tag} does not serve {use.group}/{use.version}", remedy)


def _fields(path: str, resource: FluxObject, served: ReleaseApis) -> Iterator[BrokenToday]:
    """Fields that an older version had: server-side apply refuses what a schema does not know."""
    crd = served.kinds.get((resource.group, resource.kind))
    version = crd.version(resource.version) if crd is not None else None
    if version is None or not version.served:
        return
    for fault in unknown(resource.data(), version.schema):
        rule = rule_of(resource.kind, fault.path)
        if rule is not None and fault.path != ("status",):
            what = f"{resource.group}/{resource.version} has no field {dotted(fault.path)}"
            yield _of(path, resource, resource.key_line_at(*fault.path), what, rule.instead)


def _templates(path: str, resource: FluxObject, served: ReleaseApis) -> Iterator[BrokenToday]:
    for rule in BREAK_RULES:
        if rule.is_refused and any(span.has(served.tag) for span in rule.spans) and rule.concerns(resource, served.tag):
            for place in rule.match(resource):
                yield _of(path, resource, place.line, rule.change.removesuffix("."), rule.hint)


def _of(path: str, resource: ApiUse | FluxObject, line: int, what: str, remedy: str) -> BrokenToday:
    return BrokenToday(path, line, resource.kind, resource.name, resource.namespace, what, remedy)
