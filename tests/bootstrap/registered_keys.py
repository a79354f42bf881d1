"""The port Hosting over a list of keys, which can fail at any write."""

from __future__ import annotations

from dataclasses import dataclass, field

from flux_upgrade.model.errors import ForbiddenByForge, ForgeUnavailable
from flux_upgrade.model.hosting import DeployKey, HostedRepository, NewRepository


@dataclass
class RegisteredKeys:
    """As GitHub keeps them: no public key is taken twice, titles may repeat."""

    keys: list[DeployKey] = field(default_factory=list)
    published: tuple[str, ...] = ("ssh-ed25519 AAAAhost", "ecdsa-sha2-nistp256 AAAAhost")
    secrets: dict[tuple[str, str], str] = field(default_factory=dict)
    """(name, environment) → text."""
    writes: list[str] = field(default_factory=list)
    fails_after: int = -1
    """Writes that succeed before one fails; -1: all do."""

    def _write(self, what: str) -> None:
        if self.fails_after == 0:
            raise ForgeUnavailable("the network is gone")
        self.fails_after -= 1
        self.writes.append(what)

    def repository(self) -> HostedRepository | None:
        return HostedRepository("fleet/infra", "https://github.com/fleet/infra", "main", "private", is_empty=False)

    def create(self, wanted: NewRepository) -> HostedRepository:
        raise ForbiddenByForge(f"{wanted.name} is there")

    def teams(self) -> dict[str, str]:
        return {}

    def grant(self, team: str, permission: str) -> None:
        self._write(f"grant {team} {permission}")

    def deploy_keys(self) -> tuple[DeployKey, ...]:
        return tuple(self.keys)

    def add_deploy_key(self, key: DeployKey) -> DeployKey:
        self._write("add")
        if any(each.public == key.public for each in self.keys):
            raise ForbiddenByForge("key is already in use")
        registered = key._replace(id=max((each.id for each in self.keys), default=0) + 1)
        self.keys.append(registered)
        return registered

    def remove_deploy_key(self, key: DeployKey) -> None:
        self._write("remove")
        self.keys = [each for each in self.keys if each.id != key.id]

    def host_keys(self) -> tuple[str, ...]:
        return self.published

    def require_secret(self, name: str, environment: str = "") -> None:
        del name, environment

    def has_secret(self, name: str, environment: str = "") -> bool:
        return (name, environment) in self.secrets

    def put_secret(self, name: str, text: str, environment: str = "") -> None:
        self._write("secret")
        self.secrets[name, environment] = text

    def may_write_workflows(self) -> bool | None:
        return None
