"""What a manifest really is: its release, its flags, and the proof by regeneration.

The body tells the version, the header is hearsay. Every plausible release is
regenerated with the recovered flags; the one that leaves the smallest residue
made the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from flux_upgrade.manifests.comments import extract
from flux_upgrade.manifests.documents import Document, Manifest, ObjectKey
from flux_upgrade.manifests.images import Controller, Image, controller_index
from flux_upgrade.manifests.infer import Inferred, deployments, infer
from flux_upgrade.manifests.node_copies import clone
from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode, child
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.regenerate import Candidates, Regenerated, Regenerator
from flux_upgrade.manifests.residue import Edit, Op, differences
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.versions import NO_VERSION, Version

FILE = ObjectKey("", "File", "", "")
"""Stands for what belongs to the file and to none of its objects."""


class Verdict(StrEnum):
    """How well the regeneration fits."""

    EXACT = "exact"
    """Not at all: the file is identical."""
    IMAGES = "images"
    """Only in image lines, such as other tags or digests."""
    FORMATTING = "formatting"
    """Only in format, such as line endings or the output of another tool."""
    EDITED = "edited"
    """In manual edits, or in its version header. `inspect` lists each edit."""
    UNVERIFIED = "unverified"
    """Unknown: there is no release to compare with."""
    UNREADABLE = "unreadable"
    """Unknown: the file is invalid or is not a single Flux manifest."""


@dataclass(frozen=True)
class Proof:
    """A manifest with everything that could be found out about it."""

    verdict: Verdict
    manifest: Manifest | None = None
    """None where the file is unreadable."""
    version: Version = NO_VERSION
    """The body's release, a tag; empty where it is not known. Of a release that was withdrawn, ``base`` is another."""
    inferred: Inferred | None = None
    base: Regenerated | None = None
    controllers: tuple[Controller, ...] = ()
    edits: tuple[Edit, ...] = ()
    reason: str = ""
    hint: str = ""

    @property
    def is_withdrawn(self) -> bool:
        """Whether its release is gone, so that it was compared with another one of the same minor."""
        return self.base is not None and bool(self.version) and self.base.options.version != self.version

    @property
    def options(self) -> InstallOptions | None:
        """The recovered flags; None where the file is unreadable."""
        if self.base is not None:
            return self.base.options
        return self.inferred.options if self.inferred is not None else None


def prove(manifest: Manifest, regenerator: Regenerator) -> Proof:
    """Identify and prove. Never raises for what a file holds: that is a verdict.

    Raises SourceUnavailable where the releases cannot be had.
    """
    inferred = None
    try:
        _ = manifest.objects  # raises where an object stands twice
        inferred = infer(manifest)
        candidates = Candidates(manifest, inferred, regenerator)
        tags, problem = candidates.recorded_releases()
        proof = _quick(candidates, tags) or _thorough(candidates, tags) if tags else _withdrawn(candidates)
        if proof is None or (problem is not None and proof.edits):
            return Proof(
                Verdict.UNVERIFIED,
                manifest,
                inferred=inferred,
                controllers=controllers_of(manifest, None),
                reason=problem.message if problem else "Flux does not accept the recovered flags",
                hint=problem.hint if problem else "compare the flags listed here with the file",
            )
    except Unreadable as error:
        return Proof(Verdict.UNREADABLE, manifest, inferred=inferred, reason=error.message, hint=error.hint)
    return proof


def _withdrawn(candidates: Candidates) -> Proof | None:
    """A release that is gone, by the nearest of its minor: if their objects are the same, the file has no edits."""
    version = candidates.withdrawn()
    if version is None:
        return None
    for base in candidates.regenerations(candidates.neighbors(version)):
        proof = _proof(candidates, base, Verdict.EDITED)
        if not proof.edits and base.foreign is None:
            return replace(proof, version=version)
    return None


def _quick(candidates: Candidates, tags: list[str]) -> Proof | None:
    """The proof by text alone: equal, or equal but for image lines."""
    manifest = candidates.manifest
    for base in candidates.regenerations(tags):
        if base.text == manifest.text:
            verdict = Verdict.EXACT if manifest.pristine else Verdict.FORMATTING
        elif base.manifest.without_images == manifest.without_images:
            verdict = Verdict.IMAGES if manifest.pristine else Verdict.FORMATTING
        else:
            continue
        # By another's templates: the documentation of the verdicts calls this edited, without residue.
        return _proof(candidates, base, Verdict.EDITED if base.foreign else verdict)
    return None


def _thorough(candidates: Candidates, tags: list[str]) -> Proof | None:
    """The proof by data: the regeneration with the fewest edits."""
    best = _fewest(candidates, tags)
    if best is None or any(edit.object.kind == "CustomResourceDefinition" for edit in best.edits):
        # CRDs tell a release best. If they do not fit, neither labels nor header
        # are to be believed: ask the bodies of all releases.
        others = [tag for tag in candidates.regenerator.stable_tags() if tag not in tags]
        nearest = candidates.nearest_bodies([*tags, *others])
        other = _fewest(candidates, [tag for tag in nearest if tag not in tags])
        if other is not None and (best is None or len(other.edits) < len(best.edits)):
            return other
    return best


