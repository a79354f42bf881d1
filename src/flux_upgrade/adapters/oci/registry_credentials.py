"""Who we are for a registry: a user name and a password, or an identity token, each for one host."""

from __future__ import annotations

import os
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from flux_upgrade.adapters.local import programs
from flux_upgrade.adapters.local.files import read_regular
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.text import json_of, one_line

DOCKER_HUB = "registry-1.docker.io"  # the host that answers for Docker Hub

_DOCKER_HUB_NAMES = ("docker.io", "index.docker.io", DOCKER_HUB)


@dataclass(frozen=True, slots=True)
class RegistryCredential:
    """What logs in to a registry, or to the service that gives tokens for it."""

    source: str  # where it comes from, for messages
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    """Something that a token is given for, without a password (Docker's OAuth2)."""

    @property
    def basic(self) -> str:
        """The value of an ``Authorization`` header (RFC 7617); empty where there is no password."""
        if not self.password:
            return ""
        # JSON and YAML can have halves of surrogate pairs. The error about them would hold the password.
        pair = f"{self.username}:{self.password}".encode("utf-8", "surrogatepass")
        return f"Basic {b64encode(pair).decode()}"

    @property
    def secrets(self) -> tuple[str, ...]:
        basic = self.basic.removeprefix("Basic ")
        return tuple(filter(None, (self.password, self.identity_token, basic)))


class CredentialSource(Protocol):
    """Where credentials are looked up, when a registry asks for them and not before."""

    def credential(self, host: str, path: str) -> RegistryCredential | None:
        """The credentials for a repository; None: there are none.

        ``host`` with its port, if it is named; ``path`` below it, ``org/flux-manifests``.
        Raises UsageError.
        """

    def names(self, host: str) -> bool:
        """Whether ``host``, as above, is one of those that the credentials are for; none is looked up.

        Raises UsageError.
        """


_GIVEN = "--username and --password-stdin"


class GivenCredentials:
    """A CredentialSource with a user name and a password for one host."""

    def __init__(self, host: str, username: str, password: str) -> None:
        """Raises UsageError for what no header can carry (RFC 7617: no colon in a user name)."""
        if not username or not password or ":" in username or not (username + password).isprintable():
            raise UsageError(
                f"the credentials from {_GIVEN} are not valid",
                hint="set both, each in one line; a user name contains no colon",
            )
        self._host = same_host(host)
        self._given = RegistryCredential(_GIVEN, username, password)

    def credential(self, host: str, path: str) -> RegistryCredential | None:  # noqa: ARG002 all of the host's have one
        return self._given if self.names(host) else None

    def names(self, host: str) -> bool:
        return same_host(host) == self._host


class FirstOf:
    """A CredentialSource: what the first of several has."""

    def __init__(self, *sources: CredentialSource) -> None:
        self._sources = sources

    def credential(self, host: str, path: str) -> RegistryCredential | None:
        """Raises UsageError."""
        found = (each.credential(host, path) for each in self._sources)
        return next((each for each in found if each is not None), None)

    def names(self, host: str) -> bool:
        """Raises UsageError."""
        return any(each.names(host) for each in self._sources)


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

    def names(self, host: str) -> bool:
        """Raises nothing."""
        try:
            return self._source.names(host)
        except UsageError:
            return False


def same_host(host: str) -> str:
    """A host in lower case; of Docker Hub, which has several names, the one that answers."""
    lower = host.lower()
    return DOCKER_HUB if lower in _DOCKER_HUB_NAMES else lower


_MAX_FILE = 1 << 20
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DOCKER_HUB_KEY = "https://index.docker.io/v1/"  # what Docker calls its own registry in this file
_IS_TOKEN = "<token>"  # noqa: S105  (the user name that says so)
_NOT_FOUND = ("credentials not found in native keychain", "no credentials server URL")
_LOG_IN = "run `docker login` again, or set another --docker-config"


