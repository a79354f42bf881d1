"""GitHub as a host on the stand-in, checked against what GitHub publishes; only sleeping moves its clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from github_stand_in import Request, StandIn, Token

from adapters.conftest import Clock
from flux_upgrade.adapters.github.api import GitHubApi
from flux_upgrade.adapters.github.hosting import GitHubHosting
from flux_upgrade.adapters.http.client import Client, Credential
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.hosting import DeployKey, NewRepository
from stand_in.checked import checked

NAME = "acme/fleet"
NEW = NewRepository(NAME, description="Clusters of Acme")
KEY = DeployKey(
    "flux-system-main-flux-system-./clusters/staging",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPxN0Yr5BBcY2Tn6tIWHdGQ7q4LCrhGW5n2Rm0xAtTQd",
)
OTHER = DeployKey("other", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKIhyV8fnCxkXAXHkN0Xn3N1gCk0M8cjE0jJwC9r1sGL")
SECRET = "apiVersion: v1\nkind: Secret\nstringData: {identity: hush-hush ✓}\n"
ADMIN = {"administration": "write", "secrets": "write", "environments": "write", "members": "read"}


@dataclass
class World:
    """One server, one organization, and whoever asks."""

    hub: StandIn
    stack: ExitStack
    clock: Clock

    def hosting(
        self, kind: str = "classic", permissions: Mapping[str, str] | None = None, **more: Any
    ) -> GitHubHosting:
        return self.hosting_of(self.hub.token(kind, permissions, **more))

    def hosting_of(self, token: Token | None, name: str = NAME, **options: Any) -> GitHubHosting:
        value = "" if token is None else token.value
        credential = Credential(self.hub.url, value) if value else None
        client = Client(self.clock.timing, credential=credential, timeout=5.0)
        self.stack.callback(client.close)
        addresses = {"api_url": self.hub.api_url, "graphql_url": self.hub.graphql_url}
        arguments = {"timing": self.clock.timing, "pause": 0.0, **addresses, **options}
        return GitHubHosting(GitHubApi(client, **arguments), name, value)

    @property
    def calls(self) -> list[str]:
        """``POST /repos/acme/fleet/keys``, in order."""
        return [f"{call.method} {call.path}" for call in self.hub.calls]

    @property
    def writes(self) -> list[str]:
        return [f"{call.method} {call.path}" for call in self.hub.writes]

    def sent(self) -> list[tuple[str, Any]]:
        """Collects path and body of each write from now on."""
        found: list[tuple[str, Any]] = []

        def watch(number: int, request: Request) -> None:
            del number
            if request.is_write:
                found.append((request.path, request.json))

        self.hub.before_call = watch
        return found


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """A server with the organization ``acme``, which has nothing yet."""
    with checked(folder) as hub, ExitStack() as stack:
        hub.add_organization("acme")
        yield World(hub, stack, Clock(now=float(hub.clock.epoch)))


def message_and_hint(error: FluxUpgradeError) -> str:
    """Message and hint."""
    return f"{error.message} -- {error.hint}"
