"""Phrases that text reports and pull requests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from flux_upgrade.findings.yaml_values import short
from flux_upgrade.manifests.images import Image
from flux_upgrade.manifests.proof import FILE, Proof, Verdict
from flux_upgrade.manifests.residue import Edit, Op
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import capped, one_line
from flux_upgrade.model.values import NamedTuple


class Level(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


class Annotation(NamedTuple):
    """A message that GitHub shows on the run's page."""

    level: Level
    message: str
    title: str = ""
    file: str = ""
    line: int = 0  # Counted from 1; 0: the file as a whole

    @property
    def note(self) -> str:
        """For the summary, which has no lines to stand on."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.title}: {self.message}" if place else self.message


def proof_phrase(proof: Proof) -> str:
    base: str = proof.base.options.version if proof.base is not None else proof.version
    generated = f"what Flux {base} generates with your flags"
    absent = sum(edit.is_absence for edit in proof.edits)
    if proof.edits:
        edits, without = len(proof.edits) - absent, f", without {counted(absent, 'object')}" if absent else ""
        generated += f", except for {counted(edits, 'manual edit')}" if edits else ""
        return f"Your file is {generated}{without}"
    match proof.verdict:
        case Verdict.EXACT:
            return f"Your file is identical to {generated}"
        case Verdict.IMAGES:
            return f"Your file is {generated}, except for image lines"
        case Verdict.FORMATTING if proof.base and proof.manifest and proof.base.text == proof.manifest.text:
            return (
                f"Your file is {generated}, except for line endings, final newline or byte order mark, which are kept"
            )
        case Verdict.FORMATTING:
            return f"Your file is {generated}, formatted differently; flux-upgrade writes Flux's format"
    gone = f"; {proof.version} is no longer in the release source" if proof.is_withdrawn else ""
    return f"Your file has the objects of {generated}{gone}"


def edit_phrase(edit: Edit, place: Callable[[str], str], values: Callable[..., Sequence[str]]) -> str:
    """One edit in one line. ``place`` and ``values`` put an object with its path, and values, into form."""
    where = place_of(edit, place)
    match edit.op:
        case Op.ADD:
            return f"{where}: added" + (f" {values(edit.new)[0]}" if edit.path else "")
        case Op.REMOVE:
            return where if edit.is_absence else f"{where}: removed"
        case Op.COMMENT:
            return f"{where}: {values(edit.new)[0]}"
        case _:
            old, new = values(edit.old, edit.new)
            return f"{where}: {old} → {new}"


def place_of(edit: Edit, place: Callable[[str], str]) -> str:
    return "the file" if edit.object == FILE else place(" ".join(filter(None, (str(edit.object), edit.where))))


MOST_LINES = 40  # Of a list in a text report; the JSON has all of it
_LONGEST_PATH = 4096  # Characters, more than a system takes


def located(root: str, path: str) -> str:
    """``path`` of a tree as it is reached from the working directory; ``root`` is what the user gave."""
    plain = root.rstrip("/").removeprefix("./")
    if plain in ("", "."):
        return path
    return plain if plain.rpartition("/")[2] == path else f"{plain}/{path}"


def whole_path(path: str) -> str:
    """A path for a line of its own: nothing in it ends the line or reaches the terminal, and none is cut."""
    return one_line(path, _LONGEST_PATH)


def hearsay(proof: Proof) -> Iterator[str]:
    """What header, labels and templates say that the body does not bear out."""
    manifest, base = proof.manifest, proof.base
    if manifest is None or base is None:
        return
    if manifest.mixed_line_ends:
        yield f"  line endings are mixed; an upgrade changes all of them to {'CRLF' if manifest.crlf else 'LF'}"
    if not manifest.header_version:
        yield "  the version header is missing"
    elif manifest.header_version != proof.version:
        yield f"  the version header (line {manifest.header_line}) is wrong: {manifest.header_version}"
    if manifest.header_components and manifest.header_components != base.options.components:
        yield f"  the components in the header do not match the manifest: {','.join(manifest.header_components)}"
    labels = proof.inferred.versions if proof.inferred is not None else ()
    if any(label != proof.version for label in labels):
        yield f"  version labels: {', '.join(labels)}"
    if base.foreign is not None:
        templates = f"the templates of Flux {base.foreign.since} or later"
        yield f"  generated from {templates}, not from those of {proof.version}"


def tag(image: Image) -> str:
    return image.tag or image.digest or "without a tag"


def edit_lines(edits: Sequence[Edit]) -> Iterator[str]:
    """The first of them, indented, and how many more there are."""
    lines = [edit_phrase(each, str, short) for each in edits]
    yield from (f"    {line}" for line in capped(lines, MOST_LINES, "flux-upgrade inspect --json"))
