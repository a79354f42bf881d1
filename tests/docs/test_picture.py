"""The pictures in the documentation show the texts that there are, and pages show them in both color schemes."""

from __future__ import annotations

import re
import shutil
import struct
from itertools import chain
from pathlib import Path

import picture
import pytest
from picture import PICTURES, Frame, Picture
from screenshot import MOST, WIDTH

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
ELEMENT = re.compile(
    r'<picture><source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">'
    r'<img src="([^"]+)" width="(\d+)" alt="([^"]+)"></picture>'
)
SCREEN = 1080
NAMED = {each.name: each for each in PICTURES}


def height(path: Path) -> float:
    """In CSS pixels."""
    pixels = struct.unpack_from(">II", next(picture.chunks(path.read_bytes()))[1])
    return float(pixels[1] / pixels[0] * WIDTH)


def test_the_pictures_are_of_the_present_texts() -> None:
    assert [*picture.stale()] == [], "run make pictures"


def test_there_are_no_other_pictures() -> None:
    found = {path.relative_to(ROOT) for path in (ROOT / picture.FOLDER).iterdir()}
    assert found == {*chain.from_iterable(each.paths() for each in PICTURES)}


@pytest.mark.parametrize("one", PICTURES, ids=lambda one: one.name)
def test_a_picture_is_small(one: Picture) -> None:
    assert max((ROOT / path).stat().st_size for path in one.paths()) < MOST


@pytest.mark.parametrize(("name", "screens"), [("patch-upgrade", 1), ("job-summary", 1), ("minor-upgrade", 2)])
def test_a_text_is_short(name: str, screens: int) -> None:
    assert max(height(ROOT / path) for path in NAMED[name].paths()) < screens * SCREEN


def test_every_picture_is_on_a_page_in_both_color_schemes() -> None:
    shown = set()
    for page in PAGES:
        text = page.read_text()
        elements = ELEMENT.findall(text)
        assert len(elements) == text.count("<picture>") == text.count("<img "), page
        for dark, light, width, alt in elements:
            paths = tuple((page.parent / each).resolve().relative_to(ROOT) for each in (light, dark))
            assert paths in {each.paths() for each in PICTURES}, page
            assert int(width) == WIDTH
            assert len(alt) > len("A pull request on GitHub"), page
            shown.add(paths)
    assert shown == {each.paths() for each in PICTURES}


@pytest.mark.parametrize("one", PICTURES, ids=lambda one: one.name)
def test_a_frame_is_that_of_its_text(one: Picture) -> None:
    # A pull request that waits says how to approve it; a summary and a page have no title.
    text = one.text()
    assert (one.frame is Frame.DRAFT) == ("**Approve:**" in text)
    assert (one.frame in (Frame.SUMMARY, Frame.NONE)) == (not text.startswith("<!-- "))
    assert (one.frame is Frame.NONE) == text.startswith("<!doctype html>")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The pictures and their texts."""
    shutil.copytree(ROOT / picture.FOLDER, tmp_path / picture.FOLDER)
    for one in PICTURES:
        path = tmp_path / "tests" / one.golden
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / one.golden, path)
    assert [*picture.stale(tmp_path)] == []
    return tmp_path


@pytest.mark.parametrize("one", PICTURES, ids=lambda one: one.name)
def test_one_of_another_text_is_found(one: Picture, copy: Path) -> None:
    golden = copy / "tests" / one.golden
    golden.write_text(golden.read_text().replace("v2.", "v3."))
    assert {*one.paths()} <= {*picture.stale(copy)}


def test_what_nobody_sees_may_change(copy: Path) -> None:
    golden = copy / "tests" / NAMED["update-group"].golden
    text = golden.read_text()
    golden.write_text(text.replace('"group": "production"', '"group": "prod"'))
    assert golden.read_text() != text
    assert [*picture.stale(copy)] == []


@pytest.mark.parametrize("harm", ["another picture", "no picture"])
def test_one_that_is_not_of_its_text_is_found(harm: str, copy: Path) -> None:
    (path, _) = NAMED["minor-upgrade"].paths()
    png = (copy / path).read_bytes()
    if harm == "another picture":
        (copy / path).write_bytes(png.replace(b"Markdown-SHA256", b"Markdown-SHA255"))
    else:
        (copy / path).unlink()
    assert [*picture.stale(copy)] == [path]
