"""Two versions of a Deployment → the controller's image, and how it is run."""

from __future__ import annotations

from flux_upgrade.impact.diff.changes import Changes, quoted
from flux_upgrade.impact.diff.others import added_or_removed, by_path, path_phrase, phrase_of, shown_path
from flux_upgrade.impact.diff.walk import edits
from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.manifests.proof import image_node
from flux_upgrade.manifests.residue import Edit, Op, Path
from flux_upgrade.policy.decision import ChangeKind

_POD: Path = ("spec", "template", "spec")
_IN_POD = len(_POD)
_IN_CONTAINER = _IN_POD + 2
_MANAGER = "manager"


def deployment_changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of one Deployment. Raises Unreadable."""
    old, new = _image(key, before), _image(key, after)
    if before is None or after is None:
        if old or new:
            return Changes(controllers=((key.name, old, new),))
        return Changes(others=(added_or_removed(key, before, ChangeKind.COMPONENT),))
    found, noise = edits(before, after)
    is_bumped = bool(old and new and old != new)
    rest = [each for each in found if not (is_bumped and _is_image(each, old, new))]
    changes = by_path(key, rest, noise, _content, _phrase)
    return changes._replace(controllers=((key.name, old, new),)) if is_bumped else changes


def _image(key: ObjectKey, document: Document | None) -> str:
    """Of the controller; empty where there is none."""
    node = image_node(document.node, key.name) if document is not None else None
    return node.value if node is not None else ""


def _is_image(edit: Edit, old: str, new: str) -> bool:
    return _in_container(edit) == ("image",) and (edit.old, edit.new) == (old, new)


def _in_container(edit: Edit) -> Path:
    """The path within a container; empty elsewhere, and for a container as a whole."""
    match edit.path:
        case ("spec", "template", "spec", "containers" | "initContainers", _, *inside):
            return tuple(inside)
    return ()


def _content(edit: Edit) -> ChangeKind | None:
    return ChangeKind.ARGUMENTS if edit.path[:_IN_POD] == _POD[: len(edit.path)] else None


def _phrase(edit: Edit) -> str:
    inside = _in_container(edit)
    if inside:
        container = _name(edit.path[_IN_CONTAINER - 1])
        phrase = _of_container(edit, inside)
        return phrase if container == _MANAGER else f"container {quoted(container)}: {phrase}"
    match edit.path:
        case ("spec", "template", "metadata", "labels" | "annotations" as what, name):
            return phrase_of(edit, f"pod {what.removesuffix('s')} {quoted(name)}", is_enough=True)
    return (
        phrase_of(edit, quoted(shown_path(edit, _IN_POD)))
        if edit.path[:_IN_POD] == _POD
        else path_phrase(edit)
    )


def _of_container(edit: Edit, inside: Path) -> str:
    match inside, edit.op:
        case ("args", _), Op.REPLACE:
            return f"{quoted(edit.old)} → {quoted(edit.new)}"
        case ("args", _), _:
            return phrase_of(edit, quoted(edit.new or edit.old), is_enough=True)
        case ("env", name), Op.ADD | Op.REMOVE:
            return phrase_of(edit, f"environment variable {quoted(_name(name))}", is_enough=True)
    return phrase_of(edit, quoted(shown_path(edit, _IN_CONTAINER)))


def _name(label: str) -> str:
    """Of an item of a list, as ``lists`` labels it."""
    return label[1:-1].removeprefix("name=")
