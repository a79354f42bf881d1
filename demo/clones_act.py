"""The part of the demo that needs no GitHub: the same program in clones."""

from __future__ import annotations

import shlex

import fleet
import written_release
from stage import Clone, Machine, Stage, Surprise

SOURCE = "../releases"
_SOURCE = f"--release-source={SOURCE}"


class ClonesDemo:
    """Two clones, in which a person runs commands. Raises Surprise where one ends otherwise."""

    def __init__(self, stage: Stage) -> None:
        self._tell = stage.tell
        stage.hub.clock.set(fleet.DATES["v2.9.4"])
        stage.hub.clock.advance(days=1)
        written_release.write_source(stage.work / "releases", tuple(fleet.DATES), fleet.DATES)
        machine = Machine(stage.hub.clock)
        self._fleet, self._pinned = Clone(machine, stage.work / "fleet"), Clone(machine, stage.work / "pinned")

    def perform(self) -> None:
        """Both acts."""
        self.laptop()
        self.pins()

    def laptop(self) -> None:
        """The first commit of the other acts' repository."""
        self._tell.act("On a laptop, in a clone of the first commit: the same program")
        fleet.build(self._fleet, SOURCE)
        self._show(self._fleet, "flux-upgrade", "inspect", _SOURCE, fleet.PRODUCTION)
        self._show(self._fleet, "flux-upgrade", "plan", _SOURCE, fleet.STAGING)
        self._show(self._fleet, "flux-upgrade", "upgrade", _SOURCE, fleet.STAGING)
        self._show(self._fleet, "git", "diff", "--stat=100")

    def pins(self) -> None:
        """All kinds of version references, which of them belong together, and what disagrees."""
        self._tell.act("Another repository: a manifest, a remote base, Terraform, a FluxInstance, and the CLI's pins")
        fleet.build_pinned(self._pinned, SOURCE)
        shown = self._show(self._pinned, "flux-upgrade", "inspect", _SOURCE)
        if shown.splitlines()[-1] != "2 installations, 6 version references of 6 kinds, 1 drifting":
            raise Surprise("a pin was not found, or one too many")
        self._show(self._pinned, "flux-upgrade", "plan", _SOURCE)
        self._show(self._pinned, "flux-upgrade", "upgrade", _SOURCE, "--approve=2.9")
        changed = self._show(self._pinned, "git", "diff", "--stat=100")
        if "6 files changed" not in changed:
            raise Surprise("a set was torn apart")

    def _show(self, clone: Clone, *command: str) -> str:
        """Run a command, and show it with what it prints. Returns that."""
        printed = clone.run(*command).rstrip()
        self._tell.say(f"\n$ {shlex.join(command)}\n{printed}")
        return printed
