"""A forge on the stand-in for GitHub, checked against what GitHub publishes; only sleeping moves its clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from github_stand_in import Repository as Hosted
from github_stand_in import Request, StandIn, Token

from adapters.conftest import Clock
from flux_upgrade.adapters.github.api import GitHubApi
from flux_upgrade.adapters.github.forge import GitHubForge
from flux_upgrade.adapters.http.client import Client, Credential
from flux_upgrade.model.forge import (
    Done,
    NewCommit,
    OpenPull,
    PullRequest,
    Question,
    Repository,
    Status,
    Step,
    UpdatePull,
)
from replacing import replace
from stand_in.checked import checked

BRANCH = "flux-upgrade/production/patch"
PATH = "clusters/production/flux-system/gotk-components.yaml"
MANIFEST = b"# Flux Version: v2.8.0\n"
UPGRADED = b"# Flux Version: v2.8.1\n"
STATUS = Status("flux-upgrade/proof", "success", "1 installation proved: exact", "https://example.com/run/1")
ASKED = Question((BRANCH,), (PATH,))
BODY = "Upgrades Flux.\n"
TITLE = "Upgrade Flux to v2.8.1"


@dataclass
class World:
    """One repository, one token, one forge."""

    hub: StandIn
    fleet: Hosted
    stack: ExitStack
    clock: Clock
    token: Token
    forge: GitHubForge = field(init=False)

    def __post_init__(self) -> None:
        self.forge = self.forge_of(self.token)

    def forge_of(self, token: Token | str, name: str = "acme/fleet", **options: Any) -> GitHubForge:
        value = token if isinstance(token, str) else token.value
        addresses = {"api_url": self.hub.api_url, "graphql_url": self.hub.graphql_url}
        credential = Credential(self.hub.url, value) if value else None
        client = Client(self.clock.timing, credential=credential, timeout=5.0)
        self.stack.callback(client.close)
        arguments = {"timing": self.clock.timing, "pause": 0.0, **addresses, **options}
        return GitHubForge(GitHubApi(client, **arguments), name, value)

    def use(self, kind: str, permissions: Mapping[str, str] | None = None, **more: Any) -> None:
        """Go on with another token."""
        self.token = self.hub.token(kind, permissions, **more)
        self.forge = self.forge_of(self.token)

    def fetch(self) -> Repository:
        return self.forge.fetch(ASKED)

    def opening(self, **changes: Any) -> OpenPull:
        """What opens the pull request on the base as it is."""
        seen = self.fetch()
        head = seen.branches[BRANCH].head
        files = {PATH: (seen.files[PATH].mode, UPGRADED)}
        commit = NewCommit("Upgrade Flux\n\nFlux-Upgrade-Plan: 1", seen.base_oid, seen.base_tree, files)
        step = OpenPull(
            branch=BRANCH,
            base=seen.base,
            before="" if head is None else head.oid,
            commit=commit,
            title=TITLE,
            body=BODY,
            is_draft=False,
            status=STATUS,
        )
        return replace(step, **changes)

    def opened(self, **changes: Any) -> Done:
        """Open it, and start a new log."""
        done = self.apply(self.opening(**changes))
        self.hub.forget()
        return done

    def updating(self, **changes: Any) -> UpdatePull:
        """An update of the open pull request that changes nothing but what is given."""
        seen = self.fetch()
        head = seen.branches[BRANCH].head
        assert head is not None
        return UpdatePull(pull=seen.branches[BRANCH].pulls[0], branch=BRANCH, before=head.oid, **changes)

    def remade(self, content: bytes = b"# Flux Version: v2.8.2\n") -> NewCommit:
        """Another commit on the base as it is."""
        seen = self.fetch()
        return NewCommit("Again", seen.base_oid, seen.base_tree, {PATH: ("100644", content)})

    @property
    def pull(self) -> PullRequest:
        """The newest pull request of the branch."""
        return self.fetch().branches[BRANCH].pulls[0]

    def apply(self, step: Step) -> Done:
        """Take a step, with a log of its own."""
        self.hub.forget()
        return self.forge.apply(step)

    def before(self, at: str, action: Callable[[], object]) -> None:
        """Let ``action`` happen right before the first call whose path or mutation holds ``at``."""
        done: list[int] = []

        def watch(number: int, request: Request) -> None:
            if not done and (at in request.path or at in request.operation):
                done.append(number)
                action()

        self.hub.before_call = watch

    @property
    def calls(self) -> list[str]:
        """``POST /git/trees``, ``GRAPHQL updateRefs``: since the log was emptied."""
        return [
            f"GRAPHQL {call.operation}"
            if call.path == "/graphql"
            else f"{call.method} {call.path.removeprefix('/repos/acme/fleet')}"
            for call in self.hub.calls
        ]


@contextmanager
def world(folder: Path, **settings: Any) -> Iterator[World]:
    """A repository with one manifest, and GITHUB_TOKEN."""
    with checked(folder) as hub, ExitStack() as stack:
        fleet = hub.create_repository("acme/fleet", {PATH: MANIFEST}, **settings)
        yield World(hub, fleet, stack, Clock(now=float(hub.clock.epoch)), hub.token("actions"))
