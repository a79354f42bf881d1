"""Two manifests → what changes for a cluster: each object beside its older self, by what its kind means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from flux_upgrade.impact.diff.changes import Changes, quoted
from flux_upgrade.impact.diff.crds import crd_changes
from flux_upgrade.impact.diff.network_policies import network_policy_changes
from flux_upgrade.impact.diff.objects import (
    LABELS,
    LAYOUT,
    Meaning,
    Noise,
    added_or_removed,
    by_path,
    edits,
    object_changes,
    path_phrase,
    phrase_of,
    shown_path,
)
from flux_upgrade.impact.diff.rbac import rbac_changes
from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.manifests.proof import image_node
from flux_upgrade.manifests.residue import VERSION_LABEL, Edit, Op, Path
from flux_upgrade.policy.decision import ChangeKind

_Reader = Callable[[ObjectKey, "Document | None", "Document | None"], Changes]
_VERSION_LINE = re.compile(rf"^ +{re.escape(VERSION_LABEL)}: (?:v?\d+\.\d+\.\d+[0-9A-Za-z.+-]*|latest)$", re.MULTILINE)
_POD: Path = ("spec", "template", "spec")
_IN_POD = len(_POD)
_IN_CONTAINER = _IN_POD + 2


def manifest_changes(before: Iterable[Document], after: Iterable[Document]) -> Changes:
    """Whatever differs is listed, or counted as noise. Raises Unreadable, which names the line."""
    olds = {each.key: each for each in before}
    news = {each.key: each for each in after}
    found = [_object_changes(key, olds.get(key), news.get(key)) for key in dict.fromkeys([*olds, *news])]
    if not found:
        return Changes()
    noise: Noise = Counter()
    for each in found:
        noise.update(dict(each.noise))
    joined = Changes(*[tuple(chain.from_iterable(column)) for column in zip(*found, strict=True)])
    return joined._replace(noise=tuple(sorted((+noise).items())))


def _object_changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    if before is not None and after is not None:
        if before.text == after.text:
            return Changes()
        # Where two texts differ in nothing but version labels, neither needs to be read.
        if _VERSION_LINE.sub("", before.text) == _VERSION_LINE.sub("", after.text):
            return Changes(noise=((LABELS, 1),))
    found = _READERS.get((key.group, key.kind), object_changes)(key, before, after)
    return found if found != Changes() else Changes(noise=((LAYOUT, 1),))


def _secret_changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Where something changed, and never what."""
    found = object_changes(key, before, after)
    hidden = (
        each._replace(phrase=f"{quoted(each.path)} changed" if each.path else each.phrase, old=None, new=None)
        for each in found.others
    )
    return found._replace(others=tuple(hidden))


def _namespace_changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Pod Security goes by its labels."""
    if before is None or after is None:
        return added_or_removed(key, before, ChangeKind.NAMESPACE)
    return by_path(key, *edits(before, after), _of_namespace)


def _of_namespace(edit: Edit) -> Meaning:
    match edit.path:
        case ("metadata", "labels", *_, name):
            return ChangeKind.NAMESPACE, phrase_of(edit, f"label {quoted(name)}")
        case ("metadata", "labels"):
            return ChangeKind.NAMESPACE, path_phrase(edit)
    return None, path_phrase(edit)


def _deployment_changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    old, new = _image(key, before), _image(key, after)
    if before is None or after is None:
        if old or new:
            return Changes(controllers=((key.name, old, new),))
        return added_or_removed(key, before, ChangeKind.COMPONENT)
    found, noise = edits(before, after)
    if not old or not new or old == new:
        return by_path(key, found, noise, _of_deployment)
    rest = [each for each in found if (_in_container(each), each.old, each.new) != (("image",), old, new)]
    return by_path(key, rest, noise, _of_deployment)._replace(controllers=((key.name, old, new),))


def _image(key: ObjectKey, document: Document | None) -> str:
    """Of the controller; empty where there is none."""
    node = image_node(document.node, key.name) if document is not None else None
    return node.value if node is not None else ""


def _in_container(edit: Edit) -> Path:
    """The path within a container; empty elsewhere, and for a container as a whole."""
    match edit.path:
        case ("spec", "template", "spec", "containers" | "initContainers", _, *inside):
            return tuple(inside)
    return ()


def _of_deployment(edit: Edit) -> Meaning:
    content = ChangeKind.ARGUMENTS if edit.path[:_IN_POD] == _POD[: len(edit.path)] else None
    inside = _in_container(edit)
    if inside:
        container, phrase = _name(edit.path[_IN_CONTAINER - 1]), _of_container(edit, inside)
        return content, phrase if container == "manager" else f"container {quoted(container)}: {phrase}"
    match edit.path:
        case ("spec", "template", "metadata", "labels" | "annotations" as what, name):
            return content, phrase_of(edit, f"pod {what.removesuffix('s')} {quoted(name)}", is_enough=True)
        case ("spec", "template", "spec", *_):
            return content, phrase_of(edit, shown_path(edit, _IN_POD))
    return content, path_phrase(edit)


def _of_container(edit: Edit, inside: Path) -> str:
    match inside, edit.op:
        case ("args", _), Op.REPLACE:
            return f"{quoted(edit.old)} → {quoted(edit.new)}"
        case ("args", _), _:
            return phrase_of(edit, quoted(edit.new or edit.old), is_enough=True)
        case ("env", name), Op.ADD | Op.REMOVE:
            return phrase_of(edit, f"environment variable {quoted(_name(name))}", is_enough=True)
    return phrase_of(edit, shown_path(edit, _IN_CONTAINER))


def _name(label: str) -> str:
    """Of an item of a list, as ``lists`` labels it."""
    return label[1:-1].removeprefix("name=")


_RBAC = "rbac.authorization.k8s.io"
_READERS: Mapping[tuple[str, str], _Reader] = {
    ("", "Namespace"): _namespace_changes,
    ("", "Secret"): _secret_changes,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): crd_changes,
    ("apps", "Deployment"): _deployment_changes,
    ("networking.k8s.io", "NetworkPolicy"): network_policy_changes,
    **{(_RBAC, f"{scope}Role{end}"): rbac_changes for scope in ("", "Cluster") for end in ("", "Binding")},
}
