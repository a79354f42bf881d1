"""GitHub's runner: the variables that it sets; the commands, outputs and summary that it reads.

Text in, text out; the caller reads the environment and writes the files. Sources:
https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands and
.../workflows-and-actions/variables; the limits of annotations are in
https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md#limitations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.report.wording import Annotation, Level

GITHUB = "https://github.com"
SUMMARY_LIMIT = 1024 * 1024  # Bytes of a step's summary; the runner takes nothing of a longer one
OUTPUTS_LIMIT = 1_000_000
"""Bytes in UTF-16 of all outputs of a job, its other steps' among them; GitHub says 1 MB, approximately."""
ANNOTATIONS_LIMIT = 10  # Of each level, in a step; GitHub drops the others without a word


class Runner(NamedTuple):
    """Where a run takes place: the runner's own variables, empty where it did not set one."""

    workspace: str
    repository: str
    server: str  # `https://github.com`, or a GitHub Enterprise Server; no trailing slash
    event: str
    event_path: str  # File with the event's payload
    workflow_ref: str  # `owner/name/.github/workflows/x.yaml@refs/heads/main`
    run_id: str
    output: str
    summary: str
    temp: str  # Folder that lives as long as the job, and that later steps know as `runner.temp`
    action_repository: str = ""
    """``owner/name`` of the action that runs; empty for one of the workflow's own repository."""
    action_ref: str = ""  # The tag, branch or commit of it that the workflow names
    action_release: str = ""  # The release that the image is of, as its Dockerfile sets it

    @property
    def is_github(self) -> bool:
        """It is github.com, whose tokens read Flux's releases too."""
        return self.server == GITHUB

    @property
    def run_url(self) -> str:
        """The run's page, for a browser; empty where it is unknown."""
        return f"{self.server}/{self.repository}/actions/runs/{self.run_id}" if self.run_id else ""

    @property
    def workflow(self) -> str:
        """File name of the workflow; empty where it is unknown."""
        return self.workflow_ref.partition("@")[0].rpartition("/")[2]

    @property
    def workflow_url(self) -> str:
        """The workflow's page, which has the button "Run workflow"; empty where it is unknown."""
        return f"{self.server}/{self.repository}/actions/workflows/{self.workflow}" if self.workflow else ""

    def approve_command(self, repository: str = "") -> str:
        """The command that approves, up to the version; empty where the workflow is unknown.

        ``repository``: of the pull request that shows it, should it be another than the workflow's.
        """
        if not self.workflow:
            return ""
        # Inside of a clone, gh finds repository and server by itself.
        host = "" if self.is_github else f"{self.server.partition('://')[2]}/"
        where = "" if repository in ("", self.repository) else f" -R {host}{self.repository}"
        return f"gh workflow run {self.workflow}{where} -f approve="


def runner_of(env: Mapping[str, str]) -> Runner:
    def value_of(name: str, default: str = "") -> str:
        return env.get(name, "").strip() or default

    return Runner(
        workspace=value_of("GITHUB_WORKSPACE"),
        repository=value_of("GITHUB_REPOSITORY"),
        server=value_of("GITHUB_SERVER_URL", GITHUB).rstrip("/"),
        event=value_of("GITHUB_EVENT_NAME"),
        event_path=value_of("GITHUB_EVENT_PATH"),
        workflow_ref=value_of("GITHUB_WORKFLOW_REF"),
        run_id=value_of("GITHUB_RUN_ID"),
        output=value_of("GITHUB_OUTPUT"),
        summary=value_of("GITHUB_STEP_SUMMARY"),
        temp=value_of("RUNNER_TEMP"),
        action_repository=value_of("GITHUB_ACTION_REPOSITORY"),
        action_ref=value_of("GITHUB_ACTION_REF"),
        action_release=value_of("FLUX_UPGRADE_VERSION"),
    )


def annotate(annotations: Iterable[Annotation]) -> tuple[tuple[str, ...], tuple[Annotation, ...]]:
    """The lines of those that GitHub will show, and the others, which belong into the summary."""
    lines: list[str] = []
    others: list[Annotation] = []
    left = dict.fromkeys(Level, ANNOTATIONS_LIMIT)
    for each in annotations:
        if left[each.level]:
            left[each.level] -= 1
            lines.append(annotation_command(each))
        else:
            others.append(each)
    return tuple(lines), tuple(others)


def mask(secret: str) -> tuple[str, ...]:
    """The lines that keep a secret out of the log; the runner masks each line of its own."""
    return tuple(f"::add-mask::{_data(line)}" for line in secret.splitlines() if line.strip())


def stopped(text: str, token: str) -> str:
    """Text of anybody's, in which the runner looks for no commands. ``token``: random, so that it cannot end it."""
    while token in text:
        token += "-"
    end = "\n" if text and not text.endswith("\n") else ""
    return f"::stop-commands::{token}\n{text}{end}::{token}::\n"


def fitting(outputs: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The outputs, as many as GitHub takes; and the names of those left empty, the largest first."""
    fits = dict(outputs)
    dropped: list[str] = []
    while sum(_utf16(name) + _utf16(value) for name, value in fits.items()) > OUTPUTS_LIMIT:
        largest = max(fits, key=lambda name: _utf16(fits[name]))
        fits[largest] = ""
        dropped.append(largest)
    return fits, tuple(dropped)


def outputs_text(outputs: Mapping[str, str], delimiter: str) -> str:
    """What is appended to the file of outputs.

    ``delimiter``: random, so that no value can end itself and set an output of its own.
    """
    while any(delimiter in value for value in outputs.values()):
        delimiter += "-"
    return "".join(f"{name}<<{delimiter}\n{value}\n{delimiter}\n" for name, value in outputs.items())


def summary_within(text: str, limit: int = SUMMARY_LIMIT) -> str:
    """A summary, cut after a line where it is too long; its first words say so then."""
    if len(text.encode("utf-8", "replace")) <= limit:
        return text
    # On top, where neither a table nor a code block that was cut can swallow it.
    note = "> This summary was too long for GitHub, and is cut off. The report file has everything.\n\n"
    kept = text.encode("utf-8", "replace")[: limit - len(note)]
    return note + kept[: kept.rfind(b"\n") + 1].decode("utf-8", "ignore")


def annotation_command(annotation: Annotation) -> str:
    where = (("title", annotation.title), ("file", annotation.file), ("line", str(annotation.line or "")))
    escaped = ((key, _data(text).replace(":", "%3A").replace(",", "%2C")) for key, text in where)
    properties = ",".join(f"{key}={text}" for key, text in escaped if text)
    return f"::{annotation.level}{' ' if properties else ''}{properties}::{_data(annotation.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass"))
