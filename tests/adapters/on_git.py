"""A Git server with a repository, a person's clone of it, and the steps that tests of the Git forge take."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from flux_upgrade.adapters.git.checkout import Checkout
from flux_upgrade.adapters.git.forge import GitForge
from flux_upgrade.adapters.git.remotes import RemoteAccess
from flux_upgrade.model import markers
from flux_upgrade.model.forge import Extras, NewCommit, OpenPull, Question, Repository, Status, UpdatePull
from flux_upgrade.model.versions import Version
from git_servers import PERSON, WRITE, Bare, HttpHost, git

PATH = "clusters/production/flux-system/gotk-components.yaml"
BRANCH = "flux-upgrade/clusters-production-patch"
QUESTION = Question((BRANCH, "flux-upgrade/other"), (PATH, "missing.yaml"))
STATE = markers.MarkerState("clusters-production", "patch", Version("v2.9.4"), title="abc")
BODY = markers.block("# Flux v2.9.4\n\n- before merging", STATE) + "\n## Notes\n/merge\na \\n b"
NOW = 1_700_000_000.0


@dataclass
class World:
    """A server with a repository, a person's clone of it, and forges that work on it."""

    bare: Bare
    person: Path
    host: HttpHost
    stack: ExitStack
    now: float = NOW

    @property
    def url(self) -> str:
        return f"{self.host.url}/fleet/infra.git"

    def forge(
        self,
        flavour: str = "git",
        *,
        token: str = WRITE,
        checkout: Path | None = None,
        environment: dict[str, str] | None = None,
        url: str = "",
    ) -> GitForge:
        every = {name: value for name, value in PERSON.items() if name not in _IDENTITY} | (environment or {})
        forge = GitForge(
            RemoteAccess(url or self.url, flavour, token=token),
            every,
            lambda: self.now,
            None if checkout is None else Checkout(str(checkout), every),
        )
        return self.stack.enter_context(closing(forge))

    def commit(self, text: str, message: str = "A change", branch: str = "main", path: str = PATH) -> str:
        """A person commits and pushes."""
        git("fetch", "--quiet", "origin", at=self.person)
        if branch in git("branch", "--remotes", "--format=%(refname:lstrip=3)", at=self.person).split():
            git("checkout", "--quiet", "-B", branch, f"origin/{branch}", at=self.person)
        (self.person / path).parent.mkdir(parents=True, exist_ok=True)
        (self.person / path).write_text(text)
        git("add", "--all", at=self.person)
        git("commit", "--quiet", "-m", message, at=self.person)
        git("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}", at=self.person)
        return git("rev-parse", "HEAD", at=self.person)


_IDENTITY = {name for name in PERSON if name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))}


def make(tmp_path: Path, stack: ExitStack, *, sha256: bool = False, with_filter: bool = True) -> World:
    root = tmp_path / "served"
    root.mkdir()
    bare = Bare.make(root / "fleet" / "infra.git", sha256=sha256, with_filter=with_filter)
    person = tmp_path / "person"
    git("init", "--quiet", "--initial-branch=main", f"--object-format={'sha256' if sha256 else 'sha1'}", person)
    git("remote", "add", "origin", bare.folder, at=person)
    world = World(bare, person, stack.enter_context(HttpHost(root)), stack)
    world.commit("v2.9.3\n", "First")
    (bare.folder / "pushes.txt").unlink()
    return world


def opening(
    seen: Repository, text: str = "v2.9.4\n", *, is_draft: bool = False, extras: Extras | None = None
) -> OpenPull:
    head = seen.branches[BRANCH].head
    message = f"chore(deps): update Flux to {text.strip()}\n\nWhy not.\n\nFlux-Upgrade-Target: {text.strip()}"
    return OpenPull(
        branch=BRANCH,
        base=seen.base,
        before="" if head is None else head.oid,
        commit=NewCommit(message, seen.base_oid, seen.base_tree, {PATH: ("100644", text.encode())}),
        title=f"Update Flux to {text.strip()}",
        body=BODY,
        is_draft=is_draft,
        status=Status("flux-upgrade/proof", "success", "proved"),
        extras=extras or Extras(),
    )


def updating(seen: Repository, text: str | None, *, make_ready: bool = False) -> UpdatePull:
    branch = seen.branches[BRANCH]
    assert branch.head is not None
    commit = None if text is None else opening(seen, text).commit
    return UpdatePull(branch.pulls[0], BRANCH, branch.head.oid, commit, make_ready=make_ready)
