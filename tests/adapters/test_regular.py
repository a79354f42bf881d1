"""A regular file is read up to a limit, and anything else at its path is an error."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from flux_upgrade.adapters.local.files import read_regular


@pytest.mark.parametrize("length", [0, 1, 99, 100])
def test_a_file_of_at_most_as_many_bytes(length: int, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * length)
    assert read_regular(str(tmp_path / "a"), 100) == b"x" * length


@pytest.mark.parametrize("length", [101, 5000])
def test_a_larger_one(length: int, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * length)
    with pytest.raises(OSError, match="larger than 100 bytes") as caught:
        read_regular(str(tmp_path / "a"), 100)
    assert caught.value.errno == errno.EFBIG


def test_a_file_that_does_not_tell_its_size() -> None:
    status = f"/proc/{os.getpid()}/status"
    assert Path(status).stat().st_size == 0
    assert read_regular(status, 100_000).startswith(b"Name:")
    with pytest.raises(OSError, match="larger than 10 bytes"):
        read_regular(status, 10)


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, code in ((tmp_path / "pipe", errno.EINVAL), (tmp_path, errno.EISDIR)):
        with pytest.raises(OSError, match=os.strerror(code) if code == errno.EISDIR else "not a file"):
            read_regular(str(path), 100)
