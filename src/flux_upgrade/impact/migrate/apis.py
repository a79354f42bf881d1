"""Which version of an API a use goes to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flux_upgrade.impact.api_uses.flux_file import ApiUse, UsePlace
from flux_upgrade.impact.migrate.result import Left, Reason
from flux_upgrade.impact.migrate.schema import Schema, dotted, undeclared_default
from flux_upgrade.manifests.crds import Crd, ReleaseApis
from flux_upgrade.model.patterns import fits
from flux_upgrade.model.versions import is_tag
from flux_upgrade.snapshot.yaml_places import is_variable

_MISSPELLED = "Check the spelling of group and kind, or remove it before the upgrade."
_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_ANY_VERSION = re.compile(r"\bv\d+(?:(?:alpha|beta)\d+)?\b")


def age(version: str) -> tuple[int, int, int]:
    """Sort key, in which the versions of an API follow one another: ``v1beta1``, ``v1``, ``v2beta1``.

    https://kubernetes.io/docs/reference/using-api/#api-versioning
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        return -1, 0, 0
    return int(match[1]), ("alpha", "beta", None).index(match[2]), int(match[3] or 0)


@dataclass(frozen=True)
class Apis:
    """What releases serve, as far as a migration asks."""

    current: ReleaseApis | None  # what the cluster serves today; None: unknown
    target: ReleaseApis
    others: Sequence[ReleaseApis] = ()  # What other clusters of the repository serve today: a move must not break them
    schema: Callable[[str, str, str], Schema | None] = lambda *_: None
    """By group, kind and version: of a version that neither serves any more; None: not known."""
    between: Callable[[], Iterable[ReleaseApis]] = tuple
    """The releases between the current and the target, newest first: one of them may be the bridge."""
    unverified: Sequence[ReleaseApis] = ()
    """What clusters serve that no release speaks for, by their own CRDs; the tag says which they are."""
    is_of_one: bool = True  # The current release is that of the cluster to upgrade; False: of the oldest that reads it
    unread: Sequence[str] = ()  # Why it is unknown what some clusters serve: nothing is moved for their sake

    def is_removed(self, use: ApiUse) -> bool:
        """Whether the target may not serve what a use names: a variable may be any version that is served today."""
        return not _serves(self.target, use) or (_is_unknown(use.version) and self._drops(use))

    def may_remove(self, use: ApiUse) -> bool:
        """Return whether the target may not serve what a use names, whatever clusters serve today."""
        return not _serves(self.target, use) or _is_unknown(use.version)

    def not_serving(self, use: ApiUse) -> tuple[str, ...]:
        """The releases of today, where none of them serves what the use names; empty where one may."""
        known = self.current is not None or self.unverified
        today = self._clusters if known and not self.unread else []
        return () if any(_serves(each, use) for each in today) else tuple(each.tag for each in today)

    def goal(self, use: ApiUse) -> str | Left:
        """The version that a use of one that is not served goes to, or why there is none."""
        found = _kinds(self.target, use)
        if not found:
            what = f"{use.group} {use.kind}".rstrip()
            return Left(use, Reason.UNKNOWN_KIND, f"{self.target.tag} has no {what}.", _MISSPELLED)
        if self.unread:
            detail = f"The versions that a cluster serves are unknown: {' and '.join(self.unread)}."
            return Left(use, Reason.NO_BRIDGE, detail, "Fix the manifest, or delete the file if no cluster uses it.")
        goals = {each.kind: self._goal(each, use.version) for each in found}
        wanted = set(goals.values())
        if wanted == {""}:
            return self._no_bridge(use, found[0])
        if len(wanted) > 1:
            each_of_them = ", ".join(f"{kind} {version or 'none'}" for kind, version in sorted(goals.items()))
            detail = f"It may mean several kinds, and their versions differ: {each_of_them}."
            return Left(use, Reason.NEEDS_HAND, detail, "Add the kind next to the version.")
        return wanted.pop()

    def newest(self, use: ApiUse) -> str:
        """Return the newest version that the target serves of a use's kind; empty if there is none."""
        return max((version for crd in _kinds(self.target, use) for version in crd.served), key=age, default="")

    def known(self, use: ApiUse) -> Schema | None:
        """The schema of the version that a use names, from whichever release still has it."""
        for served in (self.current, self.target):
            crd = served.kinds.get((use.group, use.kind)) if served is not None else None
            version = crd.version(use.version) if crd is not None else None
            if version is not None:
                return version.schema
        return self.schema(use.group, use.kind, use.version)

    def undeclared(self, use: ApiUse, version: str, data: Any) -> str:
        """As ``Move.undeclared``, for a use that goes to ``version``; empty: there is no such field."""
        crd = self.current.kinds.get((use.group, use.kind)) if self.current is not None else None
        old, new = (crd.version(use.version), crd.version(version)) if crd is not None else (None, None)
        found = undeclared_default(data, old.schema, new.schema) if old is not None and new is not None else None
        return dotted(found) if found is not None else ""

    def wanted(self, use: ApiUse, version: str) -> Schema:
        """The schema of the version that a use of a single kind goes to."""
        found = self.target.kinds[use.group, use.kind].version(version)
        return found.schema if found is not None else {}

    def kept_by(self, use: ApiUse, goal: str) -> tuple[str, ...]:
        """Names of unverified clusters for whose sake a use goes to no newer version than ``goal``."""
        if not self.unverified or replace(self, unverified=()).goal(use) == goal:
            return ()
        alone = [each.tag for each in self.unverified if replace(self, unverified=(each,)).goal(use) == goal]
        return tuple(alone or (each.tag for each in self.unverified))

    def _drops(self, use: ApiUse) -> bool:
        """Whether the target drops a version of a use's kind; True if it is unknown what is served today."""
        kept = {version for crd in _kinds(self.target, use) for version in crd.served}
        today = {version for release in self._clusters for crd in _kinds(release, use) for version in crd.served}
        return not self._clusters or not today <= kept

    @property
    def _clusters(self) -> list[ReleaseApis]:
        return [each for each in (self.current, *self.others, *self.unverified) if each is not None]

    def _today(self, crd: Crd) -> dict[str, frozenset[str]]:
        """What the clusters serve of a kind, by their names; a cluster without the kind has no say."""
        found = {each.tag: each.kinds.get((crd.group, crd.kind)) for each in self._clusters}
        return {tag: each.served for tag, each in found.items() if each is not None}

    def _goal(self, crd: Crd, version: str) -> str:
        """The newest that every release serves; empty where there is none, or only older ones."""
        served = crd.served.intersection(*self._today(crd).values())
        if self.current is None and crd.storage in served:
            served = frozenset({crd.storage})
        return max((each for each in served if age(each) > age(version)), key=age, default="")

    def _no_bridge(self, use: ApiUse, crd: Crd) -> Left:
        today = self._today(crd)
        if all(age(each) < age(use.version) for each in crd.served) or not today:
            detail = (
                f"{crd.kind} {use.version} is newer than what {self.target.tag} serves, "
                f"{_named(crd.served)}, and flux-upgrade never migrates to an older version."
            )
            return Left(use, Reason.NO_BRIDGE, detail, "Upgrade to a release that serves it.")
        clusters = ", ".join(f"{tag} serves {_named(served)}" for tag, served in today.items())
        detail = (
            f"No newer version of {crd.kind} is served everywhere: {clusters}, "
            f"{self.target.tag} serves {_named(crd.served)}."
        )
        current = self.current.tag if self.current is not None else ""
        late = tuple(tag for tag, served in today.items() if not served & crd.served)
        if self.is_of_one or len(late) == len(today):
            late = tuple(tag for tag in late if tag != current)
        hint = f"Upgrade the clusters at {' and '.join(late)} first." if late else self._bridge(crd, today, current)
        return Left(use, Reason.NO_BRIDGE, detail, hint, after=late if all(map(is_tag, late)) else ())

    def _bridge(self, crd: Crd, today: Mapping[str, frozenset[str]], current: str) -> str:
        """Return what to do first. A bridge serves a version of today's, and one of the target's."""
        for each in self.between() if current in today else ():
            middle = each.kinds.get((crd.group, crd.kind))
            if middle is not None and middle.served & crd.served and middle.served & today[current]:
                return f"Upgrade to {each.tag} first, which serves {_named(middle.served)}."
        return "Upgrade to a release in between first, which serves a version of either."


