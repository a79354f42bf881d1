"""Several files as one text, in the txtar format of Go's test scripts.

    What the case shows, in a sentence.

    -- args --
    upgrade --policy=minor
    -- before/flux-system/gotk-components.yaml (same as v2.8.8.yaml) --
    -- after/flux-system/gotk-components.yaml (patch of v2.9.4.yaml) --
    @@ -647,3 +647,3 @@ Deployment/notification-controller
     spec:
    -  replicas: 1
    +  replicas: 2
       selector:

What txtar cannot hold is said in parentheses at the end of a file's header:

- ``same as NAME``, ``patch of NAME``: the content of ``tests/manifests/NAME``, or of a file above in the same
  text, as it is or changed by the unified diff that follows.
- ``byte order mark``, ``CRLF``, ``no final newline``: how the bytes differ from the lines that follow.
- ``escaped``: ``\\xHH`` is a byte, ``\\\\`` a backslash.
"""

from __future__ import annotations

import difflib
import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MANIFESTS = Path(__file__).resolve().parent / "manifests"
"""What several cases refer to: manifests of the releases in ``demo/written_release.py``.

``v2.8.8.yaml`` has Flux's default components, ``v2.8.8-source-helm.yaml`` those two.
"""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_REMARK = r"same as [^(),]+|patch of [^(),]+|byte order mark|CRLF|no final newline|escaped"
_HEADER = re.compile(rf"-- (?P<name>\S|\S.*?\S)(?: \((?P<remarks>(?:{_REMARK})(?:, (?:{_REMARK}))*)\))? --")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@(?: .+)?")
_SHORT = 60
"""Lines that a file may have without being written as a patch."""


class TxtarError(Exception):
    """A text is not in the format."""


@dataclass(frozen=True)
class Archive:
    """The comment, and each file's content in the order of the text."""

    comment: str
    files: Mapping[str, bytes]

    def text(self, name: str, default: str | None = None) -> str:
        """The text of one file. Raises `KeyError` where there is none, and no default."""
        if default is not None and name not in self.files:
            return default
        return self.files[name].decode()

    def under(self, folder: str) -> dict[str, bytes]:
        """The files in a folder, by their path inside it."""
        return {
            name.removeprefix(f"{folder}/"): content
            for name, content in self.files.items()
            if name.startswith(f"{folder}/")
        }


def read(path: Path) -> Archive:
    """Parse a file of the format. Raises `TxtarError`, which names it."""
    try:
        return parse(path.read_bytes().decode())
    except TxtarError as error:
        raise TxtarError(f"{path}: {error}") from None


def write(path: Path, archive: Archive) -> None:
    """Write an archive, if the file does not say the same already."""
    content = render(archive).encode()
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def parse(text: str) -> Archive:
    """Take a text apart. Raises `TxtarError`."""
    comment: list[str] = []
    files: dict[str, bytes] = {}
    headed: list[tuple[re.Match[str], list[str]]] = []
    for line in text.removesuffix("\n").split("\n"):
        if header := _HEADER.fullmatch(line):
            headed.append((header, []))
        else:
            (headed[-1][1] if headed else comment).append(line)
    for header, lines in headed:
        name, remarks = header["name"], (header["remarks"] or "").split(", ")
        if name in files:
            raise TxtarError(f"{name}: stands there twice")
        try:
            files[name] = _content(lines, remarks, files)
        except TxtarError as error:
            raise TxtarError(f"{name}: {error}") from None
    return Archive("\n".join(comment).strip("\n"), files)


def render(archive: Archive) -> str:
    """Write an archive as `parse` reads it, long files as patches where that is shorter."""
    parts = [f"{archive.comment}\n\n"] if archive.comment else []
    above: dict[str, bytes] = {}
    for name, content in archive.files.items():
        remarks, body = _written(content, above, before=name.replace("after/", "before/", 1))
        said = f" ({', '.join(remarks)})" if remarks else ""
        parts.append(f"-- {name}{said} --\n{body}")
        above[name] = content
    return "".join(parts)


def _content(lines: Sequence[str], remarks: Sequence[str], above: Mapping[str, bytes]) -> bytes:
    text = "".join(f"{line}\n" for line in lines)
    for remark in remarks:
        if remark.startswith(("same as ", "patch of ")):
            name = remark.split(" ", 2)[2]
            base = _plain(above[name] if name in above else _shared(name))
            if remark.startswith("same") and text.strip():
                raise TxtarError(f"is the same as {name}, but has lines of its own")
            text = patched(base, text)
    content = _unescaped(text) if "escaped" in remarks else text.encode()
    if "no final newline" in remarks:
        content = content.removesuffix(b"\n")
    if "CRLF" in remarks:
        content = content.replace(b"\n", b"\r\n")
    return _BYTE_ORDER_MARK + content if "byte order mark" in remarks else content


