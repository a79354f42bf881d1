"""``docs/pictures/minor-upgrade.png``: a pull request, rendered as GitHub renders Markdown.

    python docs/picture.py          draws it anew
    python docs/picture.py --check  draws nothing, and fails where it is of another text

Drawing needs four programs: ``cmark-gfm`` (GitHub's own renderer), ``npm`` (for github-markdown-css),
a headless Chromium and ``pngquant``; on Debian: ``apt-get install cmark-gfm npm chromium-headless-shell
pngquant fonts-noto-core fonts-liberation``. The picture tells which text it is of: it holds its sha256.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import html
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
TEXT = ROOT / "tests" / "conformance" / "minor_upgrade" / "pull_request.md"
PICTURE = ROOT / "docs" / "pictures" / "minor-upgrade.png"
CSS = "github-markdown-css@5.9.0"
CSS_DIGEST = "sha512-tmT5sY+zvg2302XLYEfH2mtkViIM1SWf2nvYoF5N1ZsO0V6B2qZTiw3GOzw4vpjLygK/KG35qRlPFweHqfzz5w=="
"""Of the archive, as npm states it."""
SHEET = "package/github-markdown-light.css"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_WIDTH = 980
_SCALE = 1.5
_COLOURS = 64
_HEIGHT = re.compile(r'data-height="(\d+)"')
_KEYWORD = b"Markdown-SHA256"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TITLE = re.compile(r"<!-- (.+) -->\n")
_PAGE = """<!doctype html>
<meta charset="utf-8">
<style>{sheet}</style>
<style>
body {{ margin: 0; padding: 24px; width: {width}px; box-sizing: border-box; background: #fff; }}
h1.title {{ font: 400 28px/1.3 "Noto Sans", sans-serif; margin: 0 0 16px; color: #1f2328; }}
.markdown-body {{ padding: 20px; border: 1px solid #d1d9e0; border-radius: 6px; font-size: 14px; }}
.markdown-body li:has(> input[type=checkbox]) {{ list-style: none; }}
.markdown-body li > input[type=checkbox] {{ margin: 0 .35em .25em -1.4em; vertical-align: middle; }}
</style>
<h1 class="title">{title}</h1>
<article class="markdown-body">{body}</article>
<script>document.body.dataset.height = document.documentElement.scrollHeight</script>
"""


def digest() -> str:
    """Of the text that there is."""
    return hashlib.sha256(TEXT.read_bytes()).hexdigest()


def drawn() -> str:
    """The digest of the text that the picture is of; empty where it does not tell."""
    if not PICTURE.exists():
        return ""
    texts = (data.partition(b"\0") for kind, data in chunks(PICTURE.read_bytes()) if kind == b"tEXt")
    return next((value.decode() for keyword, _, value in texts if keyword == _KEYWORD), "")


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and content of each chunk of a PNG (https://www.w3.org/TR/png-3/#5Chunk-layout)."""
    assert png.startswith(_SIGNATURE)
    at = len(_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def png_of(parts: Iterator[tuple[bytes, bytes]]) -> bytes:
    """The reverse of ``chunks``."""
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


def draw() -> None:
    """Write the picture."""
    title, body = _split(TEXT.read_text(encoding="utf-8"))
    with TemporaryDirectory() as name:
        folder = Path(name)
        page = folder / "page.html"
        page.write_text(
            _PAGE.format(sheet=_sheet(folder), width=_WIDTH, title=html.escape(title), body=_rendered(body)),
            encoding="utf-8",
        )
        parts = list(chunks(_shot(page, folder / "page.png")))
    text = (b"tEXt", _KEYWORD + b"\0" + digest().encode())
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_bytes(png_of(iter([parts[0], text, *parts[1:]])))


def _split(text: str) -> tuple[str, str]:
    """Title and body, as the tests keep them."""
    title = _TITLE.match(text)
    assert title is not None
    return title[1], text[title.end() :]


def _rendered(markdown: str) -> str:
    extensions = [word for name in ("table", "tasklist", "strikethrough", "autolink") for word in ("-e", name)]
    return _run(["cmark-gfm", "--unsafe", *extensions], markdown.encode()).decode()


def _sheet(folder: Path) -> str:
    archive = folder / _run(["npm", "pack", "--silent", f"--pack-destination={folder}", CSS]).decode().strip()
    found = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    assert found == CSS_DIGEST, f"{CSS} has the digest {found}"
    with tarfile.open(archive) as packed:
        sheet = packed.extractfile(SHEET)
        assert sheet is not None
        return sheet.read().decode()


def _shot(page: Path, picture: Path) -> bytes:
    name = next((name for name in BROWSERS if shutil.which(name)), BROWSERS[0])
    profile = f"--user-data-dir={page.parent / 'profile'}"
    browser = [name, "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-lcd-text", profile]
    height = _HEIGHT.search(_run([*browser, f"--window-size={_WIDTH},100", "--dump-dom", page.as_uri()]).decode())
    assert height is not None
    size = (f"--window-size={_WIDTH},{height[1]}", f"--force-device-scale-factor={_SCALE}")
    _run([*browser, *size, f"--screenshot={picture}", page.as_uri()])
    return _run(["pngquant", str(_COLOURS), "-"], picture.read_bytes())


def _run(command: list[str], given: bytes = b"") -> bytes:
    if shutil.which(command[0]) is None:
        sys.exit(f"{command[0]} is not on PATH: see the beginning of docs/picture.py")
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout


def main() -> int:
    """Draw, or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where it is of another text")
    if not parser.parse_args().check:
        draw()
    if drawn() == digest():
        return 0
    print(f"{PICTURE.relative_to(ROOT)} is of another text: run docs/picture.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
