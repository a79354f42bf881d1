"""A tree reads and writes files inside its root only, and a failed write leaves the old file."""

from __future__ import annotations

import os
import resource
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flux_upgrade.adapters.local.files import MAX_FILE, Directory
from flux_upgrade.adapters.local.worktree import DirectoryWorktree, alone
from flux_upgrade.adapters.recording import RecordingWorktree
from flux_upgrade.model.errors import Unreadable, UsageError, WriteFailed
from flux_upgrade.model.files import FileSource, Worktree
from flux_upgrade.snapshot.snapshot import Snapshot


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with what must be found and what must not."""
    root = tmp_path / "repo"
    for name in (
        "clusters/b/gotk-components.yaml",
        "clusters/a/gotk-components.yaml",
        "clusters/a.yaml",
        ".github/workflow.yml",
        "README.md",
        "clusters/yaml",
        *(f"clusters/{skipped}/x.yaml" for skipped in (".git", ".hg", ".svn", "node_modules", ".terraform", ".venv")),
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "outside.yaml").write_text("outside")
    return root


FOUND = [
    ".github/workflow.yml",
    "clusters/a.yaml",
    "clusters/a/gotk-components.yaml",
    "clusters/b/gotk-components.yaml",
]


def test_the_ports(tree: Path) -> None:
    """The assignments are for mypy."""
    files: FileSource = Directory(str(tree))
    both: tuple[Worktree, Worktree] = (DirectoryWorktree(str(tree)), RecordingWorktree())
    for worktree in both:
        worktree.write("README.md", b"new")
    assert files.read("README.md") == b"new"


def test_finds_yaml_sorted(tree: Path) -> None:
    found = list(Snapshot(Directory(str(tree))).candidates())
    assert found == FOUND
    assert [Directory(str(tree)).read(path).decode() for path in found] == FOUND


def test_finds_files_by_the_end_of_their_name(tree: Path) -> None:
    for name in (".github/renovate.json", "clusters/a/main.tf", "clusters/.terraform/x.tf", "x.tf.json", "not.tfvars"):
        (tree / name).write_text(name)
    files = Snapshot(Directory(str(tree)))
    assert list(files.named((".tf", ".tf.json"))) == ["clusters/a/main.tf", "x.tf.json"]
    assert list(files.named(("renovate.json",))) == [".github/renovate.json"]
    assert list(files.named((".yaml", ".yml"))) == FOUND == list(files.candidates())
    assert list(files.named(("nothing",))) == []
    assert list(files.named(("",))) == sorted(
        [*FOUND, "README.md", "clusters/yaml", ".github/renovate.json", "clusters/a/main.tf", "x.tf.json", "not.tfvars"]
    )


def test_files_by_the_end_of_their_name_are_files_of_the_tree(tree: Path, tmp_path: Path) -> None:
    (tree / "link.tf").symlink_to(tmp_path / "outside.yaml")
    os.mkfifo(tree / "pipe.tf")
    (tree / "folder.tf").mkdir()
    with (tree / "huge.tf").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    assert list(Snapshot(Directory(str(tree))).named((".tf",))) == ["huge.tf"]
    alone = Snapshot(Directory(str(tree / "README.md")))
    assert (list(alone.named((".md",))), list(alone.named((".tf",)))) == (["README.md"], [])


def test_the_tree_is_walked_once(tree: Path) -> None:
    files = Snapshot(Directory(str(tree)))
    assert list(files.candidates()) == FOUND
    (tree / "new.yaml").touch()
    assert list(files.candidates()) == FOUND
    assert "new.yaml" not in list(files.named(("",)))
    assert "new.yaml" in list(Snapshot(Directory(str(tree))).candidates())


def test_follows_no_links(tree: Path, tmp_path: Path) -> None:
    (tree / "loop").symlink_to(tree)
    (tree / "outside").symlink_to(tmp_path)
    (tree / "outside.yaml").symlink_to(tmp_path / "outside.yaml")
    (tree / "again.yaml").symlink_to("clusters/a.yaml")
    (tree / "broken.yaml").symlink_to("nowhere")
    os.mkfifo(tree / "pipe.yaml")
    (tree / "folder.yaml").mkdir()
    assert list(Snapshot(Directory(str(tree))).candidates()) == FOUND


def test_leaves_out_what_is_too_large(tree: Path) -> None:
    with (tree / "huge.yaml").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    files = Snapshot(Directory(str(tree)))
    assert list(files.candidates()) == FOUND
    with pytest.raises(Unreadable, match="larger"):
        files.read("huge.yaml")


def test_a_file_as_the_root(tree: Path, tmp_path: Path) -> None:
    files = Snapshot(Directory(str(tree / "README.md")))
    assert list(files.candidates()) == ["README.md"]
    assert files.read("README.md") == b"README.md"
    DirectoryWorktree(str(tree / "README.md")).write("README.md", b"new")
    assert (tree / "README.md").read_bytes() == b"new"
    (tmp_path / "link").symlink_to(tree / "README.md")
    assert list(Snapshot(Directory(str(tmp_path / "link"))).candidates()) == ["README.md"]


def test_a_link_as_the_root(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree)
    files = Snapshot(Directory(str(tmp_path / "link")))
    assert list(files.candidates()) == FOUND
    assert files.read(FOUND[0])


@pytest.mark.parametrize("build", [Directory, DirectoryWorktree])
@pytest.mark.parametrize("root", ["/no-such/folder", "/dev/null"])
def test_a_root_that_is_not_there(build: type, root: str) -> None:
    with pytest.raises(UsageError) as caught:
        build(root)
    assert caught.value.hint


@pytest.mark.parametrize(
    "path", ["../outside.yaml", "/etc/passwd", "clusters/../../outside.yaml", "link.yaml", "links/outside.yaml", "a\0b"]
)
def test_paths_that_leave_the_tree(tree: Path, tmp_path: Path, path: str) -> None:
    (tree / "link.yaml").symlink_to("../outside.yaml")
    (tree / "links").symlink_to(tmp_path)
    with pytest.raises(Unreadable, match="leads out of the directory"):
        Directory(str(tree)).read(path)
    with pytest.raises(WriteFailed, match="leads out of the directory"):
        DirectoryWorktree(str(tree)).write(path, b"evil")
    assert (tmp_path / "outside.yaml").read_text() == "outside"


@pytest.mark.parametrize(
    "path",
    [".git/config", "clusters/../.git/config", ".git", "link.yaml", "links/config", "modules/other/.git", ".GIT/x"],
)
def test_what_git_keeps_is_not_in_the_tree(tree: Path, path: str) -> None:
    """actions/checkout keeps a token in `.git/config`."""
    (tree / ".git").mkdir(exist_ok=True)
    (tree / ".git" / "config").write_text("secret")
    (tree / "link.yaml").symlink_to(".git/config")
    (tree / "links").symlink_to(".git")
    (tree / "modules" / "other").mkdir(parents=True)
    (tree / "modules" / "other" / ".git").write_text("secret")
    with pytest.raises(Unreadable, match="leads out of the directory"):
        Directory(str(tree)).read(path)
    with pytest.raises(WriteFailed, match="leads out of the directory"):
        DirectoryWorktree(str(tree)).write(path, b"evil")
    assert (tree / ".git" / "config").read_text() == "secret"


def test_a_neighbour_with_the_same_beginning_is_outside(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "x.yaml").write_text("x")
    with pytest.raises(Unreadable, match="leads out of the directory"):
        Directory(str(tmp_path / "repo")).read("../repository/x.yaml")


def test_what_cannot_be_read(tree: Path) -> None:
    os.mkfifo(tree / "pipe.yaml")
    for path in ("none.yaml", "clusters", "pipe.yaml", "README.md/x.yaml", "n\x1b[31m.yaml", "", "."):
        with pytest.raises(Unreadable) as caught:
            Directory(str(tree)).read(path)
        assert caught.value.message.isprintable()
        assert caught.value.hint


@contextmanager
def an_ordinary_user() -> Iterator[None]:
    """Root may read everything: be nobody for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_an_unreadable_file_is_reported(open_folder: Path) -> None:
    (open_folder / "locked").mkdir()
    (open_folder / "a.yaml").write_text("a")
    for name in ("locked", "locked.yaml"):
        (open_folder / name).touch()
        (open_folder / name).chmod(0)
    files = Snapshot(Directory(str(open_folder)))
    with an_ordinary_user():
        assert list(files.candidates()) == ["a.yaml", "locked", "locked.yaml"]
        assert list(files.named(("",))) == ["a.yaml", "locked.yaml"]
        assert files.read("a.yaml") == b"a"
        for path in ("locked", "locked.yaml"):
            with pytest.raises(Unreadable, match=f"{path} could not be read: Permission denied"):
                files.read(path)


