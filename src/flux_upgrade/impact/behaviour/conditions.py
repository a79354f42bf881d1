"""Image automation that a release concerns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.breaks.row import Found
from flux_upgrade.resources.flux_file import FluxObject

# In an action of a Go template.
_REMOVED = re.compile(r"\{\{[^{}]*?(\.Updated|\.Changed\.ImageResult)\b")
_FORCED = re.compile(r"[+:]")


def outdated_template(automation: FluxObject) -> Iterator[Found]:
    """Those whose commit message is made from data that is gone."""
    value = automation.at("spec", "git", "commit", "messageTemplate")
    if value is None or _REMOVED.search(value.text) is None:
        return
    passage = automation.document.passage
    spelled = _REMOVED.search(passage.file, value.start, value.end)
    yield Found(passage.line(spelled.start(1)) if spelled else value.line)


def forced_push(automation: FluxObject) -> Iterator[Found]:
    """Those whose refspec overwrites or deletes what it leads to."""
    value = automation.at("spec", "git", "push", "refspec")
    if value is not None and _FORCED.match(value.text):
        yield Found(value.line)
