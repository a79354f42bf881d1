"""Which directories of the repository are pushed as OCI artifacts, by its workflows and scripts.

`flux push artifact oci://ghcr.io/org/fleet:latest --path=./deploy` in a workflow, a Makefile or a script:
https://fluxcd.io/flux/cmd/flux_push_artifact/
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cached_property

from flux_upgrade.clusters.graph.flux_objects import SourceKey
from flux_upgrade.model.text import decoded, repository_path
from flux_upgrade.snapshot.snapshot import Snapshot

ARTIFACT = "OCIRepository"
_FILES = re.compile(r"\.(?:github|gitea|forgejo)/(?:workflows|actions)/.+|\.gitlab-ci\.ya?ml|(?:.*/)?Makefile|.*\.sh")
_ENDS = (".yaml", ".yml", "Makefile", ".sh")
_WORD = r"(?:\$\{\{(?:(?!\$\{\{).)*?\}\}|[^\s\"'])+"
_PUSH = re.compile(r"^(?![ \t]*#).*?\bflux[ \t]+push[ \t]+artifact\b(?:[^|;&\n\\]|\\\r?\n?){0,2000}", re.MULTILINE)
_URL = re.compile(rf"oci://({_WORD})")
_PATH = re.compile(rf"--path[= \t]+[\"']?({_WORD})")
_VARIABLE = re.compile(r"\$\{\{ *(?:env\.)?([\w.]+) *\}\}|\$\{(\w+)\}|\$(\w+)")
_TAG = re.compile(r":[^/]*\Z")


class PushedArtifacts:
    """``repositories``: this repository as ``github.com/org/fleet``, by all names that it has."""

    def __init__(self, tree: Snapshot, repositories: Collection[str]) -> None:
        self._tree, self._repositories = tree, repositories

    def folder_of(self, source: SourceKey, url: str) -> str | None:
        """The directory that is the root of an artifact; None: none is, or several are, with tags of their own."""
        if source.kind != ARTIFACT or not url.startswith("oci://"):
            return None
        folders = self._folders.get(url.removeprefix("oci://").rstrip("/").lower(), set())
        return next(iter(folders)) if len(folders) == 1 else None

    def may_be(self, url: str) -> frozenset[str]:
        """Return the directories that may be the root of the artifact at an address."""
        address = url.removeprefix("oci://").rstrip("/").lower()
        return frozenset(folder for pattern, folder in self._patterns if pattern.fullmatch(address))

    @cached_property
    def folders(self) -> frozenset[str]:
        """All directories that are pushed."""
        return frozenset(folder for _, folder in self._all)

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """Patterns of addresses, for any value of their variables, and the directories that are pushed there."""
        addresses = ((re.split(r"\0", _VARIABLE.sub("\0", url)), folder) for url, folder in self._all)
        return [(re.compile(".*".join(map(re.escape, parts))), folder) for parts, folder in addresses]

    @cached_property
    def _folders(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for url, folder in self._all:
            found.setdefault(url, set()).add(folder)
        return found

    @cached_property
    def _all(self) -> tuple[tuple[str, str], ...]:
        """Addresses, and the directories that are pushed there."""
        paths = (path for path in self._tree.named(_ENDS) if _FILES.fullmatch(path))
        return tuple(push for path in paths for push in self._pushes(decoded(self._tree.content(path) or b"")))

    def _pushes(self, text: str) -> Iterator[tuple[str, str]]:
        for match in _PUSH.finditer(text):
            url, path = _URL.search(match[0]), _PATH.search(match[0])
            if url is not None and path is not None:
                address = _TAG.sub("", self._put_in(url[1], text))
                folder = self._put_in(path[1], text)
                if "$" not in folder:
                    yield address.lower(), repository_path(folder)

    def _put_in(self, value: str, text: str) -> str:
        """With what the file itself, and the repository's name, say of variables; the tag's need not be known."""
        for _ in range(3):
            value = _VARIABLE.sub(lambda match: self._value(match, text), value)
        return value

    def _value(self, match: re.Match[str], text: str) -> str:
        name = next(filter(None, match.groups()))
        own = next(iter(sorted(self._repositories)), "").partition("/")[2]
        if name in ("github.repository", "GITHUB_REPOSITORY") and own:
            return own
        if name in ("github.repository_owner", "GITHUB_REPOSITORY_OWNER") and own:
            return own.partition("/")[0]
        if name in ("github.workspace", "GITHUB_WORKSPACE"):
            return "."
        stated = re.search(rf"^[ \t]*{re.escape(name)}[ \t]*[:=][ \t]*[\"']?({_WORD})", text, re.MULTILINE)
        return stated[1] if stated is not None else match[0]
