"""Who wrote an installation's file before, from the messages of the commits that touched it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from flux_upgrade import markers
from flux_upgrade.decision import Hold, HoldReason
from flux_upgrade.surroundings.remark import Remark, code

_MOST = 5
"""Commits: what is older tells little of who writes today."""
_SQUASHED = r"(?: \(#\d+\))?"


class Writer(StrEnum):
    """Programs that write ``gotk-components.yaml`` past pull requests."""

    TERRAFORM = "terraform"
    BOOTSTRAP = "bootstrap"


_HEADLINES = {
    # fluxcd/terraform-provider-flux internal/provider/resource_bootstrap_git.go
    Writer.TERRAFORM: re.compile(rf"(?:Init Flux\b.*|Update Flux manifests){_SQUASHED}"),
    # fluxcd/flux2 pkg/bootstrap/bootstrap_plain_git.go; "components" and "flux" before v0.12
    Writer.BOOTSTRAP: re.compile(rf"Add [Ff]lux \S+ components? manifests{_SQUASHED}"),
}


@dataclass(frozen=True)
class Written:
    """A commit of another writer."""

    by: Writer
    headline: str


def writer_in(history: Sequence[str]) -> Written | None:
    """The last other writer in ``history``: messages, newest first.

    What is older than a commit of ours says nothing: the file was handed over.
    """
    for message in history[:_MOST]:
        if markers.trailers(message):
            return None
        headline = message.partition("\n")[0].strip()
        for writer, pattern in _HEADLINES.items():
            if pattern.fullmatch(headline):
                return Written(writer, headline)
    return None


def hold(written: Written, target: str) -> Hold | None:
    """The hold of a file that Terraform wrote; None for another writer. ``target``: a tag."""
    if written.by is not Writer.TERRAFORM:
        return None
    return Hold(
        HoldReason.OWNED_BY_TERRAFORM,
        f'Terraform wrote this file: a commit of it is "{written.headline}"',
        f'set version = "{target}" in the resource flux_bootstrap_git, wherever it is; if there is none any '
        f"more, upgrade once with --to {target}",
        target=target,
    )


def remark(written: Written) -> Remark | None:
    """What to know of a file that ``flux bootstrap`` wrote; None for another writer."""
    if written.by is not Writer.BOOTSTRAP:
        return None
    return Remark(
        "",
        f"**`flux bootstrap` wrote this file**, in the commit {code(written.headline)}. It writes the "
        "version and the flags of the CLI that runs it: run again with an older CLI, or without the flags, "
        "it undoes this upgrade. Use a CLI of at least this version for the next run.",
    )
