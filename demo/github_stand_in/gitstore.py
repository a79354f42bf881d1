"""A bare Git repository, by Git's own plumbing: every object and every ref is a real one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

NO_OBJECT = "0" * 40
SIGNATURE = "-----BEGIN PGP SIGNATURE-----\n\nstands for the signature of the forge\n-----END PGP SIGNATURE-----"
"""What a commit that the forge signed carries: nothing here verifies signatures, the header tells."""


class Moved(Exception):
    """A ref is not where the caller thinks: nothing was changed."""


@dataclass(frozen=True)
class Person:
    """Who made a commit, and when (epoch seconds, UTC)."""

    name: str
    email: str
    at: int

    def line(self) -> str:
        """As Git writes it."""
        return f"{self.name} <{self.email}> {self.at} +0000"


@dataclass(frozen=True)
class CommitObject:
    """A commit, read."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    message: str
    is_signed: bool


@dataclass(frozen=True)
class Changed:
    """A file that a commit changed."""

    status: str
    """A letter: ``A``, ``M``, ``D``, ``R`` and so on."""
    path: str
    oid: str
    old: str = ""
    """Where it was, should it have been renamed."""


@dataclass(frozen=True)
class Entry:
    """A file of a tree. ``oid`` empty: it is to be removed."""

    path: str
    mode: str
    oid: str

    @property
    def kind(self) -> str:
        """Git's type of what ``oid`` names."""
        return {"040000": "tree", "160000": "commit"}.get(self.mode, "blob")


