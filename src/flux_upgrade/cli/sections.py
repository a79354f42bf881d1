"""Under which headings ``--help`` and the reference show flags, and which ones ``--help`` leaves out."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

PLACES = "Arguments"
SUBJECT = "What to upgrade"
OUTPUT = "Output"
HELP = "Help"
NETWORK = "Releases and network"

_HEADINGS = {
    SUBJECT: (
        *("--to", "--approve", "--flags", "--from", "--include", "--accept-breaks", "--flux-migrate-done"),
        *("--config", "--trust-config", "--provider", "--source", "--cluster"),
    ),
    "Policy": (
        *("--policy", "--range", "--migrate", "--multi-step", "--on-conflict", "--check-images"),
        *("--kubernetes-version", "--promote"),
    ),
    "Pull requests": (
        *("--pull-request", "--push", "--repository", "--base", "--create-repository", "--description"),
        "--add-workflow",
    ),
    "Credentials": (
        *("--secret-file", "--actions-secret", "--actions-environment", "--known-hosts", "--app-private-key"),
        "--rotate-key",
    ),
    "Cluster": ("--kubeconfig", "--context", "--timeout"),
    NETWORK: (
        *("--release-source", "--ca-file", "--docker-config", "--allow-hosts", "--plain-http", "--username"),
        "--password-stdin",
    ),
}
_HEADING_OF = {flag: heading for heading, flags in _HEADINGS.items() for flag in flags}
RARE = frozenset(
    (
        *("--ca-file", "--docker-config", "--plain-http", "--username", "--password-stdin", "--promote"),
        *("--allow-hosts", "--check-images", "--actions-environment", "--known-hosts", "--rotate-key"),
        "--trust-config",
    )
)
"""Registries, certificates, artifacts, and what few ever change: only ``--help-all`` shows them."""


def by_heading(arguments: Iterable[str], subject: str, rest: str) -> dict[str, list[str]]:
    """Heading → its arguments, by their names with a space between them.

    ``subject``: how the command calls ``SUBJECT``. ``rest``: the heading of flags that have none.
    """
    found: dict[str, list[str]] = {heading: [] for heading in (PLACES, rest, *_HEADINGS, OUTPUT)}
    if rest == OUTPUT:
        found[OUTPUT] = found.pop(OUTPUT)  # which is the last one
    for names in arguments:
        found[_HEADING_OF.get(names, rest) if names.startswith("-") else PLACES].append(names)
    return {subject if heading == SUBJECT else heading: each for heading, each in found.items() if each}


def mark_rare(action: argparse.Action) -> None:
    """Leave it to --help-all."""
    action.is_rare = True  # type: ignore[attr-defined] # an action may carry more


def is_rare(action: argparse.Action) -> bool:
    return getattr(action, "is_rare", False)
