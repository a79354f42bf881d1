"""Who we are for a chart repository: what ``helm repo add`` and ``helm registry login`` wrote, else Docker's config.

A user who can pull a chart with Helm on this machine has one of these files. Helm looks into its own first, and for
registries into Docker's afterwards (helm.sh, "Use OCI-based registries"); so do we, also for ``index.yaml``, because
registries such as Harbor and Artifactory serve both at one host, with one login.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from urllib.parse import urlsplit

import yaml

from flux_upgrade.adapters.http import origins
from flux_upgrade.adapters.local.files import read_regular
from flux_upgrade.adapters.oci.registry_credentials import CredentialSource, RegistryCredential, same_host
from flux_upgrade.model.text import one_line
from flux_upgrade.model.values import NamedTuple

_MAX_FILE = 1 << 20
# What servers read in one way: no escape, no `;parameter`.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._~-]+(?:/[A-Za-z0-9._~-]+)*")


class _Entry(NamedTuple):
    url: str
    credential: RegistryCredential


class HelmRepositories:
    """Helm's ``repositories.yaml`` at ``path``: a user name and a password for each URL (``Entry`` in helm's pkg/repo).

    A file that is missing or cannot be read has none. An entry counts if its password may be sent: over https, or on
    the loopback. Client certificates in it are not used.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def credential(self, repository: str) -> RegistryCredential | None:
        """That of the entry with the same URL; a final ``/`` makes no difference. Raises ValueError for no URL."""
        wanted = _same(repository)
        return next((each.credential for each in self._entries if _same(each.url) == wanted), None)

    def names(self, host: str) -> bool:
        return any(_place(each.url) == host.lower() for each in self._entries)

    @cached_property
    def _entries(self) -> tuple[_Entry, ...]:
        try:
            text = read_regular(self._path, _MAX_FILE)
            content = yaml.safe_load(text)  # not libyaml, which a deep file makes crash
        except (OSError, ValueError, yaml.YAMLError, RecursionError):
            return ()
        listed = content.get("repositories") if isinstance(content, dict) else None
        return tuple(self._read(listed if isinstance(listed, list) else ()))

    def _read(self, listed: Iterable[object]) -> Iterator[_Entry]:
        for each in listed:
            stated = each if isinstance(each, dict) else {}
            url, username, password = (stated.get(key) for key in ("url", "username", "password"))
            if not (isinstance(url, str) and isinstance(username, str) and isinstance(password, str) and password):
                continue
            if may_hear(url):
                source = f"the repository {one_line(str(stated.get('name')))} in {one_line(self._path)}"
                yield _Entry(url, RegistryCredential(source, username, password))


class ChartCredentials(NamedTuple):
    """For all chart repositories: those with an ``index.yaml``, and ``registries`` for those that are one."""

    repositories: HelmRepositories
    registries: CredentialSource

    def of_index(self, repository: str) -> RegistryCredential | None:
        """What logs in to a repository with an ``index.yaml``, by its URL; None: nothing that may be sent there.

        Raises UsageError.
        """
        if not may_hear(repository):
            return None
        found = self.repositories.credential(repository)
        if found is None:
            found = self.registries.credential(_place(repository), _plain_path(repository))
        return found if found is not None and found.basic else None

    def names(self, host: str) -> bool:
        """As ``CredentialSource.names``. Raises UsageError."""
        return self.repositories.names(host) or self.registries.names(host)


def may_hear(url: str) -> bool:
    """Whether a password may be sent there: over https, or on the loopback."""
    try:
        scheme = origins.origin(url).scheme
    except ValueError:
        return False
    return scheme == "https" or (scheme == "http" and origins.is_loopback(_place(url)))


def _place(url: str) -> str:
    """``HOST``, or ``HOST:PORT`` for a port that is not the scheme's own. Raises ValueError."""
    scheme, host, port = origins.origin(url)
    return same_host(host if port == origins.PORTS.get(scheme) else f"{host}:{port}")


def _plain_path(url: str) -> str:
    """What keys with a path are compared with; empty, so that none matches, where it might be read in two ways."""
    path = urlsplit(url).path.strip("/")
    is_plain = _PLAIN_PATH.fullmatch(path) is not None and not {".", ".."} & {*path.split("/")}
    return path if is_plain else ""


def _same(url: str) -> tuple[origins.Origin, str, str]:
    parts = urlsplit(url)
    return origins.origin(url), parts.path.rstrip("/"), parts.query
