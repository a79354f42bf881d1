"""Who refers to the files of installations, and who else writes them: looked up once, when it is needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from flux_upgrade.clusters.ownership.remarks import code
from flux_upgrade.model import markers
from flux_upgrade.model.unknown import Unknown, known_or
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.formats.terraform_files import TERRAFORM_FILES
from flux_upgrade.pins.pin import Pin
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.snapshot.snapshot import Snapshot

_MOST = 5  # Commits: what is older tells little of who writes today
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


TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.clusters.ownership.orphans import References
    from flux_upgrade.clusters.ownership.terraform import TerraformOwner


def writer_in(history: Sequence[str]) -> tuple[Writer | None, str]:
    """The last other writer in ``history`` (messages, newest first), and the headline of its commit.

    What is older than a commit of ours says nothing: the file was handed over.
    """
    for message in history[:_MOST]:
        if markers.trailers(message):
            break
        headline = message.partition("\n")[0].strip()
        for writer, pattern in _HEADLINES.items():
            if pattern.fullmatch(headline):
                return writer, headline
    return None, ""


class Ownership:
    """Who refers to the files of installations, and who else writes them.

    ``tree``: the whole repository. ``is_named``: the user named one file, which is then no orphan.
    """

    def __init__(self, tree: Snapshot, *, is_named: bool = False) -> None:
        self._tree, self._is_named = tree, is_named

    def is_referred_to(self, path: str) -> bool:
        """Whether a kustomization leads to the file; paths are relative to the repository's root."""
        return self._is_named or self._references.refers_to(path)

    @cached_property
    def _references(self) -> References:
        from flux_upgrade.clusters.ownership.orphans import References  # late: one file by its name is no orphan

        return References(self._tree)

    def other_writer(
        self, path: str, target: Version, history: Sequence[str] | Unknown, pins: Iterable[Pin] = ()
    ) -> Hold | None:
        """The hold where Terraform writes the file, unless its own pin is one of ``pins``, which move along.

        ``history``: messages of the file's commits, newest first.
        """
        if self._has_terraform:
            # Late: most repositories have none.
            from flux_upgrade.clusters.ownership import terraform

            ownership = terraform.owner_of(path, self._owners)
            if ownership is not None:
                return None if terraform.mover(ownership, pins) else terraform.hold(ownership, target)
        writer, headline = writer_in(known_or(history, ()))
        if writer is not Writer.TERRAFORM:
            return None
        return Hold(
            HoldReason.OWNED_BY_TERRAFORM,
            f'Terraform wrote this file: a commit of it is "{headline}"',
            f'set version = "{target}" in the flux_bootstrap_git resource; if it no longer exists, upgrade once with '
            f"--to {target}",
            target=target,
        )

    def is_writer(self, pin: Pin, path: str) -> bool:
        """Whether the pin is of a resource of Terraform's that writes the file, or may."""
        if not self._has_terraform:
            return False
        # Late: as above.
        from flux_upgrade.clusters.ownership import terraform

        ownership = terraform.owner_of(path, self._owners)
        return ownership is not None and (pin.path, pin.line) == (ownership.owner.path, ownership.owner.version_line)

    def remarks(self, files: Mapping[str, bytes], history: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """What to know of other writers of ``files`` (path → content), as Markdown paragraphs."""
        if not files:
            return ()
        # Late, as impact/ is: only a bump that could be proposed asks for other writers.
        from flux_upgrade.clusters.ownership import dependabot, renovate, workflows

        found = [
            *renovate.remarks(self._tree, files),
            *dependabot.remarks(self._tree, files),
            *workflows.remarks(self._tree, files),
        ]
        for path in files:
            writer, headline = writer_in(history.get(path, ()))
            if writer is Writer.BOOTSTRAP:
                found.append(
                    f"**`flux bootstrap` wrote this file**, in the commit {code(headline)}. It writes the "
                    "version of its CLI and the flags of its command. Run it again only with the same flags, and the "
                    "CLI of this version. An older one undoes this upgrade, and a newer one may skip a step."
                )
        return tuple(dict.fromkeys(found))

    @cached_property
    def _has_terraform(self) -> bool:
        return next(iter(self._tree.named(TERRAFORM_FILES)), None) is not None

    @cached_property
    def _owners(self) -> tuple[TerraformOwner, ...]:
        # Late: as above.
        from flux_upgrade.clusters.ownership import terraform

        return terraform.owners(self._tree)
