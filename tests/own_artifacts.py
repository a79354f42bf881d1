"""The OwnArtifacts of a run in memory: the release in each tag and digest of one repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from flux_upgrade.model.errors import FluxUpgradeError, RegistryUnavailable
from flux_upgrade.model.oci.reference import Address, immutable, parse_address
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import ArtifactRelease, RebasedArtifact
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason

ADDRESS = "oci://ghcr.io/acme/flux:production"


@dataclass
class MemoryOwnArtifacts:
    """``stated``: tag → ``digest``, ``version`` and, where it cannot be rebased, ``reason`` and ``hint``."""

    address: Address = field(default_factory=lambda: parse_address(ADDRESS))
    stated: dict[str, dict[str, str]] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)
    """Release → reason of the hold."""
    signed: tuple[str, ...] = ()
    """Releases whose artifacts have a signature."""
    failure: FluxUpgradeError | None = None
    """Of every push."""
    is_unreachable: bool = False
    manifest: Callable[[str], bytes] | None = None
    """Flux's manifest in an artifact, by its release; None: it is unknown."""
    asked: list[str] = field(default_factory=list)
    """Tags and digests that were asked about."""
    pushed: list[str] = field(default_factory=list)
    """Tags, in order."""

    def at(self, reference: str) -> ArtifactRelease:
        self.asked.append(reference)
        if self.is_unreachable:
            raise RegistryUnavailable(f"{self.address.host} is unreachable", hint="run again later")
        for tag, stated in self.stated.items():
            if reference in (tag, stated["digest"]):
                others = {name: value for name, value in stated.items() if name != "version"}
                return ArtifactRelease(Version(stated.get("version", "")), **others)
        return ArtifactRelease(
            Version(""), f"there is no {self.address.repository}:{reference}", "write one that there is"
        )

    def rebased(self, reference: str, target: str, path: str) -> RebasedArtifact | Hold:
        del path
        if target in self.held:
            return Hold(HoldReason[self.held[target].upper().replace("-", "_")], f"{target} is held", "see to it")
        tag = immutable(target, sha256(reference.encode()).hexdigest())
        digest = f"sha256:{sha256(tag.encode()).hexdigest()}"
        manifests = (
            None if self.manifest is None else (self.manifest(self.at(reference).version), self.manifest(target))
        )
        return RebasedArtifact(tag, digest, is_signed=target in self.signed, manifests=manifests)

    def push(self, reference: str, target: str, path: str) -> None:
        """What ``rebased`` returned exists from now on."""
        del path
        if self.failure is not None:
            raise self.failure
        made = self.rebased(reference, target, "")
        assert isinstance(made, RebasedArtifact)
        self.pushed.append(made.tag)
        self.stated[made.tag] = {"digest": made.digest, "version": target}


def of_case(stated: Mapping[str, Any], to: str) -> MemoryOwnArtifacts | None:
    """What ``[own]`` in a case's settings says; everything in it is there at ``to``, too."""
    if not stated:
        return None
    own = MemoryOwnArtifacts(
        parse_address(stated.get("address", ADDRESS)),
        dict(stated.get("artifacts", {})),
        stated.get("held", {}),
        tuple(stated.get("signed", ())),
        is_unreachable=stated.get("unreachable", False),
    )
    for tag, artifact in [*own.stated.items()]:
        for reference in (tag, artifact["digest"]):
            if to not in own.held:
                own.push(reference, to, "")
    return own