def _written(content: bytes, above: Mapping[str, bytes], before: str) -> tuple[list[str], str]:
    """What the header says of a file, and the lines below it."""
    remarks = []
    if content.startswith(_BYTE_ORDER_MARK):
        remarks.append("byte order mark")
        content = content.removeprefix(_BYTE_ORDER_MARK)
    if b"\n" in content and content.count(b"\r\n") == content.count(b"\n") == content.count(b"\r"):
        remarks.append("CRLF")
        content = content.replace(b"\r\n", b"\n")
    if content and not content.endswith(b"\n"):
        remarks.append("no final newline")
        content += b"\n"
    text = content.decode(errors="surrogateescape")
    if escaped := "".join(_escapes(text)):
        return [*remarks, "escaped"], escaped
    base, body = _shortest(text, above, before)
    return [*base, *remarks], body


def _shortest(text: str, above: Mapping[str, bytes], before: str) -> tuple[list[str], str]:
    """A long text as a patch of what has most of its lines; else as it is."""
    if text.count("\n") <= _SHORT:
        return [], text
    bases = {each.name: _plain(_shared(each.name)) for each in sorted(MANIFESTS.iterdir())}
    if before in above:
        bases[before] = _plain(above[before])
    for name, base in bases.items():
        if base == text:
            return [f"same as {name}"], ""
    lines = _counted(text)

    def unlike(name: str) -> int:
        others = _counted(bases[name])
        return (lines - others).total() + (others - lines).total()

    name = min(bases, key=unlike)
    patch = difference(bases[name], text)
    if len(patch) * 2 > len(text) or any(_HEADER.fullmatch(line) for line in patch.split("\n")):
        return [], text
    return [f"patch of {name}"], patch


@functools.cache
def _shared(name: str) -> bytes:
    try:
        return (MANIFESTS / name).read_bytes()
    except OSError:
        raise TxtarError(f"refers to {name}, which is neither above it nor in {MANIFESTS.name}/") from None


def _plain(content: bytes) -> str:
    """The lines of a file that others refer to: without what its header says of bytes."""
    return content.removeprefix(_BYTE_ORDER_MARK).decode(errors="replace").replace("\r\n", "\n")


def _escapes(text: str) -> Iterator[str]:
    """The text with escapes; nothing where it needs none."""
    lines = text.split("\n")
    if any(_HEADER.fullmatch(line) for line in lines):
        text = re.sub(r"(?m)^-- ", r"\\x2d- ", text.replace("\\", r"\\"))
    elif re.sub(r"[\n\t]", "", text).isprintable():
        return
    else:
        text = text.replace("\\", r"\\")
    for char in text:
        if char.isprintable() or char in "\n\t":
            yield char
        else:
            yield from (f"\\x{byte:02x}" for byte in char.encode(errors="surrogateescape"))


def _unescaped(text: str) -> bytes:
    def one(escape: re.Match[bytes]) -> bytes:
        return b"\\" if escape[0] == rb"\\" else bytes([int(escape[1], 16)])

    return re.sub(rb"\\(?:\\|x([0-9a-f]{2}))", one, text.encode())


@functools.lru_cache
def _counted(text: str) -> Counter[str]:
    return Counter(_lines(text))


def difference(old: str, new: str) -> str:
    """The unified diff of two texts that end with a newline, without the lines that name files.

    A hunk's header ends with the Kubernetes object that changes, as ``git diff`` has a function's name there.
    """
    lines = _lines(old)
    diff = itertools.islice(difflib.unified_diff(lines, _lines(new), n=1), 2, None)
    return "".join(
        f"{hunk[0]}{_object_at(lines, int(hunk[1]))}\n" if (hunk := _HUNK.fullmatch(line.rstrip())) else line
        for line in diff
    )


def _object_at(lines: Sequence[str], at: int) -> str:
    start = max((number for number, line in enumerate(lines[: at + 1]) if line == "---\n"), default=-1)
    document = "".join(itertools.takewhile(lambda line: line != "---\n", lines[start + 1 :]))
    kind, name = (re.search(rf"(?m)^{key}: (\S+)$", document) for key in ("kind", "  name"))
    return f" {kind[1]}/{name[1]}" if kind and name else ""


def patched(old: str, patch: str) -> str:
    """A text changed by a unified diff. Raises `TxtarError` where the diff is not of this text."""
    given, result, done = _lines(old), list[str](), 0
    for line in _lines(patch):
        if hunk := _HUNK.fullmatch(line.rstrip("\n")):
            start = int(hunk[1]) - (hunk[2] != "0")
            result += given[done:start]
            done = start
            continue
        sign, rest = line[:1], line[1:]
        if sign in (" ", "-"):
            if given[done : done + 1] != [rest]:
                raise TxtarError(f"line {done + 1} of what the patch is of is not {rest!r}")
            done += 1
        elif sign != "+":
            raise TxtarError(f"{line!r} is no line of a unified diff")
        if sign != "-":
            result.append(rest)
    return "".join((*result, *given[done:]))


def _lines(text: str) -> list[str]:
    return [f"{line}\n" for line in text.removesuffix("\n").split("\n")] if text else []
