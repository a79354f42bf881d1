"""What a provider's API is asked for besides pull requests: repositories, keys, secrets. Values only."""

from __future__ import annotations

from flux_upgrade.model.values import NamedTuple


class NewRepository(NamedTuple):
    """A repository to be created, if it is not there."""

    name: str
    """``owner/name``."""
    is_personal: bool = False
    """The owner is a person, not an organization."""
    visibility: str = "private"
    """``private``, ``internal`` or ``public``."""
    description: str = ""
    default_branch: str = "main"


class Hosted(NamedTuple):
    """A repository as the provider tells of it."""

    name: str
    """``owner/name``."""
    url: str
    """For a browser; no trailing slash."""
    default_branch: str
    visibility: str
    is_empty: bool
    is_archived: bool = False


class DeployKey(NamedTuple):
    """A public key that may read (or write) one repository."""

    title: str
    public: str
    """``ssh-ed25519 AAAA…``, without a comment."""
    is_read_only: bool = True
    id: int = 0
    """The provider's; 0: not registered."""


class AppCredentials(NamedTuple):
    """Of a GitHub App, as source-controller wants them."""

    app_id: str
    private_key: str
    """PEM; shown nowhere."""
    installation_id: str = ""
    installation_owner: str = ""
    base_url: str = ""

    def __repr__(self) -> str:
        """Without the key."""
        return f"AppCredentials({self.app_id})"


class KeyPair(NamedTuple):
    """An SSH key."""

    private: str
    """The file's text, as ssh reads it; shown nowhere."""
    public: str
    """``ssh-ed25519 AAAA…``, without a comment and line end."""
    passphrase: str = ""
    """That the private part is encrypted with; empty: it is not. Shown nowhere."""

    def __repr__(self) -> str:
        """Without the private part."""
        return f"KeyPair({self.public})"


class Secret(NamedTuple):
    """A Kubernetes Secret of type Opaque (or ``kubernetes.io/dockerconfigjson``), to be handed over."""

    name: str
    namespace: str
    string_data: dict[str, str]
    """Shown nowhere."""
    type: str = "Opaque"

    def __repr__(self) -> str:
        """Without its values."""
        return f"Secret({self.namespace}/{self.name}: {', '.join(self.string_data)})"
