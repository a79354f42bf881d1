"""Programs, pipelines and playbooks that name a manifest, and so may apply it."""

from __future__ import annotations

import posixpath
import re

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
_WORD = r"[\w./${}*?-]*"


def mentions(content: bytes, place: str, path: str) -> bool:
    """Whether a file at ``place`` with ``content`` names the manifest at ``path``, or a line applies its directory."""
    directory, name = posixpath.split(path)
    has_name, has_directory = name.encode() in content, bool(directory) and directory.encode() in content
    if not (has_name or has_directory) or posixpath.basename(place) in NAMES or _BOTS.search(place):
        return False
    text = _COMMENT.sub("", decoded(content))
    if any(_may_be(match[0], path) for match in re.finditer(rf"{_WORD}{re.escape(name)}(?![\w-])", text)):
        return True
    lines = (match[0] for match in _APPLIES.finditer(text)) if has_directory and not _is_of_kubernetes(content) else ()
    return any(re.search(rf"(?<![\w-]){re.escape(directory)}(?![\w-])(?!/\w)", line) for line in lines)


def _is_of_kubernetes(content: bytes) -> bool:
    return b"apiVersion:" in content


def _may_be(word: str, path: str) -> bool:
    """Whether a word may be the path: a directory that is a variable, or that is left out, may be any."""
    parts, names = re.split("/+", word), path.split("/")
    known = [part for part in parts if part not in (".", "..", "")]
    after = next((count for count in range(len(known), 0, -1) if re.search(r"[$*?{}]", known[count - 1])), 0)
    last = known[after:]
    return names[-len(last) :] == last or last[-len(names) :] == names
