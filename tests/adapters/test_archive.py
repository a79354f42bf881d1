"""An archive of manifests is read, and a damaged or hostile one is refused with one clear error, in little memory."""

from __future__ import annotations

import gzip
import io
import os
import random
import struct
import tarfile
import tracemalloc
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.small_release import FILES, archive, member, pack
from flux_upgrade.adapters.http import archive as reader
from flux_upgrade.model.errors import UntrustedArchive

WHAT = "manifests.tar.gz of v2.9.4"


def refusal(data: bytes) -> str:
    with pytest.raises(UntrustedArchive) as caught:
        reader.read_manifests(data, WHAT)
    error = caught.value
    assert error.hint
    assert "\n" not in error.message
    assert error.message.startswith(WHAT)
    return error.message


def test_reads_every_file() -> None:
    assert reader.read_manifests(archive(), WHAT) == FILES


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_reads_what_common_tools_write(tar_format: int) -> None:
    members = [member("./", kind=tarfile.DIRTYPE), *(member(f"./{n}", t.encode()) for n, t in FILES.items())]
    for info, _ in members:
        info.mtime = 1_700_000_000.25  # makes Python write an extended header in the pax format
        info.uname, info.uid = "runner", 1001
    assert reader.read_manifests(pack(members, tar_format), WHAT) == FILES


def test_reads_a_large_owner_in_an_extended_header() -> None:
    members = [member(name, text.encode()) for name, text in FILES.items()]
    members[0][0].uid = 1 << 40
    assert reader.read_manifests(pack(members, tarfile.PAX_FORMAT), WHAT) == FILES


@pytest.mark.parametrize(
    "name",
    [
        "../evil.yaml",
        "/etc/evil.yaml",
        "a/../../evil.yaml",
        "folder/evil.yaml",
        "./../evil.yaml",
        ".//evil.yaml",
        "..\\evil.yaml",
        ".hidden.yaml",
        "evil.sh",
        "",
        ".yaml",
        "x" * 99 + "/" + "y" * 90 + ".yaml",
    ],
)
def test_refuses_names(name: str) -> None:
    refusal(archive(FILES, member(name, b"x: y\n")))


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.CONTTYPE,
        tarfile.GNUTYPE_SPARSE,
        tarfile.DIRTYPE,
        b"V",
        b"\xff",
    ],
)
def test_refuses_what_is_not_a_file(kind: bytes) -> None:
    refusal(archive(FILES, member("extra.yaml", kind=kind, link="/etc/passwd")))


def test_refuses_a_link_in_place_of_a_member() -> None:
    kept = {name: text for name, text in FILES.items() if name != "rbac.yaml"}
    message = refusal(archive(kept, member("rbac.yaml", kind=tarfile.SYMTYPE, link="policies.yaml")))
    assert "neither a file nor a directory" in message


def test_refuses_long_names_in_extra_headers() -> None:
    for tar_format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        refusal(pack([member("x" * 300 + ".yaml", b"a: b\n")], tar_format))


@pytest.mark.parametrize(
    "record", ["path=../evil.yaml", "path=rbac.yaml", "linkpath=/etc", "GNU.sparse.major=1", "hdrcharset=x"]
)
@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_extended_headers_smuggle_nothing_in(record: str, kind: bytes) -> None:
    line = f" {record}\n".encode()
    block = str(len(line) + 2).encode() + line
    read_or_refuse(pack([member("x", block, kind=kind), *(member(n, t.encode()) for n, t in FILES.items())]))


@pytest.mark.parametrize(
    "block", [b"0 a=b\n", b"1\n", b"-5 a=b\n", b"999 a=b\n", b"6 a=b", b" a=b\n", b"\xff" * 20, b"2 \n"]
)
@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_damaged_extended_headers_smuggle_nothing_in(block: bytes, kind: bytes) -> None:
    read_or_refuse(pack([member("x", block, kind=kind), *(member(n, t.encode()) for n, t in FILES.items())]))


def read_or_refuse(data: bytes) -> None:
    """What is read is what a release holds, name for name and byte for byte, or nothing is."""
    try:
        found = reader.read_manifests(data, WHAT)
    except UntrustedArchive:
        return
    assert found == FILES


def test_refuses_duplicates() -> None:
    assert "twice" in refusal(archive(FILES, member("./rbac.yaml", b"kind: Other\n")))


@pytest.mark.parametrize("name", reader.REQUIRED)
def test_names_what_is_missing(name: str) -> None:
    assert f"does not contain {name}" in refusal(archive({n: t for n, t in FILES.items() if n != name}))


def test_refuses_what_is_not_utf8() -> None:
    assert "not UTF-8" in refusal(archive(FILES, member("extra.yaml", b"\xff\xfe")))


def test_refuses_terminal_escapes_in_names_and_does_not_print_them() -> None:
    assert "\x1b" not in refusal(archive(FILES, member("\x1b[31m/x.yaml", b"")))


def test_refuses_too_much_compressed() -> None:
    assert "larger than" in refusal(os.urandom(reader.MAX_COMPRESSED + 1))


def test_stops_reading_a_bomb() -> None:
    packer = zlib.compressobj(1, wbits=31)
    zeros = bytes(1024 * 1024)
    bomb = b"".join(packer.compress(zeros) for _ in range(200)) + packer.flush()
    assert len(bomb) < reader.MAX_COMPRESSED
    tracemalloc.start()
    try:
        assert "unpacks to more than" in refusal(bomb)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.5 * reader.MAX_UNCOMPRESSED


