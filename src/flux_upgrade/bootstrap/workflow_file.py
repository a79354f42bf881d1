"""``add-workflow``: the workflow that upgrades what was bootstrapped, beside its files.

``examples/scheduled.yaml`` is the same text; a test keeps them equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flux_upgrade.bootstrap.files import FileChange
from flux_upgrade.model.errors import ForbiddenByForge, UsageError

FOLDER = ".github/workflows/"
PATH = f"{FOLDER}flux-upgrade.yaml"
ACTION = "OWNER/flux-upgrade@0000000000000000000000000000000000000000 # v0.0.0"
"""The newest release when this was written, by its commit: a pull request after each release changes it. Zeros before
the first one (docs/releases.md)."""
_ACTION = re.compile(r"[\w.-]+/[\w.-]+(?:/[\w./-]+)?@[\w./-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_RELEASE = re.compile(r"v\d+\.\d+\.\d+")
_USES = re.compile(r"[ \t]*(?:-[ \t]+)?[\"']?uses[\"']?:[ \t]*[\"']?(?P<what>[^\"'\s#]+)")
_DOES = re.compile(r"[ \t]*(?:-[ \t]+)?[\"']?mode[\"']?:[ \t]*[\"']?(?:bootstrap|plan|rollback)\b")
_NAME = re.compile(r"(?:^|/)flux-upgrade(?:[/@:]|$)")
_RUNS = re.compile(r"^[^#\n]*\bflux-upgrade (?:action|upgrade)\b", re.MULTILINE)
"""Without a container: the command itself."""
TEXT = """\
# Upgrade Flux. Every day, a new patch becomes a pull request, and a new minor becomes a draft.
# To approve a minor, mark its draft as ready for review. Or click "Run workflow", and enter it, such as 2.9.
#
# Once, in the repository's settings, under Actions > General:
# select "Allow GitHub Actions to create and approve pull requests".
name: flux-upgrade

on:
  schedule:
    - cron: "17 5 * * *"
  workflow_dispatch:
    inputs:
      approve:
        description: A minor (2.9) or a version (v2.9.4) to approve; empty checks for releases
        type: string
        default: ""

# No run may replace an approval.
concurrency:
  group: flux-upgrade-${{ inputs.approve && github.run_id || 'schedule' }}
  cancel-in-progress: false

permissions: {}

jobs:
  upgrade:
    name: Upgrade Flux
    runs-on: ubuntu-24.04
    timeout-minutes: 10
    permissions:
      contents: write # pushes the upgrade branch
      pull-requests: write # opens and updates pull requests
      issues: write # sets labels; replaces unavailable drafts
      statuses: write # reports verification as a commit status
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          fetch-depth: 0 # Git history shows earlier Flux versions
          persist-credentials: false
      - uses: ACTION
        with:
          approve: ${{ inputs.approve }}
"""


def workflow_text(action: str = ACTION) -> str:
    """The workflow's text. ``action``: of ``action_of``."""
    return TEXT.replace("ACTION", action)


def action_of(repository: str, ref: str, release: str = "") -> str:
    """The action that runs, from ``GITHUB_ACTION_REPOSITORY`` and ``GITHUB_ACTION_REF``; else ``ACTION``.

    Both are empty on a laptop, and where a workflow uses the action from its own checkout. ``release``: of the image
    that runs; beside a commit it is the version that Dependabot and Renovate read.
    """
    action = f"{repository.strip()}@{ref.strip()}"
    if not _ACTION.fullmatch(action):
        return ACTION
    return f"{action} # {release}" if _COMMIT.fullmatch(ref.strip()) and _RELEASE.fullmatch(release) else action


def to_be_added(workflows: Iterable[tuple[str, bytes]], action: str = ACTION) -> FileChange | None:
    """The file to add; None where a workflow upgrades already.

    ``workflows``: path and content of the files below ``FOLDER`` at the base.
    Raises UsageError where another file is in its place.
    """
    found = dict(workflows)
    if any(upgrades(content) for content in found.values()):
        return None
    if PATH in found:
        raise UsageError(
            f"{PATH} exists, and does not upgrade Flux",
            hint="rename it, or omit --add-workflow and add the workflow yourself",
        )
    return FileChange(PATH, None, workflow_text(action).encode())


def upgrades(workflow: bytes) -> bool:
    """Whether a workflow has a step that upgrades: this action in no other mode, or the command."""
    text = workflow.decode("utf-8", "replace")
    if _RUNS.search(text):
        return True
    return any(not any(map(_DOES.match, step)) for step in _steps_with_us(text.splitlines()))


def require_permission(may_write: bool | None, change: FileChange) -> None:  # noqa: FBT001 a port's answer
    """``may_write``: what ``Hosting.may_write_workflows`` answers. Raises ForbiddenByForge, with the file."""
    if may_write is not False:
        return
    raise ForbiddenByForge(
        f"the token cannot write {change.path}; nothing was written",
        hint="use a token with the `workflows` permission, which GITHUB_TOKEN never has; or omit add-workflow, and add "
        f"this file yourself as {change.path}:\n\n{change.after.decode()}",
    )


def to_do() -> str:
    """What a person does once, so that the workflow may open pull requests. Markdown."""
    return (
        "Once, in the repository's **Settings → Actions → General**: select **Allow GitHub Actions to create "
        f"and approve pull requests**. `{PATH}` needs it."
    )


def _steps_with_us(lines: list[str]) -> Iterator[list[str]]:
    """The lines of each step that uses an action of our name, whoever's copy it is."""
    for at, line in enumerate(lines):
        uses = _USES.match(line)
        if uses is not None and _NAME.search(uses["what"]):
            # Up to the dash that the step begins with.
            begin = next((n for n in range(at, 0, -1) if lines[n].lstrip().startswith("- ")), 0)
            # Down to the next step, or the end of the list.
            inside = len(line) - len(line.lstrip(" -"))
            end = at + 1
            while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) >= inside):
                end += 1
            yield lines[begin:end]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
