"""The entry point, and the only catch-all: argv + environment → options → a command → exit code.

A command's own modules are imported when it runs: imports are most of a short run's time.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

from flux_upgrade.cli.parse import parse_command
from flux_upgrade.commands.output import Console, failure, pager_for, with_terminal
from flux_upgrade.config.environment import masked, secrets_of
from flux_upgrade.model.errors import FluxUpgradeError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

    from flux_upgrade.config.environment import Environment
    from flux_upgrade.model.ports import Timing

    # Each takes the options of its own.
    Command = Callable[[Any, Environment, Console], int]

INTERRUPTED = 130
_UNEXPECTED = 1


def main() -> int:
    # A run is short and makes hardly a cycle, but very many objects: looking for cycles among
    # them takes a tenth of the time.
    gc.disable()
    # A repository must not bring the programs that are run on it, as it would by `.` in PATH.
    folders = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))  # noqa: TID251 the one place
    os.environ["PATH"] = os.pathsep.join(folders) or os.devnull  # noqa: TID251 the one place
    environment = dict(os.environ)  # noqa: TID251 the one place
    try:
        code = run(sys.argv[1:], environment, sys.stdout.buffer, sys.stderr, stdin=sys.stdin)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`| head`); Python would complain about it once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


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
    secrets, console = secrets_of(env), Console(out, err)
    try:
        invocation = parse_command(argv, env, timing)
        environment, secrets = invocation.environment, (*secrets, *invocation.secrets)
        if environment.registry.is_password_on_stdin:
            password = _password(stdin)
            environment = environment._replace(registry=environment.registry._replace(password=password))
            secrets = (*secrets, password)
        if invocation.command == "action":
            from flux_upgrade.commands import action

            return action.run(env, console, timing)
        environment = with_terminal(environment, invocation.options, env, out, err)
        pager = pager_for(invocation.options, env, out)
        console = console._replace(progress=environment.progress, pager=pager)
        command: Command = import_module(f"flux_upgrade.commands.{invocation.command}").run
        return command(invocation.options, environment, console)
    except FluxUpgradeError as error:
        console.clear()
        err.write(masked(failure(error.slug, error.message, error.hint), secrets))
        return error.exit_code
    except KeyboardInterrupt:
        console.clear()
        err.write("flux-upgrade: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 the one catch-all
        console.clear()
        err.write(masked(_defect(error, debug="FLUX_UPGRADE_DEBUG" in env), secrets))
        return _UNEXPECTED
    finally:
        if console.progress is not None:
            console.progress.close()


def _password(stdin: IO[str] | None) -> str:
    """Raises UsageError where there is none."""
    password = stdin.readline().strip() if stdin is not None else ""
    if not password:
        raise UsageError("no password on stdin", hint="pipe the password in, or remove --password-stdin")
    return password


def _defect(error: Exception, *, debug: bool) -> str:
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
    trace = "".join(traceback.format_exception(error)) if debug else ""
    return (
        f"{trace}flux-upgrade: unexpected: {type(error).__name__} at {where}: {error}\n"
        "  This is a bug in flux-upgrade. Run the same command with FLUX_UPGRADE_DEBUG=1, and report its output "
        "together with the file that it read.\n"
    )
