"""Each mention of an API version is found once, whatever an editor, a merge or a template made of the file."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import txtar
from flux_upgrade.impact.api_uses.flux_file import FluxFile, UsePlace
from flux_upgrade.impact.api_uses.scan import find
from flux_upgrade.model.text import TextEdit, decoded, edited
from spans import assert_kept_outside

FOLDER = Path(__file__).resolve().parents[1] / "resources"
FILES = {
    f"{case.stem}/{path}": content
    for case in FOLDER.glob("*.txtar")
    for path, content in txtar.read(case).under("tree").items()
}
NAMES = ("source", "kustomize", "helm", "notification", "image")
GROUPS = tuple(f"{name}.toolkit.fluxcd.io" for name in NAMES)
MENTION = re.compile(
    rf"(?<![\w.-])(?:{'|'.join(NAMES)})\.toolkit\.fluxcd\.io\\?/(v\d+(?:(?:alpha|beta)\d+)?(?![\w-]|\.\d))", re.ASCII
)  # fmt: skip
NOISE = (
    b"# apiVersion: source.toolkit.fluxcd.io/v1beta1\n",
    b"apiVersion: helm.toolkit.fluxcd.io/v2beta1\n",
    b"  - {group: source.toolkit.fluxcd.io, version: v1beta2, kind: Bucket}\n",
    b"  source.toolkit.fluxcd.io/v1beta2: &a [*a]\n",
    b"kind: List\nitems:\n",
    b"    - patch: |\n",
    b"  <<: *a\n",
    b"---\n",
    b"\t\n",
    b"\xff\xfe\x00\n",
    b"<<<<<<< HEAD\n",
    b"{{- if .Values.flux }}\n",
    b'"\n',
    b"'''\n",
    b"}]\n",
    "ключ: 值\u2028😀\n".encode(),
    b"\xef\xbb\xbf\n",
)
Lines = list[bytes]
Change = Callable[[Lines, int, bytes], Lines]
CHANGES: tuple[Change, ...] = (
    lambda lines, at, noise: [*lines[:at], noise, *lines[at:]],
    lambda lines, at, noise: [*lines[:at], noise, *lines[at + 1 :]],
    lambda lines, at, noise: [*lines[:at], lines[at][:5] + noise.strip() + lines[at][5:], *lines[at + 1 :]],
    lambda lines, at, _: [*lines[:at], b" " + lines[at], *lines[at + 1 :]],
    lambda lines, at, _: [*lines[at:], b"---\n", *lines[:at]],
    lambda lines, at, _: [*lines[:at], *(line.rstrip(b"\r\n") + b"\r\n" for line in lines[at:])],
    lambda lines, at, _: [*lines[:at], *(b"  " + line for line in lines[at:])],
    lambda lines, at, _: [*lines[:at], lines[at].rstrip(b"\r\n")],
)
changes = st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 10_000), st.sampled_from(NOISE)), max_size=4)


@given(st.sampled_from(sorted(FILES)), changes, st.booleans())
def test_each_mention_once(name: str, made: list[tuple[Change, int, bytes]], is_patch: bool) -> None:  # noqa: FBT001
    content = _changed(FILES[name], made)
    found = find(name, content, GROUPS, is_patch=is_patch)
    text = decoded(content)
    spans = [(use.start, use.end) for use in found.uses] if found else []
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    for match in MENTION.finditer(text):
        assert sum(start <= match.start(1) < end for start, end in spans) == 1
    if found is not None:
        _assert_consistent(found, text)


def _assert_consistent(found: FluxFile, text: str) -> None:
    for use in found.uses:
        assert use.line == text.count("\n", 0, use.start) + 1
        assert text[use.start : use.end] == use.version or use.why
        assert use.why or use.place not in (UsePlace.TEXT, UsePlace.TEMPLATE)
    for each in found.objects:
        for path in (("apiVersion",), ("kind",), ("metadata", "name")):
            value = each.at(*path)
            if value is not None and not value.reason:
                assert text[value.start : value.end] == value.text
        each.data()


@given(st.sampled_from(sorted(FILES)), changes, st.data())
def test_a_version_is_changed_and_nothing_else(
    name: str, made: list[tuple[Change, int, bytes]], data: st.DataObject
) -> None:
    content = _changed(FILES[name], made)
    found = find(name, content, GROUPS)
    movable = [use for use in found.uses if not use.why] if found else []
    if found is None or not movable:
        return
    use = data.draw(st.sampled_from(movable))
    replacement = TextEdit(use.start, use.end, use.version, "v987")
    new = edited(content, [replacement])
    assert_kept_outside(content, new, [replacement])
    again = find(name, new, GROUPS)
    assert again is not None
    assert [each._replace(start=0, end=0, version="") for each in again.uses] == [
        each._replace(start=0, end=0, version="") for each in found.uses
    ]
    assert [each.version for each in again.uses if each.start == use.start] == ["v987"]


def _changed(content: bytes, made: list[tuple[Change, int, bytes]]) -> bytes:
    lines = content.splitlines(keepends=True)
    for change, at, noise in made:
        lines = change(lines, at % len(lines), noise)
    return b"".join(lines)
