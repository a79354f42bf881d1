"""Real manifests, streamed from the shared data, and how each of them is verified and upgraded."""

from __future__ import annotations

import hashlib
import json
import lzma
import tarfile
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.judged_pins import brief
from discovered import manifests_in, pins_anywhere
from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.gotk_components import pin as gotk
from flux_upgrade.pins.pin import Pin
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.planning.plan import Upgrade
from flux_upgrade.planning.write_tree import publish
from flux_upgrade.policy.decision import Hold
from memory import EveryImage, MemoryArtifacts, MemoryCharts, MemoryTree, NoFlux
from planned import change_of, decision_of, plans_of
from real_parts import require_shared

TARGET = "v2.9.4"
PATH = "clusters/one/flux-system/gotk-components.yaml"
COUNTS: list[str] = []
"""What the tests counted, for the end of the run."""


def unpacked(name: str, folder: Path) -> Path:
    """``folder``, with the files of an archive of the shared data in it."""
    with tarfile.open(require_shared("conformance", name)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def tell(line: str) -> None:
    """A line for the end of the run."""
    COUNTS.append(line)


@dataclass
class Record:
    """How one real file was verified and upgraded; small, so that hundreds of them can be kept."""

    row: dict[str, Any]
    digest: str
    """Of the file."""
    verdict: str = ""
    version: str = ""
    reason: str = ""
    flags: dict[str, Any] = field(default_factory=dict)
    residue: int = 0
    upgrade: str = ""
    """``written``, or the reason of a hold."""
    faults: list[str] = field(default_factory=list)
    """What went wrong with the upgrade: a lost edit, a second run that changed something."""
    upgraded: dict[str, str] = field(default_factory=dict)
    """Release to which its repository upgraded Flux → the digest of what we would have written; empty: nothing."""
    trace: str = ""
    pins: list[str] = field(default_factory=list)
    """What other kinds take to be theirs."""
    seconds: float = 0.0
    """That these took."""

    @property
    def is_v2(self) -> bool:
        return str(self.row["header_version"] or "").startswith("v2.")


def regenerator_of(releases: Path) -> Regenerator:
    return Regenerator(DirectoryReleases(str(releases)), NoFlux())


def members(archive: Path, wanted: set[str] | None = None) -> Iterator[tuple[str, bytes]]:
    """Stream an archive; it unpacks to hundreds of megabytes.

    ``tarfile.open(archive, "r|xz")`` copies all that is unpacked ahead at each read: twenty times as slow.
    """
    with lzma.open(archive) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as tar:
        for member in tar:
            if member.isfile() and (wanted is None or member.name in wanted):
                file = tar.extractfile(member)
                assert file is not None
                yield member.name, file.read()


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def records_of(conformance: Path, wanted: set[str]) -> list[Record]:
    index = {row["file"]: row for row in rows(conformance / "wild.jsonl")}
    upgrades = defaultdict(set)
    for row in rows(conformance / "replay.jsonl"):
        upgrades[row["before"]].add(row["to"])
    regenerator = regenerator_of(conformance / "releases")
    found = []
    for name, content in members(conformance / "wild.tar.xz", wanted):
        record = Record(index[name], digest_of(content))
        try:
            _look(record, content, sorted(upgrades[name]), regenerator)
        except Exception:  # noqa: BLE001 a traceback is what the test looks for
            record.trace = traceback.format_exc()
        found.append(record)
    return found


def _look(record: Record, content: bytes, releases: Sequence[str], regenerator: Regenerator) -> None:
    start = time.monotonic()
    context = PinContext(MemoryTree({record.row["path"]: content}), regenerator, MemoryArtifacts(), MemoryCharts())
    record.pins = [brief(pin) for pin in pins_anywhere(context)]
    record.seconds = time.monotonic() - start
    tree = MemoryTree({PATH: content})
    (installation,) = manifests_in(tree, regenerator)
    proof = installation.proof
    record.verdict, record.version, record.reason = str(proof.verdict), proof.version, proof.reason
    record.flags = proof.options.flags() if proof.options else {}
    record.residue = len(proof.edits)
    record.upgraded = {release: _upgraded(installation, release, regenerator) for release in releases}
    if not record.is_v2:
        return
    (outcome,) = publish(
        [[each] for each in plans_of([installation], regenerator, to=TARGET, artifacts=EveryImage())], tree
    )
    decision = decision_of(outcome.plan)
    if isinstance(decision, Hold):
        record.upgrade = str(decision.reason)
        if tree.files[PATH] != content:
            record.faults.append("held, and yet written")
        return
    record.upgrade = "written"
    record.faults += _faults(decision, tree, regenerator)


def _upgraded(installation: Pin, release: str, regenerator: Regenerator) -> str:
    """The digest of what ``upgrade --to`` would write if it went backwards as well: some people did."""
    proof = installation.proof
    if proof.base is None or proof.options is None:
        return ""
    change = gotk.change(proof, proof.options._replace(version=release), regenerator)
    return "" if change.carried.conflicts else digest_of(change.new)


def _faults(upgrade: Upgrade, tree: MemoryTree, regenerator: Regenerator) -> Iterator[str]:
    """The written file is looked at afresh, as the next run would."""
    carried = change_of(upgrade).carried
    (again,) = manifests_in(tree, regenerator)
    if again.proof.version != TARGET:
        yield f"the written file is a {again.proof.version}"
    if sorted(edit.identity for edit in again.proof.edits) != sorted(edit.identity for edit in carried.kept):
        yield "the residue is not what it was"
    if carried.dropped or carried.conflicts:
        yield "edits were dropped in silence"
    for _, old, new in change_of(upgrade).images:
        if ("@" in old) != ("@" in new) or f"image: {new}" not in tree.files[PATH].decode():
            yield f"{old} became {new}"
    written = tree.files[PATH]
    (second,) = publish([[each] for each in plans_of([again], regenerator, to=TARGET, artifacts=EveryImage())], tree)
    if not isinstance(decision_of(second.plan), Hold) or tree.files[PATH] != written:
        yield "the second run changed something"
