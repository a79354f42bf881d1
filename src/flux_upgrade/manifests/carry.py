"""A proved manifest + a target regeneration → the manifest with every edit carried.

Objects that nobody edited are the target's own bytes. Edited ones are merged
path by path and written again. At the end the result is read back and its
residue compared with the one before: what the report does not name must be
there, and nothing else may be.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flux_upgrade.manifests.comments import extract, insert
from flux_upgrade.manifests.documents import Document, ObjectKey, parse
from flux_upgrade.manifests.images import Controller, Image
from flux_upgrade.manifests.infer import deployments
from flux_upgrade.manifests.merge import Conflict, Merge
from flux_upgrade.manifests.node_copies import serialize
from flux_upgrade.manifests.nodes import compose, same
from flux_upgrade.manifests.proof import (
    FILE,
    Proof,
    Regenerated,
    aligned,
    controllers_of,
    edits_of,
    image_node,
    normalized,
    object_edits,
)
from flux_upgrade.manifests.render import header
from flux_upgrade.manifests.residue import Edit, Op, Path
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import TextEdit, edited


@dataclass(frozen=True)
class Carried:
    """The upgraded manifest, and what became of each edit."""

    content: bytes  # The file's new content; only to be written where there is no conflict and no stray
    kept: tuple[Edit, ...] = ()
    absorbed: tuple[Edit, ...] = ()  # Edits that the release has made itself
    dropped: tuple[Edit, ...] = ()  # Edits given up for the release's own value (`--on-conflict take-release`)
    conflicts: tuple[Conflict, ...] = ()
    controllers: tuple[Controller, ...] = ()  # Those of the new content, each beside the target's image


def carry(proof: Proof, target: Regenerated, *, take_release: bool = False) -> Carried:
    """Carry the edits of ``proof`` to ``target``. ``proof`` must have a regeneration.

    ``take_release``: at a conflict the release's value is taken, and the edit
    given up and named.
    """
    manifest, base = proof.manifest, proof.base
    assert manifest is not None  # noqa: S101 a proof with a base has read its file
    assert base is not None  # noqa: S101 stated above
    released, theirs = base.manifest.objects, target.manifest.objects
    mine = aligned(manifest, {**theirs, **released})
    # Objects of the user's own stand behind what they stood behind, word for word.
    behind, previous = defaultdict[ObjectKey | None, list[str]](list), None
    for key, document in mine.items():
        if key in theirs:
            previous = key
        elif key not in released:
            behind[previous].append(document.text)
    merges, texts = [Merge(key) for key in dict.fromkeys([*theirs, *released])], behind[None]
    for merge in merges:
        key = merge.object
        text = _object(merge, released.get(key), mine.get(key), theirs.get(key), proof.controllers)
        if text is not None:
            texts += [text, *behind[key]]
    above = manifest.comments_above + header(target.options) + manifest.comments_below
    content = manifest.encode(above + "---\n".join(texts))
    return _checked(proof, target, merges, content, take_release=take_release)


def _object(
    merge: Merge,
    base: Document | None,
    mine: Document | None,
    target: Document | None,
    controllers: tuple[Controller, ...],
) -> str | None:
    """The new text of an object that the current or the new release has; None: it is not to be there."""
    key = merge.object
    if base is not None and mine is None:
        # What the user took out stays out, however the release changed it.
        if target is None:
            merge.absorbed.append(())
        return None
    if target is None:
        if any(object_edits(key, base, mine, controllers)):
            merge.conflicts.append(Conflict(key, (), None, "edited", None))
        return None
    if mine is None or (base is not None and not any(object_edits(key, base, mine, controllers))):
        return target.text
    if base is None:
        if same(mine.node, target.node):
            merge.absorbed.append(())
        else:
            merge.conflicts.append(Conflict(key, (), None, mine.data, target.data))
        return target.text
    node = merge.merge(base.node, normalized(key, mine, controllers), target.node)
    # Without this the object's untouched lines would not be known to come out as they went in.
    if serialize(target.node) != target.text:
        merge.conflicts.append(Conflict(key, (), None, "edited", "cannot be reproduced exactly"))
        return target.text
    text = serialize(node)
    comments = extract(mine.text, mine.node)
    return insert(text, compose(text), comments) if comments else text


def _checked(
    proof: Proof, target: Regenerated, merges: Sequence[Merge], content: bytes, *, take_release: bool
) -> Carried:
    """Read the result back, and compare its residue with the residue before, edit by edit."""
    known = [conflict for merge in merges for conflict in merge.conflicts]
    released = [(merge.object, path) for merge in merges for path in merge.absorbed]
    try:
        result = parse(content)
        controllers = controllers_of(result, target)
        residue = list(edits_of(result, target, controllers))
    except Unreadable as error:
        # A comment that makes it unreadable is found here, and by no reader before.
        controllers, residue = (), [Edit(FILE, (), Op.REPLACE, None, error.message)]
    after = Counter([edit.identity for edit in residue])
    kept, absorbed, lost, conflicts = [], [], [], [*known]
    for edit in proof.edits:
        if after[edit.identity] > 0:
            after[edit.identity] -= 1
            kept.append(edit)
        elif any(_is_within(edit, *place) for place in released):
            absorbed.append(edit)
        else:
            lost.append(edit)
            if not any(_is_within(edit, each.object, each.path) for each in known):
                conflicts.append(Conflict(edit.object, edit.path, edit.old, edit.new, None))
    for stray in +after:
        # Never seen; a difference that nobody made must stop the run, whatever was asked for.
        conflicts.append(Conflict(FILE, (), None, None, stray))
        take_release = False
    return Carried(
        content,
        kept=tuple(kept),
        absorbed=tuple(absorbed),
        dropped=tuple(lost) if take_release else (),
        conflicts=() if take_release else tuple(conflicts),
        controllers=controllers,
    )


def _is_within(edit: Edit, key: ObjectKey, path: Path) -> bool:
    return edit.object == key and edit.path[: len(path)] == path


def with_images(content: bytes, images: Mapping[str, Image]) -> bytes:
    """``content`` with these images: controller → image. All other bytes stay.

    Raises Unreadable where the image of a controller has no place of its own in the text.
    """
    manifest = parse(content)
    edits = []
    for name, document in deployments(manifest):
        node = image_node(document.node, name) if name in images else None
        if node is None:
            continue
        first, last = node.start_mark.index, node.end_mark.index
        raw = document.text[first:last]
        # Where the document begins in the manifest's text.
        begin = sum(len(line) + 1 for line in manifest.text.split("\n")[: document.line - 1])
        quote = raw[:1] if raw[:1] in ("'", '"') else ""
        if raw != f"{quote}{node.value}{quote}" or manifest.text[begin + first : begin + last] != raw:
            raise Unreadable(
                f"the image of {name} is written in a form that flux-upgrade cannot change safely",
                hint="write it in one line, without an anchor",
            )
        edits.append(TextEdit(begin + first, begin + last, raw, f"{quote}{images[name]}{quote}"))
    return manifest.encode(edited(manifest.text.encode(), edits).decode())
