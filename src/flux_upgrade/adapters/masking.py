"""The port Forge over another one, which is told no secret: titles, bodies, comments, messages and statuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flux_upgrade.adapters.recording import ForgeOver
from flux_upgrade.model import forge, markers
from flux_upgrade.model.forge import Done
from flux_upgrade.model.ports import Forge

_TEXTS = ("title", "body", "comment")


class MaskingForge(ForgeOver):
    """``mask``: what takes secrets out of a text."""

    def __init__(self, real: Forge, mask: Callable[[str], str]) -> None:
        super().__init__(real)
        self._mask = mask

    def apply(self, step: forge.Step) -> Done:
        """What is there already once secrets are out of it is not written again, run by run."""
        masked = self._masked(step)
        if masked == step:
            return self._forge.apply(step)
        match masked:
            case forge.UpdatePull(pull=pull):
                title = None if masked.title == pull.title else masked.title
                is_same = masked.body is not None and markers.is_same(masked.body, pull.body)
                masked = masked._replace(title=title, body=None if is_same else masked.body)
                if masked == forge.UpdatePull(pull, masked.branch, masked.before):
                    return Done(pull.number, pull.url, masked.before)
            case forge.UpdateIssue(issue=issue, close=False, reopen=False) if markers.is_same(masked.body, issue.body):
                return Done(issue.number, issue.url)
        return self._forge.apply(masked)

    def _masked(self, step: forge.Step) -> forge.Step:
        fields: dict[str, Any] = {
            name: self._mask(text) for name in _TEXTS if isinstance(text := getattr(step, name, None), str)
        }
        if isinstance(step, (forge.OpenPull, forge.UpdatePull)):
            if step.commit is not None:
                fields["commit"] = step.commit._replace(message=self._mask(step.commit.message))
            if step.status is not None:
                fields["status"] = step.status._replace(description=self._mask(step.status.description))
        return step._replace(**fields)
