"""What the runner reads of a run of the Action: commands in the log, outputs, the summary."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from contextlib import suppress

from flux_upgrade.action import inputs, runner
from flux_upgrade.action.action_yml import REPORT_FILE
from flux_upgrade.action.runner import Runner
from flux_upgrade.adapters.local.worktree import append, write
from flux_upgrade.commands.action_result import ActionResult
from flux_upgrade.commands.output import Console
from flux_upgrade.model.errors import FluxUpgradeError, WriteFailed
from flux_upgrade.model.markdown import fenced, plain
from flux_upgrade.report.wording import Annotation, Level

_LONGEST_NOTE = 1000  # Characters: of a message and what to do about it


class RunnerLog:
    def __init__(self, console: Console, where: Runner) -> None:
        self._console, self._where = console, where
        # What the runner masks is the log alone.
        self.masked = console.mask
        self._annotations: list[Annotation] = []
        self.errors: list[type[FluxUpgradeError]] = []
        """What went wrong with what was to be written for the runner; the run ends red for it."""

    def text(self, text: str) -> None:
        """Show text that may be anybody's: commands in it are none."""
        self._console.show(runner.stopped(text, secrets.token_hex(16)))

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

    def notice(self, message: str, hint: str) -> None:
        """What is worth knowing and no problem, in the words of whoever gave inputs."""
        self.annotate(Annotation(Level.NOTICE, inputs.in_inputs(f"{message}\n{hint}"), title="flux-upgrade"))

    def failed(self, slug: str, message: str, hint: str) -> None:
        """An error, and what to do about it, in the words of whoever gave inputs."""
        text = inputs.in_inputs(f"{message}\n{hint}" if hint else message)
        self.annotate(Annotation(Level.ERROR, text, title=f"flux-upgrade: {slug}"))

    def report(self, result: ActionResult) -> None:
        value = self.masked(json.dumps(result.value, ensure_ascii=False)) if result.value is not None else ""
        for slug, message, hint in result.failures:
            self.failed(slug, message, hint)
        for warning in dict.fromkeys(result.warnings):
            self.annotate(Annotation(Level.WARNING, warning))
        for annotation in result.annotations:
            self.annotate(annotation)
        outputs = dict(result.outputs)
        if result.value is not None:
            outputs["report"] = value
        if self._where.temp and value:
            # Not every runner mounts its temporary folder, and the run has done its work.
            with suppress(WriteFailed):
                write(f"{self._where.temp}/{REPORT_FILE}", value + "\n")
                outputs["report-file"] = REPORT_FILE
        self.finish(outputs, result.summary)

    def finish(self, outputs: Mapping[str, str], summary: str) -> None:
        """Write everything. What there are no annotations for goes into the summary."""
        lines, others = runner.annotate(self._annotations)
        self._console.show("".join(f"{line}\n" for line in lines))
        fits, dropped = runner.fitting({name: self.masked(value) for name, value in outputs.items()})
        notes = [each.note for each in (*others, *(self._annotations if not summary else ()))]
        notes += [f"the output {name} is empty: it is larger than GitHub allows" for name in dropped]
        if self._where.output:
            self._append(self._where.output, runner.outputs_text(fits, secrets.token_hex(16)))
        if self._where.summary:
            # On top: a summary that is too long is cut at its end.
            shown = "".join(map(_shown, notes))
            self._append(self._where.summary, runner.summary_within(self.masked(f"{shown}{summary}")))

    def _append(self, path: str, text: str) -> None:
        try:
            append(path, text)
        except WriteFailed as error:
            self._console.fail(error.slug, error.message, error.hint)
            self.errors.append(type(error))


def _shown(note: str) -> str:
    """For the summary. What comes after an empty line is a file, to be copied."""
    message, _, file = note.partition("\n\n")
    line = plain(message.replace("\n", " → "), _LONGEST_NOTE)
    return f"> {line}\n\n" + (f"{fenced(file, 'yaml')}\n\n" if file else "")
