"""A repository with Flux in it on the stand-in for GitHub, and the job that runs the action for it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from github_stand_in import StandIn
from github_stand_in.flux import publish_releases

from e2e.runner import Job, Result, run
from flows import fleet

NAME = "octo-org/fleet"
DATES = {
    "v2.8.7": "2026-01-05T10:00:00Z",
    "v2.8.8": "2026-02-03T10:00:00Z",
    "v2.9.3": "2026-02-10T10:00:00Z",
    "v2.9.4": "2026-02-20T10:00:00Z",
}
WHERE = pytest.mark.parametrize("where", ["process", "image"])
PERMISSIONS = {"contents": "write", "pull-requests": "write", "issues": "write", "statuses": "write"}


class Fleet:
    """``files``: of the repository; by default one installation that waits for a minor.

    ``image``: where the action runs; empty: in a process. A run waits a second between two writes, as GitHub
    asks for: most tests look, and write nothing.
    """

    def __init__(
        self, folder: Path, files: Mapping[str, bytes] | None = None, *, image: str = "", tls: Any = None
    ) -> None:
        self.folder, self.image = folder, image
        self.hub = StandIn(folder / "hub", tls=tls)
        publish_releases(self.hub, DATES)
        self.repository = self.hub.create_repository(NAME, files or fleet({"clusters/staging": "v2.8.8"}))
        self.token = self.hub.token("actions", PERMISSIONS)
        self.runs = 0
        self.workspace = folder / "workspace"

    def __enter__(self) -> Self:
        self.hub.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hub.__exit__(kind, error, trace)

    def check_out(self, folder: str = "") -> Path:
        """As actions/checkout does with ``fetch-depth: 0``. ``folder``: its input ``path``."""
        shutil.rmtree(self.workspace, ignore_errors=True)
        self.workspace.mkdir()
        git("clone", "--quiet", f"file://{self.repository.git}", str(self.workspace / folder))
        return self.workspace

    def run(
        self,
        inputs: Mapping[str, str] | None = None,
        *,
        event: str = "schedule",
        env: Mapping[str, str] | None = None,
        payload: Mapping[str, Any] | None = None,
        is_checked_out: bool = False,
    ) -> Result:
        """The checkout, unless it is there, and the action. ``payload``: of the event."""
        if not is_checked_out:
            self.check_out()
        self.hub.forget()
        self.runs += 1
        job = Job(
            inputs={"release-source": f"{self.hub.api_url}/repos/fluxcd/flux2", **(inputs or {})},
            event=event,
            payload=payload or {},
            context={"github.token": self.token.value},
            env={
                "GITHUB_SERVER_URL": self.hub.url,
                "GITHUB_API_URL": self.hub.api_url,
                "GITHUB_GRAPHQL_URL": self.hub.graphql_url,
                **(env or {}),
            },
            image=self.image,
        )
        return run(self.workspace, self.folder / f"runner-{self.runs}", job)

    def opened(self) -> dict[str, bool]:
        """Branch of each open pull request → whether it is a draft."""
        return {each.head: each.is_draft for each in self.repository.pulls.values() if each.state == "open"}

    def would_open(self, done: Result) -> dict[str, bool]:
        """The same of those that a run which only looks would open."""
        listed = json.loads(done.outputs["report"])["pull-requests"]
        return {each["branch"]: each["pending"] for each in listed if each["action"] == "opened"}

    def written(self) -> Sequence[str]:
        """What the last run wrote to the repository."""
        return [f"{call.method} {call.path} {call.operation}".strip() for call in self.hub.writes]


def git(*words: str) -> str:
    """Run git; what it prints."""
    done = subprocess.run(("git", *words), capture_output=True, encoding="utf-8", check=True)  # noqa: S603, S607 git
    return done.stdout


def plain(text: str) -> str:
    """Without what differs from run to run: ports, the time of the run, random words and Git's ids."""
    text = re.sub(r"127\.0\.0\.1:\d+", "HOST", text)
    text = re.sub(r'^(\{"schema-version": \d+, "created-at": )"[^"]+"', r'\1"NOW"', text)
    return re.sub(r"\b[0-9a-f]{32}\b|\b[0-9a-f]{40}\b", "ID", text)


def everything(done: Result) -> str:
    """All that a step leaves behind, but for the lines that mask."""
    log = re.sub(r"^::add-mask::.*$", "", done.log, flags=re.MULTILINE)
    files = "".join(path.read_text() for path in sorted(done.temp.iterdir()))
    return "\n".join([log, done.summary, *done.outputs.values(), *done.env.values(), *done.state.values(), files])


def image_of(where: str, request: pytest.FixtureRequest) -> str:
    """The image for ``WHERE``; empty: a process."""
    if where == "process":
        return ""
    reference: str = request.getfixturevalue("action_image").reference
    return reference
