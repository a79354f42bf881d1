"""A snapshot reads each file once, says what it did not read, and is the only one that reads."""

from __future__ import annotations

import ast
import os
import subprocess
import weakref
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from flux_upgrade.adapters.local.files import MAX_FILE, Directory
from flux_upgrade.commands.wiring import build_snapshot
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import Unread, Unreadable
from flux_upgrade.model.files import FilesInMemory, Listing
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.snapshot.snapshot import Location, Snapshot, in_memory
from memory import MemoryTree
from real_parts import require_program

SOURCE = Path(__file__).resolve().parents[2] / "src" / "flux_upgrade"
SYNC = b"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\n"


class CountingSource(FilesInMemory):
    """Files in memory, and how often each is read."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.reads = Counter[str]()
        self.listings = 0

    def listing(self) -> Listing:
        self.listings += 1
        return super().listing()

    def read(self, path: str) -> bytes:
        self.reads[path] += 1
        return super().read(path)


def test_a_file_is_read_and_parsed_once() -> None:
    source = CountingSource({"a.yaml": SYNC, "kustomization.yaml": b"patches: [{path: a.yaml}]\n"})
    files = Snapshot(source)
    assert files.read("a.yaml") == files.file("a.yaml").content == files.content("a.yaml") == SYNC
    assert files.file("a.yaml") is files.at("a.yaml")
    assert files.file("a.yaml").objects is files.file("a.yaml").objects
    assert files.patch_files == {"a.yaml"}
    assert [file.path for file, _ in files.kustomizations()] == ["kustomization.yaml"]
    assert (list(files.candidates()), list(files.named((".txt",)))) == (["a.yaml", "kustomization.yaml"], [])
    assert source.reads == {"a.yaml": 1, "kustomization.yaml": 1}
    assert source.listings == 1


def test_objects_of_few_bytes_are_kept() -> None:
    # Objects take much more memory than their text: those of large files, and past a total, are parsed again.
    small = {f"{number:02}.yaml": SYNC + f"# {number}\n".encode() + b"#" * 250_000 for number in range(20)}
    files = in_memory({"large.yaml": SYNC + b"#" * 300_000} | small)
    before = {path: files.file(path).objects for path in files.candidates()}
    after = {path: files.file(path).objects for path in files.candidates()}
    assert [path for path in before if after[path] is before[path]] == list(small)[:9]  # 2 MiB
    assert after == before


def test_a_file_that_cannot_be_read_is_asked_for_once() -> None:
    source = CountingSource({})
    files = Snapshot(source)
    for _ in range(2):
        with pytest.raises(Unreadable, match=r"^a\.yaml is missing$"):
            files.read("a.yaml")
        assert files.at("a.yaml") is None
        assert files.content("a.yaml") is None
    assert source.reads == {"a.yaml": 1}


def test_a_refused_file_keeps_nothing_of_what_asked_for_it() -> None:
    files = in_memory({})

    def ask() -> weakref.ref[CountingSource]:
        local = CountingSource({})
        assert files.at("a.yaml") is None
        with pytest.raises(Unreadable):
            files.read("a.yaml")
        return weakref.ref(local)

    assert ask()() is None


def test_an_absent_file_is_unread_only_in_a_sparse_checkout() -> None:
    whole, sparse = in_memory({}), Snapshot(FilesInMemory({}), Location(is_sparse=True))
    assert whole.at("a.yaml") is None
    assert sparse.at("a.yaml") is None
    assert whole.unread == {}
    assert sparse.unread == {"a.yaml": Unread.NOT_CHECKED_OUT}
    assert (whole.is_whole, sparse.is_whole) == (True, False)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"a: [\n", Unread.BROKEN),
        (b"a: {{ if x }}\n", Unread.TEMPLATE),
        (b"---\na: 1\n" * 2_001, Unread.TOO_MANY_DOCUMENTS),
        # Objects of larger files are not kept, but what cannot be read is known.
        (b"# " + b"x" * 300_000 + b"\na: [\n", Unread.BROKEN),
    ],
)
def test_a_document_that_cannot_be_read_is_unread(content: bytes, why: Unread) -> None:
    files = MemoryTree({"good.yaml": SYNC, "bad.yaml": content})
    for path in files.candidates():
        assert list(files.file(path).objects)
    assert files.unread == {"bad.yaml": why}


def test_why_a_file_of_a_directory_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").touch()
    os.truncate(tmp_path / "large.yaml", MAX_FILE + 1)
    (tmp_path / "out.yaml").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "pipe.yaml")
    files = Snapshot(Directory(str(tmp_path)))
    for name in ("large.yaml", "out.yaml", "pipe.yaml", "absent.yaml"):
        assert files.at(name) is None
    assert files.unread == {"large.yaml": Unread.TOO_LARGE, "out.yaml": Unread.OUTSIDE, "pipe.yaml": Unread.REFUSED}


def test_a_part_shares_what_the_repository_has_read(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "a.yaml").write_bytes(SYNC)
    (tmp_path / "apps" / "link.yaml").symlink_to("../other.yaml")
    (tmp_path / "other.yaml").write_bytes(b"a: 1\n")
    part = build_snapshot(str(tmp_path / "apps"))
    assert part.location == Location(str(tmp_path), part="apps/", is_checkout=True)
    assert not part.is_whole
    assert part.read("a.yaml") is part.repository.read("apps/a.yaml")
    # A link out of the part is refused, although the repository may read what it leads to.
    assert part.repository.read("apps/link.yaml") == b"a: 1\n"
    with pytest.raises(Unreadable, match="leads out of the directory"):
        part.read("link.yaml")
    # The error has the path as it is in the part.
    with pytest.raises(Unreadable, match=r"^absent\.yaml could not be read"):
        part.read("absent.yaml")
    file = build_snapshot(str(tmp_path / "apps" / "a.yaml"))
    assert (list(file.candidates()), file.location.is_file) == (["a.yaml"], True)
    assert file.read("a.yaml") is file.repository.read("apps/a.yaml")


def test_past_64_mib_only_files_that_mention_flux_are_kept() -> None:
    source = CountingSource({"a.yaml": bytes(64 * 1024 * 1024 + 1), "b.yaml": b"b", "flux.yaml": b"flux"})
    files = Snapshot(source)
    for _ in range(2):
        for path in files.candidates():
            files.file(path)
    assert source.reads == {"a.yaml": 1, "b.yaml": 2, "flux.yaml": 1}


def sync(branch: str) -> bytes:
    return f"kind: GitRepository\nspec:\n  ref: {{branch: {branch}}}\n".encode()


@pytest.mark.parametrize(
    ("branches", "followed"),
    [
        ([], Unknown("no gotk-sync.yaml has a branch")),
        (["main", "main"], "main"),
        (["main", "next"], Unknown("clusters follow different branches: main, next")),
    ],
)
def test_the_branch_that_flux_follows(branches: list[str], followed: str | Unknown) -> None:
    files = {f"clusters/{index}/gotk-sync.yaml": sync(branch) for index, branch in enumerate(branches)}
    snapshot = in_memory(files | {"apps/source.yaml": sync("other")})
    assert snapshot.followed_branch("flux/gotk-components.yaml") == followed
    for path, content in files.items():  # The cluster's own comes first
        assert f"branch: {snapshot.followed_branch(path)}" in content.decode()


@pytest.mark.parametrize(
    ("ref", "followed"), [("refs/heads/main", "main"), ("refs/tags/v1", Unknown("no gotk-sync.yaml has a branch"))]
)
def test_the_branch_that_the_flux_operator_follows(ref: str, followed: str | Unknown) -> None:
    instance = f"kind: FluxInstance\nspec:\n  sync: {{kind: GitRepository, ref: {ref}}}\n".encode()
    assert in_memory({"flux.yaml": instance}).followed_branch("flux.yaml") == followed


def test_the_source_of_this_repository_has_the_branch_in_any_file() -> None:
    source = "kind: GitRepository\nmetadata: {name: fleet}\nspec:\n  url: URL\n  ref:\n    branch: BRANCH\n"
    files = {"flux/cluster.yaml": source.replace("URL", "ours").replace("BRANCH", "main").encode()}
    files["apps/podinfo.yaml"] = source.replace("URL", "theirs").replace("BRANCH", "master").encode()
    snapshot = in_memory(files)
    assert snapshot.followed_branch("flux/kustomization.yaml", lambda url: url == "ours") == "main"
    assert isinstance(snapshot.followed_branch("flux/kustomization.yaml", lambda url: url == "another"), Unknown)
    assert isinstance(snapshot.followed_branch("flux/kustomization.yaml"), Unknown)


def test_what_is_uncommitted(tmp_path: Path) -> None:
    git = partial(subprocess.run, check=True, cwd=tmp_path)
    git([require_program("git"), "init", "-q"])
    for name in ("same.yaml", "changed.yaml", "gone.yaml"):
        (tmp_path / name).write_text("a: 1\n")
    git([require_program("git"), "add", "."])
    git([require_program("git"), "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "first"])
    (tmp_path / "changed.yaml").write_text("a: 2\n")
    (tmp_path / "gone.yaml").unlink()
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "ä b.yaml").write_text("a: 1\n")
    environment = Environment(search_path=os.path.dirname(require_program("git")))
    files = build_snapshot(str(tmp_path / "new"), environment)
    assert files.uncommitted == frozenset({"changed.yaml", "gone.yaml", "new/ä b.yaml"})
    assert build_snapshot(str(tmp_path)).uncommitted == Unknown("Git was not asked")
    (tmp_path / ".git" / "HEAD").write_text("broken")
    assert isinstance(build_snapshot(str(tmp_path), environment).uncommitted, Unknown)


READS = frozenset({"scandir", "listdir", "os.walk", "glob", "rglob", "iterdir", "read_bytes", "read_text", "open"})
"""Functions and methods that list or open files; ``read_text`` is that of a path."""


def called(node: ast.Call) -> str:
    """Return the name of a function or a method; ``os.walk``: other things have a ``walk``, too."""
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
        return f"os.{node.func.attr}" if (owner, node.func.attr) == ("os", "walk") else f".{node.func.attr}"
    return getattr(node.func, "id", "")


def test_nothing_else_opens_or_lists_files() -> None:
    # Adapters do; of the others, only a snapshot asks a source for its files.
    readers = set()
    for path in SOURCE.rglob("*.py"):
        name, calls = path.relative_to(SOURCE).as_posix(), ast.walk(ast.parse(path.read_text()))
        for node in calls if not name.startswith("adapters/") else ():
            if isinstance(node, ast.Call):
                is_source = called(node) == ".listing" and not node.args
                if called(node).removeprefix(".") in READS - {"read_text"} or called(node) == ".read_text" or is_source:
                    readers.add((name, called(node)))
    assert readers == {("snapshot/snapshot.py", ".listing")}
