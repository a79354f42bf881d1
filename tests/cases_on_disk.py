"""The folders of ``tests/cases``: each is a test."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flux_upgrade import cli

CASES = Path(__file__).resolve().parent / "cases"
COMMAND = "flux-upgrade"


@dataclass(frozen=True)
class Case:
    """One folder: ``before/``, ``after/`` (absent: nothing changes), ``case.toml``, ``report.txt``."""

    folder: Path
    description: str
    args: tuple[str, ...]
    """Of the command that changes the tree; it runs in the tree's root."""
    exit_code: int
    released: Mapping[str, str]
    """Release → when it was published, where the case is about dates."""

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
    )
    assert not stated, f"{folder.name}/case.toml: unknown keys {', '.join(stated)}"
    return case


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


def run_in(tree: Path, source: Path, args: Sequence[str]) -> Run:
    """Run the program in the root of a tree, as a user does; paths in its output are replaced."""
    out, err = io.BytesIO(), io.StringIO()
    # `config` has nothing to do with releases.
    argv = [*args, *(() if args[0] == "config" else ("--release-source", str(source)))]
    with contextlib.chdir(tree):
        # An empty environment: no cache, no token, no flux on PATH.
        code = cli.run(argv, {}, out, err)
    told = (text.replace(str(source), "<source>") for text in (out.getvalue().decode(), err.getvalue()))
    return Run(tuple(args), code, *told)


def contents(tree: Path) -> dict[str, bytes]:
    """Every file of a tree."""
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in sorted(tree.rglob("*"))
        if path.is_file()
    }
