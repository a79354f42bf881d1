"""A real Gitea on loopback, with SQLite, its users and their repositories."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from adapters.loopback import closed_port
from git_servers import git
from real_flux.programs import GITEA

_TOKEN = re.compile(r"\b[0-9a-f]{40}\b")
_PATIENCE = 90.0
_SETTINGS = """\
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = {folder}
[database]
DB_TYPE = sqlite3
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
STATIC_ROOT_PATH = {static}
DISABLE_SSH = true
OFFLINE_MODE = true
[security]
INSTALL_LOCK = true
SECRET_KEY = only-a-test
PASSWORD_HASH_ALGO = pbkdf2_v2
[repository.signing]
SIGNING_KEY = none
[queue]
TYPE = channel
[indexer]
ISSUE_INDEXER_TYPE = db
[actions]
ENABLED = false
[log]
LEVEL = Warn
"""


@dataclass
class Gitea:
    """Each user is made when it is first asked for. ``admin`` owns the repositories."""

    folder: Path
    url: str
    tokens: dict[str, str] = field(default_factory=dict)

    def token(self, user: str) -> str:
        if user not in self.tokens:
            rights = ["--admin"] if user == "admin" else []
            said = self.run(
                *("admin", "user", "create", f"--username=the-{user}", f"--email={user}@example.com"),
                *("--random-password", "--must-change-password=false", "--access-token"),
                *("--access-token-name=tests", "--access-token-scopes=all", *rights),
            )
            (self.tokens[user],) = _TOKEN.findall(said)
        return self.tokens[user]

    def run(self, *arguments: str) -> str:
        command = [str(GITEA.path), f"--config={self.folder / 'app.ini'}", *arguments]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, env=_environment(self.folder))  # noqa: S603  (ours)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def ask(self, user: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """An answer of its API. Raises HTTPError."""
        request = urllib.request.Request(  # noqa: S310  (on loopback)
            f"{self.url}/api/v1/{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"token {self.token(user)}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  (as above)
            text = answer.read()
        return json.loads(text) if text else None

    def repository(self, name: str) -> Repository:
        """A new public one, to which ``bot`` may write."""
        self.ask("admin", "POST", "user/repos", {"name": name, "auto_init": True, "default_branch": "main"})
        self.token("bot")
        made = Repository(self, f"the-admin/{name}")
        made.ask("admin", "PUT", "/collaborators/the-bot", {"permission": "write"})
        return made


@dataclass(frozen=True)
class Repository:
    gitea: Gitea
    name: str

    @property
    def url(self) -> str:
        return f"{self.gitea.url}/{self.name}.git"

    def ask(self, user: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self.gitea.ask(user, method, f"repos/{self.name}{path}", body)

    def url_of(self, user: str, name: str = "") -> str:
        """With which this user pushes."""
        address = self.gitea.url.replace("://", f"://the-{user}:{self.gitea.token(user)}@")
        return f"{address}/{name or self.name}.git"

    def merge(self, number: int) -> None:
        """Wait until Gitea has found out that it can be merged, and merge it."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self.ask("admin", "POST", f"/pulls/{number}/merge", {"Do": "merge"})
            except urllib.error.HTTPError as error:
                if error.code != HTTPStatus.METHOD_NOT_ALLOWED or time.monotonic() > until:
                    raise
                time.sleep(0.2)
            else:
                return

    def pulls(self) -> dict[int, str]:
        """Number of each open pull request → its commit."""
        return {each["number"]: each["head"]["sha"] for each in self.ask("admin", "GET", "/pulls?state=open")}

    def refs(self, pattern: str) -> dict[str, str]:
        lines = git("ls-remote", self.url_of("admin"), pattern).splitlines()
        return {ref: oid for oid, _, ref in (line.partition("\t") for line in lines)}


@contextmanager
def running(folder: Path) -> Iterator[Gitea]:
    """Skips the test where Gitea is not built: `make test-flux` builds and runs it."""
    if "KUBEBUILDER_ASSETS" not in os.environ or not GITEA.path.exists():  # noqa: TID251  (what `make test-flux` sets)
        # Not real_parts.missing: it takes minutes to compile, which `make test-flux` does, and .ci/run where it is warm.
        pytest.skip("`make test-flux` builds and runs Gitea")
    gitea = Gitea(folder, f"http://127.0.0.1:{(port := closed_port())}")
    settings = _SETTINGS.format(folder=folder, port=port, static=GITEA.path.parent)
    (folder / "app.ini").write_text(settings)
    gitea.run("migrate")
    log = folder / "gitea.log"
    with log.open("wb") as out:
        command = [str(GITEA.path), f"--config={folder / 'app.ini'}", "web"]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=_environment(folder))  # noqa: S603  (ours)
        try:
            _wait(gitea, log)
            yield gitea
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def _environment(folder: Path) -> dict[str, str]:
    path = os.environ.get("PATH", os.defpath)  # noqa: TID251  (where git is)
    return {"PATH": path, "HOME": str(folder), "USER": "root", "GITEA_WORK_DIR": str(folder)}


def _wait(gitea: Gitea, log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        with suppress(urllib.error.URLError, OSError), urllib.request.urlopen(f"{gitea.url}/api/v1/version"):  # noqa: S310  (on loopback)
            return
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-3000:])
