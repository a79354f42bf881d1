"""Small PNG files of pages, like GitHub's (github_page.py) or our own, drawn by Chromium and pngquant."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import github_page

WIDTH = 800
"""CSS pixels, as the documentation shows a picture."""
WIDE = 1280
"""As a page of our own is drawn."""
MOST = 150 * 1024
"""Bytes of a file."""
_QUALITIES = ((2, 4), (1.5, 3), (1.5, 2), (1.25, 2))
"""Pixels for each of CSS, and shades of a letter's edge: the first whose file is small enough is taken."""
_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--hide-scrollbars",
    "--disable-lcd-text",
    "--disable-font-subpixel-positioning",  # the same letters are the same pixels, which makes smaller files
)
_STYLE = "body { margin: 0; padding: 16px; }"
_FADE = """
body::after {
  content: ""; position: fixed; inset: auto 0 0; height: 96px;
  background: linear-gradient(transparent, var(--page));
}"""
_MEASURE = "<script>document.body.dataset.height = Math.ceil(document.documentElement.scrollHeight)</script>"
_HEIGHT = re.compile(r'data-height="(\d+)"')
_SWATCH = 10


class Look(NamedTuple):
    """How a page looks: its colors are those that the picture may have."""

    page: Callable[[str, str], str]
    """Content and further rules of style → HTML."""
    colors: Callable[[int], Iterable[str]]
    width: int = WIDTH


def like_github(scheme: github_page.Scheme) -> Look:
    return Look(lambda content, style: github_page.page(content, scheme=scheme, style=style), _colors)


def like(page: str, scheme: github_page.Scheme) -> Look:
    """As a page of ours, in one of its color schemes; it forbids the script that measures it."""
    head = re.sub(r"<meta http-equiv=.*\n", "", page.partition("<body>")[0]).replace("light dark", scheme)
    return Look(lambda content, style: head.replace("</style>", f"{style}</style>") + content, _own_colors, WIDE)


def screenshot(content: str, look: Look, part: float) -> bytes:
    """A picture of a page in the best quality that is small enough. ``part``: how much of it, from the top."""
    style = _STYLE + (_FADE if part < 1 else "")
    with TemporaryDirectory() as name:
        folder = Path(name)
        page = folder / "page.html"
        page.write_text(look.page(content + _MEASURE, style), encoding="utf-8")
        found = _HEIGHT.search(_chromium(page, look.width, 100, "--dump-dom").decode())
        assert found is not None
        height = round(int(found[1]) * part)
        for scale, shades in _QUALITIES:
            palette, shot = _palette(folder, look, shades), folder / "page.png"
            _chromium(page, look.width, height, f"--force-device-scale-factor={scale}", f"--screenshot={shot}")
            png = run(["pngquant", "--nofs", "--speed=1", f"--map={palette}", "-"], shot.read_bytes())
            if len(png) < MOST:
                return png
    sys.exit(f"no quality makes a picture that is {height} pixels high smaller than {MOST} bytes")


def _palette(folder: Path, look: Look, shades: int) -> Path:
    """A picture of the colors to use: chosen by number of pixels, those of links and badges would turn gray."""
    colors = [*look.colors(shades)]
    swatches = "".join(
        f'<i style="position: fixed; inset: 0 auto 0 {at * _SWATCH}px; width: {_SWATCH}px; background: {color}"></i>'
        for at, color in enumerate(colors)
    )
    page, palette = folder / "palette.html", folder / "palette.png"
    page.write_text(look.page(swatches, ""), encoding="utf-8")
    _chromium(page, len(colors) * _SWATCH, _SWATCH, f"--screenshot={palette}")
    return palette


def _colors(shades: int) -> Iterator[str]:
    yield from ("var(--page)", "var(--inset)", "var(--border)", "var(--open)", "var(--draft)", "#fff")
    yield "var(--code)"  # over the page
    yield "linear-gradient(var(--code), var(--code)), linear-gradient(var(--inset), var(--inset))"
    for name, steps in (("text", shades), ("link", 2), ("muted", 1)):
        for step in range(1, steps + 1):
            yield f"color-mix(in srgb, var(--{name}) {step / steps:.0%}, var(--page))"


def _own_colors(shades: int) -> Iterator[str]:
    yield from ("var(--page)", "var(--card)", "var(--border)")
    names = ("red", "orange", "yellow", "green", "gray", "link")
    for name, steps in (("text", shades), ("muted", 2), *((name, 2) for name in names)):
        for step in range(1, steps + 1):
            yield f"color-mix(in srgb, var(--{name}) {step / steps:.0%}, var(--card))"


def _chromium(page: Path, width: int, height: int, *options: str) -> bytes:
    program = next((each for each in _BROWSERS if shutil.which(each)), _BROWSERS[0])
    profile = f"--user-data-dir={page.parent / 'profile'}"
    return run([program, *_FLAGS, profile, f"--window-size={width},{height}", *options, page.as_uri()])


def run(command: Sequence[str], given: bytes = b"") -> bytes:
    """What a program prints."""
    if shutil.which(command[0]) is None:
        sys.exit(f"{command[0]} is not on PATH: see make pictures PICTURES=--help")
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout
