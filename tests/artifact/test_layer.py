"""A file in a layer is replaced by another of any size, and every other byte stays."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
import time
import tracemalloc
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifact.layers import (
    ARCHIVES,
    NEW,
    OLD,
    TARGET,
    entries,
    go_like,
    layer_of,
    member,
    others,
    refusal_to_replace,
    replaced,
    tar_of,
    target,
)
from flux_upgrade.model.errors import UntrustedArchive
from flux_upgrade.model.oci.layer import deflate, inflate
from flux_upgrade.model.oci.manifest import CONTENT_TYPE
from flux_upgrade.model.oci.tar import BLOCK, EntryType, walk


@pytest.mark.parametrize("name", ARCHIVES)
def test_replaces_one_file_and_keeps_all_others_in_their_order(name: str) -> None:
    before, after = ARCHIVES[name], replaced(ARCHIVES[name])
    assert others(after) == others(before)
    assert [each[0] for each in entries(after)] == [each[0] for each in entries(before)]
    (old,) = (each for each in entries(before) if each[0].endswith(TARGET))
    (new,) = (each for each in entries(after) if each[0].endswith(TARGET))
    assert new == (*old[:-1], NEW)


@pytest.mark.parametrize("name", ARCHIVES)
def test_changes_no_byte_outside_the_size_the_checksum_and_the_content(name: str) -> None:
    before, after = ARCHIVES[name], replaced(ARCHIVES[name])
    begin = before.index(OLD)
    rest = begin + len(OLD) + -len(OLD) % BLOCK
    header, changed = before[begin - BLOCK : begin], after[begin - BLOCK : begin]
    assert after[: begin - BLOCK] == before[: begin - BLOCK]
    assert {at for at in range(BLOCK) if header[at] != changed[at]} <= {*range(124, 136), *range(148, 156)}
    assert after[begin:] == NEW + bytes(-len(NEW) % BLOCK) + before[rest:]


@pytest.mark.parametrize("name", ARCHIVES)
def test_the_way_back_gives_the_same_digest_again(name: str) -> None:
    assert replaced(replaced(ARCHIVES[name]), OLD) == ARCHIVES[name]


@pytest.mark.parametrize("size", [0, 1, len(OLD), BLOCK - 1, BLOCK, BLOCK + 1, 1024 * 1024])
def test_any_size_can_take_the_place_of_any(size: int) -> None:
    after = replaced(ARCHIVES["pax"], b"x" * size)
    assert layer_of(after).read(target(layer_of(after))) == b"x" * size
    assert others(after) == others(ARCHIVES["pax"])


def test_the_same_content_leaves_every_byte() -> None:
    assert replaced(ARCHIVES["gnu"], OLD) == ARCHIVES["gnu"]


@pytest.mark.parametrize("place", [0, -1])
def test_the_first_and_the_last_entry_can_be_replaced(place: int) -> None:
    members = [member(TARGET, OLD)]
    members.insert(len(members) if place == 0 else 0, member("other", b"o"))
    content = go_like(members)
    assert others(replaced(content)) == others(content)
    assert replaced(replaced(content), OLD) == content


NAMES = st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=140)
CONTENTS = st.binary(max_size=1500)
ENTRIES = st.lists(
    st.builds(
        lambda parts, content, mode, kind: member(
            "/".join(("x", *parts)), content if kind == tarfile.REGTYPE else b"", mode=mode, kind=kind, link="y"
        ),
        st.lists(NAMES, min_size=1, max_size=3),
        CONTENTS,
        st.integers(0, 0o7777),
        st.sampled_from([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE]),
    ),
    max_size=5,
)


@given(ENTRIES, ENTRIES, CONTENTS, CONTENTS, st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]))
def test_whatever_else_is_in_a_layer_stays(
    first: list[tuple[tarfile.TarInfo, bytes]],
    last: list[tuple[tarfile.TarInfo, bytes]],
    old: bytes,
    new: bytes,
    tar_format: int,
) -> None:
    content = tar_of([*first, member(TARGET, old), *last], tar_format)
    after = replaced(content, new)
    assert others(after) == others(content)
    assert layer_of(after).read(target(layer_of(after))) == new
    assert replaced(after, old) == content


# What is found in a layer.


def test_names_are_reported_as_one_writes_them() -> None:
    layer = layer_of(ARCHIVES["pax"])
    found = {entry.name: entry for entry in layer.entries()}
    assert [*found][:4] == [".", "flux-system", TARGET, "flux-system/kustomization.yaml"]
    assert {"/etc/absolute", "run.sh", "f" * 90 + "/" + "n" * 120} <= found.keys()
    assert found[TARGET].mode == 0o640
    assert {name: entry.kind for name, entry in found.items() if not entry.is_file} == {
        ".": EntryType.FOLDER,
        "flux-system": EntryType.FOLDER,
        "latest": EntryType.LINK,
        "out": EntryType.LINK,
        "twin.sh": EntryType.HARD_LINK,
        "null": EntryType.OTHER,
    }


def test_files_are_regular_files() -> None:
    files = layer_of(ARCHIVES["gnu"]).files()
    assert all(entry.is_file for entry in files)
    assert [entry.name for entry in files if len(entry.name) < 40] == [
        TARGET,
        "flux-system/kustomization.yaml",
        "empty",
        "run.sh",
        "/etc/absolute",
        "last.bin",
    ]


def test_of_one_path_spelled_in_two_ways_the_last_counts() -> None:
    layer = layer_of(tar_of([member(f"./{TARGET}", b"1"), member("a"), member(TARGET.replace("/", "//"), b"22")]))
    assert [entry.name for entry in layer.files()] == ["a", TARGET]
    assert layer.read(target(layer)) == b"22"


def test_a_file_that_something_else_takes_the_place_of_is_no_file() -> None:
    link = member(TARGET, kind=tarfile.SYMTYPE, link="elsewhere")
    assert layer_of(tar_of([member(TARGET, OLD), link])).files() == ()


def test_content_is_read_up_to_a_limit() -> None:
    layer = layer_of(ARCHIVES["pax"])
    assert layer.read(target(layer), len(OLD)) == OLD
    with pytest.raises(UntrustedArchive, match=f"'{TARGET}' in it is larger than {len(OLD) - 1} bytes"):
        layer.read(target(layer), len(OLD) - 1)


def test_a_link_is_not_followed() -> None:
    layer = layer_of(ARCHIVES["pax"])
    (link,) = layer.entries(lambda name: name == "out")
    with pytest.raises(UntrustedArchive, match="'out' in it is a symbolic link, not a file"):
        layer.read(link)


def test_an_empty_tar_file_holds_nothing() -> None:
    assert layer_of(bytes(1024)).entries() == ()


# What is not replaced.


def test_an_earlier_one_of_two_is_not_replaced() -> None:
    layer = layer_of(tar_of([member(TARGET, OLD), member(f"./{TARGET}", b"other")]))
    first = next(walk(layer.file, layer.size))
    with pytest.raises(UntrustedArchive, match=f"'{TARGET}' comes again later"):
        layer.replaced(first, NEW)


def test_a_file_that_another_is_a_hard_link_to_is_not_replaced() -> None:
    content = tar_of([member(TARGET, OLD), member("b.yaml", kind=tarfile.LNKTYPE, link=f"./{TARGET}")])
    assert f"'b.yaml' is a hard link to '{TARGET}'" in refusal_to_replace(content)


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (tarfile.LNKTYPE, "hard link"),
        (tarfile.SYMTYPE, "symbolic link"),
        (tarfile.DIRTYPE, "folder"),
        (tarfile.FIFOTYPE, "special file"),
        (b"V", "special file"),
    ],
)
def test_what_is_no_regular_file_is_not_replaced(kind: bytes, what: str) -> None:
    assert f"is a {what}" in refusal_to_replace(tar_of([member(TARGET, kind=kind, link="x")]))


def test_a_size_in_an_extended_header_is_not_changed() -> None:
    info, content = member(TARGET, OLD)
    info.pax_headers = {"size": str(len(OLD))}
    assert "is in an extended header" in refusal_to_replace(tar_of([(info, content)]))


def test_what_cannot_be_replaced_does_not_stop_another() -> None:
    info, content = member("large", OLD)
    info.pax_headers = {"size": str(len(OLD))}
    assert others(replaced(tar_of([(info, content), member(TARGET, OLD)])))


# Notations of a header.


def _with(field: slice, value: bytes) -> bytes:
    """A tar file with a field of the one header in another notation, and a checksum that is right."""
    content = bytearray(tar_of([member(TARGET, OLD)], tarfile.USTAR_FORMAT))
    content[field] = value
    content[148:156] = b" " * 8
    content[148:156] = b"%06o\0 " % sum(content[:BLOCK])
    return bytes(content)


SIZE = slice(124, 136)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"%011o\0" % len(OLD), b"%011o\0" % len(NEW)),
        (b"%011o " % len(OLD), b"%011o " % len(NEW)),
        (b"%012o" % len(OLD), b"%011o\0" % len(NEW)),
        (b"%10o \0" % len(OLD), b"%011o\0" % len(NEW)),
        (b"\x80" + len(OLD).to_bytes(11, "big"), b"\x80" + len(NEW).to_bytes(11, "big")),
    ],
)
def test_a_size_is_written_in_the_notation_that_it_had(old: bytes, new: bytes) -> None:
    after = replaced(_with(SIZE, old))
    assert after[SIZE] == new
    assert entries(after)[0][-1] == NEW


def test_a_checksum_keeps_how_it_ends() -> None:
    content = bytearray(tar_of([member(TARGET, OLD)], tarfile.USTAR_FORMAT))
    content[154:156] = b" \0"
    after = replaced(bytes(content))
    assert after[154:156] == b" \0"
    assert entries(after)[0][-1] == NEW


# Packed again.


def test_what_is_packed_is_what_was_spliced() -> None:
    layer = layer_of(ARCHIVES["pax"])
    spliced = layer.replaced(target(layer), NEW)
    packed = io.BytesIO()
    descriptor = deflate(spliced.chunks(), packed, CONTENT_TYPE)
    blob = packed.getvalue()
    assert descriptor == (CONTENT_TYPE, f"sha256:{sha256(blob).hexdigest()}", len(blob))
    assert gzip.decompress(blob) == b"".join(spliced.chunks())
    assert blob[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # no name, no time, as Go writes it
    assert inflate(io.BytesIO(blob), io.BytesIO()).diff_id == spliced.diff_id


_PROGRAM = """
import io, os, sys
os.umask(int(sys.argv[1], 8))
from flux_upgrade.model.oci.layer import deflate, inflate
layer = inflate(open(sys.argv[2], "rb"), io.BytesIO())
(entry,) = layer.files(lambda name: name == sys.argv[3])
spliced = layer.replaced(entry, b"new: content\\n" * 77)
print(spliced.diff_id, deflate(spliced.chunks(), io.BytesIO(), "t").digest)
"""


def test_digests_depend_neither_on_umask_nor_time_zone_nor_locale_nor_moment(tmp_path: Path) -> None:
    blob = tmp_path / "layer.tar.gz"
    blob.write_bytes(gzip.compress(ARCHIVES["pax"]))
    source = str(Path(__file__).parents[2] / "src")
    digests = set()
    for umask, zone, locale in (("022", "UTC", "C.UTF-8"), ("077", "Asia/Kolkata", "C"), ("0", "EST5EDT", "POSIX")):
        command = [sys.executable, "-c", _PROGRAM, umask, str(blob), TARGET]
        environment = {"PYTHONPATH": source, "TZ": zone, "LC_ALL": locale, "PYTHONHASHSEED": "random"}
        digests.add(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)  # noqa: S603  (ours)
        if zone == "UTC":
            time.sleep(1 - time.time() % 1)  # the others run in a later second
    assert len(digests) == 1


def test_a_large_layer_takes_little_memory(tmp_path: Path) -> None:
    large = tmp_path / "large.tar"
    with tarfile.open(large, "w") as tar:
        for number in range(4):
            tar.addfile(*_file(f"{number}.bin", os.urandom(1024 * 1024) * 8))
        tar.addfile(*_file(TARGET, OLD))
    with large.open("rb") as blob, (tmp_path / "into").open("w+b") as into, (tmp_path / "out").open("w+b") as out:
        tracemalloc.start()
        layer = inflate(blob, into)
        deflate(layer.replaced(target(layer), NEW).chunks(), out, CONTENT_TYPE)
        assert tracemalloc.get_traced_memory()[1] < 4 * 1024 * 1024
        tracemalloc.stop()


def _file(name: str, content: bytes) -> tuple[tarfile.TarInfo, io.BytesIO]:
    info, content = member(name, content)
    return info, io.BytesIO(content)
