"""What became of the golden files between two commits: ``python tests/compare_goldens.py BASE [HEAD]``.

A golden file is any file below ``tests`` that is not Python (reports, pull requests, files before and
after), the generated pages of ``docs/reference``, and ``action.yml``. Git's blob ids are compared, so equal
means equal bytes. It ends with 1 if a golden file changed or is gone; new ones are listed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

PLACES = ("tests", "docs/reference", "action.yml", "README.md")


def goldens(commit: str) -> dict[str, str]:
    """Path → id of its blob."""
    command = ["git", "ls-tree", "-r", "-z", commit, "--", *PLACES]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 git alone
    entries = (entry.partition("\t") for entry in listed.split("\0") if entry)
    return {path: head.split()[2] for head, _, path in entries if not path.endswith((".py", ".pyi"))}


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    base, head = arguments[0], arguments[1] if len(arguments) > 1 else "HEAD"
    before, after = goldens(base), goldens(head)
    changed = sorted(path for path in before.keys() & after.keys() if before[path] != after[path])
    gone, new = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    for word, paths in (("changed", changed), ("gone", gone), ("new", new)):
        for path in paths:
            sys.stdout.write(f"{word}: {path}\n")
    equal = len(before) - len(changed) - len(gone)
    sys.stdout.write(f"{equal} equal, {len(changed)} changed, {len(gone)} gone, {len(new)} new\n")
    return 1 if changed or gone else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
