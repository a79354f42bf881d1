"""Commands whose streams, disk or limits are broken: one line, the exit code that the reference lists, and no half work."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from flows import fleet
from flux_upgrade.model.errors import ApiRemoved, NoResources, OutputFailed, Unreadable, UsageError
from real_parts import require_program

ROOT = Path(__file__).resolve().parents[2]
OLD = b"apiVersion: helm.toolkit.fluxcd.io/v2beta1\nkind: HelmRelease\nmetadata:\n  name: shop\n  namespace: shop\n"
COMMANDS = {
    "--help": 0,
    "--version": 0,
    "plan --help": 0,
    "inspect .": 0,
    "inspect . --json": 0,
    "plan .": 0,
    "plan . --json": 0,
    "upgrade .": 0,
    "check . --to=v2.9.4": ApiRemoved.exit_code,
    "migrate . --to=v2.9.4": ApiRemoved.exit_code,
    "render --version=v2.9.4": 0,
    "config check": 0,
    "completion bash": 0,
    "bootstrap --url=https://git.example/fleet.git --path=clusters/new --branch=main --version=v2.9.4 --dry-run": 0,
    "upgrde": UsageError.exit_code,
}
"""Command → what it ends with if nothing is broken."""
SOURCELESS = ("--", "config", "completion", "upgrde", "plan --help")
FULL, CLOSED, PIPE = ">/dev/full", ">&-", "| true; exit ${{PIPESTATUS[0]}}"
READER_GONE = 141


@pytest.fixture(scope="module")
def files() -> Mapping[str, bytes]:
    return {**fleet({"clusters/staging": "v2.8.7"}), "apps/shop.yaml": OLD, ".git/HEAD": b"ref: refs/heads/main\n"}


@pytest.fixture
def tree(tmp_path: Path, files: Mapping[str, bytes]) -> Path:
    for path, content in files.items():
        (tmp_path / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / path).write_bytes(content)
    return tmp_path / "tree"


def run(tree: Path, command: str, source: Path, shell: str = "{}", **env: str) -> subprocess.CompletedProcess[str]:
    """``shell``: what a user types, with the command at ``{}``."""
    given = "" if command.startswith(SOURCELESS) else f"--release-source={source}"
    program = f"'{sys.executable}' -P -m flux_upgrade {command} {given}"
    return subprocess.run(  # noqa: S603 our own program
        [require_program("bash"), "-c", shell.format(program)],
        cwd=tree,
        env={"PATH": os.defpath, "HOME": str(tree.parent), **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def told(err: str) -> list[str]:
    """The names at the ends of the lines that are errors; there is no other text but what to do."""
    lines = err.splitlines()
    assert all(line.startswith(("flux-upgrade: ", "  Try: ")) for line in lines), err
    return [line.rpartition("[")[2].rstrip("]") for line in lines if line.startswith("flux-upgrade: ")]


@pytest.mark.parametrize("command", [each for each in COMMANDS if each != "upgrde"])
@pytest.mark.parametrize("fault", [FULL, CLOSED])
def test_a_report_that_cannot_be_printed(command: str, fault: str, tree: Path, written_source: Path) -> None:
    done = run(tree, command, written_source, f"{{}} {fault}")
    assert done.returncode == (COMMANDS[command] or OutputFailed.exit_code), done.stderr
    assert told(done.stderr).count(OutputFailed.slug) == 1


@pytest.mark.parametrize("command", [each for each in COMMANDS if each != "upgrde"])
def test_a_reader_that_has_seen_enough(command: str, tree: Path, written_source: Path) -> None:
    done = run(tree, command, written_source, f"{{}} {PIPE}")
    assert done.returncode == (COMMANDS[command] or READER_GONE), done.stderr
    assert OutputFailed.slug not in told(done.stderr)


@pytest.mark.parametrize("command", ["--help", "plan .", "upgrade .", "check . --to=v2.9.4", "upgrde"])
@pytest.mark.parametrize("fault", ["2>/dev/full", "2>&-", "<&-"])
def test_the_exit_code_does_not_depend_on_stderr_and_stdin(
    command: str, fault: str, tree: Path, written_source: Path
) -> None:
    done = run(tree, command, written_source, f"{{}} {fault}")
    assert (done.returncode, bool(done.stdout)) == (COMMANDS[command], command != "upgrde"), done.stderr


def test_the_report_does_not_land_in_a_file_that_is_written(tree: Path, written_source: Path) -> None:
    """The next file that is opened gets the number of a stream that is closed."""
    done = run(tree, "upgrade . --verbose", written_source, "{} <&- >&- 2>&-")
    assert (done.returncode, done.stderr) == (OutputFailed.exit_code, "")
    written = (tree / "clusters/staging/flux-system/gotk-components.yaml").read_text()
    assert (
        written == fleet({"clusters/staging": "v2.8.8"})["clusters/staging/flux-system/gotk-components.yaml"].decode()
    )


@pytest.mark.parametrize(
    "command", ["inspect .", "plan .", "upgrade .", "check . --to=v2.9.4", "render --version=v2.9.4"]
)
@pytest.mark.parametrize("limit", [5, 8, 16])
def test_few_open_files(command: str, limit: int, tree: Path, written_source: Path) -> None:
    done = run(tree, command, written_source, f"ulimit -n {limit}; {{}}")
    assert done.returncode in (COMMANDS[command], NoResources.exit_code), done.stderr
    assert (NoResources.slug in told(done.stderr)) is (done.returncode == NoResources.exit_code)


def test_little_memory(tree: Path, written_source: Path) -> None:
    """Room for the program, and none for the file."""
    with (tree / "clusters" / "large.yaml").open("wb") as file:
        file.truncate(32 << 20)
    done = run(tree, "inspect .", written_source, "ulimit -v 60000; {}")
    assert (done.returncode, told(done.stderr)) == (NoResources.exit_code, [NoResources.slug])


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1:strict"},
    ],
)
def test_the_locale_changes_nothing(env: dict[str, str], tree: Path, written_source: Path) -> None:
    (tree / "clusters" / "staging").rename(tree / "clusters" / "café")
    expected = run(tree, "plan . --json", written_source, LC_ALL="C.UTF-8").stdout
    assert '"clusters/café/' in expected
    assert run(tree, "plan . --json", written_source, **env).stdout == expected
    assert run(tree, "--help", written_source, **env).returncode == 0


def test_no_home_and_nowhere_for_temporary_files(tree: Path, written_source: Path) -> None:
    done = run(tree, "upgrade .", written_source, "unset HOME; TMPDIR=/none {}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_run_that_waits_for_git(number: signal.Signals, tree: Path, written_source: Path) -> None:
    """Nothing is changed, nothing temporary is left, and nothing that the run started keeps it from ending."""
    programs, temporary = tree.parent / "programs", tree.parent / "temporary"
    programs.mkdir()
    temporary.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\necho begun >>'{programs}/log'\nexec sleep 120\n")
    (programs / "git").chmod(0o755)
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    # What a background job of a shell, or nohup, has told this process to ignore, the program would ignore, too.
    ignored = signal.signal(number, signal.SIG_DFL)
    process = subprocess.Popen(  # noqa: S603 our own program
        [sys.executable, "-P", "-m", "flux_upgrade", "upgrade", ".", f"--release-source={written_source}"],
        cwd=tree,
        env={"PATH": f"{programs}:{os.defpath}", "HOME": str(tree.parent), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    signal.signal(number, ignored)
    while not (programs / "log").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, b"Traceback" in err) == (128 + number, False), err
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before
    assert list(temporary.iterdir()) == []


INTERRUPTED = """\
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
"""


@pytest.mark.parametrize("module", ["main", "adapters.local.streams", "cli.parse", "model.errors", "commands.plan"])
@pytest.mark.parametrize("program", [(sys.executable, "-m", "flux_upgrade"), (f"{sys.prefix}/bin/flux-upgrade",)])
def test_an_interrupt_of_the_first_imports(program: tuple[str, ...], module: str, tree: Path) -> None:
    """The signal comes while Python looks for a module."""
    (tree.parent / "sitecustomize.py").write_text(INTERRUPTED.format(module=f"flux_upgrade.{module}"))
    env = {"PATH": os.defpath, "HOME": str(tree.parent), "PYTHONPATH": str(tree.parent)}
    done = subprocess.run([*program, "plan", "."], cwd=tree, env=env, capture_output=True, text=True, check=False)  # noqa: S603 our own program
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "flux-upgrade: interrupted\n")


def test_a_tree_with_what_is_no_file(tree: Path, written_source: Path) -> None:
    """Pipes, sockets, links in a circle, a directory named like a file: none is opened, none ends the run."""
    os.mkfifo(tree / "apps" / "pipe.yaml")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(tree / "apps" / "socket.yaml"))
    (tree / "apps" / "loop.yaml").symlink_to("loop.yaml")
    (tree / "apps" / "up").symlink_to("..")
    (tree / "apps" / "null.yaml").symlink_to("/dev/zero")
    (tree / "apps" / "directory.yaml").mkdir()
    (tree / "clusters" / "pipe").mkdir()
    os.mkfifo(tree / "clusters" / "pipe" / "gotk-components.yaml")
    for command in ("inspect . --json", "upgrade .", "check . --to=v2.9.4"):
        done = run(tree, command, written_source)
        names = told(done.stderr)
        assert names == ["unreadable", *(["api-removed"] if command.startswith("check") else [])]
        assert done.returncode == (COMMANDS["check . --to=v2.9.4"] if "api-removed" in names else Unreadable.exit_code)
    assert b"v2.8.8" in (tree / "clusters/staging/flux-system/gotk-components.yaml").read_bytes()


def test_a_file_above_the_limit_is_not_read(tree: Path, written_source: Path) -> None:
    """500 MB that take no room on the disk, with less memory than that."""
    for path in ("apps/large.yaml", "clusters/staging/large.yaml", "main.tf", "clusters/big/gotk-components.yaml"):
        (tree / path).parent.mkdir(exist_ok=True)
        with (tree / path).open("wb") as file:
            file.truncate(500_000_000)
    for command in ("inspect .", "upgrade .", "check . --to=v2.9.4"):
        done = run(tree, command, written_source, "ulimit -v 400000; {}")
        names = told(done.stderr)
        assert names == ["unreadable", *(["api-removed"] if command.startswith("check") else [])]
        assert done.returncode == (COMMANDS["check . --to=v2.9.4"] if "api-removed" in names else Unreadable.exit_code)
        assert "clusters/big/gotk-components.yaml could not be read: it is larger than 33554432 bytes" in done.stderr
