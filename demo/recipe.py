"""What the usual recipe loses: ``flux install --export > FILE``, with the release that was merged."""

from __future__ import annotations

import re

from stage import Clone, Surprise

_COMPONENTS = re.compile(r"^# Components: (\S+)$", re.MULTILINE)


def written(clone: Clone, version: str, source: str, before: str) -> str:
    """The manifest by the recipe; by Renovate's flux manager it is the same where ``before`` was."""
    command = ("flux-upgrade", "render", f"--release-source={source}", f"--version={version}")
    text = clone.run(*command)
    # That one keeps the components that the file names, and no other flag.
    components = _COMPONENTS.search(before)
    if components is None or clone.run(*command, f"--components={components[1]}") != text:
        raise Surprise("the recipe and Renovate's flux manager write different manifests")
    return text


def lost(clone: Clone, path: str, merged: str, exported: str) -> str:
    """The diff from what was merged to what the recipe writes. ``clone``: an empty one."""
    file = clone.folder / path
    file.parent.mkdir(parents=True)
    file.write_text(merged, encoding="utf-8")
    clone.run("git", "init", "--quiet")
    clone.run("git", "add", "--all")
    file.write_text(exported, encoding="utf-8")
    return clone.run("git", "diff", "--minimal", "--unified=0")
