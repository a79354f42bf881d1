"""Who we are for a registry: a user name and a password, or an identity token, each for one host."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import Protocol

from flux_upgrade.model.errors import UsageError

DOCKER_HUB = "registry-1.docker.io"
"""The host that answers for Docker Hub."""

_DOCKER_HUB_NAMES = ("docker.io", "index.docker.io", DOCKER_HUB)


@dataclass(frozen=True, slots=True)
class RegistryCredential:
    """What logs in to a registry, or to the service that gives tokens for it."""

    source: str
    """Where it comes from, for messages: ``--username and --password-stdin``."""
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    """Something that a token is given for, without a password (Docker's OAuth2)."""

    @property
    def basic(self) -> str:
        """The value of an ``Authorization`` header (RFC 7617); empty where there is no password."""
        if not self.password:
            return ""
        return f"Basic {b64encode(f'{self.username}:{self.password}'.encode()).decode()}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may hold."""
        basic = self.basic.removeprefix("Basic ")
        return tuple(filter(None, (self.password, self.identity_token, basic)))


class CredentialSource(Protocol):
    """Where credentials are looked up, when a registry asks for them and not before."""

    def credential(self, host: str, path: str) -> RegistryCredential | None:
        """The credentials for a repository; None: there are none.

        ``host`` with its port, if it is named; ``path`` below it, ``org/flux-manifests``.
        Raises UsageError.
        """


class NoCredentials:
    """A CredentialSource that has none."""

    def credential(self, host: str, path: str) -> RegistryCredential | None:
        del host, path
        return None


class GivenCredentials:
    """A CredentialSource with a user name and a password for one host; ``otherwise`` for all others."""

    def __init__(
        self,
        host: str,
        username: str,
        password: str,
        otherwise: CredentialSource | None = None,
        source: str = "--username and --password-stdin",
    ) -> None:
        """Raises UsageError for what no header can carry (RFC 7617: no colon in a user name)."""
        if not username or not password or ":" in username or not (username + password).isprintable():
            raise UsageError(
                f"what was given by {source} cannot be used",
                hint="both have to be there, in one line; a user name has no colon in it",
            )
        self._host = same_host(host)
        self._given = RegistryCredential(source, username, password)
        self._otherwise = otherwise or NoCredentials()

    def credential(self, host: str, path: str) -> RegistryCredential | None:
        if same_host(host) == self._host:
            return self._given
        return self._otherwise.credential(host, path)


class ForgivingCredentials:
    """A CredentialSource that has none where another one cannot be read: for what everybody may pull."""

    def __init__(self, source: CredentialSource) -> None:
        self._source = source

    def credential(self, host: str, path: str) -> RegistryCredential | None:
        """Raises nothing."""
        try:
            return self._source.credential(host, path)
        except UsageError:
            return None


def same_host(host: str) -> str:
    """A host in lower case; of Docker Hub, which has several names, the one that answers."""
    lower = host.lower()
    return DOCKER_HUB if lower in _DOCKER_HUB_NAMES else lower
