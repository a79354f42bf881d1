"""Two manifests → what changes for a cluster: each object beside its older self, by what its kind means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from flux_upgrade.impact.diff import crds, namespaces, network_policies, others, rbac, workloads
from flux_upgrade.impact.diff.changes import Changes
from flux_upgrade.impact.diff.walk import LABELS, LAYOUT, Noise, only_labels
from flux_upgrade.manifests.documents import Document, ObjectKey

_Reader = Callable[[ObjectKey, "Document | None", "Document | None"], Changes]
_RBAC = "rbac.authorization.k8s.io"
_READERS: Mapping[tuple[str, str], _Reader] = {
    ("", "Namespace"): namespaces.changes,
    ("", "Secret"): others.secrets,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): crds.changes,
    ("apps", "Deployment"): workloads.changes,
    ("networking.k8s.io", "NetworkPolicy"): network_policies.changes,
    **{(_RBAC, f"{scope}Role{end}"): rbac.changes for scope in ("", "Cluster") for end in ("", "Binding")},
}


def changes(before: Iterable[Document], after: Iterable[Document]) -> Changes:
    """Whatever differs is told, or counted. Raises Unreadable, with the line, for what cannot be read."""
    olds = {each.key: each for each in before}
    news = {each.key: each for each in after}
    found = [_of(key, olds.get(key), news.get(key)) for key in dict.fromkeys([*olds, *news])]
    if not found:
        return Changes()
    noise: Noise = Counter()
    for each in found:
        noise.update(dict(each.noise))
    joined = Changes(*(tuple(chain.from_iterable(column)) for column in zip(*found, strict=True)))
    return joined._replace(noise=tuple(sorted((+noise).items())))


def _of(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    if before is not None and after is not None:
        if before.text == after.text:
            return Changes()
        if only_labels(before, after):
            return Changes(noise=((LABELS, 1),))
    found = _READERS.get((key.group, key.kind), others.changes)(key, before, after)
    return found if found != Changes() else Changes(noise=((LAYOUT, 1),))
