"""Fails each test that leaves a thread, a child process or a listening socket behind.

Whatever a wider fixture holds belongs to the fixture: it may stay until the fixture is torn down. A wider
fixture has to start it in its own setup, since a test cannot start anything on behalf of a fixture.

Processes and sockets are found on Linux only.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 2.0
"""Seconds that whatever is about to end gets to end."""
_PAUSE = 0.005
_PROC = Path("/proc")
_FILES = "/proc/self/fd"
_ON_LINUX = _PROC.joinpath("self/fd").exists()


@dataclass(frozen=True)
class Process:
    """A child of this process."""

    pid: int

    def __str__(self) -> str:
        try:
            if words := (_PROC / str(self.pid) / "cmdline").read_bytes().split(b"\0")[:-1]:
                return f"process {self.pid}: {b' '.join(words).decode(errors='replace')}"
        except OSError:
            return f"process {self.pid}"
        return f"process {self.pid}, which ended without being waited for"


@dataclass(frozen=True)
class Listener:
    """A socket that listens."""

    inode: int
    address: str

    def __str__(self) -> str:
        return f"socket that listens at {self.address}"


@dataclass(frozen=True)
class Thread:
    """A thread of Python's."""

    itself: threading.Thread

    def __str__(self) -> str:
        return f"thread {self.itself.name}"


Thing = Process | Listener | Thread


class LeftBehind:
    """The plugin: `config.pluginmanager.register(LeftBehind())`."""

    def __init__(self) -> None:
        self._strangers: frozenset[str] = frozenset()
        """Process ids that are not of children of this process: most of the machine's stay the same."""
        self._before: frozenset[Thing] = frozenset()
        self._owned: dict[pytest.FixtureDef[Any], frozenset[Thing]] = {}
        """Wider fixture → what its setup started."""
        self._torn_down: list[tuple[str, frozenset[Thing]]] = []
        """Name of a wider fixture, and what it had started."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None]:
        self._before = self._present()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None]:
        try:
            yield
        except Exception as error:
            if blame := self._blame():
                error.add_note(blame)
            raise
        if blame := self._blame():
            pytest.fail(blame, pytrace=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        before = self._present()
        try:
            return (yield)
        finally:
            # Fixtures that were set up meanwhile own their things themselves.
            if started := self._present() - before - self._of_fixtures():
                self._owned[fixturedef] = started

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        if started := self._owned.pop(fixturedef, None):
            name = f"{fixturedef.scope} fixture {fixturedef.argname} of {fixturedef.baseid or 'a plugin'}"
            self._torn_down.append((name, started))

    def _of_fixtures(self) -> frozenset[Thing]:
        return frozenset[Thing]().union(*self._owned.values())

    def _blame(self) -> str:
        """Who left what behind, since the test began; empty: all is gone."""
        until = time.monotonic() + PATIENCE
        while (lines := list(self._lines())) and time.monotonic() < until:
            time.sleep(_PAUSE)
        self._torn_down.clear()
        return "\n".join(lines)

    def _lines(self) -> Iterator[str]:
        present = self._present()
        for name, started in self._torn_down:
            if left := started & present:
                yield f"the {name} left behind: {_listed(left)}"
            present -= started
        if (new := present - self._before) and (left := new - self._of_fixtures()):
            yield f"the test left behind: {_listed(left)}"

    def _present(self) -> frozenset[Thing]:
        """Everything that there is now."""
        threads = map(Thread, threading.enumerate())
        if not _ON_LINUX:
            return frozenset(threads)
        return frozenset((*threads, *self._children(), *_listeners()))

    def _children(self) -> Iterator[Process]:
        """Zombies included. /proc/PID/task/TID/children is optional: some kernels lack it."""
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # there are none: by far the most frequent case, and a fast answer
            return
        pids = frozenset(filter(str.isdigit, os.listdir(_PROC)))
        children = {each for each in pids - self._strangers if _parent(each) == os.getpid()}
        self._strangers = pids - children
        tracker = _resource_tracker()
        yield from (Process(int(each)) for each in children if int(each) != tracker)


def _listed(things: frozenset[Thing]) -> str:
    return "; ".join(sorted(map(str, things)))


def _parent(pid: str) -> int:
    """Process id of the parent; 0: the process is gone."""
    try:
        content = (_PROC / pid / "stat").read_text()
    except OSError:
        return 0
    return int(content.rpartition(")")[2].split()[1])


def _resource_tracker() -> int | None:
    """Process id of multiprocessing's helper, which runs until Python ends."""
    module = sys.modules.get("multiprocessing.resource_tracker")
    return None if module is None else module._resource_tracker._pid  # noqa: SLF001 there is no public name


def _listeners() -> Iterator[Listener]:
    for name in os.listdir(_FILES):
        try:
            status = os.fstat(int(name))
            if not stat.S_ISSOCK(status.st_mode):
                continue
            with socket.socket(fileno=os.dup(int(name))) as opened:
                if opened.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    yield Listener(status.st_ino, str(opened.getsockname()))
        except OSError:  # closed meanwhile
            continue
