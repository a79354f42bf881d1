"""A person who does what pull requests say, to the letter and nothing else: the Action, GitHub, a cluster."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from github_stand_in import Repository, StandIn
from github_stand_in.model import Pull, Token

from flux_upgrade import main
from flux_upgrade.pullrequests.text.flux_migrate import AFTER
from git_servers import git
from real_flux.control_plane import ControlPlane
from real_flux.fleet import TIMING

NAME = "octo/fleet"
CLIS = {"2.7": "v2.7.5", "2.8": "v2.7.5", "2.9": "v2.9.4"}
"""The Flux CLI that a pull request names → the one that runs. There is no 2.8 in the module proxy."""
_SECTION = re.compile(r"^\*\*Action required\*\*\n(.*?)(?=\n\n(?!\d+\. )\S|\Z)", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^\d+\. (.*?)(?=^\d+\. |\Z)", re.DOTALL | re.MULTILINE)
_MIGRATE = re.compile(r"run `flux migrate` .*Flux CLI (2\.\d+)", re.IGNORECASE)
_TO_READ = re.compile(r"Read what the notes of|Review |To keep the old behavior|no checksum")
_BOX = re.compile(r"^ *- \[ \] <!-- flux-upgrade:(migrated) -->", re.MULTILINE)


class Cluster(Protocol):
    """Which follows the repository."""

    @property
    def plane(self) -> ControlPlane: ...

    def reconcile(self) -> str:
        """Apply the head of the default branch; what Flux says if it cannot."""


@dataclass
class Followed:
    cluster: Cluster
    hub: StandIn
    repository: Repository
    token: Token
    source: Path  # Of the releases
    folder: Path
    done: list[str] = field(default_factory=list)  # What was done, for who reads a failed test
    _runs: int = 0

    def propose(self) -> list[Pull]:
        """Run the Action; the open pull requests then."""
        self._runs += 1
        at = self.folder / f"run-{self._runs}"
        git("clone", "--quiet", self.repository.store.path, at / "checkout")
        git("remote", "set-url", "origin", f"{self.hub.url}/{NAME}.git", at=at / "checkout")
        variables = {
            "GITHUB_WORKSPACE": str(at / "checkout"),
            "GITHUB_REPOSITORY": NAME,
            "GITHUB_SERVER_URL": self.hub.url,
            "GITHUB_API_URL": self.hub.api_url,
            "GITHUB_GRAPHQL_URL": self.hub.graphql_url,
            "GITHUB_EVENT_NAME": "schedule",
            "GITHUB_RUN_ID": "7",
            "RUNNER_TEMP": str(at),
            "PATH": os.environ["PATH"],  # noqa: TID251  (where git is)
            "INPUT_TOKEN": self.token.value,
            "INPUT_RELEASE-SOURCE": str(self.source),
            "INPUT_CHECK-IMAGES": "false",
        }
        out, err = io.BytesIO(), io.StringIO()
        with contextlib.chdir(at / "checkout"):
            code = main.run(["action"], variables, out, err, TIMING)
        assert code == 0, out.getvalue().decode() + err.getvalue()
        self.done.append(out.getvalue().decode())
        return [each for each in self.repository.pulls.values() if each.state == "open"]

    def follow(self, pull: Pull) -> None:
        """Merge a pull request as it says, and have Flux reconcile; AssertionError if it is not ready at the end."""
        assert not pull.is_draft, pull.body
        tasks = _tasks(pull.body)
        later = [each for each in tasks if each.startswith(AFTER)]
        self.done.append(f"{pull.title}\n{pull.body}")
        for task in tasks:
            if task not in later:
                self._do(task, pull)
        _set(self.hub)
        self.repository.people.merge(pull.number, "squash")
        said = self.cluster.reconcile()
        assert later or not said, said
        for task in later:
            self._do(task, pull)
        again = self.cluster.reconcile()
        assert not again, again

    def _do(self, task: str, pull: Pull) -> None:
        """A task, and then its box."""
        found = _MIGRATE.search(task)
        if found is not None:
            self.cluster.plane.flux("migrate", version=CLIS[found[1]])
            self.done.append(f"flux migrate ({found[1]})")
        else:
            assert _TO_READ.search(task), f"nobody knows how to do this: {task}"
        if _BOX.search(task):
            self.repository.people.tick(pull.number, "flux-upgrade:migrated")


def _tasks(body: str) -> list[str]:
    section = _SECTION.search(body.replace("\r\n", "\n"))
    return _ITEM.findall(section[1]) if section else []


def _set(hub: StandIn) -> None:
    hub.clock.set(datetime.now(UTC).isoformat())


@contextmanager
def following(cluster: Cluster, bare: Path, source: Path, folder: Path) -> Iterator[Followed]:
    """``bare``: the repository, ``<folder>/octo/fleet.git``, which GitHub serves from now on as well."""
    with StandIn(bare.parents[1]) as hub:
        _set(hub)
        repository = hub.create_repository(NAME)
        yield Followed(cluster, hub, repository, hub.token("app"), source, folder)
