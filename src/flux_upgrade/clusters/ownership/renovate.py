"""What a Renovate configuration does with an installation's file.

As docs.renovatebot.com/configuration-options has it. Presets of others are not
read: what they switch off is not known here. Ours, ``default.json``, is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flux_upgrade.clusters.ownership.bot_config import images_in, loads, matches
from flux_upgrade.clusters.ownership.remarks import code, listed
from flux_upgrade.clusters.ownership.renovate_preset import PRESET_RULE, is_preset, preset_of
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.kubernetes_objects import part, parts
from flux_upgrade.model.patterns import BadPattern, Match, search
from flux_upgrade.snapshot.snapshot import Snapshot

FILES = (
    "renovate.json",
    "renovate.jsonc",
    "renovate.json5",
    ".github/renovate.json",
    ".github/renovate.jsonc",
    ".github/renovate.json5",
    ".gitlab/renovate.json",
    ".gitlab/renovate.jsonc",
    ".gitlab/renovate.json5",
    ".renovaterc",
    ".renovaterc.json",
    ".renovaterc.jsonc",
    ".renovaterc.json5",
    "package.json",
)
"""In Renovate's order: the first that is there counts, ``package.json`` only with a key ``renovate``."""

_NAMED_BY_DEFAULT = re.compile(r"(?:^|/)gotk-components\.ya?ml$")
_HEADER = re.compile(rb"#\s*Flux\s+Version:\s*\S")
_IGNORED_BY_DEFAULT = ("**/node_modules/**", "**/bower_components/**")
_IGNORED_AS_RECOMMENDED = (
    *_IGNORED_BY_DEFAULT,
    *("**/vendor/**", "**/examples/**", "**/__tests__/**", "**/test/**", "**/tests/**", "**/__fixtures__/**"),
)
_RECOMMENDED = ("config:", ":ignoreModulesAndTests")
_CUSTOM = "custom.regex"


@dataclass(frozen=True)
class Dependency:
    manager: str
    datasource: str
    name: str
    categories: tuple[str, ...]
    source: str = ""  # Address of its repository; empty where that is looked up


def remarks(tree: Snapshot, manifests: Mapping[str, bytes]) -> Iterator[str]:
    """What to know of Renovate, as Markdown; nothing where it leaves ``manifests`` (path → content) alone.

    ``tree``: the whole repository.
    """
    for file in sorted(set(tree.named(FILES)).intersection(FILES), key=FILES.index):
        try:
            config = loads(tree.read(file).decode())
        except (Unreadable, ValueError):
            config = None
        if file == "package.json":
            config = config.get("renovate") if isinstance(config, dict) else None
            if config is None:
                continue
        if isinstance(config, str):  # package.json may name a preset alone
            config = {"extends": [config]}
        if not isinstance(config, dict):
            rule = json.dumps(_rule(tree, list(manifests)), indent=2)
            yield (
                f"{code(file)} could not be read. If Renovate runs here, it writes the same files. "
                f"Add this at the end of `packageRules`:\n\n```json\n{rule}\n```"
            )
            return
        written = {path: _writes(config, path, content) for path, content in manifests.items()}
        paths = sorted(path for path, managers in written.items() if managers)
        if paths:
            managers = tuple(dict.fromkeys(each for path in paths for each in written[path]))
            preset = _preset(tree, config, {path: manifests[path] for path in paths})
            yield _remark(file, config, managers, paths, _rule(tree, paths), preset=preset)
        return


def _preset(tree: Snapshot, config: Mapping[str, Any], manifests: Mapping[str, bytes]) -> str:
    """The preset for ``extends``, if it has Renovate leave these manifests alone, and no others; else empty."""
    preset = preset_of(tree)
    extended = {**config, "extends": [*_texts(config.get("extends")), preset]}
    takes_others = set(_rule(tree, list(manifests))["matchFileNames"]) <= set(manifests)
    if takes_others or any(_writes(extended, path, content) for path, content in manifests.items()):
        return ""
    return preset


