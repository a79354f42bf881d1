"""Creating a repository, its deploy keys and secrets, by PyGithub. Only a run that writes imports it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from github.GithubException import GithubException
from github.PublicKey import encrypt

from flux_upgrade.adapters.github import hosting_words as words
from flux_upgrade.adapters.github.transport import Transport, translated_errors
from flux_upgrade.model.hosting import DeployKey, NewRepository
from flux_upgrade.model.ports import Timing

_NAME_TAKEN = "name already exists"


class GitHubHostingWrites:
    """The writes of ``GitHubHosting`` about the repository ``name``; each is sent once."""

    def __init__(self, transport: Transport, timing: Timing, name: str) -> None:
        self._transport = transport
        self._timing = timing
        self._name = name
        self._url = f"/repos/{name}"

    def create(self, wanted: NewRepository) -> dict[str, Any] | None:
        """The repository as GitHub tells of it; None: there is one of that name already."""
        owner, _, name = wanted.name.partition("/")
        body: dict[str, Any] = {"name": name, "private": wanted.visibility != "public", "auto_init": False}
        if wanted.description:
            body["description"] = wanted.description
        if wanted.visibility == "internal":
            body["visibility"] = "internal"
        path = "/user/repos" if wanted.is_personal else f"/orgs/{quote(owner, safe='')}/repos"
        with translated_errors(words.creating(wanted.name), self._timing.now):
            try:
                made: dict[str, Any]
                _, made = self._transport.requestJsonAndCheck("POST", path, input=body)
            except GithubException as error:
                if error.status == HTTPStatus.UNPROCESSABLE_ENTITY and _NAME_TAKEN in str(error.data):
                    return None
                raise
        return made

    def grant(self, team: str, permission: str) -> None:
        owner = self._name.partition("/")[0]
        path = f"/orgs/{quote(owner, safe='')}/teams/{quote(team, safe='')}{self._url}"
        with translated_errors(words.granting(team, self._name), self._timing.now):
            self._transport.requestJsonAndCheck("PUT", path, input={"permission": permission})

    def add_key(self, key: DeployKey) -> dict[str, Any]:
        """Register a key: as GitHub tells of it."""
        body = {"title": key.title, "key": key.public, "read_only": key.is_read_only}
        with translated_errors(words.adding_key(self._name), self._timing.now):
            made: dict[str, Any]
            _, made = self._transport.requestJsonAndCheck("POST", f"{self._url}/keys", input=body)
        return made

    def remove_key(self, key: DeployKey) -> bool:
        """Remove a key; False: GitHub says that there is none, or that the token may not know."""
        with translated_errors(words.removing_key(key.title, self._name), self._timing.now):
            try:
                self._transport.requestJsonAndCheck("DELETE", f"{self._url}/keys/{key.id}")
            except GithubException as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
                return False
        return True

    def put_secret(self, name: str, text: str, environment: str, place: str, key: tuple[str, str]) -> None:
        """Seal ``text`` with ``key`` (its id, and the key in base64) and put it below ``place``.

        Raises ValueError for a key that is none.
        """
        sealed = {"key_id": key[0], "encrypted_value": encrypt(key[1], text)}
        with translated_errors(words.sealing(name, environment, self._name), self._timing.now):
            self._transport.requestJsonAndCheck("PUT", f"{place}/{quote(name, safe='')}", input=sealed)
