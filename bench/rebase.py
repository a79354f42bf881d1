"""An artifact of 100 MB with one file in it replaced: peak memory, and time against gzip's alone."""

from __future__ import annotations

import gzip
import io
import random
import statistics
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

RUNS = 3
FILES = 100
SIZE = 1_000_000  # bytes of each: random, so that the layer is no smaller packed
MOST = 80  # MB
LAYER = "layer.tar.gz"
NAME = "flux-system/gotk-components.yaml"
PROGRAM = """
import sys, tempfile
from flux_upgrade.model.oci.layer import deflate, inflate
from flux_upgrade.model.oci.manifest import CONTENT_TYPE
with open(sys.argv[1], "rb") as blob, tempfile.TemporaryFile() as tar, tempfile.TemporaryFile() as packed:
    layer = inflate(blob, tar)
    (entry,) = layer.files(lambda name: name == sys.argv[2])
    spliced = layer.replaced(entry, layer.read(entry) + b"# new\\n")
    deflate(spliced.chunks(), packed, CONTENT_TYPE)
    assert spliced.size > 100_000_000 and spliced.diff_id != layer.diff_id
"""
PEER = 'gzip -dc "$1" | gzip -nc > "$1.again"'


def rebase(work: Path, content: bytes, code: Path, peak: Callable[[Sequence[str]], float]) -> str:
    """The section of the page. ``content``: Flux's manifest; ``code``: the package's; ``peak``: MB of a command."""
    blob = work / LAYER
    blob.write_bytes(_layer(content))
    ours = ["env", f"PYTHONPATH={code}", sys.executable, "-c", PROGRAM, str(blob), NAME]
    theirs = ["sh", "-c", PEER, "sh", str(blob)]
    bare = peak([sys.executable, "-c", "import tarfile, tempfile, hashlib, zlib"])
    most = peak(ours)
    assert most < MOST, f"{most:.0f} MB"
    own, peer = _medians(ours, theirs)
    return f"""## An artifact of {FILES * SIZE // 1_000_000} MB, one file in it replaced

| | median of {RUNS} | peak memory |
|---|---|---|
| unpack, find, replace, pack, with all digests | {own:.1f} s | {most:.0f} MB |
| `gzip -dc … \\| gzip -nc`, which only unpacks and packs | {peer:.1f} s | |

Ratio of medians: **{peer / own:.1f}**. The interpreter with the imported modules takes {bare:.0f} MB.
The limit is {MOST} MB.
"""


def _layer(content: bytes) -> bytes:
    dice, buffer = random.Random(0), io.BytesIO()  # noqa: S311 it has to be the same each time
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        files = [(f"files/{number:03}.bin", dice.randbytes(SIZE)) for number in range(FILES)]
        for name, data in [*files, (NAME, content)]:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), 1, mtime=0)


def _medians(*commands: Sequence[str]) -> list[float]:
    """Seconds of whole processes, started in turn."""
    taken: list[list[float]] = [[] for _ in commands]
    for _ in range(RUNS):
        for times, command in zip(taken, commands, strict=True):
            start = time.perf_counter()
            subprocess.run(command, check=True)
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in taken]
