"""Repositories that are to be bootstrapped, on the stand-in for GitHub, and the jobs that do it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from github_stand_in import Call, Repository, StandIn, Token
from github_stand_in.flux import publish_releases
from github_stand_in.hosting import DeployKey

from e2e.fleet import DATES, PERMISSIONS, git
from e2e.runner import Job, Result, run
from flux_upgrade.model.kubernetes_objects import parse
from real_parts import require_program
from stand_in.checked import checked

NAME = "octo-org/fleet"
PATH = "clusters/staging"
FOLDER = f"{PATH}/flux-system"
FILES = tuple(f"{FOLDER}/{name}" for name in ("gotk-components.yaml", "gotk-sync.yaml", "kustomization.yaml"))
BRANCH = "flux-upgrade/clusters.staging/bootstrap"
TITLE = f"flux-system-main-flux-system-./{PATH}"
"""Of the deploy key, as the CLI has it."""
OF_THE_APP = {**PERMISSIONS, "administration": "write", "secrets": "write", "workflows": "write", "members": "read"}
_COMMIT = "3d3c42e5aac5ba805825da76410c181273ba90b1"
ACTION = f"octo-org/flux-upgrade@{_COMMIT} # v1.2.3"
"""As the workflow names it that runs these jobs."""
_ACTION = {
    "GITHUB_ACTION_REPOSITORY": "octo-org/flux-upgrade",
    "GITHUB_ACTION_REF": _COMMIT,
    "FLUX_UPGRADE_VERSION": "v1.2.3",  # The image of a release has it of itself
}


@dataclass
class Site:
    """``image``: where the action runs; empty: in a process. ``hub`` has Flux's releases of ``DATES``."""

    hub: StandIn
    folder: Path
    image: str = ""
    runs: int = 0

    def __post_init__(self) -> None:
        publish_releases(self.hub, DATES)
        self.job = self.hub.token("actions", PERMISSIONS)
        self.app = self.hub.token("app", OF_THE_APP)
        self.workspace = self.folder / "workspace"

    def bootstrap(self, inputs: Mapping[str, str] | None = None, **more: Any) -> Result:
        """``mode: bootstrap`` at ``PATH``, unless ``inputs`` say otherwise. ``more``: as of ``run``."""
        return self.run({"mode": "bootstrap", "path": PATH, **(inputs or {})}, **more)

    def run(  # noqa: PLR0913  (a job is all of that)
        self,
        inputs: Mapping[str, str],
        *,
        event: str = "workflow_dispatch",
        env: Mapping[str, str] | None = None,
        token: Token | None = None,
        checkout: str = "",
        command: Sequence[str] = (),
    ) -> Result:
        """One step of a job of ``NAME``. ``checkout``: the repository that a step before it checked out."""
        self.workspace.mkdir(exist_ok=True)
        if checkout:
            git("clone", "--quiet", "--depth=1", f"file://{self.repository(checkout).git}", str(self.workspace))
        self.hub.forget()
        self.runs += 1
        job = Job(
            inputs={"release-source": f"{self.hub.api_url}/repos/fluxcd/flux2", **inputs},
            event=event,
            context={"github.token": (token or self.job).value},
            env={
                "GITHUB_SERVER_URL": self.hub.url,
                "GITHUB_API_URL": self.hub.api_url,
                "GITHUB_GRAPHQL_URL": self.hub.graphql_url,
                **_ACTION,
                **(env or {}),
            },
            image=self.image,
            command=command,
        )
        return run(self.workspace, self.folder / f"runner-{self.runs}", job)

    def repository(self, name: str = NAME) -> Repository:
        """One that is there."""
        return self.hub.repositories[name]

    def written(self) -> list[str]:
        """What the last run wrote, through the API and by pushes."""
        return [_call_line(call) for call in self.hub.log if is_write(call)]


@contextmanager
def opened(folder: Path, image: str = "") -> Iterator[Site]:
    """All that is said over its API has to fit what GitHub publishes."""
    with checked(folder / "hub") as hub:
        yield Site(hub, folder, image)


def is_write(call: Call) -> bool:
    """Whether a line of the log changed something, or was meant to."""
    return call.is_write if call.is_api else (call.method == "POST" and "receive-pack" in call.path)


def _call_line(call: Call) -> str:
    return f"{call.method} {call.path} {call.operation}".strip()


def pushed(name: str = NAME) -> str:
    """A push, as ``Site.written`` tells of it."""
    return f"POST /{name}.git/git-receive-pack"


def handed_over(text: str) -> dict[str, str]:
    """What the one Secret of a manifest holds."""
    (secret,) = parse(text)
    return secret.string_data


def assert_fits(data: Mapping[str, str], key: DeployKey, folder: Path) -> None:
    """The private part belongs to the key that is registered, as ssh-keygen tells."""
    private = folder / "identity"
    private.write_text(data["identity"])
    private.chmod(0o600)
    command = [require_program("ssh-keygen"), "-y", "-P", "", "-f", str(private)]
    derived = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)  # noqa: S603 ssh-keygen
    assert derived.stdout.split()[:2] == key.key.split() == data["identity.pub"].split()[:2]


def bodies(private: str) -> list[str]:
    """The lines of a private key that give it away."""
    found = [line for line in private.splitlines() if not line.startswith("-----")]
    # The first says no more than what kind of key it is.
    return found[1:]


def everything_in_git(repository: Repository) -> str:
    """All objects that ever came into a repository."""
    arguments = ("--git-dir", str(repository.git), "cat-file", "--batch", "--batch-all-objects")
    done = subprocess.run(("git", *arguments), capture_output=True, check=True)  # noqa: S603, S607 git
    return done.stdout.decode("utf-8", "replace")
