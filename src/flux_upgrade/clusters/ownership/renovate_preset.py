"""Our preset for Renovate: ``default.json`` of this repository, or of a mirror of it."""

from __future__ import annotations

import re
from typing import Any

from flux_upgrade.snapshot.snapshot import Snapshot

PRESET_RULE: dict[str, Any] = {
    "matchFileNames": ["**/gotk-components.yaml", "**/gotk-components.yml"],
    "enabled": False,
}
"""What the preset says of manifests; it has rules for other files, too."""
_PRESET = re.compile(r"[a-z]+>[^\s>#]+/flux-upgrade(?::default)?(?:#\S+)?")
_OWN_ACTION = re.compile(rb"\buses:\s*[\"']?([\w.-]+/flux-upgrade)@")


def is_preset(text: str) -> bool:
    """Whether an entry of ``extends`` is the preset, on any server and at any tag."""
    return _PRESET.fullmatch(text) is not None


def preset_of(tree: Snapshot) -> str:
    """The entry for ``extends``, from the repository that the workflows of ``tree`` take the Action from."""
    for path in tree.candidates(".github/workflows"):
        match = _OWN_ACTION.search(tree.content(path) or b"")
        if match:
            return f"github>{match[1].decode()}"
    return "github>OWNER/flux-upgrade"
