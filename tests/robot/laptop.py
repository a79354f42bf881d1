"""The checkout of a cluster's owner, in which the robot runs what is printed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from git_servers import git
from robot.cluster import FollowingCluster
from robot.pair import Pair


@dataclass
class Laptop:
    folder: Path
    cluster: FollowingCluster | Pair

    @property
    def first(self) -> str:
        """The command to begin with."""
        return "flux-upgrade plan"

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
        self.reconcile({path: git("show", f"main:{path}", at=origin) for path in paths})

    def reconcile(self, files: Mapping[str, str]) -> None:
        """Have Flux apply the files of the branch that it follows."""
        self.cluster.reconcile(files)

    def apply(self) -> None:
        """Run Terraform."""
        assert isinstance(self.cluster, FollowingCluster), f"{self.cluster.told}\nTerraform has nothing to apply"
        self.cluster.run_terraform()

    def merge(self, branch: str) -> None:
        """Merge a branch of the remote repository into the one that Flux follows."""
        git("fetch", "--quiet", "origin", at=self.checkout)
        git("merge", "--quiet", "--no-edit", f"origin/{branch}", at=self.checkout)
        self.push()

    def remove_item(self, path: str, line: int) -> None:
        """Remove the item of a list that a line belongs to, and its list if that is the only one."""
        file = self.checkout / path
        lines = file.read_text().splitlines(keepends=True)
        first = max(number for number in range(line) if lines[number].startswith("- "))
        last = next((number for number in range(first + 1, len(lines)) if lines[number][0] != " "), len(lines))
        if lines[first - 1][0] != " " and lines[last : last + 1] == []:
            first -= 1
        file.write_text("".join(lines[:first] + lines[last:]))
        self.cluster.log.append(f"> remove {path}:{first + 1} to {last}")

    def run(self, command: str, cli: str = "") -> str:
        """Return what a program prints. ``cli``: the minor of the Flux CLI to use."""
        program, *words = shlex.split(command)
        if program == "flux":
            return self.cluster.run_flux(words, cli)
        assert program == "flux-upgrade", command
        if ">" in words:
            *words, _, path = words
            (self.checkout / path).write_text(self.cluster.run_ours(words, self.checkout))
            return ""
        return self.cluster.run_ours(words, self.checkout)