def _fewest(candidates: Candidates, tags: list[str]) -> Proof | None:
    best: Proof | None = None
    for base in candidates.regenerations(tags):
        proof = _proof(candidates, base, Verdict.EDITED)
        if best is None or len(proof.edits) < len(best.edits):
            best = proof
        if not best.edits:
            break
    if best is None or best.edits or best.base is None or best.base.foreign:
        return best
    options, manifest = best.base.options, candidates.manifest
    honest = (manifest.header_version, manifest.header_components) == (options.version, options.components)
    return replace(best, verdict=Verdict.FORMATTING) if honest else best


def _proof(candidates: Candidates, base: Regenerated, verdict: Verdict) -> Proof:
    manifest = candidates.manifest
    controllers = controllers_of(manifest, base)
    edits = () if base.text == manifest.text else tuple(edits_of(manifest, base, controllers))
    return Proof(verdict, manifest, Version(base.options.version), candidates.inferred, base, controllers, edits)


def aligned(manifest: Manifest, known: Mapping[ObjectKey, object]) -> dict[ObjectKey, Document]:
    """A file's objects as ``known`` names them: group, kind and name tell, whatever the namespace.

    An object whose namespace was edited or left out is still Flux's own.
    """
    exact = manifest.objects
    by_name = {key._replace(namespace=""): key for key in known}
    found: dict[ObjectKey, Document] = {}
    for key, document in exact.items():
        twin = by_name.get(key._replace(namespace=""), key)
        found[key if key in known or twin in exact or twin in found else twin] = document
    return found


def controllers_of(manifest: Manifest, base: Regenerated | None) -> tuple[Controller, ...]:
    """The controllers of the file, each beside the image that the regeneration has for it."""
    found = []
    # Where both are the same text, the file's own images are the release's: nothing is parsed twice.
    objects = base.manifest.objects if base is not None and base.text != manifest.text else {}
    released = {key.name: each for key, each in objects.items() if key.kind == "Deployment"}
    for name, document in deployments(manifest):
        image = image_node(document.node, name)
        shipped = released.get(name)
        if image is not None:
            own = Image.parse(image.value)
            node = image_node(shipped.node, name) if shipped is not None else None
            found.append(Controller(name, own, Image.parse(node.value) if node else own, document.line))
    return tuple(found)


def image_node(deployment: Node, controller: str) -> ScalarNode | None:
    """The node of the controller's image, whatever containers stand beside it; None where there is none."""
    node: Node | None = deployment
    for key in ("spec", "template", "spec", "containers"):
        node = child(node, key) if isinstance(node, MappingNode) else None
    containers = node.value if isinstance(node, SequenceNode) else []
    images = [
        (getattr(child(each, "name"), "value", ""), image)
        for each in containers
        if isinstance(each, MappingNode) and isinstance(image := child(each, "image"), ScalarNode)
    ]
    index = controller_index([(name, image.value) for name, image in images], controller)
    return images[index][1] if index is not None else None


def edits_of(manifest: Manifest, base: Regenerated, controllers: tuple[Controller, ...]) -> Iterator[Edit]:
    """The residue: comments of the file first, then object by object. Raises Unreadable."""
    for text in filter(None, (manifest.comments_above + manifest.comments_below).split("\n")):
        yield Edit(FILE, (), Op.COMMENT, None, text)
    released = base.manifest.objects
    mine = aligned(manifest, released)
    for key in dict.fromkeys([*released, *mine]):
        yield from object_edits(key, released.get(key), mine.get(key), controllers)


def object_edits(
    key: ObjectKey, base: Document | None, mine: Document | None, controllers: tuple[Controller, ...]
) -> Iterator[Edit]:
    """The edits of one object, bumped images undone first; nothing where the texts are equal."""
    if base is not None and mine is not None and base.text == mine.text:
        return
    try:
        yield from differences(key, base.node if base else None, normalized(key, mine, controllers) if mine else None)
    except Unreadable:
        if mine is not None:
            _ = mine.data  # raises the same with the line in the file
        raise
    if base is not None and mine is not None:
        for comment in extract(mine.text, mine.node):
            yield Edit(key, comment.path, Op.COMMENT, None, comment.text)


def normalized(key: ObjectKey, document: Document, controllers: tuple[Controller, ...]) -> Node:
    """The object with a controller's image as the user chose it, without Flux's own bumps."""
    for controller in controllers:
        if key.kind == "Deployment" and controller.name == key.name:
            node: Node = clone(document.node)
            image = image_node(node, controller.name)
            if image is not None:
                image.value = str(controller.carried)
            return node
    return document.node
