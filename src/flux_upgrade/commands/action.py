"""``flux-upgrade action``: the same flow, in the runner's dialect."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from flux_upgrade.action import inputs, runner
from flux_upgrade.action.action_yml import REPORT_FILE, Outcome
from flux_upgrade.action.runner import Runner
from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.adapters.local.worktree import append, write
from flux_upgrade.cli.options import (
    BootstrapCommand,
    Invocation,
    RollbackOptions,
    UpgradeOptions,
)
from flux_upgrade.cli.parse import parse_command
from flux_upgrade.commands.action_result import ActionResult, by_pull_request
from flux_upgrade.commands.output import Console
from flux_upgrade.config.environment import masked, secrets_of
from flux_upgrade.model.errors import FluxUpgradeError, WriteFailed
from flux_upgrade.model.markdown import fenced, plain
from flux_upgrade.model.oci import SCHEME
from flux_upgrade.planning.write_tree import exit_code
from flux_upgrade.report.wording import Annotation, Level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.ports import Timing

_LONGEST_NOTE = 1000
"""Characters: of a message and what to do about it."""


def run(env: Mapping[str, str], console: Console, timing: Timing | None = None) -> int:
    """One step of a job: log, annotations, outputs, summary, report file; then the exit code."""
    where = runner.runner_of(env)
    tokens = inputs.secrets(env, where)
    for secret in tokens:
        console.show("".join(f"{line}\n" for line in runner.mask(secret)))
    log = _Log(console, where, secrets_of(env))
    for warning in inputs.unknown(env):
        log.annotate(Annotation(Level.WARNING, warning))
    try:
        invocation = _invocation(env, where, tokens, timing)
        log.hide(invocation.secrets)
        result = _act(invocation, where, log.warn)
    except FluxUpgradeError as error:
        log.failed(error.slug, error.message, error.hint)
        log.finish({"outcome": str(Outcome.FAILED)}, "")
        return error.exit_code
    except Exception:
        # What it is stands at the end of the log; later steps are told that it went wrong.
        log.failed("unexpected", "a defect of flux-upgrade, see the end of the log", "please report it")
        log.finish({"outcome": str(Outcome.FAILED)}, "")
        raise
    log.text(result.text)
    _report(result, log, where)
    return exit_code(result.errors)


def _invocation(
    env: Mapping[str, str], where: Runner, tokens: inputs.Secrets, timing: Timing | None
) -> Invocation:
    argv = inputs.arguments(env)
    inputs.check(env, where, has_checkout=_has_checkout(where, argv[1]))
    given = {
        "GITHUB_TOKEN": tokens.token,
        "FLUX_UPGRADE_RELEASE_TOKEN": tokens.release_token,
        "FLUX_UPGRADE_REGISTRY_PASSWORD": tokens.registry_password,
    }
    found = parse_command(argv, {**env, **given}, timing)
    options = found.options
    if isinstance(options, (UpgradeOptions, BootstrapCommand)) and not options.repository:
        return found._replace(options=options._replace(repository=where.repository))
    return found


def _has_checkout(where: Runner, path: str) -> bool:
    """Whether ``path`` is in a checkout in the workspace, also once links are followed."""
    if not where.workspace:
        return False
    place = find(inputs.inside(where.workspace, "." if path.startswith(SCHEME) else path))
    workspace = find(where.workspace)
    inputs.inside(f"{workspace.root}/{workspace.prefix}".rstrip("/"), f"{place.root}/{place.prefix}")
    return place.is_checkout


def _act(invocation: Invocation, where: Runner, warn: Callable[[str], None]) -> ActionResult:
    """Do what the inputs ask for. Raises FluxUpgradeError where nothing could be done."""
    options, environment = invocation.options, invocation.environment
    # Late, as all that most runs are not about.
    if isinstance(options, BootstrapCommand):
        from flux_upgrade.commands import bootstrap

        return bootstrap.act(options, environment, where)
    if isinstance(options, UpgradeOptions) and options.artifact is None:
        return by_pull_request(options, environment, where, warn)
    from flux_upgrade.commands import action_artifact

    if isinstance(options, RollbackOptions):
        return action_artifact.rolled_back(options, environment)
    assert isinstance(options, UpgradeOptions)  # noqa: S101 no input asks for another command
    return action_artifact.promote(options, environment, where, warn)


def _report(result: ActionResult, log: _Log, where: Runner) -> None:
    value = log.masked(json.dumps(result.value, ensure_ascii=False)) if result.value is not None else ""
    for slug, message, hint in result.failures:
        log.failed(slug, message, hint)
    for warning in dict.fromkeys(result.warnings):
        log.annotate(Annotation(Level.WARNING, warning))
    for annotation in result.annotations:
        log.annotate(annotation)
    found = dict(result.outputs(value))
    if where.temp and value:
        # Not every runner mounts its temporary folder, and the run has done its work.
        with suppress(WriteFailed):
            write(f"{where.temp}/{REPORT_FILE}", value + "\n")
            found["report-file"] = REPORT_FILE
    log.finish(found, result.summary)


class _Log:
    """What the runner reads: commands in the log, outputs, the summary."""

    def __init__(self, console: Console, where: Runner, tokens: Iterable[str]) -> None:
        self._console, self._where = console, where
        self._tokens: list[str] = []
        self.hide(tokens)
        self._annotations: list[Annotation] = []

    def hide(self, tokens: Iterable[str]) -> None:
        """From now on: as they are, and as Markdown has them."""
        words = (word for token in tokens for word in token.split())
        self._tokens += [each for word in words for each in (word, plain(word, len(word)))]

    def text(self, text: str) -> None:
        """Show text that may be anybody's: commands in it are none."""
        self._console.show(runner.stopped(self.masked(text), secrets.token_hex(16)))

    def masked(self, text: str) -> str:
        """Without tokens: another input may hold one, and the runner masks the log alone."""
        return masked(text, self._tokens)

    def warn(self, warning: str) -> None:
        """At once in the log, and at the end on the run's page."""
        self.text(f"warning: {warning}\n")
        self.annotate(Annotation(Level.WARNING, warning))

    def annotate(self, annotation: Annotation) -> None:
        """Remember it: the runner takes ten of a level."""
        self._annotations.append(
            annotation._replace(
                message=self.masked(annotation.message),
                title=self.masked(annotation.title),
                file=self.masked(annotation.file),
            )
        )

    def failed(self, slug: str, message: str, hint: str) -> None:
        """An error, and what to do about it, in the words of whoever gave inputs."""
        text = inputs.in_inputs(f"{message}\n{hint}" if hint else message)
        self.annotate(Annotation(Level.ERROR, text, title=f"flux-upgrade: {slug}"))

    def finish(self, outputs: Mapping[str, str], summary: str) -> None:
        """Write everything. What there are no annotations for goes into the summary."""
        lines, others = runner.annotate(self._annotations)
        self._console.show("".join(f"{line}\n" for line in lines))
        fits, dropped = runner.fitting({name: self.masked(value) for name, value in outputs.items()})
        notes = [each.note for each in (*others, *(self._annotations if not summary else ()))]
        notes += [f"the output {name} is empty: it is larger than GitHub takes" for name in dropped]
        if self._where.output:
            append(self._where.output, runner.outputs_text(fits, secrets.token_hex(16)))
        if self._where.summary:
            # On top: a summary that is too long is cut at its end.
            shown = "".join(map(_shown, notes))
            append(self._where.summary, runner.summary_within(self.masked(f"{shown}{summary}")))


def _shown(note: str) -> str:
    """For the summary. What comes after an empty line is a file, to be copied."""
    message, _, file = note.partition("\n\n")
    line = plain(message.replace("\n", " → "), _LONGEST_NOTE)
    return f"> {line}\n\n" + (f"{fenced(file, 'yaml')}\n\n" if file else "")