class GitStore:
    """A bare repository in a folder.

    What is read by id is kept, since objects never change: give these methods ids, not names of refs.
    What was written is not written again, since objects stay.
    """

    def __init__(self, path: Path, default_branch: str = "main") -> None:
        git = shutil.which("git")
        if git is None:
            raise FileNotFoundError("there is no git on PATH")
        self.path = path
        self.program = git
        self._environment = {
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_DIR": str(path),
        }
        self._index = path / "stand-in-index"
        self._commits: dict[str, CommitObject] = {}
        self._contents: dict[str, bytes] = {}
        self._answers: dict[tuple[str, ...], bytes | None] = {}
        self._written: dict[tuple[object, ...], str] = {}
        """What an object was made of → its id."""
        if not (path / "HEAD").exists():
            path.mkdir(parents=True, exist_ok=True)
            self.git("init", "--quiet", "--bare", f"--initial-branch={default_branch}")
            self.git("config", "http.receivepack", "true")

    def git(self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> bytes:
        """What a git command prints. Raises CalledProcessError."""
        done = subprocess.run(
            [self.program, *arguments],
            input=stdin,
            env={**self._environment, **(environment or {})},
            capture_output=True,
            check=True,
        )
        return done.stdout

    def _asked(self, *arguments: str) -> bytes | None:
        """What a command about objects (never refs) prints; None where it fails."""
        if arguments not in self._answers:
            try:
                self._answers[arguments] = self.git(*arguments)
            except subprocess.CalledProcessError as error:
                # Git's "no", as the histories of two commits give it; anything else is an object that is not there yet.
                if error.returncode != 1:
                    return None
                self._answers[arguments] = None
        return self._answers[arguments]

    # Objects

    def blob(self, content: bytes) -> str:
        """Write a blob. Returns its id."""
        return self._object("blob", content)

    def _object(self, kind: str, content: bytes) -> str:
        made_of = (kind, content)
        if made_of not in self._written:
            oid = self.git("hash-object", "-t", kind, "-w", "--stdin", stdin=content)
            self._written[made_of] = oid.decode().strip()
        return self._written[made_of]

    def content(self, oid: str) -> bytes:
        """A blob's bytes."""
        if oid not in self._contents:
            self._contents[oid] = self.git("cat-file", "blob", oid)
        return self._contents[oid]

    def kind(self, oid: str) -> str:
        """``blob``, ``tree``, ``commit``, ``tag``; empty where there is no such object."""
        if oid in self._commits:
            return "commit"
        return (self._asked("cat-file", "-t", oid) or b"").decode().strip()

    def tree(self, base: str, entries: Iterable[Entry]) -> str:
        """Write the tree ``base`` (empty: none) with ``entries`` put over it. Returns its id."""
        over = tuple(entries)
        if (base, *over) not in self._written:
            self._written[base, *over] = self._tree(base, over)
        return self._written[base, *over]

    def _tree(self, base: str, entries: Iterable[Entry]) -> str:
        index = {"GIT_INDEX_FILE": str(self._index)}
        self.git("read-tree", *([base] if base else ["--empty"]), environment=index)
        lines = b""
        for entry in entries:
            mode, oid = (entry.mode, entry.oid) if entry.oid else ("0", NO_OBJECT)
            lines += f"{mode} {oid}\t{entry.path}\0".encode()
        self.git("update-index", "-z", "--index-info", stdin=lines, environment=index)
        return self.git("write-tree", environment=index).decode().strip()

    def entries(self, tree: str, *, recursive: bool = False) -> tuple[Entry, ...]:
        """What a tree (or a commit's) holds."""
        flags = ("-r",) if recursive else ()
        listed = (self._asked("ls-tree", "-z", *flags, tree) or b"").decode("utf-8", "surrogateescape")
        found = []
        for line in filter(None, listed.split("\0")):
            about, _, path = line.partition("\t")
            mode, _, oid = about.split(" ")
            found.append(Entry(path, mode, oid))
        return tuple(found)

    def entry(self, commit: str, path: str) -> Entry | None:
        """The file or folder at a path of a commit's tree."""
        listed = (self._asked("ls-tree", "-z", commit, "--", path) or b"").decode("utf-8", "surrogateescape")
        for line in filter(None, listed.split("\0")):
            about, _, found = line.partition("\t")
            mode, _, oid = about.split(" ")
            return Entry(found, mode, oid)
        return None

    def commit(  # noqa: PLR0913  (what a commit consists of)
        self, tree: str, parents: Iterable[str], message: str, author: Person, committer: Person, *, sign: bool = False
    ) -> str:
        """Write a commit with exactly this message. Returns its id."""
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {author.line()}", f"committer {committer.line()}"]
        if sign:
            lines.append("gpgsig " + SIGNATURE.replace("\n", "\n "))
        text = "\n".join(lines) + "\n\n" + message
        return self._object("commit", text.encode())

    def read(self, oid: str) -> CommitObject:
        """A commit by its id."""
        if oid not in self._commits:
            self._commits[oid] = _parsed(oid, self.git("cat-file", "commit", oid).decode("utf-8", "replace"))
        return self._commits[oid]

    # History

    def log(self, start: str, count: int, path: str = "") -> tuple[str, ...]:
        """Ids of the last commits, newest first; those that touched ``path``, if it is given."""
        limits = ("--", path) if path else ()
        return tuple((self._asked("rev-list", f"--max-count={count}", start, *limits) or b"").decode().split())

    def ahead(self, base: str, head: str) -> tuple[str, ...]:
        """Ids of the commits of ``head`` that ``base`` does not have, newest first."""
        return tuple((self._asked("rev-list", head, f"^{base}") or b"").decode().split())

    def merge_base(self, base: str, head: str) -> str:
        """Where the two parted; empty where they have nothing in common."""
        return (self._asked("merge-base", base, head) or b"").decode().strip()

    def files_of(self, commit: str, parent: str = "") -> tuple[Changed, ...]:
        """What a commit changed, compared with ``parent`` (empty: its first), and what it renamed."""
        parents = (parent,) if parent else self.read(commit).parents[:1]
        against = (*parents, commit) if parents else ("--root", commit)
        listed = self._asked("diff-tree", "-r", "-z", "-M", "--raw", "--no-commit-id", *against) or b""
        words = iter(listed.decode("utf-8", "surrogateescape").split("\0")[:-1])
        found = []
        for about in words:
            *_, before, after, status = about.split(" ")
            old = next(words) if status[0] in "RC" else ""
            found.append(Changed(status[0], next(words), before if status == "D" else after, old))
        return tuple(found)

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether ``new`` contains ``old``."""
        return self._asked("merge-base", "--is-ancestor", old, new) is not None

    def merged_tree(self, base: str, head: str) -> str:
        """The tree that merging gives; empty where the two conflict."""
        answer = self._asked("merge-tree", "--write-tree", "--allow-unrelated-histories", base, head)
        return "" if answer is None else answer.decode().split()[0]

    def changed(self, base: str, head: str) -> tuple[int, int, int]:
        """Files changed, lines added, lines deleted between the merge base and ``head``."""
        listed = (self._asked("diff", "--numstat", f"{base}...{head}") or b"").decode("utf-8", "replace")
        rows = [line.split("\t") for line in listed.splitlines()]
        counts = [[int(cell) if cell.isdigit() else 0 for cell in row[:2]] for row in rows]
        return len(rows), sum(row[0] for row in counts), sum(row[1] for row in counts)

    # Refs

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """Every ref below a prefix, and the object that it points to: read from Git's files, which is fast."""
        found, top = self._packed_refs(), f"{self.path}/"
        for folder, _, names in os.walk(f"{top}refs"):
            for path in (f"{folder}/{name}" for name in names if not name.endswith(".lock")):
                with suppress(FileNotFoundError):  # a push deletes it at this moment
                    found[path.removeprefix(top)] = Path(path).read_text().rstrip()
        return {name: found[name] for name in sorted(found) if name.startswith(prefix)}

    def _packed_refs(self) -> dict[str, str]:
        packed = self.path / "packed-refs"
        lines = packed.read_text().splitlines() if packed.exists() else []
        return {line[41:]: line[:40] for line in lines if line[0] not in "#^"}

    def ref(self, name: str) -> str:
        """The object that a ref (``refs/heads/main``) points to; empty where there is none."""
        loose = self.path / name
        if loose.is_file():
            return loose.read_text().strip()
        return self._packed_refs().get(name, "")

    def update_refs(self, updates: Iterable[tuple[str, str | None, str]]) -> None:
        """Move refs, all or none: name, what it must be now (empty: nothing; None: whatever), new (or empty).

        Raises Moved.
        """
        lines = ["start"]
        for name, old, new in updates:
            expected = "" if old is None else f" {old or NO_OBJECT}"
            lines.append(f"update {name} {new}{expected}" if new else f"delete {name}{expected}")
        text = "\n".join([*lines, "prepare", "commit", ""])
        try:
            self.git("update-ref", "--stdin", stdin=text.encode())
        except subprocess.CalledProcessError as error:
            raise Moved(error.stderr.decode("utf-8", "replace").strip()) from error


def _parsed(oid: str, text: str) -> CommitObject:
    head, _, message = text.partition("\n\n")
    fields: dict[str, list[str]] = {}
    for line in head.splitlines():
        name, _, value = line.partition(" ")
        if name:
            fields.setdefault(name, []).append(value)
    return CommitObject(
        oid=oid,
        tree=fields["tree"][0],
        parents=tuple(fields.get("parent", ())),
        author=_person(fields["author"][0]),
        committer=_person(fields["committer"][0]),
        message=message,
        is_signed="gpgsig" in fields,
    )


def _person(line: str) -> Person:
    who, _, rest = line.rpartition("> ")
    name, _, email = who.rpartition(" <")
    return Person(name, email, int(rest.split(" ")[0]))
