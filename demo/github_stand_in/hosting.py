"""What an account and a repository have beside Git, issues and pull requests: deploy keys, teams, secrets.

Secrets are really sealed and opened, by libsodium (PyNaCl), so that a test can see what was put there.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from github_stand_in.refusals import Refused

if TYPE_CHECKING:
    from nacl.public import PrivateKey

HOST_KEYS = (
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGdpdGh1YidzIHN0YW5kLWluLCBlZDI1NTE5ICE",
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAAAB",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAABGdpdGg=",
)
"""What ``GET /meta`` tells, unless ``StandIn.host_keys`` was set to something else."""
MAX_SECRET = 48 * 1024
"""Bytes: https://docs.github.com/actions/reference/limits."""


@dataclass
class Organization:
    """An organization, as its owners set it."""

    login: str
    teams: tuple[str, ...] = ("platform",)
    members_may_create: bool = True
    """Whether people who do not own it may create repositories."""
    is_of_enterprise: bool = False
    """Only these have internal repositories."""


@dataclass(frozen=True)
class DeployKey:
    """A key that may read or write one repository."""

    id: int
    title: str
    key: str
    read_only: bool
    added_by: str
    created_at: str


class Vault:
    """The secrets of a repository or of one of its environments, with a key pair of its own."""

    def __init__(self, name: str) -> None:
        self.secrets: dict[str, str] = {}
        """Name, in upper case → what was sealed."""
        self._seed = hashlib.sha256(name.encode()).digest()

    def _private(self) -> PrivateKey:
        from nacl.public import PrivateKey

        return PrivateKey(self._seed)

    @property
    def key_id(self) -> str:
        """Names the key pair."""
        return str(int.from_bytes(self._seed[:7], "big"))

    @property
    def public_key(self) -> str:
        """Base64."""
        return base64.b64encode(bytes(self._private().public_key)).decode()

    def put(self, name: str, sealed: str, key_id: str) -> bool:
        """Open a secret and keep it. Whether it is new. Raises Refused."""
        from nacl.exceptions import CryptoError
        from nacl.public import SealedBox

        try:
            text = SealedBox(self._private()).decrypt(base64.b64decode(sealed, validate=True)).decode()
        except (CryptoError, binascii.Error, UnicodeDecodeError, ValueError):
            text = None
        if text is None or key_id != self.key_id:
            raise Refused(422, "Bad request - validation failed due to an improperly encrypted secret")
        if len(text.encode()) > MAX_SECRET:
            raise Refused(422, "Validation Failed", [{"code": "custom", "message": "secret is too large"}])
        is_new = name.upper() not in self.secrets
        self.secrets[name.upper()] = text
        return is_new
