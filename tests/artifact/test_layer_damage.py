"""A damaged or hostile layer is refused with its reason, in little memory, and never crashes."""

from __future__ import annotations

import gzip
import io
import tarfile
import tracemalloc
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifact.layers import ARCHIVES, NEW, layer_of, member, refusal_to_replace, tar_of, usual
from flux_upgrade.model.errors import UntrustedArchive
from flux_upgrade.model.oci.layer import inflate
from flux_upgrade.model.oci.tar import BLOCK, walk

SIZE = slice(124, 136)


def refusal(blob: bytes) -> str:
    """Why a layer is refused, wherever that is noticed."""
    with pytest.raises(UntrustedArchive) as caught:
        inflate(io.BytesIO(blob), io.BytesIO()).files()
    assert caught.value.hint
    assert "\n" not in caught.value.message
    return caught.value.message


@given(st.data())
def test_damage_is_refused_or_harmless_and_never_crashes(data: st.DataObject) -> None:
    content = bytearray(ARCHIVES[data.draw(st.sampled_from(sorted(ARCHIVES)))])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    layer = layer_of(bytes(content[: data.draw(st.integers(0, len(content)))]))
    try:
        files = layer.files()
        for entry in files:
            layer.replaced(entry, NEW)
    except UntrustedArchive as error:
        assert "\n" not in error.message  # noqa: PT017 either is fine


# gzip.


def test_a_plain_tar_file_is_a_layer() -> None:
    assert inflate(io.BytesIO(ARCHIVES["go"]), io.BytesIO()).diff_id == layer_of(ARCHIVES["go"]).diff_id


def test_gzip_of_several_members_is_one_layer() -> None:
    content = ARCHIVES["pax"]
    pieces = [content[at : at + 1000] for at in range(0, len(content), 1000)]
    layer = inflate(io.BytesIO(b"".join(gzip.compress(piece) for piece in [b"", *pieces, b""])), io.BytesIO())
    assert layer.diff_id == f"sha256:{sha256(content).hexdigest()}"


@pytest.mark.parametrize(
    ("blob", "why"),
    [
        (b"", "neither a gzip file nor a tar file"),
        (b"kind: Deployment\n" * 99, "neither a gzip file nor a tar file"),
        (b"\x28\xb5\x2f\xfd" + bytes(600), "neither a gzip file nor a tar file"),
        (b"\x1f\x8b", "truncated"),
        (gzip.compress(ARCHIVES["pax"], mtime=0)[:-1], "truncated"),
        (gzip.compress(ARCHIVES["pax"], mtime=0)[:300], "truncated"),
        (gzip.compress(ARCHIVES["pax"], mtime=0) + b"\0", "something follows"),
        (gzip.compress(ARCHIVES["pax"], mtime=0) + b"x" * 40_000, "something follows"),
        (gzip.compress(ARCHIVES["pax"], mtime=0) + b"\x1f\x8b\x08", "truncated"),
        (gzip.compress(ARCHIVES["pax"], mtime=0) + b"\x1f\x8b\x09" + bytes(30), "damaged"),
        (gzip.compress(ARCHIVES["pax"], mtime=0)[:-8] + bytes(8), "damaged"),
        (b"\x1f\x8bx" + bytes(40), "damaged"),
        (gzip.compress(b"", mtime=0), "damaged"),
        (gzip.compress(b"no tar file\n" * 99, mtime=0), "damaged"),
        (gzip.compress(ARCHIVES["no end"][:-BLOCK], mtime=0), "damaged or truncated"),
        (gzip.compress(ARCHIVES["no end"][: BLOCK + 3], mtime=0), "damaged"),
        (gzip.compress(ARCHIVES["go"] + b"x", mtime=0), "something follows"),
        (gzip.compress(ARCHIVES["go"] + bytes(2048) + ARCHIVES["go"], mtime=0), "something follows"),
    ],
)
def test_damage_is_named(blob: bytes, why: str) -> None:
    assert why in refusal(blob)


def test_a_layer_that_unpacks_to_too_much_is_refused_before_it_has() -> None:
    into = io.BytesIO()
    bomb = gzip.compress(bytes(64 * 1024 * 1024))
    with pytest.raises(UntrustedArchive, match="unpacks to more than 1000000 bytes"):
        inflate(io.BytesIO(bomb), into, 1_000_000)
    assert into.tell() <= 1_000_000


def test_a_layer_of_too_many_entries_is_refused() -> None:
    content = tar_of([member(f"f{number}") for number in range(5)])
    assert len(list(walk(io.BytesIO(content), len(content), 5))) == 5
    with pytest.raises(UntrustedArchive, match="more than 4 entries"):
        list(walk(io.BytesIO(content), len(content), 4))


def _header(kind: bytes, size: bytes) -> bytes:
    block = bytearray(tar_of([member("h", kind=kind)], tarfile.USTAR_FORMAT)[:BLOCK])
    block[SIZE] = size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


@pytest.mark.parametrize("kind", [b"0", b"x", b"g", b"L", b"K", b"S", b"V"])
@pytest.mark.parametrize(
    "size", [b"\xff" * 10 + b"\xfe\x00", b"\x80" + b"\x7f" * 11, b"77777777777\0", b"-0000007777\0"]
)
def test_an_impossible_size_ends_in_a_refusal(kind: bytes, size: bytes) -> None:
    for content in (_header(kind, size), ARCHIVES["no end"] + _header(kind, size)):
        assert "damaged" in refusal(gzip.compress(content + bytes(2048)))


def test_headers_of_any_length_take_little_memory() -> None:
    size = 32 * 1024 * 1024
    bombs = [_header(kind, b"%011o\0" % size) + bytes(size) for kind in (b"x", b"g", b"L")]
    bombs.append(_header(b"L", b"%011o\0" % BLOCK) * (size // BLOCK))
    for bomb in bombs:
        file = io.BytesIO(bomb)
        tracemalloc.start()
        with pytest.raises(UntrustedArchive, match="damaged"):
            list(walk(file, len(bomb)))
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
        tracemalloc.stop()


@pytest.mark.parametrize("key", ["path", "size", "linkpath", "GNU.sparse.name"])
def test_what_is_said_of_all_entries_must_not_move_them(key: str) -> None:
    content = tar_of(usual(), pax_headers={key: "1"})
    assert f"has the global header '{key}'" in refusal(gzip.compress(content))


def test_a_name_that_steers_a_terminal_is_escaped() -> None:
    content = tar_of([member("a\x1b[31m\n", kind=tarfile.FIFOTYPE)])
    assert r"'a\x1b[31m\n' in it is a special file" in refusal_to_replace(content, "a\x1b[31m\n")