def test_a_folder_that_may_not_be_written(open_folder: Path) -> None:
    (open_folder / "a.yaml").write_text("a")
    open_folder.chmod(0o555)
    with an_ordinary_user(), pytest.raises(WriteFailed, match="Permission denied"):
        DirectoryWorktree(str(open_folder)).write("a.yaml", b"new")
    assert (open_folder / "a.yaml").read_text() == "a"


def entries(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_writes_whole_and_keeps_the_mode(tree: Path) -> None:
    path, before = tree / "clusters" / "a.yaml", entries(tree)
    path.chmod(0o640)
    DirectoryWorktree(str(tree)).write("clusters/a.yaml", b"new\r\n")
    assert path.read_bytes() == b"new\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert entries(tree) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_keeps_the_owner(tree: Path) -> None:
    path = tree / "clusters" / "a.yaml"
    os.chown(path, 1001, 1001)
    DirectoryWorktree(str(tree)).write("clusters/a.yaml", b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1001, 1001)


def test_what_another_run_has_written_already_stays(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"new")
    before = file.stat()
    DirectoryWorktree(str(tmp_path)).write("a.yaml", b"new", b"old")
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_one_run_at_a_time_writes(tmp_path: Path) -> None:
    with alone(str(tmp_path)):
        with pytest.raises(WriteFailed, match="another run is writing into") as caught, alone(str(tmp_path), tries=2):
            pass
        assert caught.value.hint.startswith("wait")
    with alone(str(tmp_path), tries=1):
        assert list(tmp_path.iterdir()) == []
    with alone(str(tmp_path / "missing")):
        pass


def test_makes_a_file_with_the_usual_mode(tree: Path) -> None:
    before = os.umask(0o022)
    try:
        DirectoryWorktree(str(tree)).write("clusters/new.yaml", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tree / "clusters" / "new.yaml").stat().st_mode) == 0o644


