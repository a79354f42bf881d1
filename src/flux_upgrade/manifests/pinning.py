"""Controllers' images written into a manifest, and nothing else of it touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flux_upgrade.errors import Unreadable
from flux_upgrade.manifests.compare import image_node
from flux_upgrade.manifests.documents import Document, Manifest, parse
from flux_upgrade.manifests.images import Image
from flux_upgrade.manifests.infer import deployments


def with_images(content: bytes, images: Mapping[str, Image]) -> bytes:
    """``content`` with these images: controller → image. All other bytes stay.

    Raises Unreadable where the image of a controller has no place of its own in the text.
    """
    manifest = parse(content)
    text = manifest.text
    # From behind, so that what stands before keeps its place.
    for start, end, image in sorted(_places(manifest, images), reverse=True):
        text = f"{text[:start]}{image}{text[end:]}"
    return manifest.encode(text)


def _places(manifest: Manifest, images: Mapping[str, Image]) -> Iterator[tuple[int, int, str]]:
    """Where each image begins and ends in the manifest's text, and what is to stand there."""
    for name, document in deployments(manifest):
        node = image_node(document.node, name) if name in images else None
        if node is None:
            continue
        first, last = node.start_mark.index, node.end_mark.index
        written, begin = document.text[first:last], _offset(manifest, document)
        quote = written[:1] if written[:1] in ("'", '"') else ""
        at = begin + first, begin + last
        if written != f"{quote}{node.value}{quote}" or manifest.text[slice(*at)] != written:
            raise Unreadable(
                f"the image of {name} is written in a way that cannot be changed safely",
                hint="write it in one line, plain or in quotes, without an anchor",
            )
        yield *at, f"{quote}{images[name]}{quote}"


def _offset(manifest: Manifest, document: Document) -> int:
    """Where the document begins in the manifest's text."""
    return sum(len(line) + 1 for line in manifest.text.split("\n")[: document.line - 1])