class DockerConfig:
    """A CredentialSource. Nothing is read before a registry asks.

    ``path``: the file, or the folder with ``config.json`` in it. Where it was not asked for by name
    (``required`` is false), it may be missing. Helpers are looked for in the absolute folders of
    ``search_path`` (``:`` between), and run with ``environment`` alone, at most ``timeout`` seconds.
    """

    def __init__(
        self,
        path: str,
        search_path: str,
        environment: Mapping[str, str],
        *,
        required: bool = False,
        timeout: float = 30.0,
    ) -> None:
        self._path = path
        self._search_path = search_path
        self._environment = dict(environment)
        self._required = required
        self._timeout = timeout

    def credential(self, host: str, path: str) -> RegistryCredential | None:
        """The host's own helper, else the entry in the file, else the common helper."""
        helpers = self._object("credHelpers")
        for key in helpers:
            if _place(key) == same_host(host):
                return self._helped(f"credHelpers['{one_line(key)}']", helpers[key], host)
        entry = self._entry(host, path)
        if entry is not None:
            return entry
        store = self._content.get("credsStore")
        return self._helped("credsStore", store, host) if store else None

    def names(self, host: str) -> bool:
        """Whether it is in a key of the file. The common helper may know any host: it is not asked."""
        keys = (*self._object("auths"), *self._object("credHelpers"))
        return any(_place(key).partition("/")[0] == same_host(host) for key in keys)

    def _entry(self, host: str, path: str) -> RegistryCredential | None:
        """The longest key that the repository is below; entries without a secret are passed over."""
        entries = self._object("auths")
        repository = f"{same_host(host)}/{path}"
        # Docker writes keys with a scheme for old servers only: the plain one is the newer.
        keys = sorted(entries, key=lambda key: (len(_place(key)), "://" not in key), reverse=True)
        for key in keys:
            if f"{repository}/".startswith(f"{_place(key)}/"):
                found = self._of_entry(f"auths['{one_line(key)}']", entries[key])
                if found is not None:
                    return found
        return None

    def _of_entry(self, key: str, entry: object) -> RegistryCredential | None:
        if not isinstance(entry, dict):
            raise self._error("is not an object", key)
        username, password = _text(entry, "username"), _text(entry, "password")
        if auth := _text(entry, "auth"):
            try:
                username, colon, password = b64decode(auth, validate=True).decode().partition(":")
            except ValueError:
                colon = ""
            if not colon:
                raise self._error("is not the base64 of a user name, a colon and a password", f"{key}.auth")
            password = password.rstrip("\0")
        token = _text(entry, "identitytoken")
        if not password and not token:
            return None
        return RegistryCredential(f"{key} of {one_line(self._path)}", username, password, token)

    def _helped(self, key: str, name: object, host: str) -> RegistryCredential | None:
        if not isinstance(name, str) or _HELPER.fullmatch(name) is None:
            raise self._error("has no credential helper", key)
        asked = _DOCKER_HUB_KEY if same_host(host) == DOCKER_HUB else host
        answer = self._run(key, f"docker-credential-{name}", asked)
        if answer is None:
            return None
        username, secret = _text(answer, "Username"), _text(answer, "Secret")
        if not secret:
            return None
        source = f"{key} of {one_line(self._path)}"
        if username == _IS_TOKEN:
            return RegistryCredential(source, identity_token=secret)
        return RegistryCredential(source, username, secret)

    def _run(self, key: str, name: str, asked: str) -> Mapping[str, object] | None:
        program = programs.find(self._search_path, name)
        if program is None:
            raise self._error(f"needs {name}, which is not on PATH", key)
        try:
            done = programs.run((program, "get"), self._environment, self._timeout, given=asked.encode())
        except programs.CannotRun as error:
            why = f"failed to start: {error}" if error.__cause__ else str(error).removeprefix("it ")
            raise self._error(f"needs {name}, which {why}", key) from None
        # What it prints is not shown: nobody knows what stands in it.
        if done.returncode != 0:
            if any(words in (done.stdout + done.stderr).decode("utf-8", "replace") for words in _NOT_FOUND):
                return None
            raise self._error(f"needs {name}, which exited with code {done.returncode}", key)
        answer = json_of(done.stdout)
        if not isinstance(answer, dict):
            raise self._error(f"needs {name}, whose output is not a JSON object", key)
        return answer

    def _object(self, key: str) -> dict[str, object]:
        found = self._content.get(key) or {}
        if not isinstance(found, dict):
            raise self._error("is not an object", key)
        return found

    @cached_property
    def _content(self) -> dict[str, object]:
        if os.path.isdir(self._path):
            self._path = os.path.join(self._path, "config.json")
        try:
            text = read_regular(self._path, _MAX_FILE)
        except FileNotFoundError:
            if not self._required:
                return {}
            raise self._error("does not exist") from None
        except OSError as error:
            raise self._error(f"is not readable: {error.strerror}") from None
        content = json_of(text)
        if not isinstance(content, dict):
            raise self._error("is not a JSON object")
        return content

    def _error(self, why: str, key: str = "") -> UsageError:
        what = f"the Docker config file {one_line(self._path)}"
        return UsageError(f"{f'{key} of ' if key else ''}{what} {one_line(why)}", hint=_LOG_IN)


def _place(key: str) -> str:
    """The host of a key, with the path where it has one that means something."""
    _, has_scheme, stripped = key.rpartition("://")
    host, _, path = stripped.partition("/")
    path = path.rstrip("/")
    is_host_only = has_scheme or path in ("", "v1", "v2")
    return same_host(host) if is_host_only else f"{same_host(host)}/{path}"


def _text(entry: Mapping[str, object], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""
