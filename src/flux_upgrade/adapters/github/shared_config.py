"""A config file of another repository, at a commit of its default branch. It reads, and keeps nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import quote

from flux_upgrade.adapters.github.api import GitHubApi, json_object, sensible
from flux_upgrade.adapters.github.refusals import Attempt, nonsense
from flux_upgrade.adapters.http import origins
from flux_upgrade.adapters.http.client import Response
from flux_upgrade.model.errors import FluxUpgradeError, SharedConfigUnusable
from flux_upgrade.model.text import one_line

_LARGEST = 256 << 10  # Bytes
_NO_CONTENT = b"too_large"  # Of a file that is larger than 1 MB: https://docs.github.com/rest/repos/contents


class SharedConfigs:
    """Three calls for a file: the repository, its default branch compared with the commit, the content."""

    def __init__(self, github: GitHubApi) -> None:
        self._github = github

    def read(self, repository: str, path: str, commit: str) -> bytes:
        """``repository``: as ``owner/name``. ``commit``: all 40 digits. Raises SharedConfigUnusable."""
        access = f"use a token that can read {repository}: that of a job reads only its own repository and public ones"
        attempt = Attempt(f"read {path} in {repository}", "contents: read", advice=access)
        with _explained():
            branch = self._default_branch(repository, access, attempt)
            self._require_on(branch, repository, commit, attempt)
            return self._content(repository, path, commit, attempt)

    def _default_branch(self, repository: str, access: str, attempt: Attempt) -> str:
        answer = self._asked(f"/repos/{quote(repository)}", attempt)
        if answer.status == HTTPStatus.NOT_FOUND:
            raise SharedConfigUnusable(f"{repository} does not exist, or the token cannot read it", hint=access)
        facts = json_object(self._github.require(answer, attempt), attempt)
        with sensible(attempt):
            name, branch = one_line(facts["full_name"]), str(facts["default_branch"])
        if name.lower() != repository.lower():
            # Another user may register a former name.
            raise SharedConfigUnusable(f"{repository} was renamed to {name}", hint=f"write {name} in `extends`")
        return branch

    def _require_on(self, branch: str, repository: str, commit: str, attempt: Attempt) -> None:
        """The commit is the repository's own.

        GitHub serves the commits of forks by its address, too: any user could have written them. Source:
        https://docs.github.com/actions/security-for-github-actions/security-guides/security-hardening-for-github-actions
        """
        compared = f"/repos/{quote(repository)}/compare/{commit}...{quote(branch, safe='')}?per_page=1"
        answer = self._asked(compared, attempt)
        is_on = False
        if answer.status != HTTPStatus.NOT_FOUND:
            facts = json_object(self._github.require(answer, attempt), attempt)
            with sensible(attempt):
                is_on = int(facts["behind_by"]) == 0 and facts["merge_base_commit"]["sha"] == commit
        if not is_on:
            raise SharedConfigUnusable(
                f"commit {commit[:12]} is not on {one_line(branch)}, the default branch of {repository}",
                hint=f"pin a commit that is: `gh api repos/{repository}/commits/HEAD --jq .sha` shows the newest",
            )

    def _content(self, repository: str, path: str, commit: str, attempt: Attempt) -> bytes:
        answer = self._asked(f"/repos/{quote(repository)}/contents/{quote(path)}?ref={commit}", attempt)
        where, hint = f"{path} in {repository} at {commit[:12]}", "check the path and the commit in `extends`"
        if answer.status == HTTPStatus.NOT_FOUND:
            raise SharedConfigUnusable(f"there is no {where}", hint=hint)
        larger = SharedConfigUnusable(f"{where} is larger than {_LARGEST >> 10} KiB", hint=hint)
        if answer.status == HTTPStatus.FORBIDDEN and _NO_CONTENT in answer.body:
            raise larger
        with sensible(attempt):
            found = json.loads(self._github.require(answer, attempt).body)
            # Of a directory it is a list.
            if isinstance(found, list) or found["type"] != "file":
                raise SharedConfigUnusable(f"{where} is not a file", hint=hint)
            if found["size"] > _LARGEST:
                raise larger
            return base64.b64decode(found["content"])

    def _asked(self, path: str, attempt: Attempt) -> Response:
        answer = self._github.answer(path, attempt)
        if origins.origin(answer.url) != origins.origin(self._github.url):
            raise nonsense(attempt, "it redirects to another host")
        return answer


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except SharedConfigUnusable:
        raise
    except FluxUpgradeError as error:
        raise SharedConfigUnusable(error.message, hint=error.hint) from error
