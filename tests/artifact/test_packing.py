"""A new layer is what Go's archive/tar makes of the same folder, on any machine."""

from __future__ import annotations

import io
import subprocess
import tarfile
from hashlib import sha256

import pytest

from artifact.layers import OLD, TARGET, entries, layer_of, target
from flux_upgrade.model.oci.packing import is_packable, pack
from real_parts import require_program

FILES = {
    "flux-system/kustomization.yaml": b"resources:\n- gotk-components.yaml\n",
    TARGET: OLD,
    "flux-system/patches/limits.yaml": b"x" * 512,
    "flux-system-notes": b"",
    "a.yaml": b"a: 1\n",
    "a/b.yaml": b"b: 1\n",
}


def test_entries_are_in_the_order_of_a_walk_and_of_nobody() -> None:
    found = entries(pack(FILES).content)
    assert [each[0] for each in found] == [
        ".",
        "a",
        "a/b.yaml",
        "a.yaml",
        "flux-system",
        TARGET,
        "flux-system/kustomization.yaml",
        "flux-system/patches",
        "flux-system/patches/limits.yaml",
        "flux-system-notes",
    ]
    for name, kind, mode, uid, gid, user, group, time, link, *_, content in found:
        assert (uid, gid, user, group, time, link) == (0, 0, "", "", 0, "")
        assert (kind, mode) == ((tarfile.REGTYPE, 0o644) if name in FILES else (tarfile.DIRTYPE, 0o755))
        assert content == FILES.get(name, b"")


def test_it_ends_as_go_ends_it() -> None:
    packed = pack({"x": b"1"})
    assert len(packed.content) == 512 * (1 + 1 + 1 + 2)
    assert packed.content[-1024:] == bytes(1024)
    assert packed.diff_id == f"sha256:{sha256(packed.content).hexdigest()}"


def test_the_header_is_that_of_python_but_for_what_go_fills() -> None:
    info = tarfile.TarInfo("x.yaml")
    info.size, info.mode = 5, 0o644
    expected = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    found = bytearray(pack({"x.yaml": b"12345"}).content[512:1024])
    for header in (expected, found):
        header[148:156] = bytes(8)  # the sums differ with the fields
    assert found[329:345] == b"0000000\x000000000\x00"
    expected[329:345] = found[329:345]
    assert found == expected


def test_the_order_of_the_files_that_are_given_is_nothing() -> None:
    assert pack(FILES) == pack(dict(reversed(FILES.items())))


def test_replacing_a_file_in_it_is_packing_it_anew() -> None:
    layer = layer_of(pack(FILES).content)
    for new in (b"", b"short", OLD * 50):
        assert layer.replaced(target(layer), new).diff_id == pack({**FILES, TARGET: new}).diff_id


@pytest.mark.real_part("tar")
def test_the_tar_program_reads_it() -> None:
    command = [require_program("tar"), "--extract", "--to-stdout", "--file=-", TARGET]
    read = subprocess.run(command, input=pack(FILES).content, check=True, capture_output=True)  # noqa: S603  (ours)
    assert (read.stdout, read.stderr) == (OLD, b"")


@pytest.mark.parametrize("path", ["a.yaml", "a/b.yaml", "..a/b", "x" * 100])
def test_a_path_that_fits(path: str) -> None:
    assert is_packable(path)
    with tarfile.open(fileobj=io.BytesIO(pack({path: b"1"}).content)) as tar:
        assert tar.getnames()[-1] == path


@pytest.mark.parametrize(
    "path", ["", ".", "..", "/a", "../a", "a/../b", "a//b", "./a", "a/", "x" * 101, "ä.yaml", "a\nb", "a\0b"]
)
def test_a_path_that_does_not(path: str) -> None:
    assert not is_packable(path)
