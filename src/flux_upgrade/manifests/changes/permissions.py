"""Rules of a role as single permissions, compared as the API server compares them.

``*`` stands for any group, resource or verb, ``*/scale`` for that subresource of any resource,
a path that ends with ``*`` for all that begin so, no resource names for all names
(https://kubernetes.io/docs/reference/access-authn-authz/rbac/; k8s.io/kubernetes,
pkg/apis/rbac/v1/evaluation_helpers.go).
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import product
from typing import Any

from flux_upgrade.manifests.changes.shapes import OtherShape, list_of, only, texts
from flux_upgrade.values import NamedTuple

_MOST = 100_000
"""Permissions of one role; the largest of Kubernetes' own has a thousand or so."""
_FIELDS = ("verbs", "nonResourceURLs", "apiGroups", "resources", "resourceNames")


class Permission(NamedTuple):
    """One verb on one thing."""

    verb: str
    resource: str
    """With its subresource, or a path of the API server."""
    group: str | None = None
    """None: a path."""
    name: str = ""
    """Of the one object; empty for all."""

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
    """Whether one of some permissions includes it."""
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
