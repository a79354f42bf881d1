"""Runs of ``check`` and ``migrate`` in a folder with a cluster and a few resources."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flux_upgrade import main
from flux_upgrade.manifests.options import InstallOptions
from memory import rendered

CLUSTER = "clusters/production/flux-system/gotk-components.yaml"
NOTHING: Mapping[str, str] = {}


def resource(version: str = "v1beta2", name: str = "podinfo", kind: str = "GitRepository") -> str:
    return f"apiVersion: source.toolkit.fluxcd.io/{version}\nkind: {kind}\nmetadata:\n  name: {name}\n"


def left() -> str:
    """One that nobody but a person can migrate."""
    return resource(name="misspelled", kind="GitRepo")


def cluster(version: str = "v2.8.8") -> str:
    return rendered(InstallOptions(version))


def plant(folder: Path, files: Mapping[str, str]) -> Path:
    """The folder, with files in it, as they are: line ends, too."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode("utf-8", "surrogateescape"))
    return folder


@dataclass(frozen=True)
class Ran:
    """What came of a run."""

    code: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        """What ``--json`` printed."""
        return json.loads(self.out)

    @property
    def annotations(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("::")]


def run(folder: Path, source: Path, *argv: str, env: Mapping[str, str] = NOTHING) -> Ran:
    """As a user does in the folder."""
    out, err = io.BytesIO(), io.StringIO()
    with contextlib.chdir(folder):
        code = main.run([*argv, f"--release-source={source}"], env, out, err)
    return Ran(code, out.getvalue().decode(), err.getvalue())


@contextlib.contextmanager
def one_processor() -> Iterator[None]:
    """This process may use a single one."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
