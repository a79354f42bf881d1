"""A provider's API besides pull requests: repositories, deploy keys, secrets. Values, and the port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from flux_upgrade.model.values import NamedTuple


class NewRepository(NamedTuple):
    """A repository to be created, if it is not there."""

    name: str  # `owner/name`
    is_personal: bool = False  # The owner is a person, not an organization
    visibility: str = "private"  # `private`, `internal` or `public`
    description: str = ""
    default_branch: str = "main"


class HostedRepository(NamedTuple):
    name: str  # `owner/name`
    url: str  # For a browser; no trailing slash
    default_branch: str
    visibility: str
    is_empty: bool
    is_archived: bool = False


class DeployKey(NamedTuple):
    """A public key that may read (or write) one repository."""

    title: str
    public: str  # `ssh-ed25519 AAAA…`, without a comment
    is_read_only: bool = True
    id: int = 0  # The provider's; 0: not registered


class AppCredentials(NamedTuple):
    """Of a GitHub App, as source-controller wants them."""

    app_id: str
    private_key: str  # PEM; shown nowhere
    installation_id: str = ""
    installation_owner: str = ""
    base_url: str = ""

    def __repr__(self) -> str:
        return f"AppCredentials({self.app_id})"


class KeyPair(NamedTuple):
    private: str  # The file's text, as ssh reads it; shown nowhere
    public: str  # `ssh-ed25519 AAAA…`, without a comment and line end
    passphrase: str = ""  # That the private part is encrypted with; empty: it is not. Shown nowhere.

    def __repr__(self) -> str:
        return f"KeyPair({self.public})"


class Secret(NamedTuple):
    """A Kubernetes Secret of type Opaque (or ``kubernetes.io/dockerconfigjson``), to be handed over."""

    name: str
    namespace: str
    string_data: dict[str, str]  # Shown nowhere
    type: str = "Opaque"

    def __repr__(self) -> str:
        return f"Secret({self.namespace}/{self.name}: {', '.join(self.string_data)})"


class Hosting(Protocol):
    """A provider's API, about one repository. All raise ForgeUnavailable, ForbiddenByForge."""

    def repository(self) -> HostedRepository | None:
        """The repository; None: there is none, or the token does not see it."""

    def create(self, wanted: NewRepository) -> HostedRepository:
        """Create the repository; one that is there already (somebody was faster) is given as it is."""

    def teams(self) -> Mapping[str, str]:
        """Slug of each team of the owner that has access → its permission, as ``--team`` spells it."""

    def grant(self, team: str, permission: str) -> None:
        """Give a team of the owner access. ``team``: its slug. Done twice, it is granted once."""

    def deploy_keys(self) -> tuple[DeployKey, ...]:
        """All that are registered."""

    def add_deploy_key(self, key: DeployKey) -> DeployKey:
        """Register a key."""

    def remove_deploy_key(self, key: DeployKey) -> None:
        """Remove a registered key; one that is gone already is no error."""

    def host_keys(self) -> tuple[str, ...]:
        """The provider's own SSH host keys, ``ssh-ed25519 AAAA…``; none where it does not publish them."""

    def require_secret(self, name: str, environment: str = "") -> None:
        """Refuse what ``put_secret`` would, as far as that is known without a write."""

    def has_secret(self, name: str, environment: str = "") -> bool:
        """Whether there is a secret of GitHub Actions of that name, there or in an environment."""

    def put_secret(self, name: str, text: str, environment: str = "") -> None:
        """Seal a secret of GitHub Actions, of the repository or of one of its environments."""

    def may_write_workflows(self) -> bool | None:
        """Whether the token may change files below ``.github/workflows``; None: unknown."""
