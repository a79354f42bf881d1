"""Two versions of a Namespace → its labels, which Pod Security goes by, and whatever else changed."""

from __future__ import annotations

from flux_upgrade.impact.diff.changes import Changes, quoted
from flux_upgrade.impact.diff.others import by_path, said, said_by_path, whole
from flux_upgrade.impact.diff.walk import edits
from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.manifests.residue import Edit
from flux_upgrade.policy.decision import Content

_LABELS = ("metadata", "labels")


def changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of one Namespace. Raises Unreadable."""
    if before is None or after is None:
        return Changes(others=(whole(key, before, Content.NAMESPACE),))
    return by_path(key, *edits(before, after), _content, _phrase)


def _content(edit: Edit) -> Content | None:
    return Content.NAMESPACE if edit.path[:2] == _LABELS else None


def _phrase(edit: Edit) -> str:
    is_label = edit.path[:2] == _LABELS and len(edit.path) > len(_LABELS)
    return said(edit, f"label {quoted(edit.path[-1])}") if is_label else said_by_path(edit)
