"""Reports that workflows uploaded: the newest artifact of a name in a repository, and the one file in it.

https://docs.github.com/rest/actions/artifacts
"""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any
from urllib.parse import quote, urlencode

from flux_upgrade.adapters.github.api import GitHubApi, json_object, owner_and_name, sensible
from flux_upgrade.adapters.github.refusals import Attempt
from flux_upgrade.model.errors import NoReport
from flux_upgrade.model.text import one_line

MAX_ZIP = 16 * 1024 * 1024  # bytes. A report of 100 clusters has some hundred kilobytes, uncompressed.
MAX_REPORT = 32 * 1024 * 1024  # bytes, uncompressed
_MAX_ENTRIES = 16
_MOST = 100  # Artifacts that are looked at: as many as one page has, newest first
_HINT = "upload the file of the output report-file, as examples/scheduled.yaml does"


class RunArtifacts:
    """``github`` has a token that may read Actions of the repositories."""

    def __init__(self, github: GitHubApi, name: str) -> None:
        self._github, self._name = github, name

    def newest(self, repository: str) -> bytes:
        """The report that was uploaded last. Two calls.

        Raises UsageError for what is no name, NoReport where there is none, ForgeUnavailable, ForbiddenByForge.
        """
        owner, name = owner_and_name(repository)
        base = f"/repos/{quote(owner, safe='')}/{quote(name, safe='')}/actions/artifacts"
        attempt = Attempt(f"read the artifacts of {one_line(repository)}", "actions: read")
        query = urlencode({"name": self._name, "per_page": _MOST})
        answer = self._github.require(self._github.answer(f"{base}?{query}", attempt), attempt)
        with sensible(attempt):
            found = [each for each in json_object(answer, attempt)["artifacts"] if self._is_ours(each)]
            newest = max(found, key=lambda each: str(each["created_at"]), default=None)
            number = 0 if newest is None else int(newest["id"])
        if not number:
            raise NoReport(f"it has no artifact {one_line(self._name)}, or the last one has expired", hint=_HINT)
        return report_in(self._github.download(f"{base}/{number}/zip", attempt, MAX_ZIP))

    def _is_ours(self, artifact: Any) -> bool:
        """Whether it is there, of the name, and of a run of the repository's own code.

        A workflow that runs for a fork's pull request may upload anything.
        """
        run = artifact.get("workflow_run") or {}
        is_own = run.get("head_repository_id") is not None and run["head_repository_id"] == run.get("repository_id")
        return is_own and artifact["name"] == self._name and not artifact["expired"]


def report_in(content: bytes) -> bytes:
    """The one JSON file of a zip, in memory. Raises NoReport for anything else, and for what is too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            reports = [each for each in entries if each.filename.endswith(".json")]
            if len(entries) > _MAX_ENTRIES or len(reports) != 1:
                raise NoReport("its artifact does not hold exactly one JSON file", hint=_HINT)
            with archive.open(reports[0]) as file:
                found = file.read(MAX_REPORT + 1)
    # What zipfile was seen to raise on damage, for an encrypted entry, and for a compression that it does not know.
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
        raise NoReport("its artifact is damaged, or not a zip file", hint=_HINT) from error
    if len(found) > MAX_REPORT:
        raise NoReport(f"its report is larger than {MAX_REPORT} bytes", hint=_HINT)
    return found
