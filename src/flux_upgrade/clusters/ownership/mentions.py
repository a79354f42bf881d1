"""Programs, pipelines and playbooks that name a manifest, and so may apply it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from flux_upgrade.model.text import decoded
from flux_upgrade.snapshot.kustomize_files import NAMES

PROGRAMS = (
    *(".jsonnet", ".libsonnet", ".cue"),
    *("akefile", ".mk", "ustfile", ".just", "Jenkinsfile", "Dockerfile", "Tiltfile", "Earthfile", "Rakefile"),
    *(".sh", ".bash", ".ps1", ".py", ".go", ".ts", ".js", ".rb", ".nix", ".groovy", ".star"),
    *(".tf", ".tofu", ".tf.json", ".hcl", ".yaml", ".yml", ".json", ".toml", ".j2", ".tpl", ".tmpl", ".gotmpl"),
)
"""Endings of the names of files that may apply a manifest: no documentation, and no list of files to ignore."""

_BOTS = re.compile(r"renovate|dependabot|pre-commit|flux-upgrade|lint|\.sops\.|codecov|CODEOWNERS|package-lock")
_COMMENT = re.compile(r"^[ \t]*(?:#|//).*$", re.MULTILINE)
_APPLIES = re.compile(r"\b(?:apply|create|replace|kubernetes|kubectl|k8s|fileset|src|file)\b.*")
_WORD = re.compile(r"[\w./${}*?-]*")
_LONGEST = 4096  # Characters of a path


def mentions(content: bytes, place: str, path: str) -> bool:
    """Whether a file at ``place`` with ``content`` names the manifest at ``path``, or a line applies its directory."""
    directory, name = posixpath.split(path)
    has_name = _encoded(name) in content
    has_directory = bool(directory) and _encoded(directory) in content
    if not (has_name or has_directory) or posixpath.basename(place) in NAMES or _BOTS.search(place):
        return False
    text = _COMMENT.sub("", decoded(content))
    if has_name and any(_may_be(word, path) for word in _words(text, name)):
        return True
    lines = (match[0] for match in _APPLIES.finditer(text)) if has_directory and not _is_of_kubernetes(content) else ()
    return any(re.search(rf"(?<![\w-]){re.escape(directory)}(?![\w-])(?!/\w)", line) for line in lines)


def _words(text: str, name: str) -> Iterator[str]:
    """Yield the words that end with a name; one is read backwards, so that a long line takes no quadratic time."""
    for match in re.finditer(rf"{re.escape(name)}(?![\w-])", text):
        before = _WORD.match(text[max(match.start() - _LONGEST, 0) : match.start()][::-1])
        yield (before[0][::-1] if before is not None else "") + name


def _encoded(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _is_of_kubernetes(content: bytes) -> bool:
    return b"apiVersion:" in content


def _may_be(word: str, path: str) -> bool:
    """Whether a word may be the path: a directory that is a variable, or that is left out, may be any."""
    parts, names = re.split("/+", word), path.split("/")
    known = [part for part in parts if part not in (".", "..", "")]
    after = next((count for count in range(len(known), 0, -1) if re.search(r"[$*?{}]", known[count - 1])), 0)
    last = known[after:]
    return names[-len(last) :] == last or last[-len(names) :] == names
