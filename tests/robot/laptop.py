"""The checkout of a cluster's owner, in which the robot runs what is printed."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flux_upgrade import main
from git_servers import PERSON, git
from robot.cluster import FollowingCluster
from robot.pair import Pair


@dataclass
class Laptop:
    folder: Path
    cluster: FollowingCluster | Pair

    @property
    def checkout(self) -> Path:
        return self.folder / "checkout"

    @property
    def is_clean(self) -> bool:
        return not git("status", "--porcelain", at=self.checkout)

    def begin(self, files: Mapping[str, str]) -> None:
        """Commit the files of a repository, and have Flux apply them."""
        git("init", "--quiet", "--bare", "--initial-branch=main", self.folder / "origin.git")
        git("clone", "--quiet", self.folder / "origin.git", self.checkout)
        git("checkout", "--quiet", "-B", "main", at=self.checkout)
        for path, content in files.items():
            (self.checkout / path).parent.mkdir(parents=True, exist_ok=True)
            (self.checkout / path).write_text(content)
        self.commit()
        self.push()

    def commit(self) -> None:
        git("add", "--all", at=self.checkout)
        git("commit", "--quiet", "--allow-empty", "--message=Change Flux", at=self.checkout)

    def push(self) -> None:
        """Bring the commits into the branch that Flux follows: it applies them at once."""
        git("push", "--quiet", "--set-upstream", "origin", "HEAD:main", at=self.checkout)
        origin = self.folder / "origin.git"
        paths = git("ls-tree", "-r", "--name-only", "main", at=origin).splitlines()
        self.cluster.reconcile({path: git("show", f"main:{path}", at=origin) for path in paths})

    def run(self, command: str, cli: str = "") -> str:
        """Return what a program prints. ``cli``: the minor of the Flux CLI to use."""
        program, *words = shlex.split(command)
        if program == "flux":
            return self.cluster.run_flux(words, cli)
        assert program == "flux-upgrade", command
        self.cluster.wait()
        self.cluster.log.append(f"$ {command}")
        said = self._run_ours(words)
        self.cluster.log.append(said)
        return said

    def _run_ours(self, words: list[str]) -> str:
        if not any(each.startswith("--release-source=") for each in words):
            words = [*words, f"--release-source={self.cluster.source}"]
        out, err = io.BytesIO(), io.StringIO()
        with contextlib.chdir(self.checkout):
            code = main.run(words, PERSON, out, err)
        assert code == 0, f"{self.cluster.told}\nends with {code}: {out.getvalue().decode()}{err.getvalue()}"
        return out.getvalue().decode()
