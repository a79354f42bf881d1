"""A repository on GitHub, in which the robot reads pull requests and does what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from github_stand_in.model import Pull

from convergence.fleet import Fleet
from git_servers import git
from robot.cluster import FollowingCluster
from robot.reading import cli_in

_TASKS = re.compile(r"^\*\*Action required\*\*\n(.*?)(?=\n\n(?!\d+\. )\S|\Z)", re.DOTALL | re.MULTILINE)
_TASK = re.compile(r"^\d+\. (.*?)(?=^\d+\. |\Z)", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"\brun `([^`]+)`", re.IGNORECASE)
_BOX = re.compile(r"^ *- \[ \] <!-- flux-upgrade:([\w-]+) -->", re.MULTILINE)
_LATER = "**After merging:**"
_KNOWN = re.compile(r"^(?:\*\*After merging:\*\* )?(?:Check that|wait until) the FluxInstance", re.IGNORECASE)
_APPROVE = "click **Ready for review**"
_MOST = 40  # Runs on one way


@dataclass
class Host:
    fleet: Fleet
    cluster: FollowingCluster
    _checkouts: int = field(default=0)

    def follow(self) -> None:
        """Run the workflow each day, and do what the pull requests say, until there is none."""
        for _ in range(_MOST):
            self._run()
            pulls = [each for each in self.fleet.repository.pulls.values() if each.state == "open"]
            if not pulls:
                return
            ready = [each for each in pulls if not each.is_draft]
            if ready:
                self._merge(ready[0])
            else:
                self._approve(pulls[0])
        raise AssertionError(f"{self.cluster.told}\nno end")

    def _run(self) -> None:
        self.cluster.wait()
        self._checkouts += 1
        path = self.fleet.folder / f"whole-{self._checkouts}"
        git("clone", "--quiet", f"file://{self.fleet.repository.git}", path)
        self.fleet.hub.clock.advance(days=1)
        ran = self.fleet.run({"check-images": "false"}, checkout=path)
        self.cluster.log.append(ran.summary)
        assert ran.code == 0, f"{self.cluster.told}\n{ran.log}{ran.err}"

    def _approve(self, pull: Pull) -> None:
        assert _APPROVE in pull.body, f"{self.cluster.told}\n{pull.body}"
        self.cluster.log.append(f"> approve #{pull.number} {pull.title}\n{pull.body}")
        for task in _tasks(pull.body):
            if not task.startswith(_LATER):
                self._do(task, pull)
        self.fleet.people.mark_ready(pull.number)

    def _merge(self, pull: Pull) -> None:
        self.cluster.log.append(f"> merge #{pull.number} {pull.title}\n{pull.body}")
        tasks = list(_tasks(pull.body))
        for task in tasks:
            if not task.startswith(_LATER):
                self._do(task, pull)
        self.fleet.people.merge(pull.number, "squash")
        self.reconcile()
        for task in tasks:
            if task.startswith(_LATER):
                self._do(task, pull)

    def _do(self, task: str, pull: Pull) -> None:
        """Do what a task says, and tick its box."""
        command = _COMMAND.search(task)
        assert command or _KNOWN.search(task), f"{self.cluster.told}\nthe reader cannot do this: {task}"
        if command is not None:
            program, *words = command[1].split()
            assert program == "flux", command[1]
            self.cluster.run_flux(words, cli_in(task))
        for box in _BOX.findall(task):
            if f"- [ ] <!-- flux-upgrade:{box} -->" in self.fleet.repository.pulls[pull.number].body:
                self.fleet.people.tick(pull.number, f"flux-upgrade:{box}")

    def reconcile(self) -> None:
        """Have Flux apply what is at the base."""
        self.cluster.reconcile({path: content.decode() for path, content in self.fleet.repository.files().items()})


def _tasks(body: str) -> Iterator[str]:
    section = _TASKS.search(body.replace("\r\n", "\n"))
    yield from _TASK.findall(section[1]) if section is not None else ()
