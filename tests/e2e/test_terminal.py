"""What a user sees on a terminal while a run is busy: in a process, on a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flows import fleet

SLOW = 1.5  # Seconds until the server of releases answers


class _Slow(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        time.sleep(SLOW)
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Nothing of it is of interest."""


@pytest.fixture
def slow() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Slow)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def on_terminal(folder: Path, *argv: str, env: dict[str, str] | None = None, lines: int = 0) -> str:
    """Everything that the process writes to its terminal. ``lines``: of the screen; 0: unknown."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, 100, 0, 0))
    command = [sys.executable, "-m", "flux_upgrade", *argv]
    process = subprocess.Popen(  # noqa: S603 our own program
        command, cwd=folder, env={"PATH": os.defpath, "COLUMNS": "100", **(env or {})}, stdin=terminal, stdout=terminal, stderr=terminal
    )  # fmt: skip
    os.close(terminal)
    written = b""
    while select.select([controller], [], [], 30)[0]:
        try:
            read = os.read(controller, 4096)
        except OSError:  # Linux answers so once the other end is closed
            break
        written += read
    process.wait(30)
    os.close(controller)
    return written.decode()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for path, content in fleet({"clusters/staging": "v2.8.7"}).items():
        (tmp_path / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / path).write_bytes(content)
    return tmp_path / "tree"


def test_a_line_says_whom_a_long_run_waits_for_and_is_gone_in_the_end(repository: Path, slow: str) -> None:
    host = slow.removeprefix("http://")
    written = on_terminal(repository, "plan", f"--release-source={slow}")
    assert f"asking {host} …" in written
    line, _, error = written.rpartition("\r\x1b[K")
    assert "asking" in line
    assert error.startswith("flux-upgrade: ")


def test_verbose_says_it_in_a_log_too(repository: Path, slow: str) -> None:
    argv = [sys.executable, "-m", "flux_upgrade", "plan", f"--release-source={slow}"]
    quiet, verbose = (
        subprocess.run([*argv, *more], cwd=repository, env={"PATH": os.defpath}, capture_output=True, text=True, check=False)  # noqa: S603 our own program
        for more in ([], ["--verbose"])
    )  # fmt: skip
    asked = f"flux-upgrade: asking {slow.removeprefix('http://')}\n"
    assert asked in verbose.stderr
    assert asked not in quiet.stderr
    assert verbose.stderr.startswith("flux-upgrade: reading .\n")


@pytest.mark.parametrize(
    ("flags", "env", "is_colored"),
    [
        ((), {}, True),
        ((), {"NO_COLOR": "1"}, False),
        ((), {"TERM": "dumb"}, False),
        (("--color=never",), {}, False),
        (("--color=always",), {"NO_COLOR": "1"}, True),
    ],
)
def test_colors_are_for_terminals(
    repository: Path, written_source: Path, flags: tuple[str, ...], env: dict[str, str], *, is_colored: bool
) -> None:
    written = on_terminal(repository, "plan", f"--release-source={written_source}", *flags, env=env)
    assert ("\x1b[32mready" in written) is is_colored
    assert "1 cluster: 1 ready." in written


def test_an_empty_repository_is_answered_without_a_network(tmp_path: Path, slow: str) -> None:
    (tmp_path / "app.yaml").write_text("kind: ConfigMap\n")
    written = on_terminal(tmp_path, "plan", f"--release-source={slow}")
    assert "nothing-found" in written
    assert "asking" not in written


@pytest.mark.parametrize(
    ("lines", "flags", "pager", "is_whole"),
    [
        (5, (), "head -n 1", False),
        (50, (), "head -n 1", True),
        (0, (), "head -n 1", True),
        (5, ("--no-pager",), "head -n 1", True),
        (5, ("--json",), "head -n 1", True),
        (5, (), "", True),
        (5, (), "no-such-program", True),
        (5, (), "an unclosed 'quote", True),
    ],
)
def test_a_report_longer_than_the_screen_goes_through_the_pager(  # noqa: PLR0913 what it depends on
    repository: Path, written_source: Path, lines: int, flags: tuple[str, ...], pager: str, *, is_whole: bool
) -> None:
    argv = ("plan", f"--release-source={written_source}", *flags)
    written = on_terminal(repository, *argv, env={"PAGER": pager, "NO_COLOR": "1"}, lines=lines)
    assert "clusters/staging" in written
    assert ("1 cluster: 1 ready." in written or '"migrations": []' in written) is is_whole
