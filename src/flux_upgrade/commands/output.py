"""What every command prints in the same way, and on what: colors, width, and who is told what it is doing."""

from __future__ import annotations

import errno
from collections.abc import Mapping

from flux_upgrade.cli.options import OutputOptions, UpgradeOptions
from flux_upgrade.config.environment import Environment, Terminal
from flux_upgrade.model.errors import OutputFailed
from flux_upgrade.model.exit_code import ExitCode
from flux_upgrade.model.text import printable_lines
from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from flux_upgrade.adapters.local.pager import Pager
    from flux_upgrade.model.ports import Progress

READER_GONE = 141  # 128 and the number of SIGPIPE, as a shell has it
_WIDTH = 80  # Columns where the terminal does not tell


class Console(NamedTuple):
    out: IO[bytes]
    err: IO[str]
    lost: list[OSError]  # Why what was to be printed could not be; the run goes on, and ends red
    progress: Progress | None = None
    pager: Pager | None = None
    mask: Callable[[str], str] = str  # What takes secrets out of all that is printed

    def show(self, text: str) -> None:
        """Print a report. File names may hold bytes that are no text (PEP 383); they are shown as escapes."""
        content = self.mask(text).encode("utf-8", "backslashreplace")
        if self.pager is not None and self.progress is not None:
            self.progress.close()  # for good: the screen is the pager's
        self.clear()
        try:
            if self.pager is None or not self.pager.show(content, self.out):
                self.out.write(content)
                self.out.flush()
        except OSError as error:
            self.lost.append(error)

    def fail(self, slug: str, message: str, hint: str) -> None:
        self.tell(failure(slug, message, hint))

    def tell(self, text: str) -> None:
        self.clear()
        self.err.write(self.mask(text))

    def clear(self) -> None:
        """Take the line away that says what the run is doing."""
        if self.progress is not None:
            self.progress.clear()

    def warn(self, text: str) -> None:
        """A warning; what follows its first line is what to do about it."""
        message, _, hint = text.partition("\n")
        self.tell(_lines(f"flux-upgrade: warning: {message}", hint))


def output_lost(error: OSError, code: int, err: IO[str]) -> int:
    """The exit code of a run that could not print its report, and would have ended with ``code``."""
    if isinstance(error, BrokenPipeError):
        # Its reader has seen enough (`| head`).
        return code or READER_GONE
    what = "standard output is closed" if error.errno == errno.EBADF else error.strerror
    lost = OutputFailed(
        f"the report could not be printed: {what}", hint="write it to a file on a disk with free space, or to a pipe"
    )
    err.write(failure(lost.slug, lost.message, lost.hint))
    return ExitCode.of_run((code, lost.exit_code))


def failure(slug: str, message: str, hint: str) -> str:
    """What is wrong, the name of the error to search for, and what to do."""
    return _lines(f"flux-upgrade: {message} [{slug}]", hint)


def _lines(text: str, hint: str) -> str:
    """Either may hold what others wrote: it does not reach the terminal as a command."""
    return printable_lines([*text.split("\n"), *(f"  Try: {hint}".split("\n") if hint else ())])


def with_terminal(
    environment: Environment, options: object, env: Mapping[str, str], out: IO[bytes], err: IO[str]
) -> Environment:
    """``NO_COLOR`` as in https://no-color.org; ``COLUMNS`` as shells have it."""
    output = options.output if isinstance(options, UpgradeOptions) else OutputOptions()
    is_terminal = out.isatty()
    may_color = is_terminal and not env.get("NO_COLOR") and env.get("TERM") != "dumb"
    has_color = may_color if output.color == "auto" else output.color == "always"
    terminal = Terminal(_width(env, out) if is_terminal else 0, has_color)
    environment = environment._replace(terminal=terminal)
    if not output.is_verbose and (output.is_quiet or not err.isatty()):
        return environment
    # Late: most runs are those of a job, which has no terminal.
    from flux_upgrade.adapters.local.progress import LogLines, TerminalLine

    mask = environment.mask
    progress = LogLines(err, mask) if output.is_verbose else TerminalLine(err, _width(env, out), mask)
    return environment._replace(progress=progress)


def pager_for(options: object, env: Mapping[str, str], out: IO[bytes]) -> Pager | None:
    """Of an overview that is printed on a terminal; None: it is printed as it is."""
    if not isinstance(options, UpgradeOptions) or options.json or options.output.is_quiet or not out.isatty():
        return None
    if not options.output.may_page or env.get("TERM") == "dumb":
        return None
    import os  # late, as below

    from flux_upgrade.adapters.local.pager import pager_of  # late: only a terminal has one

    try:
        lines = os.get_terminal_size(out.fileno()).lines
    except (OSError, ValueError):
        return None
    return pager_of(env, lines) if lines else None


def _width(env: Mapping[str, str], out: IO[bytes]) -> int:
    given = env.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return int(given)
    import os  # late: only a terminal has a width

    try:
        return os.get_terminal_size(out.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH
