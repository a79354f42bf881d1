"""Two manifests → what changes for a cluster: each object beside its older self, by what its kind means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from flux_upgrade.impact.diff.changes import Changes
from flux_upgrade.impact.diff.crds import crd_changes
from flux_upgrade.impact.diff.network_policies import network_policy_changes
from flux_upgrade.impact.diff.others import namespace_changes, object_changes, secret_changes
from flux_upgrade.impact.diff.rbac import rbac_changes
from flux_upgrade.impact.diff.walk import LABELS, LAYOUT, Noise, only_labels
from flux_upgrade.impact.diff.workloads import deployment_changes
from flux_upgrade.manifests.documents import Document, ObjectKey

_Reader = Callable[[ObjectKey, "Document | None", "Document | None"], Changes]
_RBAC = "rbac.authorization.k8s.io"
_READERS: Mapping[tuple[str, str], _Reader] = {
    ("", "Namespace"): namespace_changes,
    ("", "Secret"): secret_changes,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): crd_changes,
    ("apps", "Deployment"): deployment_changes,
    ("networking.k8s.io", "NetworkPolicy"): network_policy_changes,
    **{(_RBAC, f"{scope}Role{end}"): rbac_changes for scope in ("", "Cluster") for end in ("", "Binding")},
}


def manifest_changes(before: Iterable[Document], after: Iterable[Document]) -> Changes:
    """Whatever differs is listed, or counted as noise. Raises Unreadable, which names the line."""
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
    found = _READERS.get((key.group, key.kind), object_changes)(key, before, after)
    return found if found != Changes() else Changes(noise=((LAYOUT, 1),))
