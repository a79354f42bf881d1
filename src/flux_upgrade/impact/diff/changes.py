"""What changes for a cluster between two manifests, as values; and how phrases quote names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from flux_upgrade.model.markdown import shortened, visible
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.decision import ChangeKind

TIGHTENED = ("removed", "required", "type", "default", "validation")
"""What may become of a field (``FieldChange.what``) so that an object that was valid is none, or another."""
_LONGEST = 240
_QUOTED = re.compile(r"`([^`]*)`")


class FieldChange(NamedTuple):
    """One field of a schema, in one version of a CRD."""

    path: str  # `spec.chart.spec.valuesFile`; items of a list with `[]`
    what: str
    """What became of it.

    ``removed``; ``required``, of a field that is new or was optional; ``type``; ``default``;
    ``validation``; ``added``, the topmost field that is new; ``optional``; ``loosened``, a
    validation that lets through all that it did before, and more.
    """
    old: Any = None  # Default or type; of a validation the constraints that changed, by keyword
    new: Any = None

    @property
    def is_status(self) -> bool:
        """Whether controllers write it, and people do not."""
        return self.path.partition(".")[0] == "status"


class CrdChange(NamedTuple):
    """One CRD that both manifests have."""

    name: str  # `alerts.notification.toolkit.fluxcd.io`
    kind: str
    group: str
    added: tuple[str, ...] = ()  # Versions that were not there before
    deprecated: tuple[str, ...] = ()  # Versions that are deprecated from now on
    unserved: tuple[str, ...] = ()  # Versions that are still there, and no longer served
    removed: tuple[str, ...] = ()  # Versions that are gone
    storage: tuple[str, str] | None = None  # Storage version before and now, where it changed
    fields: tuple[tuple[str, FieldChange], ...] = ()  # Version and field; of versions that both have
    other: tuple[str, ...] = ()  # Paths of whatever else changed: scope, short names, printer columns …


class RuleChange(NamedTuple):
    """One role, or one binding."""

    object: str  # `ClusterRole/crd-controller-flux-system`
    widened: tuple[str, ...] = ()
    """What it may do from now on, one permission each: ``get secrets``.

    Of a binding: who may do what a role may, ``ClusterRole/admin for ServiceAccount/ns/name``.
    """
    narrowed: tuple[str, ...] = ()
    state: str = ""  # `added` or `removed`: the object as a whole
    left: tuple[str, ...] = ()  # What is left of the permissions that were narrowed: `get secrets named x`


class ObjectChange(NamedTuple):
    """Anything else that changed in an object, by its path."""

    content: ChangeKind | None  # None: nothing that a policy can name
    object: str  # `NetworkPolicy/allow-webhooks`
    path: str  # `spec.ingress`, as `residue.Edit.where` spells it; empty for the object as a whole
    phrase: str  # A phrase; what stands in the files, names and values, is in backticks: see `quoted`
    old: Any = None
    new: Any = None


class Changes(NamedTuple):
    """Everything that differs between two manifests, each thing once."""

    controllers: tuple[tuple[str, str, str], ...] = ()
    """Name, image before, image now; an empty image where the controller was added or removed."""
    crds_added: tuple[str, ...] = ()  # Their names
    crds_removed: tuple[str, ...] = ()
    crds: tuple[CrdChange, ...] = ()
    rules: tuple[RuleChange, ...] = ()
    others: tuple[ObjectChange, ...] = ()
    """NetworkPolicies, Deployments, Namespaces and everything else, object by object."""
    noise: tuple[tuple[str, int], ...] = ()
    """What was counted and not listed: ``descriptions``, ``version labels`` … with how many."""

    @property
    def contents(self) -> frozenset[ChangeKind]:
        found = {each.content for each in self.others if each.content is not None}
        if self.crds_removed or any(each.unserved or each.removed for each in self.crds):
            found.add(ChangeKind.API_REMOVED)
        if any(not old or not new for _, old, new in self.controllers):
            found.add(ChangeKind.COMPONENT)
        if any(each.widened for each in self.rules):
            found.add(ChangeKind.RBAC)
        if any(field.what in TIGHTENED and not field.is_status for each in self.crds for _, field in each.fields):
            found.add(ChangeKind.SCHEMA)
        return frozenset(found)


NO_CHANGES = Changes()


def quoted(value: Any) -> str:
    """In one line; text as it is, anything else as JSON."""
    is_text = isinstance(value, str) and value
    text = value if is_text else json.dumps(value, default=str, ensure_ascii=False)
    return f"`{visible(text).replace('`', chr(39))}`"


def listed(values: Iterable[Any]) -> str:
    return ", ".join(map(quoted, values))


def marked(phrase: str, mark: Callable[[str], str]) -> str:
    """The phrase, with ``mark`` around whatever is quoted in it, shortened where it is too long to read."""
    return _QUOTED.sub(lambda found: mark(shortened(found[1], _LONGEST)), phrase)
