"""The keys of an entry of ``also``, see ``config.keys``."""

from __future__ import annotations

import re

from flux_upgrade.config.keys import PATTERN, ChoiceShape, Key, ListShape, MappingShape, TextShape
from flux_upgrade.model.patterns import BadPattern, group_names, program_size
from flux_upgrade.model.text import printable

_LARGEST_PROGRAM = 2000  # Instructions of RE2: usual patterns have less than 400
_GROUP = "version"
_NAMED = re.compile(rf"\\.|(\(\?P?<{_GROUP}>)", re.DOTALL)


def _match_problem(text: str) -> str:
    try:
        names = group_names(text)
        size = program_size(text)
    except BadPattern as error:
        return f"is not a regular expression of RE2: {printable(str(error))}"
    if size > _LARGEST_PROGRAM:
        return "is too large for RE2: repeat less in it"
    if _GROUP not in names:
        return f"has no group (?<{_GROUP}>…)"
    # RE2 takes a name twice, and then knows only the first group.
    is_twice = len(list(filter(None, _NAMED.findall(text)))) > 1
    return f"has the group (?<{_GROUP}>…) twice" if is_twice else ""


DIRECTORY = TextShape(
    "the directory of a cluster, relative to the repository's root, such as clusters/production",
    r"\.|(?!(?:.*/)?\.{1,2}(?:/|$))[^\s/\\*?\[\]\x00-\x1f\x7f-\x9f]+(?:/[^/\\*?\[\]\x00-\x1f\x7f-\x9f]+)*/?",
)
ALSO = MappingShape(
    (
        Key(
            "files",
            ListShape(
                PATTERN._replace(pattern=rf"(?!!?/[^/]+/){PATTERN.pattern}"),
                "[patterns](#patterns)",
                are_patterns=True,
                least=1,
            ),
            "The files, relative to the repository's root. An absolute path is an error.",
        ),
        Key(
            "match",
            TextShape("a regular expression", r"(?!\s*$)[\s\S]+", problem=_match_problem),
            "A regular expression of [RE2](https://github.com/google/re2/wiki/Syntax) with one group "
            "`(?<version>…)`, which captures a Flux version with or without `v`. `^` and `$` match at each line.",
        ),
        Key(
            "for",
            ChoiceShape(("cluster", "cli"), (False, True)),
            "Whether the version is that of a `cluster` or of the Flux CLI (`cli`).",
            "cluster",
            field="is_cli",
        ),
        Key(
            "cluster",
            DIRECTORY,
            "The directory that Flux reconciles the cluster from; `.` is the repository's root. Default: the "
            "cluster [around the file](../how-to/several-pins.md#what-makes-a-cluster).",
        ),
    ),
    required=("files", "match"),
)