def _rule(tree: Snapshot, paths: list[str]) -> dict[str, Any]:
    """What goes into ``packageRules``.

    A pattern for all clusters, those to come included, where it takes no file but ``paths``.
    """
    names = {path.rpartition("/")[2] for path in paths}
    alike = {path for path in tree.candidates() if path.rpartition("/")[2] in names}
    is_general = alike <= set(paths) and all(name.startswith("gotk-components.") for name in names)
    chosen = [f"**/{name}" for name in names] if is_general else paths
    return {"matchFileNames": sorted(chosen), "enabled": False}


def _remark(  # noqa: PLR0913 what a sentence is about
    file: str, config: Mapping[str, Any], managers: tuple[str, ...], paths: list[str], rule: object, *, preset: str
) -> str:
    does = (
        "regenerates them with its own flags, or changes only the version in their header"
        if managers[0] == "flux"
        else "bumps the versions in them one by one, ahead of their CRDs"
    )
    which = " and ".join(f"`{each}`" for each in managers)
    if config.get("packageRules"):
        place, text = "at the end of `packageRules`", json.dumps(rule, indent=2)
    else:
        place, text = "", json.dumps({"packageRules": [rule]}, indent=2)[2:-2]
    inside = " in its object `renovate`" if file == "package.json" else ""
    target = f"to {code(file)}{inside}"
    where = " ".join(filter(None, ["add this" if preset else "Add this", place, target]))
    if preset:
        owner = ", with the account that your workflow uses it from" if "OWNER" in preset else ""
        where = f'Add `"{preset}"` to `extends` {target.replace("to ", "of ", 1)}{owner}. Or {where}'
    return (
        f"**Renovate writes the same {'file' if len(paths) == 1 else 'files'}.** With {code(file)}, its "
        f"manager {which} matches {listed(paths)} and {does}. {where}:\n\n```json\n{text}\n```"
    )


def _writes(config: Mapping[str, Any], path: str, content: bytes) -> tuple[str, ...]:
    """The managers that would change the file at ``path``, which holds ``content``; ``flux`` first."""
    if config.get("enabled") is False or ":disableRenovate" in _texts(config.get("extends")):
        return ()
    if not _is_included(config, path):
        return ()
    enabled = _texts(config.get("enabledManagers"))
    found = (
        each.manager
        for each in _dependencies(config, path, content)
        if (not enabled or _fits(each.manager, enabled)) and _is_kept_current(config, each, path)
    )
    return tuple(dict.fromkeys(found))


def _is_included(config: Mapping[str, Any], path: str) -> bool:
    if "ignorePaths" in config:
        ignored: tuple[str, ...] = _texts(config["ignorePaths"])
    else:
        recommended = any(each.startswith(_RECOMMENDED) for each in _texts(config.get("extends")))
        ignored = _IGNORED_AS_RECOMMENDED if recommended else _IGNORED_BY_DEFAULT
    included = _texts(config.get("includePaths"))
    return not any(each in path or matches(each, path) for each in ignored) and (
        not included or any(each == path or matches(each, path) for each in included)
    )


def _dependencies(config: Mapping[str, Any], path: str, content: bytes) -> Iterator[Dependency]:
    flux, kubernetes = part(config, "flux"), part(config, "kubernetes")
    named = _NAMED_BY_DEFAULT.search(path) is not None or _is_taken(flux, path)
    if flux.get("enabled") is not False and named and _HEADER.search(content):
        home = "https://github.com/fluxcd/flux2"
        yield Dependency("flux", "github-releases", "fluxcd/flux2", ("cd", "kubernetes"), home)
    if kubernetes.get("enabled") is not False and _is_taken(kubernetes, path):
        for image in sorted(images_in(content)):
            yield Dependency("kubernetes", "docker", image, ("kubernetes",))
    for key in ("customManagers", "regexManagers"):
        for each in parts(config, key):
            if each.get("enabled") is not False and _is_taken(each, path):
                yield from _found_by_patterns(each, content)


def _is_taken(manager: Mapping[str, Any], path: str) -> bool:
    """Whether a manager's own patterns take the file; ``fileMatch`` is the older name, of bare regexes."""
    return any(_fits_one(path, each) for each in _texts(manager.get("managerFilePatterns"))) or any(
        _found(each, path) is not None for each in _texts(manager.get("fileMatch"))
    )


