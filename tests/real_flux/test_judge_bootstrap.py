"""`flux bootstrap git` of the real CLI and `flux-upgrade bootstrap`: what each commits to a real Git server."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bootstrap.cli_runs import Laptop, clone_with
from error_names import error_names
from git_servers import WRITE, Bare, HttpHost, SshHost, git
from real_flux import differences
from real_flux.conftest import Start
from real_flux.flag_sets import FLAGS
from real_flux.programs import FLUX, program
from real_parts import require_shared

pytestmark = [pytest.mark.cluster, pytest.mark.real_part("shared data")]

COMMAND = "flux bootstrap git"
_PATIENCE = 60.0
_MIXED = 16
_SEED = 19
_NAMES = "source-controller,kustomize-controller"
SYNC: Mapping[str, Sequence[str]] = {
    "--path": (
        *("clusters/staging", "./clusters/staging/", "clusters//staging", "clusters/a b", "clusters/../staging"),
        *("", ".", "./", "/clusters/staging", "../staging", "clusters/ä", "clusters/x: y", "clusters/#1"),
    ),
    "--interval": ("10m", "1h30m", "90s", "1m0.5s", "0s", "-1m", "10", "1d", ""),
    "--branch": ("main",),
    "--secret-name": ("git-login", "Git_Login", "true", ""),
    "--sparse-checkout": ("clusters/staging,apps", "apps"),
    "--recurse-submodules": ("true", "false", "yes"),
    "--author-name": ("Robot",),
    "--author-email": ("robot@example.com",),
    "--commit-message-appendix": ("[ci skip]",),
}
"""What `bootstrap` has besides the flags of `install`; the first value is an ordinary one."""


def flag_sets() -> Iterator[tuple[str, ...]]:
    yield ()
    for flag, values in SYNC.items():
        yield from ((f"{flag}={value}",) for value in values)
    for flag, installed in FLAGS.items():
        if flag != "--namespace":
            yield from ((f"{flag}={value}",) for value in (*installed.ordinary[:2], *installed.hostile[:1]))
    yield (f"--components={_NAMES}", "--interval=5m", "--path=clusters/staging", "--recurse-submodules")
    chance = random.Random(_SEED)  # noqa: S311  (no secret)
    ordinary = {flag: values[0] for flag, values in SYNC.items() if flag != "--sparse-checkout"}
    ordinary |= {flag: values.ordinary[0] for flag, values in FLAGS.items() if flag != "--namespace"}
    for _ in range(_MIXED):
        yield tuple(f"{flag}={ordinary[flag]}" for flag in chance.sample(sorted(ordinary), 5))


@dataclass
class Judged:
    """A repository that both of them set Flux up in, one after the other."""

    bare: Bare
    url: Sequence[str]
    kubeconfig: Path
    laptop: Laptop
    theirs: Sequence[str] = ()  # Flags for the Flux CLI alone
    ours: Sequence[str] = ()
    env: Mapping[str, str] | None = None

    def differing(self, flags: Sequence[str]) -> Iterator[str]:
        theirs = self._pushed(self._flux, flags)
        mine = self._pushed(self._own, flags)
        if (theirs is None) != (mine is None):
            yield f"only {'Flux' if theirs is None else 'flux-upgrade'} refuses `{' '.join(flags)}`"
        elif theirs is not None and mine is not None:
            for path in sorted(theirs.keys() | mine.keys()):
                if theirs.get(path) != mine.get(path):
                    yield f"{path} {flags}"

    def _pushed(self, by: Callable[[Sequence[str]], bool], flags: Sequence[str]) -> dict[str, str] | None:
        """The files of the branch; None if it was refused. The repository is as before then."""
        before = git("rev-parse", "main", at=self.bare.folder)
        try:
            return self._files() if by(flags) else None
        finally:
            git("update-ref", "refs/heads/main", before, at=self.bare.folder)

    def _files(self) -> dict[str, str]:
        """With who made the commits."""
        listed = git("ls-tree", "-r", "-z", "main", at=self.bare.folder).split("\0")
        entries = (entry.partition("\t") for entry in listed if entry)
        found = {name: git("cat-file", "blob", words.split()[2], at=self.bare.folder) for words, _, name in entries}
        return {**found, "author": git("log", "-1", "--format=%an <%ae>", "main", at=self.bare.folder)}

    def _own(self, flags: Sequence[str]) -> bool:
        done = self.laptop.bootstrap(
            *("--provider=git", *self.url, *self.ours, "--push", f"--version={FLUX}", *flags), env=self.env or {}
        )
        assert (done.code, error_names(done.err)) in ((0, set()), (2, {"usage"})), done.err
        return done.code == 0

    def _flux(self, flags: Sequence[str]) -> bool:
        """Whether it made both commits; it would go on for minutes, waiting for controllers that nobody runs."""
        command = [str(program("flux")), "bootstrap", "git", *self.url, *self.theirs, "--silent"]
        command.append(f"--kubeconfig={self.kubeconfig}")
        process = subprocess.Popen(  # noqa: S603  (ours)
            [*command, *flags], env={"HOME": "/nonexistent"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        until = time.monotonic() + _PATIENCE
        try:
            while process.poll() is None:
                if "/gotk-sync.yaml" in git("ls-tree", "-r", "--name-only", "main", at=self.bare.folder):
                    return True
                assert time.monotonic() < until, flags
                time.sleep(0.05)
        finally:
            process.kill()
            process.communicate()
        return False


def test_each_flag_set_commits_the_same_files(start: Start, tmp_path: Path, *, update_golden: bool) -> None:
    laptop = Laptop(require_shared("conformance", "releases"), {"GIT_PASSWORD": WRITE})
    kubeconfig = start().server.kubeconfig
    (tmp_path / "served").mkdir()
    found: list[str] = []
    with HttpHost(tmp_path / "served") as host:
        bare = Bare.make(host.root / "octo" / "fleet.git")
        git("push", "--quiet", bare.folder, "main", at=clone_with(tmp_path / "ann"))
        url = (f"--url={host.url}/octo/fleet.git", "--username=git", "--token-auth", "--allow-insecure-http")
        judged = Judged(bare, url, kubeconfig, laptop, theirs=(f"--password={WRITE}",))
        sets = list(dict.fromkeys(flag_sets()))
        for flags in sets:
            found += judged.differing(flags)
    differences.assert_known(COMMAND, len(sets), found, update=update_golden)


def test_over_ssh_both_commit_the_same_files(start: Start, tmp_path: Path) -> None:
    laptop = Laptop(require_shared("conformance", "releases"))
    bare = Bare.make(tmp_path / "fleet.git")
    git("push", "--quiet", bare.folder, "main", at=clone_with(tmp_path / "bob"))
    keys = tmp_path / "ssh"
    with SshHost(keys) as host:
        url = (f"--url={host.url(bare.folder)}", f"--private-key-file={keys / 'writer'}")
        own = (f"--known-hosts={keys / 'known_hosts'}",)
        env = {"GIT_SSH_COMMAND": host.command("writer")}
        judged = Judged(bare, url, start().server.kubeconfig, laptop, ours=own, env=env)
        assert not list(judged.differing(()))
        assert not list(judged.differing(("--path=clusters/staging", "--interval=5m")))
