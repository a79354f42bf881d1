"""GitHub as the host of a repository: what it is, who may get at it, what its workflows are given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from flux_upgrade.adapters.github import hosting_words as words
from flux_upgrade.adapters.github.api import GitHubApi, json_object, owner_and_name, sensible
from flux_upgrade.adapters.github.refusals import Attempt
from flux_upgrade.model.errors import ForbiddenByForge, UsageError
from flux_upgrade.model.hosting import DeployKey, HostedRepository, NewRepository
from flux_upgrade.model.text import one_line

_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
"""GitHub puts a hyphen in the place of anything else, and the repository would have another name."""
_VISIBILITIES = ("private", "internal", "public")
_INSTALLATION = "ghs_"  # how the tokens of apps begin, and GITHUB_TOKEN, which is the token of one
_SILENT = ("github_pat_", "ghu_")  # how tokens begin of which no header says what they may
_NAME_TAKEN, _KEY_IN_USE = b"name already exists", b"already in use"
_ACTIONS = "github-actions[bot]"


class GitHubHosting:
    """The port Hosting. Arguments and errors are those of ``GitHubForge``.

    Reads are tried again; writes are sent once.
    """

    def __init__(self, github: GitHubApi, repository: str, token: str) -> None:
        self._owner, _ = owner_and_name(repository)
        self._name = one_line(repository)
        self._path = "/repos/" + quote(repository)
        self._is_installation = token.startswith(_INSTALLATION)
        self._is_silent = not token or token.startswith(_SILENT)
        self._github = github

    def repository(self) -> HostedRepository | None:
        """Two calls. Raises UsageError for a repository that was renamed."""
        attempt = Attempt(f"read {self._name}", "contents: read")
        found = self._github.found(self._path, attempt)
        if found is None:
            return None
        facts = json_object(found, attempt)
        with sensible(attempt):
            hosted = _hosted(facts)
        if hosted.name.lower() != self._name.lower():
            now = one_line(hosted.name)
            raise UsageError(
                f"{self._name} was renamed to {now}", hint=f"use the new name {now}, and change the checkout's remote"
            )
        # Git's endpoints answer 409 for a repository without commits. The ``size`` that GitHub tells is no
        # proof: it is found out later, in kilobytes. https://docs.github.com/rest/git/refs#get-a-reference
        answer = self._github.answer(f"{self._path}/git/ref/heads/{quote(hosted.default_branch)}", attempt)
        is_empty = answer.status == HTTPStatus.CONFLICT and b"is empty" in answer.body
        if not is_empty and answer.status != HTTPStatus.NOT_FOUND:
            self._github.require(answer, attempt)
        return hosted._replace(is_empty=is_empty)

    def create(self, wanted: NewRepository) -> HostedRepository:
        """Raises UsageError where the owner, the name or the visibility cannot be."""
        self._require_fit(wanted)
        made = self._create(wanted)
        if made is None:
            there = self.repository()
            if there is None:
                raise ForbiddenByForge(
                    f"{one_line(wanted.name)} already exists, and the token cannot read it",
                    hint="use a token with read access, or choose another name",
                )
            return there
        with sensible(words.creating(wanted.name)):
            return _hosted(made)

    def _require_fit(self, wanted: NewRepository) -> None:
        owner, name = owner_and_name(wanted.name)
        if not _NAME.fullmatch(name) or name in (".", ".."):
            raise UsageError(
                f"{one_line(wanted.name)} is not a valid repository name on GitHub",
                hint="use letters, digits, `.`, `-` and `_`",
            )
        possible = [each for each in _VISIBILITIES if each != "internal" or not wanted.is_personal]
        if wanted.visibility not in possible:
            raise UsageError(
                f"the repository cannot be {one_line(wanted.visibility)}", hint=f"use one of {', '.join(possible)}"
            )
        if wanted.is_personal:
            attempt = words.asking_who(wanted.name)
            answer = self._github.require(self._github.answer("/user", attempt), attempt)
            with sensible(attempt):
                login = str(json_object(answer, attempt)["login"])
            if login.lower() != owner.lower():
                account = one_line(owner)
                raise UsageError(
                    f"the token is {one_line(login)}'s, who cannot create a repository for {account}",
                    hint=f"remove `--personal` if {account} is an organization; otherwise use a token of {account}",
                )

    def _create(self, wanted: NewRepository) -> dict[str, Any] | None:
        """The repository as GitHub tells of it; None: there is one of that name already."""
        owner, _, name = wanted.name.partition("/")
        body: dict[str, Any] = {"name": name, "private": wanted.visibility != "public", "auto_init": False}
        if wanted.description:
            body["description"] = wanted.description
        if wanted.visibility == "internal":
            body["visibility"] = "internal"
        path = "/user/repos" if wanted.is_personal else f"/orgs/{quote(owner, safe='')}/repos"
        attempt = words.creating(wanted.name)
        made = self._github.write("POST", path, attempt, body)
        if made.status == HTTPStatus.UNPROCESSABLE_ENTITY and _NAME_TAKEN in made.body:
            return None
        # 404 is said to whom may not, and of what is no organization: the token is to blame for one only.
        if made.status == HTTPStatus.NOT_FOUND and not wanted.is_personal:
            self._require_organization(wanted.name)
        return json_object(self._github.require(made, attempt), attempt)

    def _require_organization(self, name: str) -> None:
        owner = name.partition("/")[0]
        account = one_line(owner)
        attempt = Attempt(f"read about the account {account}", "metadata: read")
        found = self._github.found(f"/users/{quote(owner)}", attempt)
        if found is None:
            raise UsageError(
                f"the account {account} does not exist, or the token cannot read it", hint="check the owner's name"
            )
        if json_object(found, attempt).get("type") == "User":
            raise UsageError(f"{account} is a user account, not an organization", hint="add `--personal`")

    def teams(self) -> Mapping[str, str]:
        attempt = Attempt(f"list the teams of {self._name}", "administration: read")
        entries = self._github.listed(f"{self._path}/teams", attempt)
        with sensible(attempt):
            return {str(each["slug"]): str(each["permission"]) for each in entries}

    def grant(self, team: str, permission: str) -> None:
        attempt = words.granting(team, self._name)
        path = f"/orgs/{quote(self._owner, safe='')}/teams/{quote(team, safe='')}{self._path}"
        self._github.require(self._github.write("PUT", path, attempt, {"permission": permission}), attempt)

    def deploy_keys(self) -> tuple[DeployKey, ...]:
        attempt = words.for_keys(f"list the deploy keys of {self._name}", "read")
        entries = self._github.listed(f"{self._path}/keys", attempt)
        with sensible(attempt):
            return tuple(
                DeployKey(each["title"], _plain(each["key"]), bool(each["read_only"]), int(each["id"]))
                for each in entries
            )

    def add_deploy_key(self, key: DeployKey) -> DeployKey:
        """One that is registered here already, by whatever title, is given as it is."""
        attempt = words.for_keys(f"add a deploy key to {self._name}", "write", UsageError)
        body = {"title": key.title, "key": key.public, "read_only": key.is_read_only}
        made = self._github.write("POST", f"{self._path}/keys", attempt, body)
        if not made.is_found and _KEY_IN_USE in made.body:
            # Of a call before this one, of which the answer was lost; or of another repository.
            there = [each for each in self.deploy_keys() if each.public == _plain(key.public)]
            if there:
                return there[0]
        facts = json_object(self._github.require(made, attempt), attempt)
        with sensible(attempt):
            return key._replace(public=_plain(key.public), id=int(facts["id"]))

    def remove_deploy_key(self, key: DeployKey) -> None:
        doing = f"remove the deploy key {one_line(key.title)} from {self._name}"
        attempt = words.for_keys(doing, "write")
        answer = self._github.write("DELETE", f"{self._path}/keys/{key.id}", attempt)
        if answer.status != HTTPStatus.NOT_FOUND:
            self._github.require(answer, attempt)
        # To whom may not remove it, GitHub says the same as of one that is gone; the list tells them apart.
        elif any(each.id == key.id for each in self.deploy_keys()):
            raise ForbiddenByForge(f"GitHub refused to {attempt.doing}", hint=attempt.advice)

    def host_keys(self) -> tuple[str, ...]:
        """Enterprise Server publishes none."""
        attempt = Attempt("read GitHub's SSH host keys", "metadata: read")
        facts = json_object(self._github.require(self._github.answer("/meta", attempt), attempt), attempt)
        with sensible(attempt):
            return tuple(_plain(key) for key in facts.get("ssh_keys") or ())

    def require_secret(self, name: str, environment: str = "") -> None:
        """There has to be an environment of that name, and the token has to read its key."""
        attempt = words.for_secret(name, environment, self._name, puts=True)
        self._sealing_key(self._secrets_of(environment), environment, attempt)

    def has_secret(self, name: str, environment: str = "") -> bool:
        """After ``require_secret``, since GitHub says 404 also to whom it hides them from."""
        attempt = words.for_secret(name, environment, self._name, puts=False)
        path = f"{self._secrets_of(environment)}/{quote(name, safe='')}"
        return self._github.found(path, attempt) is not None

    def put_secret(self, name: str, text: str, environment: str = "") -> None:
        attempt = words.for_secret(name, environment, self._name, puts=True)
        place = self._secrets_of(environment)
        facts = self._sealing_key(place, environment, attempt)
        from github.PublicKey import encrypt

        with sensible(attempt):
            sealed = {"key_id": str(facts["key_id"]), "encrypted_value": encrypt(str(facts["key"]), text)}
        path = f"{place}/{quote(name, safe='')}"
        self._github.require(self._github.write("PUT", path, attempt, sealed), attempt)

    def _secrets_of(self, environment: str) -> str:
        inside = f"/environments/{quote(environment, safe='')}" if environment else "/actions"
        return f"{self._path}{inside}/secrets"

    def _sealing_key(self, place: str, environment: str, attempt: Attempt) -> dict[str, Any]:
        found = self._github.answer(f"{place}/public-key", attempt)
        if environment and found.status == HTTPStatus.NOT_FOUND:
            known = one_line(environment)
            raise ForbiddenByForge(
                f"{self._name} has no environment {known}, or the token cannot read it",
                hint="create it first: Settings > Environments > New environment, or `gh api --method PUT "
                f"repos/{self._name}/environments/{known}`; the token needs 'Environments: read and write', a"
                " classic one the scope `repo`",
            )
        return json_object(self._github.require(found, attempt), attempt)

    def may_write_workflows(self) -> bool | None:
        """Of a classic token GitHub tells; GITHUB_TOKEN never may.

        Source: https://docs.github.com/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps.
        """
        attempt = Attempt("read what the token may", "metadata: read")
        if self._is_silent:
            return None
        if self._is_installation:
            return False if self._github.viewer(attempt) == _ACTIONS else None
        answer = self._github.require(self._github.answer("/user", attempt), attempt)
        scopes = answer.headers.get("x-oauth-scopes")
        return None if scopes is None else "workflow" in (scope.strip() for scope in scopes.split(","))


def _hosted(facts: dict[str, Any]) -> HostedRepository:
    """As it is when it was created; whether there is something in it, GitHub does not tell here."""
    return HostedRepository(
        name=str(facts["full_name"]),
        url=str(facts["html_url"]).rstrip("/"),
        default_branch=str(facts["default_branch"]),
        visibility=str(facts.get("visibility") or ("private" if facts["private"] else "public")),
        is_empty=True,
        is_archived=bool(facts["archived"]),
    )


def _plain(key: str) -> str:
    return " ".join(key.split()[:2])
