"""A repository with Flux in it on the stand-in for GitHub, and the action run in it: in process, by its clock."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from queue import Queue
from typing import Any

import written_release
from github_stand_in import FAULTS, Repository, Request, StandIn, Token

from convergence import pictures
from convergence.fork_server import ForkServer
from convergence.pictures import Picture, Snapshot
from convergence.runs import NAME, Ran, kept_by, name_of, require_no_secret, validation
from e2e.runner import pairs
from error_names import error_names
from flux_upgrade import main
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import (
    ForeignCheckout,
    HostNotAllowed,
    ImplausibleRelease,
    NoReport,
    NoResources,
    OutputFailed,
    SharedConfigUnusable,
)
from flux_upgrade.model.exit_code import ExitCode
from flux_upgrade.model.timing import Patience, Timing
from memory import WrittenReleases, regenerator

PATH = "clusters/production/flux-system/gotk-components.yaml"
PATCH, MINOR = "flux-upgrade/clusters.production/patch", "flux-upgrade/clusters.production/minor"
CONFIG = ".github/flux-upgrade.yaml"
EXIT_CODES = frozenset(ExitCode) - {ExitCode.DEFECT}
NEVER_MET = {
    error.slug
    for error in (
        ForeignCheckout,
        HostNotAllowed,
        ImplausibleRelease,
        NoReport,
        NoResources,
        OutputFailed,
        SharedConfigUnusable,
    )
}
"""Errors of the same classes for which a run here gives no cause."""
Event = str | Mapping[str, Any]
"""The name of an event; or of ``pull_request_target`` or ``issues`` the payload."""
_KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [{}]\n"


def installation(tag: str, folder: str = "clusters/production") -> dict[str, bytes]:
    """What ``flux bootstrap`` leaves, as far as it matters here."""
    system = f"{folder}/flux-system"
    return {
        f"{system}/gotk-components.yaml": manifest(tag),
        f"{system}/kustomization.yaml": _KUSTOMIZATION.format("gotk-components.yaml").encode(),
    }


@cache
def manifest(tag: str, **flags: Any) -> bytes:
    """``gotk-components.yaml`` of a written release: one controller, for it is read by thousands of runs."""
    options = InstallOptions(tag, components=("source-controller",))._replace(**flags)
    return regenerator(WrittenReleases((tag,))).regenerate(options).text.encode()


def git(*arguments: str) -> None:
    """Run a git command."""
    subprocess.run(("git", *arguments), capture_output=True, check=True)  # noqa: S603, S607  (the real one)


@dataclass
class Fleet:
    """The repository, a token, and the runs. ``folder`` is empty at first."""

    hub: StandIn
    folder: Path
    repository: Repository
    source: Path = field(init=False)
    """Where the releases are; a test may change it."""
    token: Token = field(init=False)
    second: Token = field(init=False)
    """Of a run at the same time."""
    patience: Patience = field(default_factory=Patience)
    """How long its runs wait for servers."""
    _runs: int = 0

    def __post_init__(self) -> None:
        self.token, self.second = self.hub.token("actions"), self.hub.token("actions")
        self.people = self.repository.people
        self.release()

    def release(self, *tags: str) -> None:
        """From now on these are Flux's releases; without any, all that were written for the demo."""
        self.source = self.folder / f"releases-{'-'.join(tags)}"
        if not self.source.exists():
            written_release.write_source(self.source, tags or written_release.TAGS)

    # Runs

    @property
    def timing(self) -> Timing:
        """The stand-in's clock: to sleep is to move it."""
        clock = self.hub.clock
        return Timing(clock.now.timestamp, lambda seconds: clock.advance(seconds=seconds), lambda: 0.5, self.patience)

    def run(
        self,
        inputs: Mapping[str, str] | None = None,
        *,
        event: Event = "schedule",
        token: Token | None = None,
        home: Path | None = None,
        checkout: Path | None = None,
        **more: str,
    ) -> Ran:
        """The action, in a fresh checkout of the base. ``inputs`` and ``more`` are those of the action."""
        with contextlib.chdir(checkout or self.checkout()):
            return self.run_here({**(inputs or {}), **more}, event=event, token=token, home=home)

    def run_here(
        self,
        inputs: Mapping[str, str],
        *,
        event: Event = "schedule",
        token: Token | None = None,
        home: Path | None = None,
    ) -> Ran:
        """The same, in the working folder."""
        temp = self._temp()
        variables = {**self._variables(event, temp, Path.cwd()), **self._inputs(inputs, token)}
        return self._ran(["action"], variables | ({"HOME": str(home)} if home else {}), temp)

    def command(self, *argv: str) -> Ran:
        """The program on a laptop, in a fresh checkout."""
        temp, options = self._temp(), (f"--release-source={self.source}", f"--repository={NAME}")
        with contextlib.chdir(self.checkout()):
            variables = {**self._variables("", temp, Path.cwd()), "GITHUB_TOKEN": self.token.value}
            return self._ran([*argv, *options], variables, temp)

    def killed(
        self, fork_server: ForkServer, at_call: int, inputs: Mapping[str, str], event: Event = "schedule"
    ) -> None:
        """The action, in a process that is killed when it is about to make a call."""
        temp, checkout = self._temp(), self.checkout()
        variables = {**self._variables(event, temp, checkout), **self._inputs(inputs, None)}
        process = Queue[int]()

        def kill(number: int, _: Request) -> None:
            if number == at_call:
                os.kill(process.get(), signal.SIGKILL)

        self.hub.before_call = kill
        self.hub.fail(FAULTS["reset"], at_call=at_call)
        process.put(fork_server.start(variables))
        code = fork_server.wait()
        self.undisturbed()
        written = [path.read_text() for path in temp.iterdir()]
        assert code == -signal.SIGKILL, written
        self._require_secrecy(variables, written)

    def undisturbed(self) -> None:
        """Nothing happens before calls any more, and nothing goes wrong."""
        self.hub.before_call = lambda *_: None
        self.hub.heal()

    def _temp(self) -> Path:
        """A folder for the runner's files of one run."""
        self._runs += 1
        path = self.folder / f"run-{self._runs}"
        path.mkdir()
        return path

    def _inputs(self, inputs: Mapping[str, str], token: Token | None) -> dict[str, str]:
        given = {"token": (token or self.token).value, "release-source": str(self.source), **inputs}
        return {f"INPUT_{name.replace('_', '-').upper()}": value for name, value in given.items()}

    def _variables(self, event: Event, temp: Path, workspace: Path) -> dict[str, str]:
        payload = temp / "event.json"
        payload.write_text(json.dumps({} if isinstance(event, str) else event))
        return {
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_REPOSITORY": NAME,
            "GITHUB_SERVER_URL": self.hub.url,
            "GITHUB_API_URL": self.hub.api_url,
            "GITHUB_GRAPHQL_URL": self.hub.graphql_url,
            "GITHUB_EVENT_NAME": _event_name(event),
            "GITHUB_EVENT_PATH": str(payload),
            "GITHUB_WORKFLOW_REF": f"{NAME}/.github/workflows/flux-upgrade.yaml@refs/heads/main",
            "GITHUB_RUN_ID": "7",
            "GITHUB_OUTPUT": str(temp / "output"),
            "GITHUB_STEP_SUMMARY": str(temp / "summary"),
            "RUNNER_TEMP": str(temp),
            "PATH": os.environ["PATH"],  # noqa: TID251  (the machine's git)
            "FLUX_UPGRADE_DEBUG": "1",
        }

    def _ran(self, argv: Sequence[str], variables: Mapping[str, str], temp: Path) -> Ran:
        first = len(self.hub.log)
        out, err = io.BytesIO(), io.StringIO()
        code = main.run(argv, variables, out, err, self.timing)
        log = out.getvalue().decode()
        written = {path.name: path.read_text() for path in temp.iterdir()}
        made = [call for call in self.hub.log[first:] if call.is_api]
        assert code in EXIT_CODES, f"{code}: {err.getvalue()}"
        assert not error_names(log + err.getvalue()) & NEVER_MET, log + err.getvalue()
        assert "Traceback" not in err.getvalue(), err.getvalue()
        self._require_secrecy(variables, [log, err.getvalue(), *written.values()])
        validation().require()
        return Ran(
            code=code,
            log=log,
            err=err.getvalue(),
            outputs=dict(pairs(written.get("output", ""))),
            summary=written.get("summary", ""),
            report=json.loads(written.get("flux-upgrade-report.json", "{}")),
            calls=tuple(map(name_of, made)),
            writes=tuple(name_of(call) for call in made if call.is_write),
        )

    def _require_secrecy(self, variables: Mapping[str, str], texts: Sequence[str]) -> None:
        secrets = {variables[name] for name in ("INPUT_TOKEN", "GITHUB_TOKEN") if name in variables}
        require_no_secret(secrets, [*texts, *kept_by(self.repository), *map(str, self.hub.log)])

    def checkout(self) -> Path:
        """A shallow checkout of the base as it is now; nobody writes to it."""
        path = self.folder / f"checkout-{self.repository.head()}"
        if not path.exists():
            git("clone", "--quiet", "--depth=1", f"file://{self.repository.git}", str(path))
        return path

    # What there is

    def picture(self) -> Picture:
        """See ``pictures``."""
        return pictures.picture(self.repository)

    def state(self) -> str:
        """See ``pictures``."""
        return pictures.state(self.repository)

    def snapshot(self) -> Snapshot:
        """See ``pictures``."""
        return pictures.snapshot(self.hub, self.repository)

    def restore(self, to: Snapshot) -> None:
        """See ``pictures``."""
        pictures.restore(self.hub, self.repository, to)


def _event_name(event: Event) -> str:
    if isinstance(event, str):
        return event
    return "issues" if "issue" in event else "pull_request_target"


@contextlib.contextmanager
def fleet_at(
    folder: Path, files: Mapping[str, bytes] | None, config: str = "", tags: Sequence[str] = (), **settings: Any
) -> Iterator[Fleet]:
    """A fleet of its own, every exchange of which must fit what GitHub publishes.

    ``files``: None for an empty repository; ``tags``: Flux's releases, see ``Fleet.release``.
    """
    checks = validation()
    with StandIn(folder / "hub") as hub:
        hub.observers.append(checks.observe)
        if files is not None and config:
            files = {**files, CONFIG: config.encode()}
        fleet = Fleet(hub, folder, hub.create_repository(NAME, files, **settings))
        fleet.release(*tags)
        yield fleet
    checks.require()
