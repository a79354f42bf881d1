"""The entry point, and the last catch-all: argv + environment → options → a command → exit code.

A command's own modules are imported when it runs: imports are most of a short run's time.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

from flux_upgrade.adapters.local import streams
from flux_upgrade.cli.parse import parse_command
from flux_upgrade.commands.output import Console, failure, output_lost, pager_for, with_terminal
from flux_upgrade.config.environment import secrets_of
from flux_upgrade.model.errors import UsageError, known
from flux_upgrade.model.masking import Mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

    from flux_upgrade.config.environment import Environment
    from flux_upgrade.model.timing import Timing

    # Each takes the options of its own.
    Command = Callable[[Any, Environment, Console], int]

INTERRUPTED = 130
_STOPPED = 128  # And the number of the signal: what a shell gives as the exit code of what a signal ended


def main() -> int:
    # A run is short and makes hardly a cycle, but very many objects: looking for cycles among
    # them takes a tenth of the time.
    gc.disable()
    # A repository must not bring the programs that are run on it, as it would by `.` in PATH.
    folders = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))  # noqa: TID251 the one place
    os.environ["PATH"] = os.pathsep.join(folders) or os.devnull  # noqa: TID251 the one place
    environment = dict(os.environ)  # noqa: TID251 the one place
    if sys.getfilesystemencoding() != "utf-8" and environment.get("PYTHONUTF8") != "1":
        # Names of files are UTF-8 in Git and on every server, whatever the locale says. Python decides at its start.
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**environment, "PYTHONUTF8": "1"})  # noqa: S606 the same program
    streams.open_standard()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _stop)
    try:
        code = run(sys.argv[1:], environment, sys.stdout.buffer, sys.stderr, stdin=sys.stdin)
        streams.flushed(sys.stdout)  # it has been told
    except SystemExit as end:  # --help and --version print by themselves
        code = end.code if isinstance(end.code, int) else 0
        lost = streams.flushed(sys.stdout)
        code = code if lost is None else output_lost(lost, code, sys.stderr)
    return code


def _stop(number: int, frame: object) -> None:
    """As an interrupt does: temporary files are removed, and what is half done is taken back."""
    del frame
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(_STOPPED + number)


def run(  # noqa: PLR0913 whatever a process has
    argv: Sequence[str],
    env: Mapping[str, str],
    out: IO[bytes],
    err: IO[str],
    timing: Timing | None = None,
    *,
    stdin: IO[str] | None = None,
) -> int:
    """The exit code. ``timing``: the clock to go by; None: the machine's. ``stdin``: where a password comes from."""
    mask = Mask(secrets_of(env))
    console = Console(out, err, [], mask=mask)
    try:
        invocation = parse_command(argv, env, timing)
        mask.hide(invocation.secrets)
        environment = invocation.environment._replace(mask=mask)
        if environment.registry.is_password_on_stdin:
            password = _password(stdin)
            environment = environment._replace(registry=environment.registry._replace(password=password))
            mask.hide((password,))
        if invocation.command == "action":
            from flux_upgrade.commands import action

            code = action.run(env, console, mask, timing)
            return output_lost(console.lost[0], code, err) if console.lost else code
        environment = with_terminal(environment, invocation.options, env, out, err)
        pager = pager_for(invocation.options, env, out)
        console = console._replace(progress=environment.progress, pager=pager)
        command: Command = import_module(f"flux_upgrade.commands.{invocation.command}").run
        code = command(invocation.options, environment, console)
        return output_lost(console.lost[0], code, err) if console.lost else code
    except KeyboardInterrupt:
        console.clear()
        err.write("flux-upgrade: interrupted\n")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 the last catch-all
        found = known(error)
        trace = _trace(error) if "FLUX_UPGRADE_DEBUG" in env and found is not error else ""
        console.tell(trace + failure(found.slug, found.message, found.hint))
        return found.exit_code
    finally:
        if console.progress is not None:
            console.progress.close()


def _password(stdin: IO[str] | None) -> str:
    """Raises UsageError where there is none."""
    password = stdin.readline().strip() if stdin is not None else ""
    if not password:
        raise UsageError("no password on stdin", hint="pipe the password in, or remove --password-stdin")
    return password


def _trace(error: Exception) -> str:
    import traceback  # late: no other run needs it

    return "".join(traceback.format_exception(error))
