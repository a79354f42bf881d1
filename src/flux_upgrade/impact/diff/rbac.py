"""Two versions of a role or a binding → what it lets do from now on, and what no longer."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import product
from typing import Any

from flux_upgrade.impact.diff.changes import Changes, RuleChange
from flux_upgrade.impact.diff.objects import OtherShape, by_meaning, list_of, only, selector, texts
from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.manifests.residue import Edit
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.decision import ChangeKind

_MOST = 100_000  # Permissions of one role; the largest of Kubernetes' own has a thousand or so
_FIELDS = ("verbs", "nonResourceURLs", "apiGroups", "resources", "resourceNames")
_AGGREGATED = "rbac.authorization.k8s.io/aggregate-to-"
_GRANTING = frozenset({"aggregationRule", "roleRef", "rules", "subjects"})


def rbac_changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of one object of ``rbac.authorization.k8s.io``. Raises Unreadable."""
    return by_meaning((key, before, after), ChangeKind.RBAC, _grants, _compared)


def _compared(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    old, new = _of(before), _of(after)
    state = "added" if before is None else "removed" if after is None else ""
    change = RuleChange(str(key), _widened(old, new), _widened(new, old), state, _left(old, new))
    return Changes() if change == RuleChange(str(key)) else Changes(rules=(change,))


def _grants(edit: Edit) -> bool:
    """Whether what is at that path is compared by what it grants."""
    match edit.path:
        case ("metadata", "labels", str(name)):
            return name.startswith(_AGGREGATED)
        case (str(top), *_):
            return top in _GRANTING
    return False


def _widened(before: _Grants, after: _Grants) -> tuple[str, ...]:
    """What the second grants and the first does not."""
    permitted = (str(each) for each in after.permissions if not is_granted(each, before.permissions))
    return (*permitted, *(each for each in after.others if each not in before.others))


def _left(before: _Grants, after: _Grants) -> tuple[str, ...]:
    """What the second still grants of permissions that it narrows."""
    narrowed = {each for each in before.permissions if not is_granted(each, after.permissions)}
    return tuple(str(each) for each in after.permissions if is_granted(each, narrowed))


class _Grants(NamedTuple):
    permissions: Mapping[Permission, None]
    others: tuple[str, ...]  # Whose permissions a role takes over or passes on; whom a binding gives a role to


def _of(document: Document | None) -> _Grants:
    """What a role or a binding grants. Raises OtherShape, Unreadable."""
    match document.data if document else None:
        case None:
            return _Grants({}, ())
        case {"kind": "Role" | "ClusterRole", "metadata": metadata, **rest}:
            others = (*_aggregated(metadata.get("labels")), *_aggregating(rest.get("aggregationRule")))
            return _Grants(permissions(rest.get("rules")), others)
        case {"roleRef": {"kind": str(kind), "name": str(name)}, **rest}:
            return _Grants({}, tuple(_bound(f"{kind}/{name}", rest.get("subjects"))))
    raise OtherShape


def _aggregated(labels: Any) -> Iterator[str]:
    """Roles that have what this one has.

    https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
    """
    for name, value in labels.items() if isinstance(labels, dict) else ():
        if name.startswith(_AGGREGATED) and value == "true":
            yield f"everything for ClusterRole/{name.removeprefix(_AGGREGATED)}"


def _aggregating(rule: Any) -> Iterator[str]:
    match rule:
        case None:
            return
        case {"clusterRoleSelectors": [*selectors]} if len(rule) == 1:
            for each in selectors:
                yield f"everything of ClusterRoles with {selector(each) or 'any labels'}"
        case _:
            raise OtherShape


def _bound(role: str, subjects: Any) -> Iterator[str]:
    for subject in list_of(subjects):
        match subject:
            case {"kind": str(kind), "name": str(name)}:
                namespace = subject.get("namespace")
                yield f"{role} for {kind} " + (f"{namespace}/{name}" if namespace else name)
            case _:
                raise OtherShape


class Permission(NamedTuple):
    verb: str
    resource: str  # With its subresource, or a path of the API server
    group: str | None = None  # None: a path
    name: str = ""  # Of the one object; empty for all

    def __str__(self) -> str:
        """``get secrets``, ``create deployments/scale.apps``, ``head /livez/ping``."""
        group = f".{self.group}" if self.group else ""
        return f"{self.verb} {self.resource}{group}" + (f" named {self.name}" if self.name else "")

    @property
    def wider(self) -> Iterator[Permission]:
        """Every permission that includes this one, itself first."""
        verbs = (self.verb, "*")
        if self.group is None:
            prefixes = (f"{self.resource[:end]}*" for end in range(len(self.resource.rstrip("*")) + 1))
            for resource, verb in product((self.resource, *prefixes), verbs):
                yield Permission(verb, resource)
            return
        _, slash, below = self.resource.partition("/")
        resources = (self.resource, "*", *((f"*/{below}",) if slash else ()))
        for resource, group, name, verb in product(resources, (self.group, "*"), (self.name, ""), verbs):
            yield Permission(verb, resource, group, name)


def is_granted(permission: Permission, by: Container[Permission]) -> bool:
    return any(each in by for each in permission.wider)


def permissions(rules: Any) -> dict[Permission, None]:
    """Of all rules of a role, in their order, each once. Raises OtherShape."""
    found: dict[Permission, None] = {}
    for rule in list_of(rules):
        verbs, urls, groups, resources, names = (texts(only(rule, *_FIELDS).get(each)) for each in _FIELDS)
        if len(found) + len(verbs) * (len(urls) + len(groups) * len(resources) * max(len(names), 1)) > _MOST:
            raise OtherShape
        found |= dict.fromkeys(Permission(verb, url) for url, verb in product(urls, verbs))
        found |= dict.fromkeys(
            Permission(verb, resource, group, name)
            for group, resource, name, verb in product(groups, resources, names or [""], verbs)
        )
    return found