def _kinds(release: ReleaseApis, use: ApiUse) -> tuple[Crd, ...]:
    """A release's kinds that a use may mean: what selects for a patch may name several, or none."""
    in_group = [each for each in release.crds.values() if each.group == use.group]
    if use.place is UsePlace.TARGET or not use.kind:
        return tuple(each for each in in_group if _selects(use.kind, each.kind))
    return tuple(each for each in in_group if use.kind in (each.kind, f"{each.kind}List"))


def _serves(release: ReleaseApis, use: ApiUse) -> bool:
    """Whether a release serves what a use names. Of a variable, only a default counts."""
    served: frozenset[str] = frozenset().union(*(each.served for each in _kinds(release, use)))
    if is_variable(use.version):
        named = _ANY_VERSION.findall(use.version)
        return not named or bool(served.intersection(named))
    if use.place is UsePlace.TARGET:
        return any(_selects(use.version, each) for each in served)
    return use.version in served


def _is_unknown(version: str) -> bool:
    """Whether something else puts a version there, of which nothing is known."""
    return is_variable(version) and not _ANY_VERSION.search(version)


def _selects(pattern: str, name: str) -> bool:
    """Whether a selector of kustomize's means a name: it is a regular expression for all of it."""
    return not pattern or fits(pattern, name)


def _named(versions: Iterable[str]) -> str:
    """``v1beta2 and v1``, oldest first; ``none`` where there is none."""
    return " and ".join(sorted(versions, key=age)) or "none"
