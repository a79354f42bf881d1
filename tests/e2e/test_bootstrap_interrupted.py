"""After a bootstrap was interrupted at any write, the next run ends the same, and nothing exists twice."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from github_stand_in import FAULTS, Call, Request

from e2e.bootstraps import BRANCH, FILES, FOLDER, NAME, PATH, TITLE, Site, assert_fits, handed_over, is_write, opened
from e2e.fleet import git
from e2e.runner import Result
from error_names import error_names
from flux_upgrade.model.errors import ForgeUnavailable

NEW = {"repository": NAME, "create-repository": "true", "description": "The state of a cluster"}
FULL = {**NEW, "add-workflow": "true", "actions-secret": "FLUX", "flags": "team: [platform]\n"}
WRITES = {"first-commit": 5, "pull-request": 8}
"""Of a run that nothing disturbs: repository or none, access, Git, and what is opened."""
WRITE_NAMES = {
    "/teams/": "team",
    "/secrets/": "secret",
    "/keys": "key",
    "receive-pack": "push",
    "/git/trees": "tree",
    "/git/commits": "commit",
    "/git/refs": "branch",
    "/pulls": "pull request",
    "/statuses/": "status",
    "/orgs/": "repository",
}
"""Part of a path → what is written there, for the table."""
KILLED = [
    pytest.param(what, number, id=f"{what}-{number}")
    for what, count in WRITES.items()
    for number in range(1, count + 1)
]
CASES = pytest.mark.parametrize(("what", "number"), KILLED)


class Stopper:
    """Sends SIGKILL to the program once its nth write is done, before it is answered."""

    def __init__(self, pid: Path, number: int) -> None:
        self._pid, self._left = pid, number
        self.stopped_after = ""

    @property
    def command(self) -> tuple[str, ...]:
        """The program, whose process id is written down."""
        # A shell would drop the variables with a hyphen in their names.
        script = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])"
        program = (sys.executable, "-P", "-m", "flux_upgrade")
        return (sys.executable, "-c", script, str(self._pid), *program)

    def see(self, call: Call) -> None:
        """For ``StandIn.after_call``."""
        if not is_write(call):
            return
        self._left -= 1
        if self._left == 0:
            os.kill(int(self._pid.read_text()), signal.SIGKILL)
            self.stopped_after = call.path


def begin(site: Site, what: str) -> None:
    """A repository that is still to be created, or one that has something in it."""
    site.hub.add_organization("octo-org")
    if what == "pull-request":
        site.hub.create_repository(NAME, {"README.md": b"Fleet\n"}, is_private=True)


def bootstrap(site: Site, command: tuple[str, ...] = ()) -> Result:
    return site.bootstrap(FULL, token=site.app, command=command)


def assert_there_is_all_of_it_once(site: Site, what: str, folder: Path) -> None:
    repository = site.repository()
    assert sorted(site.hub.repositories) == ["fluxcd/flux2", NAME]
    assert repository.team_permissions == {"platform": "maintain"}
    (key,) = repository.deploy_keys
    assert (key.title, key.read_only) == (TITLE, True)
    assert list(repository.actions.secrets) == ["FLUX"]
    assert_fits(handed_over(repository.actions.secrets["FLUX"]), key, folder)
    branch = "main" if what == "first-commit" else BRANCH
    assert {*FILES, ".github/workflows/flux-upgrade.yaml"} == set(repository.files(branch)) - {"README.md"}
    commits = git("--git-dir", str(repository.git), "rev-list", "--count", branch)
    assert int(commits) == (1 if what == "first-commit" else 2)
    assert [(pull.head, pull.state) for pull in repository.pulls.values()] == (
        [] if what == "first-commit" else [(BRANCH, "open")]
    )


@pytest.mark.parametrize("what", WRITES)
def test_undisturbed(tmp_path: Path, what: str) -> None:
    with opened(tmp_path) as site:
        begin(site, what)
        done = bootstrap(site)
        assert done.exit_code == 0, done.log
        assert len(site.written()) == WRITES[what], site.written()
        assert_there_is_all_of_it_once(site, what, tmp_path)


@CASES
def test_killed(tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str, number: int) -> None:
    with opened(tmp_path) as site:
        begin(site, what)
        stopper = Stopper(tmp_path / "pid", number)
        site.hub.after_call = stopper.see
        assert bootstrap(site, stopper.command).exit_code == -signal.SIGKILL
        assert len(site.written()) == number

        again = bootstrap(site)
        assert again.exit_code == 0, again.log
        with capsys.disabled():
            then = ", ".join(map(_short, site.written())) or "nothing"
            print(f"\n  {what}, killed after the {_short(stopper.stopped_after)}: then {then}")  # noqa: T201 a table
        assert_there_is_all_of_it_once(site, what, tmp_path)

        assert bootstrap(site).exit_code == 0
        assert site.written() == []


@pytest.mark.parametrize("number", range(1, 5))
def test_an_answer_that_is_lost(tmp_path: Path, number: int) -> None:
    """The write is done, and nobody knows."""
    with opened(tmp_path) as site:
        begin(site, "first-commit")
        site.hub.fail(FAULTS["502"].after_the_work(), _writes, at_call=number)
        failed = bootstrap(site)
        again = failed if failed.exit_code == 0 else bootstrap(site)
        # A team that was not granted is a warning.
        names = set() if number == 2 else {ForgeUnavailable.slug}
        assert error_names(failed.log) == names, failed.log
        assert failed.exit_code == (ForgeUnavailable.exit_code if names else 0), failed.log
        assert again.exit_code == 0, again.log
        assert_there_is_all_of_it_once(site, "first-commit", tmp_path)


def _short(write: str) -> str:
    return next(name for part, name in WRITE_NAMES.items() if part in write)


def _writes(request: Request) -> bool:
    return request.is_api and request.is_write


def test_an_edit_by_a_person_in_between_is_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as site:
        repository = site.hub.create_repository(NAME, {"README.md": b"Fleet\n"})
        stopper = Stopper(tmp_path / "pid", 3)
        site.hub.after_call = stopper.see
        assert site.bootstrap(command=stopper.command).exit_code == -signal.SIGKILL
        assert (list(repository.pulls), bool(repository.head(BRANCH))) == ([], True)
        path = f"{FOLDER}/kustomization.yaml"
        mine = repository.files(BRANCH)[path] + b"# mine\n"
        repository.people.push(BRANCH, {path: mine})
        again = site.bootstrap()
        assert (again.exit_code, again.outputs["outcome"]) == (0, "held"), again.log
        assert repository.files(BRANCH)[path] == mine
        assert PATH in again.summary
