"""Patterns of paths, as in .gitignore (https://git-scm.com/docs/gitignore), but for one rule.

The last pattern that matches decides, always. Git does not look into a folder that
is ignored, so that there ``!`` cannot take back what lies below one; whoever writes
``clusters/**`` and ``!clusters/sandbox/**`` into a config file means just that.
"""

from __future__ import annotations

from functools import cache

from pathspec import PathSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern


def match(patterns: tuple[str, ...], path: str) -> bool:
    """Whether ``patterns`` take the file ``path``, relative to the repository's root."""
    return _compiled(patterns).match_file(path)


@cache
def _compiled(patterns: tuple[str, ...]) -> PathSpec[GitIgnoreSpecPattern]:
    # The backend that is always there: what matches must not depend on what else is installed.
    return PathSpec.from_lines(GitIgnoreSpecPattern, patterns, backend="simple")


def problem(pattern: str) -> str:
    """Why there can be no such pattern, or why it matches nothing, ever; empty for a good one."""
    try:
        (compiled,) = _compiled((pattern,)).patterns
    except ValueError:
        return "is not a pattern as in .gitignore"
    return "matches nothing" if compiled.include is None else ""
