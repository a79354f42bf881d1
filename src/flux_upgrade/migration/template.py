"""What is told of a use in a template, which nobody can follow from here."""

from __future__ import annotations

import posixpath
import re

from flux_upgrade.migration.values import Left, Reason
from flux_upgrade.resources.flux_file import FluxFile
from flux_upgrade.resources.use import Use

_MADE = "It is a template: what it becomes is not known from here."
_HELM = re.compile(
    rb"\{\{[^}\n]*(?:\.(?:Values|Release|Chart|Capabilities|Files|Template)\b|\b(?:include|template) )"
)
"""https://helm.sh/docs/chart_template_guide/builtin_objects/"""
_TEMPLATES = "templates"
"""The folder of a chart: https://helm.sh/docs/topics/charts/#the-chart-file-structure"""


def in_template(file: FluxFile, use: Use) -> Left:
    """What to do about it, in words of its own: those of a parser would lead astray."""
    if b"{{" not in file.content:
        told = f"{use.why[:1].upper()}{use.why[1:]}." if use.why else _MADE
        return Left(use, Reason.TEMPLATE, told, "Change it by hand, or where it is made.")
    outside = f"leave it out with {_scan(use.path)}."
    if _HELM.search(file.content):
        return Left(
            use, Reason.TEMPLATE, "It is a Helm template.", f"Change the version in the chart, or {outside}"
        )
    return Left(use, Reason.TEMPLATE, _MADE, f"Change the version there, or {outside}")


def _scan(path: str) -> str:
    """The key of the config file that leaves out the chart, or else the folder, or the file at the root."""
    *folders, _ = path.split("/")
    if _TEMPLATES in folders:
        index = len(folders) - 1 - folders[::-1].index(_TEMPLATES)
        folders = folders[:index] or folders[: index + 1]
    pattern = posixpath.join(*folders, "**") if folders else path
    return "`scan: ['**', '!{}']`".format(pattern.replace("'", "''"))