def _found_by_patterns(manager: Mapping[str, Any], content: bytes) -> Iterator[Dependency]:
    """What a custom manager's patterns find in the lines that hold a version.

    A manifest is too long for anybody's pattern; versions stand in header, images and Renovate's comments.
    """
    lines = content.decode(errors="replace").splitlines(keepends=True)
    text = "".join(
        line
        for number, line in enumerate(lines)
        if number < 10 or "image:" in line or "renovate:" in line  # noqa: PLR2004 lines of a header
    )
    for pattern in _texts(manager.get("matchStrings")):
        match = _found(pattern, text)
        if match is not None:
            groups = {key: value for key, value in match.groupdict().items() if value}
            name = groups.get("depName") or groups.get("packageName") or str(manager.get("depNameTemplate", ""))
            source = groups.get("datasource") or str(manager.get("datasourceTemplate", ""))
            yield Dependency(_CUSTOM, source, name, ("custom",))


def _is_kept_current(config: Mapping[str, Any], dependency: Dependency, path: str) -> bool:
    """What the last rule that speaks of it says; without one it is."""
    if _fits(dependency.name, _texts(config.get("ignoreDeps"))):
        return False
    kept = True
    # Rules of presets come before those of the file itself.
    ours = [PRESET_RULE] if any(map(is_preset, _texts(config.get("extends")))) else []
    for rule in (*ours, *parts(config, "packageRules")):
        if isinstance(rule.get("enabled"), bool) and _is_about(rule, dependency, path):
            kept = rule["enabled"]
    return kept


def _is_about(rule: Mapping[str, Any], dependency: Dependency, path: str) -> bool:
    """Whether a rule is about every update of a dependency. A condition that is not known here is not met."""
    name = dependency.name
    values: dict[str, tuple[str, ...]] = {
        "matchManagers": (dependency.manager, dependency.manager.removeprefix("custom.")),
        "matchDatasources": (dependency.datasource,),
        "matchCategories": dependency.categories,
        "matchDepNames": (name,),
        "matchPackageNames": (name,),
        "matchSourceUrls": (dependency.source,),
        "matchFileNames": (path,),
    }
    for key, wanted in rule.items():
        patterns = _texts(wanted)
        match key:
            case "matchPaths":  # the older name, where a part of the path is enough
                is_met = any(each in path or matches(each, path) for each in patterns)
            case "matchDepPatterns" | "matchPackagePatterns":
                is_met = any(each == "*" or _found(each, name) is not None for each in patterns)
            case "matchDepPrefixes" | "matchPackagePrefixes":
                is_met = name.startswith(patterns)
            case _ if key in values:
                is_met = any(_fits(value, patterns) for value in values[key])
            case _:
                is_met = not key.startswith(("match", "exclude"))
        if not is_met:
            return False
    return True


def _fits(value: str, patterns: tuple[str, ...]) -> bool:
    """Renovate's lists of patterns: one that is positive fits, and none that begins with ``!``."""
    positive = [each for each in patterns if not each.startswith("!")]
    negative = [each[1:] for each in patterns if each.startswith("!")]
    if not patterns or (positive and not any(_fits_one(value, each) for each in positive)):
        return False
    return not any(_fits_one(value, each) for each in negative)


def _fits_one(value: str, pattern: str) -> bool:
    """``/regex/``, ``/regex/i`` or a glob without regard to case."""
    regex = re.fullmatch(r"/(.*)/(i?)", pattern, re.DOTALL)
    if regex is None:
        return pattern == "*" or matches(pattern, value, ignore_case=True)
    return _found(f"(?i:{regex[1]})" if regex[2] else regex[1], value) is not None


def _found(pattern: str, text: str) -> Match | None:
    """Renovate goes by RE2, too; it does nothing with a configuration that has a pattern which is none."""
    try:
        return search(pattern, text, by_line=True)
    except BadPattern:
        return None


def _texts(value: object) -> tuple[str, ...]:
    """The strings of a list; a single string is one."""
    if isinstance(value, str):
        return (value,)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
