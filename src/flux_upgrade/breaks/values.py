"""What a release changes without a schema that says so."""

from __future__ import annotations

from flux_upgrade.values import NamedTuple


class Hit(NamedTuple):
    """A place of the tree that one of the known breaks concerns."""

    rule: str
    """Slug of the row in the table: ``helm-post-render``."""
    since: str
    """The minor that changed it: ``2.9``."""
    told: str
    """What changes, a sentence without markup; the same for each hit of a rule."""
    source: str
    """Where Flux says so: an address."""
    path: str
    line: int
    """1-based."""
    kind: str
    name: str
    namespace: str
    keep: str
    """The line that keeps the old behaviour, as it would stand in the file; empty where there is none."""
    hint: str = ""
    """What else to do; a sentence without markup."""