def test_writes_through_a_link_that_stays_inside(tree: Path) -> None:
    (tree / "again.yaml").symlink_to("clusters/a.yaml")
    DirectoryWorktree(str(tree)).write("again.yaml", b"new")
    assert (tree / "again.yaml").is_symlink()
    assert (tree / "clusters" / "a.yaml").read_bytes() == b"new"


@pytest.mark.parametrize("path", [".", "", "none/x.yaml", "README.md/x.yaml", "clusters", "x" * 300 + ".yaml"])
def test_what_cannot_be_written(tree: Path, path: str) -> None:
    before = entries(tree)
    with pytest.raises(WriteFailed) as caught:
        DirectoryWorktree(str(tree)).write(path, b"new")
    assert caught.value.hint
    assert caught.value.message.isprintable()
    assert entries(tree) == before


def test_makes_a_file_with_its_folders_and_takes_it_back(tree: Path) -> None:
    before, worktree = entries(tree), DirectoryWorktree(str(tree))
    worktree.make("new/flux-system/a.yaml", b"new")
    worktree.make("new/b.yaml", b"new")
    assert (tree / "new" / "flux-system" / "a.yaml").read_bytes() == b"new"
    worktree.remove("new/flux-system/a.yaml", b"somebody has changed it since")
    assert (tree / "new" / "flux-system" / "a.yaml").exists()
    worktree.remove("new/flux-system/a.yaml", b"new")
    assert entries(tree) == sorted([*before, "new", "new/b.yaml"])
    worktree.remove("new/b.yaml", b"new")
    assert entries(tree) == before


@pytest.mark.parametrize(
    "path",
    ["clusters", "README.md/x.yaml", "../x.yaml", "broken", "modules/other/a/b.yaml", "linked/x.yaml", "again.yaml"],
)
def test_what_is_in_the_way_is_reported_before_a_write(tree: Path, path: str) -> None:
    (tree / "broken").symlink_to("nowhere")
    (tree / "linked").symlink_to("modules")
    (tree / "again.yaml").symlink_to("README.md")
    (tree / "modules" / "other").mkdir(parents=True)
    (tree / "modules" / "other" / ".git").write_text("gitdir: ../../.git/modules/other\n")
    for worktree in (DirectoryWorktree(str(tree)), RecordingWorktree(DirectoryWorktree(str(tree)))):
        worktree.require_room(["new/a.yaml", "README.md", "modules/b.yaml"])
        with pytest.raises(WriteFailed, match=r"is in the way|leads out of the directory"):
            worktree.require_room(["new/a.yaml", path])


@pytest.mark.parametrize("path", ["clusters/a.yaml", "README.md/x.yaml", "../x.yaml", "new/" + "x" * 300])
def test_what_cannot_be_made(tree: Path, path: str) -> None:
    before = entries(tree)
    with pytest.raises(WriteFailed) as caught:
        DirectoryWorktree(str(tree)).make(path, b"new")
    assert caught.value.hint
    assert entries(tree) == before
    assert (tree / "clusters" / "a.yaml").read_text() == "clusters/a.yaml"


def test_a_disk_that_is_full_leaves_the_old_file(tree: Path) -> None:
    before = entries(tree)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(WriteFailed, match="too large"):
            DirectoryWorktree(str(tree)).write("clusters/a.yaml", bytes(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tree / "clusters" / "a.yaml").read_text() == "clusters/a.yaml"
    assert entries(tree) == before


def test_a_dry_run_remembers_and_writes_nothing(tree: Path) -> None:
    worktree = RecordingWorktree()
    worktree.write("b.yaml", b"1")
    worktree.write("a.yaml", b"2")
    assert worktree.written == [("b.yaml", b"1"), ("a.yaml", b"2")]
    assert not (tree / "b.yaml").exists()
