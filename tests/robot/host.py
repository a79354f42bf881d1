"""A repository on GitHub, in which the robot reads pull requests and does what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from github_stand_in.model import Pull

from convergence.fleet import Fleet
from git_servers import git
from robot.cluster import FollowingCluster

_TASKS = re.compile(r"^\*\*Action required\*\*\n(.*?)(?=\n\n(?!\d+\. )\S|\Z)", re.DOTALL | re.MULTILINE)
_TASK = re.compile(r"^\d+\. (.*?)(?=^\d+\. |\Z)", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"\brun `([^`]+)`", re.IGNORECASE)
_BOX = re.compile(r"^ *- \[ \] <!-- flux-upgrade:([\w-]+) -->", re.MULTILINE)
_LATER = "**After merging:**"
_KNOWN = re.compile(
    r"^(?:\*\*After merging:\*\* )?(?:Check that|wait until) the FluxInstance"
    r"|^Review \d+ resources? that behaves? differently",
    re.IGNORECASE,
)
_APPLY = re.compile(r"\bapply `[^`]+` with Terraform\b")
_MERGE = re.compile(r": merge \[#(\d+)\]\(")
_MARK = re.compile(r": mark \[#(\d+)\]\(\S+\) as ready for review(, and merge it)?$")
_ANYWAY = re.compile(r"^Approve (\S+) to upgrade now$")
_APPROVE = "click **Ready for review**"
_MOST = 40  # Runs on one way


@dataclass
class Host:
    fleet: Fleet
    cluster: FollowingCluster
    _checkouts: int = field(default=0)

    def decline(self) -> None:
        """Close the draft that the first run opens."""
        self._run()
        (number,) = self._pulls()
        self.fleet.people.close(number)
        self.cluster.log.append(f"> close #{number}")

    def follow(self) -> None:
        """Run the workflow each day, and do what its summary says, until there are no next steps."""
        for _ in range(_MOST):
            summary = self._run()
            if "### Next steps" not in summary:
                assert not self._pulls(), f"{self.cluster.told}\nopen, and in no step: {self._pulls()}"
                return
            self._obey(summary)
        raise AssertionError(f"{self.cluster.told}\nno end")

    def _obey(self, summary: str) -> None:
        """Do the steps of a summary up to the first pull request that one of them names."""
        _, _, section = summary.partition("### Next steps\n\n")
        steps = re.findall(r"^\d+\. (.*)$", section.partition("\n\n")[0], re.MULTILINE)
        is_asked = any(step.startswith("Approve ") for step in steps)
        assert is_asked or "**To approve**" not in summary, f"{self.cluster.told}\napprovals that no step asks for"
        for step in steps:
            merge, approve, migrate = _MERGE.search(step), _MARK.search(step), _COMMAND.search(step)
            anyway = _ANYWAY.match(step)
            if anyway is not None:
                command = f"gh workflow run flux-upgrade.yaml -f approve={anyway[1]}"
                assert f"\n{command}\n" in summary, f"{self.cluster.told}\nno command approves {anyway[1]}"
                self._run({"approve": anyway[1]})
                return None
            if merge is not None:
                return self._merge(self._pull(merge[1]))
            if approve is not None:
                self._approve(self._pull(approve[1]))
                return self._merge(self._pull(approve[1])) if approve[2] else None
            assert migrate or _KNOWN.search(step), f"{self.cluster.told}\nthe reader cannot do this: {step}"
            if migrate is not None:
                self._type(migrate[1])
        raise AssertionError(f"{self.cluster.told}\nno step names a pull request: {steps}")

    def _pulls(self) -> list[int]:
        return [number for number, pull in self.fleet.repository.pulls.items() if pull.state == "open"]

    def _pull(self, number: str) -> Pull:
        return self.fleet.repository.pulls[int(number)]

    def _run(self, inputs: Mapping[str, str] | None = None) -> str:
        self._checkouts += 1
        path = self.fleet.folder / f"whole-{self._checkouts}"
        git("clone", "--quiet", f"file://{self.fleet.repository.git}", path)
        self.fleet.hub.clock.advance(days=1)
        ran = self.fleet.run({"check-images": "false", **(inputs or {})}, checkout=path)
        self.cluster.log.append(ran.summary)
        assert ran.code == 0, f"{self.cluster.told}\n{ran.log}{ran.err}"
        return ran.summary

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
        is_for_terraform = _APPLY.search(task) is not None
        known = command or is_for_terraform or _KNOWN.search(task)
        assert known, f"{self.cluster.told}\nthe reader cannot do this: {task}"
        if is_for_terraform:
            self.cluster.run_terraform()
        if command is not None:
            self._type(command[1])
        for box in _BOX.findall(task):
            if f"- [ ] <!-- flux-upgrade:{box} -->" in self.fleet.repository.pulls[pull.number].body:
                self.fleet.people.tick(pull.number, f"flux-upgrade:{box}")

    def _type(self, command: str) -> None:
        program, *words = command.split()
        assert program == "flux", command
        self.cluster.run_flux(words)

    def reconcile(self) -> None:
        """Have Flux apply what is at the base."""
        self.cluster.reconcile({path: content.decode() for path, content in self.fleet.repository.files().items()})


def _tasks(body: str) -> Iterator[str]:
    section = _TASKS.search(body.replace("\r\n", "\n"))
    yield from _TASK.findall(section[1]) if section is not None else ()
