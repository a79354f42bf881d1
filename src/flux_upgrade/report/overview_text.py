"""The overview as plain text: a table, numbered steps, and a last line with counts and the next command."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.config.environment import Terminal
from flux_upgrade.model.oci import SCHEME
from flux_upgrade.model.text import capped, first_few, printable
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.approvals import split
from flux_upgrade.report.overview import Overview
from flux_upgrade.report.plans import NOTHING_TO_UPGRADE
from flux_upgrade.report.route_json import command_in_the_cluster
from flux_upgrade.route.rows import Remark, Row, State
from flux_upgrade.route.step import Actor, Stage, Step, Task

PLAIN = Terminal()

_MIGRATED = "--flux-migrate-done"
_OF_ONE_STEP = ("--approve=", _MIGRATED, "--accept-breaks")  # An answer about one release is none about the next

_MOST_PLACES = 4  # Of a step
_MOST_CLUSTERS = 3
_MOST_ROWS = 40
_LONG = 120  # Characters of a sentence that is not printed twice
_WIDEST_NAME = 60
_STEP = 8  # Columns before what belongs to a step
_GREEN, _YELLOW, _RED, _BOLD, _DIM = "32", "33", "31", "1", "2"
_COLORS = {
    State.UPGRADED: _GREEN,
    State.READY: _GREEN,
    State.NEEDS_APPROVAL: _YELLOW,
    State.WAITS: _YELLOW,
    State.HELD: _RED,
    State.FAILED: _RED,
    State.UP_TO_DATE: _DIM,
}


class Commands(NamedTuple):
    """What to type for a step, and for more."""

    target: tuple[str, ...] = ()  # A path, or the address of an artifact; empty: the working directory
    flags: tuple[str, ...] = ()  # That were given to this run, and are needed again
    details: tuple[str, ...] = ()  # The command and the flags that show the rest; empty: it was written
    prefix: str = ""  # Path of the target, or of the working directory, below the root of the repository

    def typed(self, step: Step) -> str:
        """Empty where there is nothing to type."""
        sources = (flag for flag in self.flags if flag.startswith("--release-source="))
        match step.task:
            case Task.MIGRATE if step.by is Actor.YOU:
                target = (self._place(step.place),) if step.place else self._tree
                return self.command("migrate", *sources, f"--to={step.argument}", target=target)
            case Task.RENDER:
                return (
                    f"{self.command('render', *sources, *step.flags, target=())} > {_quoted(self._place(step.place))}"
                )
            case Task.PLAN:
                return self.command("plan", *(flag for flag in self.flags if not flag.startswith(_OF_ONE_STEP)))
            case Task.UPGRADE | Task.APPROVE | Task.UPGRADE_TO:
                return self.command("upgrade", *self._upgrade_flags(step))
        return command_in_the_cluster(step)

    def _upgrade_flags(self, step: Step) -> Iterator[str]:
        """Yield the flags of this run, with what the step asks for in place of what it replaces."""
        match step.task:
            case Task.APPROVE:
                new = [f"--approve={name}={step.argument}" for name in step.names] or [f"--approve={step.argument}"]
                replaced = {*new, f"--approve={split(step.argument)[1]}"}
                kept = [flag for flag in self.flags if flag not in replaced]
            case Task.UPGRADE_TO:
                new = [f"--to={step.argument}"]
                kept = [flag for flag in self.flags if not flag.startswith("--to=")]
            case _:
                new, kept = [], [*self.flags]
        yield from kept
        if step.has_migrated and _MIGRATED not in kept:
            yield _MIGRATED
        yield from new

    def _place(self, path: str) -> str:
        """Return a path of the repository, as the working directory reaches it."""
        below = posixpath.relpath(path, self.prefix or ".")
        return posixpath.normpath(posixpath.join(*self._tree, below))

    @property
    def _tree(self) -> tuple[str, ...]:
        """What `migrate` is about: the checkout, if this run is about an artifact."""
        return tuple(each for each in self.target if not each.startswith(SCHEME))

    def command(self, name: str, *words: str, target: tuple[str, ...] | None = None) -> str:
        """``target``: what it is about; None: what this run is about."""
        import shlex  # late: only what has something to do has a command

        return shlex.join(("flux-upgrade", name, *(self.target if target is None else target), *words))


def _quoted(path: str) -> str:
    import shlex  # late, as above

    return shlex.quote(path)


def overview_text(found: Overview, commands: Commands, terminal: Terminal = PLAIN, done: Sequence[str] = ()) -> str:
    """The whole report; blocks without content are left out. ``done``: lines about what the run did."""
    blocks: list[list[str]] = [
        [line for each in found.drift for line in _wrapped(f"drift: {each}", terminal, 2)],
        list(_table(found, terminal)),
        [line for each in found.left for line in _wrapped(each, terminal, 2)],
        [line for each in found.broken_today for line in _wrapped(f"broken today: {each}", terminal, 2)],
        [
            line
            for at, each in enumerate(found.steps, 1)
            for line in _step(at, each, found.concerned(each), commands, terminal)
        ],
        list(_remarks(found.remarks, terminal)),
        [printable(each) for each in done],
        list(_last(found, commands, terminal)),
    ]
    return "\n".join(["\n".join([*block, ""]) for block in blocks if block])


def steps_text(steps: Sequence[Step], commands: Commands, terminal: Terminal = PLAIN) -> str:
    """Return steps, and the line about the first of them."""
    lines = _steps([(each, ()) for each in steps], commands, terminal)
    return "\n".join([*lines, "", *_next(steps, commands, terminal), ""])


def _table(found: Overview, terminal: Terminal) -> Iterator[str]:
    rows = found.rows
    width = min(max([len(each.name) for each in rows], default=0), _WIDEST_NAME)
    versions = [_versions(each, rows[at - 1] if at else None) for at, each in enumerate(rows)]
    second = max(map(len, versions), default=0)
    kinds = max([len(each.size) for each in rows], default=0)
    first_steps = _first_steps(found.steps)
    lines, wide = [], []
    for at, (row, version) in enumerate(zip(rows, versions, strict=True)):
        is_same = at > 0 and rows[at - 1].name == row.name
        name = terminal.paint("" if is_same else printable(row.name), _BOLD)
        padding = " " * max(width - (0 if is_same else len(row.name)), 0)
        state = terminal.paint(str(row.state), _COLORS[row.state])
        why = f": {row.why}" if row.why and row.state is State.HELD else row.why and f" ({row.why})"
        why += f", see step {step}" if row.state is State.HELD and (step := first_steps.get(row.name)) else ""
        cells = f"{name}{padding}  {version:{second}}  {row.size:{kinds}}"
        wide.append(width + second + kinds + 6 + len(str(row.state)) + len(why))
        lines.append((cells, f"{state}{printable(why)}"))
    is_narrow = 0 < terminal.width < max(wide, default=0)
    between = f"\n{' ' * 4}" if is_narrow else "  "
    yield from capped(
        [f"{cells.rstrip() if is_narrow else cells}{between}{state}" for cells, state in lines], _MOST_ROWS
    )


def _first_steps(steps: Sequence[Step]) -> dict[str, int]:
    """Name of a row → the number of the first step on the way of something that is held."""
    found: dict[str, int] = {}
    for at, each in enumerate(steps, 1):
        for name in each.clusters if each.stage > Stage.AFTER_READY else ():
            found.setdefault(name, at)
    return found


def _versions(row: Row, above: Row | None) -> str:
    current = row.current or "unknown"
    if not row.target or row.target == row.current:
        return current
    is_same = above is not None and above.name == row.name and above.target
    return f"{'' if is_same else current:{len(current)}} → {row.target}"


def _steps(steps: Iterable[tuple[Step, tuple[str, ...]]], commands: Commands, terminal: Terminal) -> Iterator[str]:
    for number, (step, concerned) in enumerate(steps, 1):
        yield from _step(number, step, concerned, commands, terminal)


def _step(number: int, step: Step, concerned: tuple[str, ...], commands: Commands, terminal: Terminal) -> Iterator[str]:
    who = f" ({first_few(concerned, _MOST_CLUSTERS)})" if concerned else ""
    head = f"Step {number:<3}"
    first, *rest = _wrapped(f"{head}{printable(f'{step.sentence}{who}{_way(step)}')}", terminal, _STEP)
    yield from (terminal.paint(head, _BOLD) + first.removeprefix(head), *rest)
    for place in capped(step.places, _MOST_PLACES):
        yield from _wrapped(f"{' ' * _STEP}  {printable(place)}", terminal, _STEP + 4)
    command = commands.typed(step)
    if command:
        yield f"{' ' * _STEP}{terminal.paint(f'$ {command}', _BOLD)}"


def _way(step: Step) -> str:
    """Return how a step is taken, with the address of the pull request in place of its number."""
    number = f"#{step.link.rpartition('/')[2]}"
    way = step.way.replace(number, step.link, 1) if step.link else step.way
    return f": {way}" if way else ""


def _remarks(remarks: Sequence[Remark], terminal: Terminal) -> Iterator[str]:
    if remarks:
        yield terminal.paint("Good to know", _BOLD)
    for each in remarks:
        yield from _wrapped(f"  {printable(each.what)}", terminal, 4)
        for place in capped(each.places, _MOST_PLACES):
            yield from _wrapped(f"    {printable(place)}", terminal, 6)


def _last(found: Overview, commands: Commands, terminal: Terminal) -> Iterator[str]:
    if not found.rows and not found.left:
        yield NOTHING_TO_UPGRADE
        return
    if found.rows:
        yield terminal.paint(f"{found.counts}.", _BOLD)
    if found.steps:
        yield from _next(found.steps, commands, terminal)
    if found.steps and commands.details:
        name, *words = commands.details
        yield f"Details:  {commands.command(name, *commands.flags, *words, '--details')}"


def _next(steps: Sequence[Step], commands: Commands, terminal: Terminal) -> Iterator[str]:
    """Yield the line about the first step that is left to the user: its command, or the step itself."""
    number, step = next((number, step) for number, step in enumerate(steps, 1) if step.by is Actor.YOU)
    command = commands.typed(step)
    if command:
        yield f"Next:     {command}"
    else:
        sentence = printable(f"{step.sentence[:1].lower()}{step.sentence[1:]}{_way(step)} (step {number})")
        yield from _wrapped(f"Next:     {sentence if len(sentence) <= _LONG else f'step {number}'}", terminal, 10)


def _wrapped(text: str, terminal: Terminal, indent: int) -> Iterable[str]:
    """The lines of a text that is too long for the terminal; the second and later ones are indented."""
    if not terminal.width or len(text) <= terminal.width:
        return (text,)
    import textwrap  # late: only a terminal has a width

    lead = len(text) - len(text.lstrip(" "))
    return textwrap.wrap(
        text.strip(),
        terminal.width,
        initial_indent=" " * lead,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
