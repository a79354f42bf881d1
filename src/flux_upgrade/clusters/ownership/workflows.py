"""Workflows of the repository's own that write a manifest with ``flux install --export``, as Flux's docs advise.

https://fluxcd.io/flux/flux-gh-action/#automate-flux-updates; also with ControlPlane's action that does the same,
controlplaneio-fluxcd/distribution, actions/update.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from flux_upgrade.clusters.ownership.remarks import code, listed
from flux_upgrade.model.files import YAML
from flux_upgrade.model.text import decoded, line_of, repository_path
from flux_upgrade.pins.cli.workflow import steps
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import Snapshot

_FILES = re.compile(r"\.(?:github|gitea|forgejo)/workflows/[^/]+\.ya?ml|\.gitlab-ci\.ya?ml")
_EXPORT = re.compile(
    r"^(?![ \t]*#).*?\bflux[ \t]+install\b(?P<flags>(?:[^|;&>\n\\]|\\\r?\n?){0,2000}?)"
    r"(?:>>?|\|[ \t]*tee)[ \t]*[\"']?(?P<to>(?:\$\{\{.*?\}\}|[^\s\"';|&])+)",
    re.MULTILINE,
)
_ACTION = b"controlplaneio-fluxcd/distribution/actions/update"
_WORKSPACE = re.compile(r"^(?:\$\{\{ *github\.workspace *\}\}|\$\{?GITHUB_WORKSPACE\}?)/")
_VARIABLE = re.compile(r"^.*(?:\$\{\{(?:(?!\$\{\{).)*?\}\}|\$\{[^}$]*\}|\$\w+)")
_FOLDER = re.compile(r"^[ \t-]*working-directory:[ \t]*[\"']?([^\s\"'#]+)|\bcd[ \t]+([^\s;&\"']+)", re.MULTILINE)


def remarks(tree: Snapshot, paths: Iterable[str]) -> Iterator[str]:
    """A Markdown text for each workflow that writes some of ``paths``."""
    wanted = list(paths)
    for file in filter(None, map(tree.at, filter(_FILES.fullmatch, tree.named(YAML)))):
        found = [("`flux install --export`", *each) for each in _written(decoded(file.content), wanted)]
        found += [("ControlPlane's action `update`", *each) for each in _updated(file, wanted)]
        for what, line, written in found:
            yield (
                f"**A workflow writes {'this file' if len(written) == 1 else 'these files'}, too:** "
                f"{code(f'{file.path}:{line}')} runs {what} into {listed(written)}. It writes the version "
                "of its CLI, regardless of your policy, and drops manual edits and flags that it does not set. "
                "Remove it, so that only one program writes the manifest."
            )


def _written(text: str, paths: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """The line of each such command, and which of some paths it writes."""
    folders = ["", *(one or other for one, other in _FOLDER.findall(text))]
    for match in _EXPORT.finditer(text):
        if "--export" not in match["flags"]:
            continue
        to = _WORKSPACE.sub("", match["to"])
        end, is_open = _VARIABLE.subn("", to)
        fitting = {repository_path(posixpath.join(folder, to)) for folder in folders}
        found = [path for path in paths if (path.endswith(end or path) if is_open else path in fitting)]
        if found:
            yield line_of(text, match.start("flags")), found


def _updated(file: File, paths: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The line of each step with ControlPlane's action, and which of some paths it writes."""
    for each in file.readable if _ACTION in file.content else ():
        for place in steps(each):
            folder = each.text_at(*place.step, "with", "path")
            written = repository_path(posixpath.join(_WORKSPACE.sub("", folder), "gotk-components.yaml"))
            if f"{_ACTION.decode()}@" in each.text_at(*place.step, "uses") and written in paths:
                yield each.line_at(*place.step, "uses"), [written]
