"""What SOPS has sealed: a code (MAC) over the values of a file shows whether anybody has changed one.

A file with several documents has its metadata in each of them.
https://getsops.io/docs/#message-authentication-code
"""

from __future__ import annotations

from flux_upgrade.errors import Unreadable
from flux_upgrade.kinds.formats.passages import whole
from flux_upgrade.kinds.formats.yaml_places import Object, documents
from flux_upgrade.manifests.nodes import MappingNode
from flux_upgrade.textedit import decoded
from flux_upgrade.values import NamedTuple

_METADATA = "sops"


class Seal(NamedTuple):
    """On a document."""

    begin: int
    """Offset in the file."""
    end: int
    is_of_secrets_alone: bool
    """Whether what is not encrypted may be changed: ``mac_only_encrypted``."""


def seals(content: bytes) -> tuple[Seal, ...]:
    """Those of a file; nearly every file has none."""
    if _METADATA.encode() not in content:
        return ()
    found = []
    for document in documents(whole(decoded(content))):
        try:
            root = document.root
        except Unreadable:
            continue
        each = Object(document, root) if isinstance(root, MappingNode) else None
        if each is not None and each.has(_METADATA, "mac"):
            alone = each.text_at(_METADATA, "mac_only_encrypted").lower() == "true"
            found.append(Seal(document.offset(0), document.offset(len(document.text)), alone))
    return tuple(found)
