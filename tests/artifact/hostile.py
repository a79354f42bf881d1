"""Layers and archives as an attacker makes them: headers put together at will, packed in any way."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib

from hypothesis import strategies as st

BLOCK = 512
_KINDS = b"\x000123456789xgLKSVMDZ"
_NAMES = (
    *("gotk-components.yaml", "./gotk-components.yaml", "rbac.yaml", "a/../../b.yaml", "/etc/passwd", "..", ".", ""),
    *("a\\b.yaml", "\x1b[2J.yaml", "n" * 100, "a" * 90 + "/" + "b" * 90, "\udcff.yaml", "gotk-components.yaml/x"),
)
_SIZES = (
    *(b"00000000000\0", b"00000000005\0", b"00000001000\0", b"77777777777\0", b"-0000000001\0", b"           \0"),
    *(b"\x80" + b"\0" * 10 + b"\5", b"\x80" + b"\xff" * 11, b"\xff" * 12, b"\xff" + b"\0" * 11, b"0000000000\xe9\0"),
)
_RECORDS = (
    *("path=../../x.yaml", "path=/abs.yaml", "size=5", "size=99999999999999999999", "size=-1", "size=x"),
    *("linkpath=/etc/passwd", "GNU.sparse.major=1", "GNU.sparse.map=0,1,2,3", "GNU.sparse.size=99999999999"),
    *("GNU.sparse.realsize=1", "GNU.sparse.numblocks=99999999", "hdrcharset=BINARY", "mtime=nan", "uid=1e99", "a=b"),
)

_text = st.sampled_from(_NAMES)


def _header(name: str, size: bytes, kind: int, link: str, *, is_summed: bool) -> bytes:
    info = tarfile.TarInfo("x")
    info.type = bytes([kind])
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT, errors="surrogateescape")[:BLOCK])
    block[0:100] = name.encode(errors="surrogateescape")[:100].ljust(100, b"\0")
    block[124:136], block[157:257] = size, link.encode(errors="surrogateescape")[:100].ljust(100, b"\0")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % (sum(block) + (not is_summed))
    return bytes(block)


def _record(text: str) -> bytes:
    length = len(text) + 3
    return f"{length + (length > 9)} {text}\n".encode()


_header_blocks = st.builds(
    _header,
    _text,
    st.sampled_from(_SIZES),
    st.sampled_from(_KINDS),
    _text,
    is_summed=st.sampled_from([True] * 9 + [False]),
)
_contents = st.one_of(
    st.binary(max_size=40),
    st.lists(st.sampled_from(_RECORDS), max_size=6).map(lambda each: b"".join(map(_record, each))),
    st.integers(0, 3).map(lambda number: b"9 a%d=b\n" % number * 3000),
)


def _plain(name: str, content: bytes) -> bytes:
    size = b"%011o\0" % len(content)
    return _header(name, size, ord("0"), "", is_summed=True) + _padded(content)


def _extended(kind: int, content: bytes) -> bytes:
    size = b"%011o\0" % len(content)
    return _header("h", size, kind, "", is_summed=True) + _padded(content)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % BLOCK)


_entries = st.one_of(
    st.builds(_plain, _text, _contents),
    st.builds(_extended, st.sampled_from(b"xgLK"), _contents),
    _header_blocks,
    st.builds(lambda header, content: header + _padded(content), _header_blocks, _contents),
)


def _joined(entries: list[bytes], copies: int, end: int, cut: int) -> bytes:
    whole = b"".join(entries) * copies + bytes(end)
    return whole[: len(whole) - cut]


tar_files = st.builds(
    _joined,
    st.lists(_entries, max_size=8),
    st.sampled_from([1, 1, 1, 2, 70]),
    st.sampled_from([1024, 1024, 0, 512, 10240]),
    st.sampled_from([0, 0, 0, 1, 511, 700]),
)


def _zip(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("gotk-components.yaml", content)
    return out.getvalue()


def _members(content: bytes) -> bytes:
    return b"".join(gzip.compress(content[at : at + 700], mtime=0) for at in range(0, len(content), 700))


def _wrong_sum(content: bytes) -> bytes:
    packed = bytearray(gzip.compress(content, mtime=0))
    packed[-6] ^= 1
    return bytes(packed)


_PACKINGS = (
    *[lambda content: gzip.compress(content, mtime=0)] * 6,
    bytes,
    _members,
    _wrong_sum,
    _zip,
    zlib.compress,
    lambda content: gzip.compress(content, mtime=0)[:-9],
    lambda content: gzip.compress(content, mtime=0) + b"tail",
    lambda content: gzip.compress(b"", mtime=0) * 2000 + gzip.compress(content, mtime=0),
    lambda content: gzip.compress(gzip.compress(content, mtime=0), mtime=0),
    lambda content: gzip.compress(content + bytes(5_000_000), mtime=0),
)

blobs = st.builds(lambda content, pack: pack(content), tar_files, st.sampled_from(_PACKINGS))
"""What a registry or a mirror may serve as a layer or an archive."""
