"""The commit: its message, what decides whether it is made anew, and the status that it gets."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Iterable

from flux_upgrade import markers
from flux_upgrade.forge import Status
from flux_upgrade.markdown import inert, shortened, visible
from flux_upgrade.phrases import proof_phrase
from flux_upgrade.plan import files_after, files_before
from flux_upgrade.proposal import Proposal, Surroundings
from flux_upgrade.pull_request import migration
from flux_upgrade.pull_request.facts import checksums, pins_phrase, summed
from flux_upgrade.pull_request.headline import headline
from flux_upgrade.pull_request.view import View

_SUBJECT = 72
"""Characters that Git's own tools show of a subject line."""
_DESCRIPTION = 140
"""What GitHub takes."""


def commit_message(proposal: Proposal, around: Surroundings) -> str:
    """Subject, proof, and trailers, which ``markers.sealed`` completes with the digest."""
    view = View(proposal, around)
    whole = headline(proposal, around, where=True)
    subject = (
        whole if len(whole) <= _SUBJECT else shortened(headline(proposal, around, where=False), _SUBJECT)
    )
    trailers = (
        ("Group", proposal.slug),
        ("Subject", proposal.subject),
        ("Target", proposal.target),
        ("Plan", plan_digest(proposal)),
    )
    return "\n\n".join(
        [
            subject,
            *([textwrap.fill(f"In {inert(view.name)}.", _SUBJECT)] if subject != whole else ()),
            textwrap.fill(_told(view), _SUBJECT),
            "\n".join(f"Flux-Upgrade-{name}: {visible(value)}" for name, value in trailers) + "\n",
        ]
    )


def plan_digest(proposal: Proposal) -> str:
    """Changes whenever a file that was read, or what is written in its place, does; and at no other time."""
    after = files_after(proposal.upgrades)
    before = files_before(proposal.upgrades)
    return changes_digest((path, before[path], after[path]) for path in after)


def changes_digest(changes: Iterable[tuple[str, bytes | None, bytes]]) -> str:
    """Of path, what was read (None: there is no such file), and what is written in its place."""
    lines = sorted(
        (path, "" if before is None else _sha256(before), _sha256(after)) for path, before, after in changes
    )
    # Paths have no NUL, so that no two plans read the same.
    return "sha256:" + _sha256("".join(f"{part}\0" for line in lines for part in line).encode())


def status(proposal: Proposal) -> Status:
    """The proof, where branch protection can require it."""
    told = _told(View(proposal, Surroundings(())))
    return Status(markers.PROOF, "success", shortened(told, _DESCRIPTION))


def _told(view: View) -> str:
    """The proof, for somebody who reads the history."""
    told = [migration.told(view)] if view.is_migration else []
    if view.proved:
        told = [summed(proof_phrase(each.proof) for each in view.proved), checksums(view)]
    if view.pins:
        told.append(pins_phrase(view))
    if view.moved and not view.is_migration:
        told.append(migration.told(view))
    return f"{'. '.join(f'{each[:1].upper()}{each[1:]}' if at else each for at, each in enumerate(told))}."


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
