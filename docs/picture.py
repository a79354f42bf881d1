"""The pictures in docs/pictures: texts that the tests keep, as GitHub shows them, in both color schemes.

    make pictures                          draws all of them again
    make pictures PICTURES=minor-upgrade   draws the one that you name
    make pictures PICTURES=--check         draws nothing; fails if a text has changed since

Drawing needs three programs: cmark-gfm (GitHub's own renderer), a headless Chromium (123 or later) and pngquant.
On Debian: apt-get install cmark-gfm chromium-headless-shell pngquant fonts-noto-core fonts-liberation
Each picture holds the sha256 of its text, so that --check needs none of them.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import struct
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import github_page
from screenshot import like, like_github, run, screenshot

import txtar
from flux_upgrade.pullrequests.dashboard.text import TITLE

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("docs") / "pictures"
SCHEMES: tuple[github_page.Scheme, ...] = ("light", "dark")
JOB = "Upgrade Flux"
"""As in examples/scheduled.yaml."""
_TITLE = re.compile(r"<!-- (.+) -->\n")
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_KEYWORD = b"Markdown-SHA256"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


class Frame(Enum):
    """What GitHub shows a text in."""

    PULL_REQUEST = "pull request"
    DRAFT = "draft"
    SUMMARY = "job summary"
    ISSUE = "issue"
    NONE = "no frame: it is an HTML page"


@dataclass(frozen=True)
class Picture:
    """``golden``: in tests/; of a txtar file, its pull_request.md or dashboard.md. ``part``: how much of it is shown, from the top."""

    name: str
    golden: str
    frame: Frame = Frame.PULL_REQUEST
    part: float = 1

    def paths(self) -> tuple[Path, ...]:
        """The files, one for each scheme."""
        return tuple(FOLDER / f"{self.name}{'' if scheme == 'light' else f'-{scheme}'}.png" for scheme in SCHEMES)

    def text(self, root: Path = ROOT) -> str:
        """The golden, without the comments that nobody sees; the title comes first, in a comment of its own."""
        path = root / "tests" / self.golden
        is_case = path.suffix == ".txtar"
        name = "dashboard.md" if self.frame is Frame.ISSUE else "pull_request.md"
        text = txtar.read(path).text(name) if is_case else path.read_text(encoding="utf-8")
        text = f"<!-- {TITLE} -->\n{text}" if self.frame is Frame.ISSUE else text
        title = _TITLE.match(text) if self.frame not in (Frame.SUMMARY, Frame.NONE) else None
        return (title[0] if title else "") + _COMMENT.sub("", text)

    def digest(self, root: Path = ROOT) -> str:
        """Of the text that there is."""
        return hashlib.sha256(self.text(root).encode()).hexdigest()


PICTURES = (
    Picture("patch-upgrade", "pull_requests/exact-patch.txtar"),
    Picture("minor-upgrade", "conformance/minor_upgrade/fixed.md", Frame.DRAFT),
    Picture("minor-upgrade-top", "conformance/minor_upgrade/fixed.md", Frame.DRAFT, part=0.4),
    Picture("api-migration", "pull_requests/migration.txtar"),
    Picture("update-group", "e2e/several_clusters/pull_request.md", Frame.DRAFT),
    Picture("dashboard", "dashboard/fleet.txtar", Frame.ISSUE),
    Picture("fleet", "fleet_pages/page.html", Frame.NONE, part=0.75),
    Picture("job-summary", "e2e/several_clusters/summary.md", Frame.SUMMARY),
)


def stale(root: Path = ROOT) -> Iterator[Path]:
    """The files that are missing, or of another text than there is."""
    for picture in PICTURES:
        digest = picture.digest(root)
        yield from (path for path in picture.paths() if drawn(root / path) != digest)


def drawn(path: Path) -> str:
    """The digest of the text that a picture is of; empty if it does not say."""
    if not path.exists():
        return ""
    texts = (data.partition(b"\0") for kind, data in chunks(path.read_bytes()) if kind == b"tEXt")
    return next((value.decode() for keyword, _, value in texts if keyword == _KEYWORD), "")


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and content of each chunk of a PNG (https://www.w3.org/TR/png-3/#5Chunk-layout)."""
    assert png.startswith(_SIGNATURE)
    at = len(_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def png_of(parts: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The reverse of ``chunks``."""
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


def draw(picture: Picture) -> None:
    """Write the files of one picture."""
    is_page = picture.frame is Frame.NONE
    content = picture.text().partition("<body>")[2] if is_page else _framed(picture)
    note = (b"tEXt", _KEYWORD + b"\0" + picture.digest().encode())
    for scheme, path in zip(SCHEMES, picture.paths(), strict=True):
        look = like(picture.text(), scheme) if is_page else like_github(scheme)
        header, *rest = chunks(screenshot(content, look, picture.part))
        (ROOT / path).parent.mkdir(exist_ok=True)
        (ROOT / path).write_bytes(png_of([header, note, *rest]))


def _framed(picture: Picture) -> str:
    text = picture.text()
    if picture.frame is Frame.SUMMARY:
        return github_page.job_summary(JOB, _rendered(text))
    title = _TITLE.match(text)
    assert title is not None, picture.golden
    # In a pull request, unlike in a file, GitHub keeps the line breaks of a paragraph.
    body = _rendered(text[title.end() :], "--hardbreaks")
    if picture.frame is Frame.ISSUE:
        return github_page.issue(title[1], body)
    return github_page.pull_request(title[1], body, "draft" if picture.frame is Frame.DRAFT else "open")


def _rendered(markdown: str, *options: str) -> str:
    extensions = [word for name in ("table", "tasklist", "strikethrough", "autolink") for word in ("-e", name)]
    return run(["cmark-gfm", "--unsafe", *options, *extensions], markdown.encode()).decode()


def main() -> int:
    """Draw, or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [picture.name for picture in PICTURES]
    parser.add_argument("name", nargs="*", help=f"draw only these: {', '.join(names)}")
    parser.add_argument("--check", action="store_true", help="draw nothing; fail if a text has changed since")
    options = parser.parse_args()
    if unknown := set(options.name) - {*names}:
        parser.error(f"unknown picture: {', '.join(sorted(unknown))}")
    if not options.check:
        for picture in PICTURES:
            if not options.name or picture.name in options.name:
                draw(picture)
        return 0
    found = [*stale()]
    for path in found:
        print(f"{path} shows another text: run make pictures", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
