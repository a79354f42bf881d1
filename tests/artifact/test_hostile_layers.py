"""Whatever a registry or a mirror serves: it is read as what it is or refused, in few steps, and nothing is pushed."""

from __future__ import annotations

import gzip
import io
import json
import sys
import tarfile
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from artifact.hostile import blobs
from flux_upgrade.adapters.http import archive
from flux_upgrade.model.errors import FluxUpgradeError, UntrustedArchive
from flux_upgrade.model.oci.layer import inflate
from flux_upgrade.model.oci.manifest import MANIFEST_TYPE, StoredManifest
from memory_registry import MemoryRegistry, digest_of, stored
from promotion.promoting import ADDRESS, run

MOST_STEPS = 60_000
"""Calls of Python functions for a blob; those above unpack to at most 6 MB, and hold a few hundred entries."""


def steps(work: Callable[[], object]) -> int:
    """The calls that ``work`` takes, whatever comes of it. Raises what is none of our errors."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        del frame, argument
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    except UntrustedArchive as error:
        assert "\n" not in error.message  # noqa: PT017  either is fine
        assert "\x1b" not in error.message  # noqa: PT017
    finally:
        sys.setprofile(before)
    return count


@given(blobs)
def test_an_archive_is_read_or_refused(blob: bytes) -> None:
    def read() -> None:
        files = archive.read_manifests(blob, "it")
        assert all(name.endswith(".yaml") and "/" not in name for name in files)

    def names() -> None:
        assert not any(name.startswith("/") or ".." in name.split("/") for name in archive.read_names(blob, "it"))

    for work in (read, names, lambda: archive.read_single(blob, "gotk-components.yaml", "it")):
        assert steps(work) < MOST_STEPS


@given(blobs)
def test_a_layer_is_read_or_refused(blob: bytes) -> None:
    def read() -> None:
        into = io.BytesIO()
        layer = inflate(io.BytesIO(blob), into, limit=8 * 1024 * 1024)
        files = layer.files()
        for entry in files:
            assert len(layer.read(entry, 1024 * 1024)) == entry.size
        for entry in files[:3]:
            spliced = layer.replaced(entry, b"new")
            assert sum(map(len, spliced.chunks())) == spliced.size

    assert steps(read) < MOST_STEPS


def after_a_run(layer: bytes, manifest: StoredManifest) -> MemoryRegistry:
    using = MemoryRegistry()
    using.blobs[digest_of(layer)] = layer
    using.manifests[manifest.digest], using.named[ADDRESS.tag] = manifest, manifest.digest
    with suppress(FluxUpgradeError):  # or the artifact is held
        run(using)
    return using


@given(blobs)
def test_nothing_is_pushed_in_place_of_a_hostile_layer(blob: bytes) -> None:
    using = after_a_run(blob, stored(blob))
    assert not [call for call in using.calls if call.startswith("put_")]


_DIGEST = "sha256:" + "0" * 64
_odd: st.SearchStrategy[object] = st.sampled_from(
    [None, True, -1, 1e300, 10**30, "", "\ud800", _DIGEST, "sha256:../..", [], {}, {"a": "\ud800"}]
)
_described = st.fixed_dictionaries(
    {}, optional={"mediaType": _odd, "digest": _odd, "size": _odd, "annotations": _odd, "data": _odd}
)
_documents = st.fixed_dictionaries(
    {},
    optional={
        "schemaVersion": st.sampled_from([2, 2, 1, "2", 2.0]),
        "mediaType": st.sampled_from([MANIFEST_TYPE, MANIFEST_TYPE, "\n::error::", "", 1]),
        "config": st.one_of(_odd, _described),
        "layers": st.one_of(_odd, st.lists(_described, max_size=3)),
        "manifests": st.one_of(_odd, st.lists(_described, max_size=3)),
        "annotations": _odd,
    },
)


@given(_documents)
@example({"schemaVersion": 2, "layers": [{}] * 3, "config": {}})
def test_nothing_is_pushed_in_place_of_a_hostile_manifest(document: dict[str, object]) -> None:
    content = json.dumps(document).encode()
    using = after_a_run(b"", StoredManifest(MANIFEST_TYPE, content, digest_of(content)))
    assert not [call for call in using.calls if call.startswith("put_")]


def _global_header(records: int) -> bytes:
    data = b"".join(f"{20} k{number:014d}=\n".encode() for number in range(records))
    parts = [(tarfile.XGLTYPE, data), *[(tarfile.REGTYPE, b"")] * 60]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for number, (kind, content) in enumerate(parts):
            info = tarfile.TarInfo(f"{number}.yaml")
            info.type, info.size = kind, len(content)
            tar.addfile(info, None)
            if content:
                out.write(content + bytes(-len(content) % 512))
                tar.offset = out.tell()
    return gzip.compress(out.getvalue(), mtime=0)


@pytest.mark.parametrize("records", [2000, 50_000])
def test_what_is_said_of_all_entries_takes_little_memory(records: int) -> None:
    """tarfile gives each entry a copy of it."""
    blob = _global_header(records)
    tracemalloc.start()
    try:
        with pytest.raises(UntrustedArchive, match="its tar file is damaged"):
            archive.read_names(blob, "it")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 1024 * 1024