def test_refuses_a_file_that_claims_to_be_huge() -> None:
    info, _ = member("extra.yaml")
    info.size = 8**11 - 1
    data = gzip.compress(info.tobuf(tarfile.USTAR_FORMAT) + bytes(1024))
    assert "damaged" in refusal(data)


def test_refuses_base_256_numbers() -> None:
    info, _ = member("extra.yaml")
    info.size = 1 << 40
    assert "damaged" in refusal(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)))


def test_refuses_too_many_entries() -> None:
    assert "more than 64" in refusal(archive({f"f{i}.yaml": "" for i in range(65)}))


@pytest.mark.parametrize(
    "data", [b"", b"\x1f", b"\x1f\x8b", b"PK\x03\x04", gzip.compress(b"", mtime=0), gzip.compress(b"x", mtime=0)]
)
def test_refuses_what_is_no_archive(data: bytes) -> None:
    refusal(data)


def test_refuses_every_truncation() -> None:
    data = archive()
    for length in range(len(data)):
        refusal(data[:length])


@pytest.mark.parametrize("left", range(1, 2048, 97))
def test_refuses_a_tar_file_that_is_cut_off(left: int) -> None:
    tar = gzip.decompress(archive()).rstrip(b"\0")
    refusal(gzip.compress(tar[:-left]))


@pytest.mark.parametrize("tail", [b"x", gzip.compress(b"more", mtime=0)])
def test_refuses_what_follows_the_end(tail: bytes) -> None:
    assert "follows" in refusal(archive() + tail)
    assert "follows" in refusal(gzip.compress(gzip.decompress(archive()) + b"tail"))


def test_notices_a_wrong_crc() -> None:
    data = bytearray(archive())
    crc, size = struct.unpack("<II", data[-8:])
    data[-8:] = struct.pack("<II", crc ^ 1, size)
    assert "damaged" in refusal(bytes(data))


def _read_or_refuse(data: bytes) -> None:
    """Anything but UntrustedArchive fails the test that calls this."""
    with suppress(UntrustedArchive):
        reader.read_manifests(data, WHAT)
    with suppress(UntrustedArchive):
        reader.read_single(data, "rbac.yaml", WHAT)


@given(st.binary(max_size=2000))
def test_never_another_exception_from_bytes(data: bytes) -> None:
    _read_or_refuse(data)
    _read_or_refuse(gzip.compress(data))


def test_never_another_exception_from_mutations() -> None:
    dice = random.Random(2)  # noqa: S311  (a fuzz that is the same every time)
    compressed, tar = archive(), gzip.decompress(archive())
    longer = gzip.decompress(pack([member("x" * 200, b"y")], tarfile.PAX_FORMAT)) + tar
    for _ in range(600):
        _read_or_refuse(_mutated(compressed, dice))
        _read_or_refuse(zlib.compress(_with_sums(_mutated(dice.choice([tar, longer]), dice)), 1, 31))


def _mutated(data: bytes, dice: random.Random) -> bytes:
    mutant = bytearray(data)
    for _ in range(dice.randint(1, 8)):
        at = dice.randrange(len(mutant))
        change = dice.randrange(4)
        if change == 0:
            mutant[at] = dice.randrange(256)
        elif change == 1:
            del mutant[at : at + dice.randint(1, 600)]
        elif change == 2:
            mutant[at:at] = mutant[dice.randrange(len(mutant)) :][: dice.randint(1, 600)]
        else:
            at -= at % 512
            field = dice.choice([(0, 100), (124, 12), (148, 8), (156, 1), (257, 8), (345, 155)])
            mutant[at + field[0] : at + field[0] + field[1]] = dice.randbytes(field[1])
        if not mutant:
            return b""
    return bytes(mutant)


def _with_sums(tar: bytes) -> bytes:
    """Repair the checksums of what may be headers, so that mutations get past them."""
    blocks = []
    for block in (tar[at : at + 512] for at in range(0, len(tar), 512)):
        if len(block) == 512 and block[257:262] == b"ustar":
            total = sum(block[:148]) + 256 + sum(block[156:])
            blocks.append(block[:148] + f"{total:06o}\0 ".encode() + block[156:])
        else:
            blocks.append(block)
    return b"".join(blocks)


def test_read_single_finds_one_file_in_any_folder() -> None:
    folder = member("flux-system", kind=tarfile.DIRTYPE)
    data = pack([folder, member("flux-system/gotk-components.yaml", b"a: b\n"), member("other.yaml", b"")])
    assert reader.read_single(data, "gotk-components.yaml", WHAT) == "a: b\n"


def test_read_single_refuses_none_and_two() -> None:
    with pytest.raises(UntrustedArchive, match="contains 0 files"):
        reader.read_single(pack([member("other.yaml")]), "gotk-components.yaml", WHAT)
    with pytest.raises(UntrustedArchive, match="contains 2 files"):
        reader.read_single(pack([member("a/x.yaml"), member("x.yaml")]), "x.yaml", WHAT)


def test_a_real_tarfile_agrees() -> None:
    with tarfile.open(fileobj=io.BytesIO(archive())) as tar:
        assert tar.getnames() == list(FILES)


@pytest.mark.parametrize("name", ["/x.yaml", "../x.yaml", "a/../x.yaml"])
def test_read_single_refuses_paths_that_leave_their_folder(name: str) -> None:
    with pytest.raises(UntrustedArchive, match="outside its directory"):
        reader.read_single(pack([member(name)]), "x.yaml", WHAT)
