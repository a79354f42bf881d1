"""The folders of ``tests/cases``: each is a test."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adapters.loopback import Answer, Loopback, Seen
from flux_upgrade import main
from real_parts import require_program

CASES = Path(__file__).resolve().parent / "cases"
COMMAND = "flux-upgrade"
REGISTRY = "registry.example.com"
"""The host in the files of a case that states ``images``: it is one on loopback when the case is run."""
TODAY = "2026-03-01"
"""When ``before/`` was committed, in a case with Git."""


@dataclass(frozen=True)
class Case:
    """One folder: ``before/``, ``after/`` (absent: nothing changes), ``case.toml``, ``report.txt``.

    ``history/DATE/``, in a case with Git: what the tree was when it was committed then.
    """

    folder: Path
    description: str
    args: tuple[str, ...]
    """Of the command that changes the tree; it runs in the tree's root."""
    exit_code: int
    released: Mapping[str, str]
    """Release → when it was published, where the case is about dates."""
    runs: int
    """After so many nothing is left to do: more than one where the first makes way for the next."""
    git: bool
    """Whether the tree is a checkout, with ``git`` on PATH; else there is no program at all."""
    images: tuple[str, ...] | None
    """What the registry ``REGISTRY`` has, ``fluxcd/source-controller:v1.9.4``; None: nobody asks it."""

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def before(self) -> Path:
        return self.folder / "before"

    @property
    def after(self) -> Path:
        return self.folder / "after"

    @property
    def report(self) -> Path:
        """What a user sees: ``inspect`` first, then the command itself."""
        return self.folder / "report.txt"

    def source(self, written: Path, folder: Path) -> Path:
        """The release source of the case: the written one, or a copy in ``folder`` that tells dates."""
        if not self.released:
            return written
        listed = json.loads((written / "releases.json").read_text())
        dated = [{**each, "published_at": self.released.get(each["tag_name"], "")} for each in listed]
        shutil.copytree(written, folder)
        (folder / "releases.json").write_text(json.dumps(dated))
        return folder


def all_cases() -> list[Case]:
    return [_read(folder) for folder in sorted(CASES.iterdir()) if folder.is_dir()]


def _read(folder: Path) -> Case:
    stated = tomllib.loads((folder / "case.toml").read_text())
    case = Case(
        folder,
        stated.pop("description"),
        tuple(stated.pop("args")),
        stated.pop("exit-code"),
        stated.pop("released", {}),
        stated.pop("runs", 1),
        stated.pop("git", False),
        tuple(stated.pop("images")) if "images" in stated else None,
    )
    assert not stated, f"{folder.name}/case.toml: unknown keys {', '.join(stated)}"
    return case


@dataclass(frozen=True)
class Ground:
    """Where a case is run: its tree, and the host that stands for ``REGISTRY`` in it."""

    tree: Path
    host: str = ""
    """Empty: nothing does."""
    asked: Sequence[Seen] = ()
    """What the registry was asked for, in time."""
    path: str = ""
    """PATH of the environment."""

    def run(self, source: Path, args: Sequence[str]) -> Run:
        """See ``run_in``."""
        ran = run_in(self.tree, source, args, path=self.path)
        return replace(ran, out=self._told(ran.out), err=self._told(ran.err)) if self.host else ran

    def contents(self) -> dict[str, bytes]:
        """See ``contents``."""
        found = contents(self.tree)
        told = (self.host or REGISTRY).encode()
        return {path: content.replace(told, REGISTRY.encode()) for path, content in found.items()}

    def _told(self, text: str) -> str:
        return text.replace(self.host, REGISTRY)


@contextlib.contextmanager
def ground_of(case: Case, folder: Path) -> Iterator[Ground]:
    """The case in ``folder``, with a registry for as long as it lasts, where the case has one."""
    tree = Path(shutil.copytree(case.before, folder / "tree"))
    path = _checkout(case, tree, folder) if case.git else ""
    if case.images is None:
        yield Ground(tree, path=path)
        return
    routes = {}
    for image in case.images:
        path, _, tag = image.partition(":")
        # Any manifest will do; its bytes make the digest.
        routes[f"/v2/{path}/manifests/{tag}"] = Answer(json.dumps({"image": image}).encode())
    with Loopback(routes) as registry:
        for path in contents(tree):
            content = (tree / path).read_bytes()
            (tree / path).write_bytes(content.replace(REGISTRY.encode(), registry.host.encode()))
        yield Ground(tree, registry.host, registry.seen, path)


def _checkout(case: Case, tree: Path, folder: Path) -> str:
    """Make the tree a checkout of all that was. Returns a PATH with Git alone."""
    git = require_program("git")
    (folder / "bin").mkdir()
    for name in ("git", "env"):  # which Git is run by
        (folder / "bin" / name).symlink_to(require_program(name))
    past = sorted((case.folder / "history").glob("*"))
    for work_tree, date in ((tree, ""), *((each, each.name) for each in past), (tree, TODAY)):
        env = {
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_DIR": str(tree / ".git"),
            "GIT_WORK_TREE": str(work_tree),
            **{
                f"GIT_{role}_{what}": "alice"
                for role in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
            **{f"GIT_{role}_DATE": f"{date}T12:00:00Z" for role in ("AUTHOR", "COMMITTER")},
        }
        commands = ("add --all", "commit --quiet --message=Flux") if date else ("init --quiet",)
        for command in commands:
            subprocess.run([git, *command.split()], cwd=work_tree, env=env, check=True)  # noqa: S603
    return str(folder / "bin")


@dataclass(frozen=True)
class Run:
    """What one run of the program gave."""

    args: tuple[str, ...]
    exit_code: int
    out: str
    err: str

    def transcript(self) -> str:
        shown = f"$ {' '.join((COMMAND, *self.args))}\n{self.out}"
        if self.err:
            shown += f"[stderr]\n{self.err}"
        return f"{shown}[exit code {self.exit_code}]\n"


def run_in(tree: Path, source: Path, args: Sequence[str], *, path: str = "") -> Run:
    """Run the program in the root of a tree, as a user does; paths in its output are replaced."""
    out, err = io.BytesIO(), io.StringIO()
    # `config` has nothing to do with releases.
    argv = [*args, *(() if args[0] == "config" else ("--release-source", str(source)))]
    with contextlib.chdir(tree):
        # No cache, no token, no flux on PATH.
        code = main.run(argv, {"PATH": path} if path else {}, out, err)
    told = (text.replace(str(source), "<source>") for text in (out.getvalue().decode(), err.getvalue()))
    return Run(tuple(args), code, *told)


def contents(tree: Path) -> dict[str, bytes]:
    """Every file of a tree."""
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in sorted(tree.rglob("*"))
        if path.is_file() and path.relative_to(tree).parts[0] != ".git"
    }
