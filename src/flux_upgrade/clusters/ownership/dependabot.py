"""Dependabot: which entries of its configuration bump the images of an installation, and what ends that.

Its ``docker`` ecosystem reads the YAML files of each ``directory`` (not of those
below), takes every ``image:`` of every document, and names it without its registry
(dependabot/dependabot-core docker/lib/dependabot/docker/file_parser.rb).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flux_upgrade.clusters.ownership.bot_config import images_in, matches
from flux_upgrade.clusters.ownership.remarks import code, listed
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.kubernetes_objects import parts
from flux_upgrade.model.patterns import fits
from flux_upgrade.snapshot.snapshot import Snapshot

FILES = (".github/dependabot.yml", ".github/dependabot.yaml")


def remarks(tree: Snapshot, manifests: Mapping[str, bytes]) -> Iterator[str]:
    """A Markdown text for each entry that bumps images of ``manifests``: path in the repository → content."""
    for file in sorted(set(tree.named(FILES)).intersection(FILES), key=FILES.index):
        try:
            (document,) = parse(tree.read(file)).documents
            entries = document.data["updates"]
            found = [each for each in entries if isinstance(each, dict)]
        except (Unreadable, ValueError, KeyError, TypeError):
            yield _unreadable(file, manifests)
            continue
        for entry in found:
            bumped = {path: names for path, content in manifests.items() if (names := _bumped(entry, path, content))}
            if bumped:
                yield _remark(file, entry, bumped)


def _bumped(entry: Mapping[str, Any], path: str, content: bytes) -> frozenset[str]:
    """The dependencies of the manifest at ``path`` that an entry of ``updates`` keeps current."""
    if entry.get("package-ecosystem") != "docker" or entry.get("open-pull-requests-limit") == 0:
        return frozenset()
    if not any(_is_read(entry, each, path) for each in _directories(entry)):
        return frozenset()
    allowed = parts(entry, "allow")
    ignored = [rule for rule in parts(entry, "ignore") if not {"versions", "update-types"} & set(rule)]
    return frozenset(
        name
        for name in map(_dependency, images_in(content))
        if (not allowed or _names(allowed, name)) and not _names(ignored, name, default="")
    )


def _directories(entry: Mapping[str, Any]) -> list[str]:
    one = entry.get("directory")
    return [*([str(one)] if one is not None else []), *map(str, _list(entry, "directories"))]


def _is_read(entry: Mapping[str, Any], directory: str, path: str) -> bool:
    folder, _, name = path.rpartition("/")
    if not matches(directory.strip("/").removeprefix("./"), folder):
        return False
    # From the directory, as the docs say, or from the root, as was announced: either may be meant.
    return not any(
        matches(glob, each) or each.startswith(glob.rstrip("/") + "/")
        for glob in (str(exclusion).lstrip("/") for exclusion in _list(entry, "exclude-paths"))
        for each in (name, path)
    )


def _list(entry: Mapping[str, Any], key: str) -> list[Any]:
    value = entry.get(key)
    return value if isinstance(value, list) else []


def _names(rules: Sequence[Mapping[str, Any]], name: str, default: str = "*") -> bool:
    """Whether a rule is about ``name``; ``*`` is anything. ``default``: for a rule that names nothing."""
    wanted = (str(rule.get("dependency-name", default)) for rule in rules)
    return any(fits(".*".join(map(re.escape, each.split("*"))), name, ignore_case=True) for each in wanted)


def _dependency(image: str) -> str:
    """Dependabot's name of an image: without a registry, which is what has a dot before the first slash."""
    first, _, rest = image.partition("/")
    return rest if rest and "." in first else image


def _remark(file: str, entry: Mapping[str, Any], bumped: Mapping[str, frozenset[str]]) -> str:
    where = listed([each if each.startswith("/") else f"/{each}" for each in _directories(entry)])
    globs = sorted({_glob(name) for names in bumped.values() for name in names})
    rules = "".join(f"      - dependency-name: {_quoted(glob)}\n" for glob in globs)
    head = "" if _list(entry, "ignore") else "    ignore:\n"
    place = "to the list `ignore` of that entry" if not head else "to that entry"
    return (
        f"**Dependabot writes the same {'file' if len(bumped) == 1 else 'files'}.** The `docker` entry for "
        f"{where} in {code(file)} bumps the images in {listed(sorted(bumped))} one by one, "
        f"ahead of their CRDs. Add this {place}:\n\n```yaml\n{head}{rules}```"
    )


def _unreadable(file: str, manifests: Mapping[str, bytes]) -> str:
    names = sorted({_glob(_dependency(image)) for content in manifests.values() for image in images_in(content)})
    rules = "".join(f"      - dependency-name: {_quoted(name)}\n" for name in names or ["fluxcd/*"])
    return (
        f"{code(file)} could not be read. If it has a `docker` entry for the folder of "
        f"{listed(sorted(manifests))}, Dependabot bumps the images there one by one, ahead of their CRDs. "
        f"Add this to that entry:\n\n```yaml\n    ignore:\n{rules}```"
    )


def _glob(name: str) -> str:
    folder, slash, _ = name.rpartition("/")
    return f"{folder}/*" if slash else name


def _quoted(text: str) -> str:
    return f"'{text.replace(chr(39), chr(39) * 2)}'"
