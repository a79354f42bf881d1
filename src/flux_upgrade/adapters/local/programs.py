"""Programs on PATH, and the Flux CLI, where there is one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

from flux_upgrade.model.errors import SourceUnavailable
from flux_upgrade.model.text import json_of, one_line
from flux_upgrade.model.versions import is_tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import CompletedProcess


_NO_CLUSTER = """\
apiVersion: v1
kind: Config
current-context: none
contexts: [{name: none, context: {cluster: none, user: none}}]
clusters: [{name: none, cluster: {server: 'http://127.0.0.1:0'}}]
users: [{name: none, user: {}}]
"""
"""A kubeconfig with a server that nothing can be."""


class CannotRun(Exception):
    """A program did not begin, or did not end in time: in words that follow its name."""


def find(search_path: str, name: str) -> str | None:
    """Where a program is; None: nowhere.

    Folders that are not absolute are passed over: a repository must not bring the program that is run on it.
    """
    for folder in search_path.split(os.pathsep):
        program = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    return None


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    timeout: float,
    folder: str | None = None,
    given: bytes = b"",
) -> CompletedProcess[bytes]:
    """Run a program that ``find`` found, for at most ``timeout`` seconds. Raises CannotRun.

    Without a shell, with ``given`` on stdin, and with ``environment`` and nothing else in its environment.
    """
    import subprocess  # late: few runs run anything

    try:
        return subprocess.run(  # noqa: S603  (a program found by us, a list of arguments, no shell)
            [*command],
            env=dict(environment),
            cwd=folder,
            input=given,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CannotRun(f"it did not finish within {timeout:g} s") from None
    except OSError as error:
        raise CannotRun(f"{error.strerror}") from error


def run_isolated(
    command: Sequence[str], environment: Mapping[str, str], timeout: float, folder: str | None = None
) -> CompletedProcess[bytes]:
    """As ``run``, for a program that must reach no cluster: with an empty home, and without the user's kubeconfig.

    Without any kubeconfig, kubectl would ask for the version of a cluster at localhost:8080.
    """
    from tempfile import TemporaryDirectory  # late, as in `run`

    with TemporaryDirectory(prefix="flux-upgrade-") as place:
        home, kubeconfig = os.path.join(place, "home"), os.path.join(place, "kubeconfig")
        os.mkdir(home)
        with open(kubeconfig, "x", encoding="ascii") as file:
            file.write(_NO_CLUSTER)
        isolated = {**environment, "HOME": home, "KUBECONFIG": kubeconfig, "KUBERC": "off"}
        return run(command, isolated, timeout, folder)


class LocalFluxCli:
    """The port FluxCli: the first ``flux`` on ``path`` (folders with ``:`` between).

    It is run by ``run_isolated`` with ``environment``, for at most ``timeout`` seconds.
    """

    def __init__(self, path: str, environment: Mapping[str, str], timeout: float = 60.0) -> None:
        self._program = find(path, "flux")
        self._environment = dict(environment)
        self._timeout = timeout

    def version(self) -> str:
        """Empty also where it tells no release (development builds)."""
        if self._program is None:
            return ""
        version = ""
        with suppress(SourceUnavailable):
            match json_of(self._run("version", "--client", "-o", "json")):
                case {"flux": str(version)}:
                    pass
        if not version:
            with suppress(SourceUnavailable):
                # Its last word, of "flux version 2.9.4".
                version = self._run("--version").decode("utf-8", "replace").strip().rpartition(" ")[2]
        tag = f"v{version.removeprefix('v')}"
        return tag if is_tag(tag) else ""

    def install_export(self, flags: Sequence[str]) -> str:
        """``flags`` as ``--name=value``. Also raises where there is no program."""
        try:
            return self._run("install", "--export", *flags).decode("utf-8")
        except UnicodeDecodeError:
            raise self._failed("its output is not UTF-8 text") from None

    def _run(self, *arguments: str) -> bytes:
        if self._program is None:
            raise self._failed("it is not on PATH")
        try:
            done = run_isolated((self._program, *arguments), self._environment, self._timeout)
        except CannotRun as error:
            raise self._failed(str(error)) from error
        if done.returncode != 0:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise self._failed(lines[-1] if lines else f"it exited with code {done.returncode}")
        return done.stdout

    def _failed(self, why: str) -> SourceUnavailable:
        return SourceUnavailable(
            f"the Flux CLI {one_line(self._program or 'flux')} failed: {one_line(why)}",
            hint="run it yourself with the same flags, or remove it from PATH",
        )
