"""Each mention of Flux's API versions in real files is found once, and judged as by hand."""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from conformance.real_files import members, rows, tell
from flux_upgrade.impact.api_uses.flux_file import FluxFile, UsePlace
from flux_upgrade.impact.api_uses.scan import files, find
from flux_upgrade.model.text import decoded
from memory import MemoryTree

pytestmark = pytest.mark.real_part("shared data")

GROUPS = (
    *(f"{name}.toolkit.fluxcd.io" for name in ("source", "kustomize", "helm", "notification", "image")),
    "source.extensions.fluxcd.io",
)
MENTION = re.compile(r"\b(\w+\.(?:toolkit|extensions)\.fluxcd\.io)\\?/(v\d\w*)")
JUDGED = {
    # A CI job that is commented out.
    ("61579aba9da0e334", 91): UsePlace.TEXT,
    # Definitions of KubeVela, whose templates are CUE.
    **{("3f36a7c997bd194d", line): UsePlace.TEXT for line in (15, 59)},
    **{("5b0c088e40756ffb", line): UsePlace.TEXT for line in (14, 53, 109, 125, 141)},
    # What health checks wait for.
    **{("bc3c8f48f78d7306", line): UsePlace.REFERENCE for line in range(34, 59, 4)},
    **{("89df153586d963d7", line): UsePlace.REFERENCE for line in (27, 79)},
    ("9d6a60d0f25726dc", 19): UsePlace.REFERENCE,
    **{("ed152d9837a0ca78", line): UsePlace.REFERENCE for line in (19, 23)},
    ("d8e6d50b26d45568", 21): UsePlace.REFERENCE,
    ("d7be854187895020", 2): UsePlace.REFERENCE,
    # What a Receiver triggers.
    **{("2a8e6a045c9576bb", line): UsePlace.REFERENCE for line in (15, 19, 23)},
}
"""What is not simply a resource, by file and line: looked at one by one. All others are resources."""


@pytest.fixture(scope="module")
def found(conformance: Path) -> dict[str, FluxFile]:
    index = {row["file"]: row for row in rows(conformance / "resources.jsonl")}
    archived = members(conformance / "resources.tar.xz")
    read = {name: find(index[name]["path"], content, GROUPS) for name, content in archived}
    return {name: file for name, file in read.items() if file is not None}


def test_every_mention_is_found_once(conformance: Path, found: dict[str, FluxFile]) -> None:
    for row in rows(conformance / "resources.jsonl"):
        file = found[row["file"]]
        assert [(use.group, use.version, use.start, use.end) for use in file.uses] == list(_mentions(file)), row
        assert {f"{use.group}/{use.version}" for use in file.uses} >= set(row["versions"])
    _tell_table(found)


def test_each_is_judged_as_a_person_did(found: dict[str, FluxFile]) -> None:
    judged = {(name, use.line): use.place for name, file in found.items() for use in file.uses}
    assert {at: place for at, place in judged.items() if place is not UsePlace.RESOURCE} == JUDGED


def test_each_resource_can_be_moved_and_is_known_by_kind_and_name(found: dict[str, FluxFile]) -> None:
    for file in found.values():
        for use in file.uses:
            if use.place is UsePlace.TEXT:
                continue
            assert (bool(use.kind), bool(use.name), use.why) == (True, True, "")
            each = file.object_of(use)
            if use.place is UsePlace.RESOURCE:
                assert each is not None
                assert each.data()["apiVersion"] == f"{use.group}/{use.version}"
                assert each.data()["metadata"]["name"] == use.name


def test_kustomizations_and_patches_beside_manifests(conformance: Path) -> None:
    """The names of the archive's files have ``__`` for ``/``."""
    tree = {
        str(PurePosixPath(name).parent / PurePosixPath(name).name.replace("__", "/")): content
        for name, content in members(conformance / "siblings.tar.xz")
    }
    read = {file.path: file for file in files(MemoryTree(tree), GROUPS)}
    for path, content in tree.items():
        mentions = len(MENTION.findall(decoded(content)))
        assert mentions == len(read[path].uses if path in read else ()), path
    _tell_table(read)
    assert Counter(use.place for file in read.values() for use in file.uses)[UsePlace.PATCH] > 0


def test_the_manifests_of_releases_use_nothing(releases: Path) -> None:
    looked = 0
    for archive in sorted(releases.glob("*/manifests.tar.gz")):
        with tarfile.open(archive) as tar:
            for member in tar:
                file = tar.extractfile(member) if member.isfile() else None
                if file is not None:
                    assert find(member.name, file.read(), GROUPS) is None, (archive, member.name)
                    looked += 1
    assert looked


def _mentions(file: FluxFile) -> Iterator[tuple[str, str, int, int]]:
    for match in MENTION.finditer(decoded(file.content)):
        yield match[1], match[2], match.start(2), match.end(2)


def _tell_table(found: dict[str, FluxFile]) -> None:
    counted = Counter((use.place, use.why) for file in found.values() for use in file.uses)
    tell(f"uses: {sum(counted.values())} in {len(found)} files")
    for (place, why), count in sorted(counted.items()):
        tell(f"  {place:10} {count:5} {why}")
