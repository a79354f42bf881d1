"""The keys of an entry of ``known``, see ``config.keys``."""

from __future__ import annotations

from flux_upgrade.config.also_keys import DIRECTORY
from flux_upgrade.config.keys import PATTERN, Key, ListShape, MappingShape, PlainShape, TextShape

_PATTERNS = ListShape(PATTERN, "[patterns](#patterns)", are_patterns=True, least=1)
VARIABLE = TextShape("the name of a variable", "[_a-zA-Z][_a-zA-Z0-9]*", longest=200)
VALUE = TextShape("the value of a variable", r"[^\x00-\x1f\x7f-\x9f]*")
FACTS = ("migrated", "root", "reads", "variables")
"""Keys of which an entry has at least one."""
KNOWN = MappingShape(
    (
        Key("paths", _PATTERNS, "The files that install Flux in the clusters that the entry is about."),
        Key(
            "reason",
            TextShape("a sentence", r"(?!\s|.*\s$)[^\x00-\x1f\x7f-\x9f]+", longest=500),
            "How you know it. Reports show it where the entry decides.",
        ),
        Key(
            "release",
            TextShape("a minor of Flux, such as v2.8", r"v2\.(?:0|[1-9][0-9]{0,2})"),
            "The minor of Flux that the clusters run. Once they run another one, the entry no longer counts.",
        ),
        Key("until", PlainShape.DATE, "The last day on which the entry counts, in UTC."),
        Key(
            "migrated",
            PlainShape.BOOLEAN,
            "`true`: `flux migrate` has run in the clusters with the Flux CLI of `release`, so no object is stored in "
            "an older API version.",
            "false",
        ),
        Key(
            "root",
            DIRECTORY,
            "The directory that Flux starts to read; `.` is the repository's root. It replaces a root that does not "
            "exist in the repository, or that no file states.",
        ),
        Key(
            "reads",
            _PATTERNS,
            "The files that the clusters may read in steps that flux-upgrade cannot follow. Without it, every file "
            "counts as read.",
        ),
        Key(
            "variables",
            PlainShape.VARIABLES,
            "Values of the variables in `postBuild` that are not in Git. A value in Git overrides them.",
        ),
    ),
    required=("paths", "reason", "release", "until"),
)
