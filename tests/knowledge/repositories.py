"""Repositories to take knowledge from: of the cases, written ones with a history, and real ones."""

from __future__ import annotations

import contextlib
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cases_on_disk import PATHS, contents, read_case, staged
from healthy.repositories import WRITTEN, git, staged_written
from real_parts import require_program, require_shared

NEWEST = "v2.9.4"
_PLANS = ("plan", "upgrade")
_READING = (*_PLANS, "check", "inspect", "migrate")
_SHOWN = ("--details", "--json", "--dry-run", "--diff")
_ALICE = ("-c", "user.name=Alice", "-c", "user.email=alice@acme.example")
_FOLLOWED = "refs/remotes/origin/main"


@dataclass(frozen=True)
class Repository:
    """A repository on disk, and the command that plans in it."""

    name: str
    root: Path
    files: Mapping[str, bytes]
    releases: Path
    argv: Sequence[str]  # Arguments of `plan` or `upgrade`
    path: str = ""  # PATH of the program
    is_checkout: bool = False
    others: Mapping[str, Path] = field(default_factory=dict)  # Mode → the same repository with another history

    @property
    def host(self) -> str:
        """The registry on loopback; empty if there is none."""
        return next((arg.removeprefix(_HOSTS) for arg in self.argv if arg.startswith(_HOSTS)), "")

    @contextlib.contextmanager
    def changed(self, files: Mapping[str, bytes | None]) -> Iterator[None]:
        """Have other files meanwhile, and commit them if it is a checkout. ``None``: no such file."""
        self._write(files)
        if self.is_checkout:
            git(self.root, "add", "--all")
            git(self.root, *_ALICE, "commit", "--quiet", "--message=Hide")
            git(self.root, "update-ref", _FOLLOWED, "HEAD")
        try:
            yield
        finally:
            if self.is_checkout:
                git(self.root, "reset", "--quiet", "--hard", "HEAD~")
                git(self.root, "update-ref", _FOLLOWED, "HEAD")
            self._write({path: self.files.get(path) for path in files})

    def _write(self, files: Mapping[str, bytes | None]) -> None:
        for path, content in files.items():
            if content is None:
                (self.root / path).unlink(missing_ok=True)
            else:
                (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                (self.root / path).write_bytes(content)


_HOSTS = "--allow-hosts="


@dataclass(frozen=True)
class Source:
    """A repository that is not on disk yet."""

    name: str
    path: Path  # A case, a written repository, or a directory

    @contextlib.contextmanager
    def staged(self, folder: Path, releases: Path) -> Iterator[Repository]:
        """Write it below ``folder``. ``releases``: those of the cases."""
        if self.name.startswith("case "):
            case = read_case(self.path)
            with staged(case, folder, releases) as tree:
                files = contents(tree.root)
                yield Repository(self.name, tree.root, files, tree.releases, planning(case.args))
        elif self.name.startswith("written "):
            real = require_shared("conformance", "releases")
            programs = _programs(folder)
            with staged_written(self.path, folder, real) as (history, *others):
                argv = ["plan", f"--approve={NEWEST}", *history.args]
                modes = {other.mode: other.root for other in others}
                files = contents(history.root)
                yield Repository(self.name, history.root, files, real, argv, programs, is_checkout=True, others=modes)
        else:
            real = require_shared("conformance", "releases")
            root = folder / "tree"
            _unpack(self.path, self.name.partition(" ")[2], root)
            yield Repository(self.name, root, contents(root), real, ["plan", f"--approve={NEWEST}"])


def planning(args: Sequence[str]) -> list[str]:
    """Return the arguments that plan what a case does, or what approves the newest release."""
    if args[0] in _PLANS:
        return [arg for arg in args if arg not in _SHOWN]
    return ["plan", f"--approve={NEWEST}"]


def cases() -> list[Source]:
    """Return the cases without Git, whose release source is not about dates."""
    return [Source(f"case {path.stem}", path) for path in PATHS if _is_wanted(path)]


def written() -> list[Source]:
    return [Source(f"written {path.stem}", path) for path in WRITTEN]


def real() -> list[Source]:
    """Return the real repositories, those on the day before an upgrade that went wrong, and the reports."""
    sources: list[Source] = []
    for kind in ("trees", "troubles"):
        archive = require_shared("conformance", f"{kind}.tar.xz")
        with tarfile.open(archive) as tar:
            names = sorted({name.partition("/")[0] for name in tar.getnames()})
        sources += (Source(f"{kind} {name}", archive) for name in names)
    reports = require_shared("reports")
    sources += (Source(f"report {path.name}", path) for path in sorted(reports.iterdir()) if path.is_dir())
    return sources


def _is_wanted(path: Path) -> bool:
    case = read_case(path)
    names_path = any(not arg.startswith("-") for arg in planning(case.args)[1:])
    return not (case.git or case.released or names_path) and case.args[0] in _READING


def _programs(folder: Path) -> str:
    """Make a PATH without kubectl and kustomize, which not every machine has."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("git", "env"):
        (programs / name).symlink_to(require_program(name))
    return str(programs)


def _unpack(source: Path, name: str, root: Path) -> None:
    if source.is_dir():
        for path, content in contents(source).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        return
    with tarfile.open(source) as tar:
        for member in tar:
            if member.name.startswith(f"{name}/"):
                tar.extract(member.replace(name=member.name.removeprefix(f"{name}/")), root, filter="data")
