"""The cases of ``tests/cases``, and the trees on disk that their commands run in."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import shutil
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adapters.loopback import Answer, Loopback
from flux_upgrade import main
from opened import blobs_read, opened_below, write_git
from real_parts import require_program
from txtar import Archive, read

FOLDER = Path(__file__).resolve().parent / "cases"
PATHS = sorted(FOLDER.glob("*.txtar"))
PARTS = {"args", "settings.toml", "history", "before", "after", "report"}
COMMAND = "flux-upgrade"
REGISTRY = "registry.example.com"
"""The host in the files of a case that has ``images``: a registry on loopback takes its place."""
TODAY = "2026-03-01"
"""When ``before/`` was committed, in a case with Git."""


@dataclass(frozen=True)
class Case:
    """A tree before and after a command, and what the command prints."""

    archive: Archive
    released: Mapping[str, str] = field(default_factory=dict)
    """Release → when it was published, where the case is about dates."""
    runs: int = 1
    """After so many nothing is left to do: more than one where the first makes way for the next."""
    git: bool = False
    """Whether the tree is a checkout, with ``git`` on PATH; else PATH is empty."""
    merged: str = TODAY
    """Date of the commit that ``origin/main`` has, in a case with Git; empty: the checkout has no such branch."""
    committed: bool = True
    """Whether ``before/`` is committed, in a case with Git; else only ``history`` is."""
    images: Sequence[str] | None = None
    """What ``REGISTRY`` has, ``fluxcd/source-controller:v1.9.4``; None: nothing asks it."""

    @property
    def args(self) -> list[str]:
        """Of the command, which runs in the root of the tree."""
        return shlex.split(self.archive.text("args"))

    @property
    def before(self) -> dict[str, bytes]:
        return self.archive.under("before")

    @property
    def after(self) -> dict[str, bytes]:
        """All files, where ``after/`` has only those that the command writes."""
        return self.before | self.archive.under("after")

    @property
    def report(self) -> str:
        """What a user sees: ``inspect`` first, then the command itself."""
        return self.archive.text("report")

    @property
    def history(self) -> dict[str, dict[str, bytes]]:
        """Date → the tree that was committed then, in a case with Git."""
        dates = sorted({name.split("/")[0] for name in self.archive.under("history")})
        return {date: self.archive.under(f"history/{date}") for date in dates}

    def with_results(self, after: Mapping[str, bytes], report: str) -> Archive:
        """The case with what the command gives now."""
        before, files = self.before, self.archive.files
        given = {name: files[name] for name in files if name != "report" and not name.startswith("after/")}
        changed = {f"after/{path}": after[path] for path in after if after[path] != before.get(path)}
        return Archive(self.archive.comment, {**given, **changed, "report": report.encode()})


def read_case(path: Path) -> Case:
    archive = read(path)
    unknown = {name.split("/")[0] for name in archive.files} - PARTS
    assert not unknown, f"{path.name}: {', '.join(sorted(unknown))}: no part of a case"
    return Case(archive, **tomllib.loads(archive.text("settings.toml", "")))


def case_named(name: str) -> Case:
    return read_case(FOLDER / f"{name}.txtar")


@dataclass(frozen=True)
class Run:
    """What one run of the program gave."""

    args: Sequence[str]
    exit_code: int
    out: str
    err: str
    reads: Mapping[str, int] = field(default_factory=dict, compare=False)
    """File of the tree, or object id of a blob that Git read → how often it was read."""

    def transcript(self) -> str:
        shown = f"$ {' '.join((COMMAND, *self.args))}\n{self.out}"
        if self.err:
            shown += f"[stderr]\n{self.err}"
        return f"{shown}[exit code {self.exit_code}]\n"


@dataclass(frozen=True)
class StagedTree:
    """The tree of a case on disk, with the releases and the registry that a command there asks."""

    root: Path
    releases: Path
    path: str = ""
    """PATH of the environment."""
    registry: str = REGISTRY
    """The host that takes the place of ``REGISTRY`` in the tree."""

    def run(self, args: Sequence[str]) -> Run:
        """See ``run_in``."""
        allowed = f"--allow-hosts={self.registry}"
        more = (allowed,) if self.registry != REGISTRY and args[0] in ("inspect", "plan", "upgrade") else ()
        ran = run_in(self.root, self.releases, args, path=self.path, more=more)
        # The commands that a report shows allow it again.
        shown = (text.replace(f" {allowed}", "") for text in (ran.out, ran.err))
        out, err = (text.replace(self.registry, REGISTRY) for text in shown)
        blobs = blobs_read(Path(self.path, "git")) if self.path else Counter[str]()
        return Run(ran.args, ran.exit_code, out, err, {**ran.reads, **blobs})

    def files(self) -> dict[str, bytes]:
        """See ``contents``."""
        found = contents(self.root)
        return {path: content.replace(self.registry.encode(), REGISTRY.encode()) for path, content in found.items()}


@contextlib.contextmanager
def staged(case: Case, folder: Path, releases: Path) -> Iterator[StagedTree]:
    """The case in ``folder``, with a registry for as long as it lasts, where the case has one."""
    root = folder / "tree"
    if case.released:
        releases = _dated(releases, folder / "releases", case.released)
    with contextlib.ExitStack() as stack:
        host = REGISTRY
        if case.images is not None:
            host = stack.enter_context(Loopback(_manifests(case.images))).host
        before = case.before.items()
        write_tree(root, {path: text.replace(REGISTRY.encode(), host.encode()) for path, text in before})
        yield StagedTree(root, releases, _checkout(case, root, folder) if case.git else "", host)


def _manifests(images: Sequence[str]) -> dict[str, Answer]:
    """What a registry answers that has these images."""
    routes = {}
    for image in images:
        name, _, tag = image.partition(":")
        # Any manifest will do; its bytes make the digest.
        routes[f"/v2/{name}/manifests/{tag}"] = Answer(json.dumps({"image": image}).encode())
    return routes


def _dated(releases: Path, folder: Path, released: Mapping[str, str]) -> Path:
    """A copy of a release source that says when each was published."""
    listed = json.loads((releases / "releases.json").read_text())
    dated = [{**each, "published_at": released.get(each["tag_name"], "")} for each in listed]
    shutil.copytree(releases, folder)
    (folder / "releases.json").write_text(json.dumps(dated))
    return folder


def _checkout(case: Case, root: Path, folder: Path) -> str:
    """Make the tree a checkout with its history. Returns a PATH with Git alone."""
    git = require_program("git")
    (folder / "bin").mkdir()
    (folder / "bin" / "env").symlink_to(require_program("env"))  # which Git is run by
    write_git(folder / "bin" / "git", git, require_program("tee"))

    def run(command: str, work_tree: Path, date: str) -> None:
        env = {
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_DIR": str(root / ".git"),
            "GIT_WORK_TREE": str(work_tree),
            **{f"GIT_{role}_{what}": "alice" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            **{f"GIT_{role}_DATE": f"{date}T12:00:00Z" for role in ("AUTHOR", "COMMITTER")},
        }
        subprocess.run([git, *command.split()], cwd=work_tree, env=env, check=True)  # noqa: S603

    run("init --quiet", root, TODAY)
    past = {date: write_tree(folder / date, files) for date, files in case.history.items()}
    for date, work_tree in {**past, TODAY: root}.items() if case.committed else past.items():
        run("add --all", work_tree, date)
        run("commit --quiet --message=Flux", work_tree, date)
        if date == case.merged:
            run("update-ref refs/remotes/origin/main HEAD", root, date)
    return str(folder / "bin")


def run_in(root: Path, releases: Path, args: Sequence[str], *, path: str = "", more: Sequence[str] = ()) -> Run:
    """Run the program in the root of a tree, as a user does; paths in its output are replaced.

    ``more``: arguments that are not shown.
    """
    out, err = io.BytesIO(), io.StringIO()
    # `config` has nothing to do with releases.
    argv = [*args, *more, *(() if args[0] == "config" else ("--release-source", str(releases)))]
    with opened_below(root) as reads, contextlib.chdir(root):
        # No cache, no token, no flux on PATH.
        code = main.run(argv, {"PATH": path} if path else {}, out, err)
    texts = (text.replace(str(releases), "<source>") for text in (out.getvalue().decode(), err.getvalue()))
    # The commands that a report shows name the source again.
    shown, errors = (text.replace(" --release-source=<source>", "") for text in texts)
    return Run(args, code, shown, errors, reads)


def write_tree(root: Path, files: Mapping[str, bytes]) -> Path:
    """Write files below a folder. Returns the folder."""
    root.mkdir()
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def contents(root: Path) -> dict[str, bytes]:
    """Every file of a tree."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.relative_to(root).parts[0] != ".git"
    }
