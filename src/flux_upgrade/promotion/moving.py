"""Move a tag from what it is known to stand for to something else.

A registry has no compare-and-swap: the tag is looked at directly before it is moved and read again
directly afterwards. Who moves it before the first look or between ours and the second is noticed. Who
moves it in the moment between the first look and ours is overwritten; what they pushed is still there.
"""

from __future__ import annotations

from flux_upgrade.artifact.address import Address
from flux_upgrade.artifact.manifest import StoredManifest
from flux_upgrade.errors import FluxUpgradeError, Overtaken
from flux_upgrade.ports import ArtifactRegistry


def move(address: Address, expected: str | None, wanted: StoredManifest, registry: ArtifactRegistry) -> None:
    """``expected``: the digest that the tag of ``address`` stands for so far; None: it is not there.

    Raises Overtaken where somebody else moved it, and what ``ArtifactRegistry`` raises; then nobody knows
    whether it was moved.
    """
    found = registry.digest(address.tag)
    if found != expected:
        raise Overtaken(
            f"{address} was moved by somebody else in the meantime, and was left alone: {_told(found)}",
            hint="run again: it is looked at anew",
        )
    try:
        registry.put_manifest(wanted, address.tag)
        found = registry.digest(address.tag)
    except FluxUpgradeError:
        # The answer may have been lost on its way back.
        found = registry.digest(address.tag)
        if found == expected:
            raise
    if found != wanted.digest:
        raise Overtaken(
            f"{address} was moved to {wanted.digest}, and then by somebody else: {_told(found)}",
            hint="see which of the two it should be; `flux-upgrade rollback --to` takes any digest",
        )


def _told(digest: str | None) -> str:
    return f"it stands for {digest}" if digest else "it is gone"
