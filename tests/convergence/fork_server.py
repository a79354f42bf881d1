"""Runs of the action in processes of their own, to be killed: each is a fork of one that has imported everything."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import pkgutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Self

import flux_upgrade
from flux_upgrade import main as cli
from flux_upgrade.model.timing import Timing

_PATIENCE = 60
"""Seconds after which a run ends itself."""


class ForkServer:
    """The server's process, as a test sees it."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            (sys.executable, "-m", "convergence.fork_server"),
            env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._number() == 0
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=_PATIENCE)

    def start(self, variables: Mapping[str, str]) -> int:
        """Begin a run, and return its process id. What it prints goes to `printed` in RUNNER_TEMP."""
        assert self._process.stdin is not None
        print(json.dumps(variables), file=self._process.stdin, flush=True)
        return self._number()

    def wait(self) -> int:
        """Wait for the end of the run, and return its exit code, which is negative after a signal."""
        return self._number()

    def _number(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


def _serve() -> None:
    for module in pkgutil.walk_packages(flux_upgrade.__path__, "flux_upgrade."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    _answer(0)
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            os._exit(_run(json.loads(line)))
        _answer(process)
        _, status = os.waitpid(process, 0)
        _answer(os.waitstatus_to_exitcode(status))


def _answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _run(variables: Mapping[str, str]) -> int:
    """The action; its clock does not wait."""
    signal.alarm(_PATIENCE)
    os.chdir(variables["GITHUB_WORKSPACE"])
    seconds = itertools.count(1_772_431_200)
    timing = Timing(lambda: float(next(seconds)), lambda _: None, lambda: 0.5)
    with open(f"{variables['RUNNER_TEMP']}/printed", "wb", buffering=0) as printed:
        os.dup2(printed.fileno(), sys.stdout.fileno())
        os.dup2(printed.fileno(), sys.stderr.fileno())
    return cli.run(["action"], variables, sys.stdout.buffer, sys.stderr, timing)


if __name__ == "__main__":
    _serve()
