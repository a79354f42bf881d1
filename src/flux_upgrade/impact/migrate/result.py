"""What becomes of the uses of a version that a release does not serve."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from flux_upgrade.impact.api_uses.flux_file import ApiUse, UsePlace
from flux_upgrade.model.text import TextEdit, edited
from flux_upgrade.model.values import NamedTuple


class Reason(StrEnum):
    TEXT = "text"  # it is no use at all: a part of a text, and no manifest
    TEMPLATE = "template"  # what the file becomes is not known before something is put in
    NEEDS_HAND = "needs-hand"  # a field has no counterpart in the new version: a person has to decide
    NO_BRIDGE = "no-bridge"  # No version is served by the current release (or by another cluster's) and by the target
    UNKNOWN_KIND = "unknown-kind"  # the target has no such kind at all
    SPELLING = "spelling"
    """It cannot be changed safely as it stands: an alias, a variable, a pattern, another program's input."""
    METRIC = "metric"  # kube-state-metrics exports nothing about the objects then; nothing else breaks
    UNREADABLE = "unreadable"  # It stands in what is no valid YAML and no template either: nothing can apply it today
    UNREAD = "unread"  # no cluster reads the file
    UNCHECKED = "unchecked"  # A script or a program may apply it


HARMLESS = (Reason.TEXT, Reason.UNREADABLE, Reason.UNREAD)  # an upgrade breaks none of these
NOT_MANIFESTS = (*HARMLESS, Reason.UNCHECKED)  # Reasons that do not hold an upgrade


NO_METRICS = "kube-state-metrics then exports no metrics of these objects."


class Move(NamedTuple):
    use: ApiUse
    to: str  # `v1`
    edits: tuple[TextEdit, ...]  # the version, and the fields that go with it
    fields: tuple[str, ...] = ()  # What was done with fields, a sentence each, without markup, with its source
    was_served: bool = True
    """Whether a cluster serves the old version today, as far as anybody knows: else it is broken already."""
    undeclared: str = ""
    """A field, such as `spec.provider`, that the new version gives a default to and that the old one lacks.

    As long as ``metadata.managedFields`` names the old version, server-side apply of the new one then fails with
    `field not declared in schema`: `flux migrate` has to run, unless the controller of the kind has written the object
    since. Seen on kube-apiserver v1.36.2, tests/real_flux.
    """
    kept_by: tuple[str, ...] = ()
    """Names of unverified clusters that serve no newer version than ``to``, of those that the target has."""

    @property
    def blocks(self) -> bool:
        """Return whether the upgrade waits until it is made."""
        return self.use.place is not UsePlace.METRIC


class Left(NamedTuple):
    use: ApiUse
    reason: Reason
    detail: str  # a sentence without markup: the field, the value, what is missing
    hint: str = ""  # what to do about it: what replaces the field, and where that is said
    is_broken_already: bool = False  # whether it is known that no cluster serves the version today either
    after: tuple[str, ...] = ()  # Releases of other clusters: once those are upgraded, it can be migrated

    @property
    def blocks(self) -> bool:
        return self.reason not in (*NOT_MANIFESTS, Reason.METRIC) and not self.is_broken_already

    @property
    def ends(self) -> bool:
        """Return whether it is a metric that ends with the upgrade."""
        return self.reason is Reason.METRIC and not self.is_broken_already


class Migrated(NamedTuple):
    """A file that uses what the target does not serve."""

    path: str
    content: bytes
    moves: tuple[Move, ...]
    lefts: tuple[Left, ...]

    @property
    def uses(self) -> tuple[ApiUse, ...]:
        return (*(move.use for move in self.moves), *(left.use for left in self.lefts))

    def without(self, kinds: Collection[tuple[str, str]]) -> Migrated:
        """Without uses of some kinds, each with its API group."""
        return self._replace(
            moves=tuple(each for each in self.moves if (each.use.group, each.use.kind) not in kinds),
            lefts=tuple(each for each in self.lefts if (each.use.group, each.use.kind) not in kinds),
        )

    def with_metrics_left(self) -> Migrated:
        """Return the file without edits of metrics, which are then left to the user."""
        metrics = [move for move in self.moves if move.use.place is UsePlace.METRIC]
        left = [
            Left(move.use, Reason.METRIC, NO_METRICS, f"Change it to {move.to}.", is_broken_already=not move.was_served)
            for move in metrics
        ]
        return self._replace(
            moves=tuple(move for move in self.moves if move not in metrics),
            lefts=tuple(sorted((*self.lefts, *left), key=lambda left: left.use.start)),
        )

    def unread(self) -> Migrated:
        """The same file, if no cluster reads it: nothing in it breaks, and nothing is moved."""
        uses = [
            *(move.use for move in self.moves),
            *(left.use for left in self.lefts if left.reason not in NOT_MANIFESTS),
        ]
        harmless = (left for left in self.lefts if left.reason in NOT_MANIFESTS)
        lefts = (*harmless, *(Left(use, Reason.UNREAD, "No cluster reads this file.") for use in uses))
        return self._replace(moves=(), lefts=tuple(sorted(lefts, key=lambda left: left.use.start)))

    @property
    def new(self) -> bytes:
        return edited(self.content, (edit for move in self.moves for edit in move.edits))
