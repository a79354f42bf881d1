"""Other bots that would change the files of installations, and the rule that keeps each of them off."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from flux_upgrade.clusters.ownership import bot_config, dependabot, renovate
from flux_upgrade.clusters.ownership.remarks import Remark, code, listed
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.files import Tree


def remarks(tree: Tree, manifests: Mapping[str, bytes]) -> tuple[Remark, ...]:
    """What to know of Renovate and Dependabot; nothing where they leave the files alone.

    ``tree``: the whole repository. ``manifests``: path of an installation → content.
    """
    if not manifests:
        return ()
    present = set(tree.named((*renovate.FILES, *dependabot.FILES)))
    return (
        *_renovate(tree, present, manifests),
        *dependabot.remarks(tree, [each for each in dependabot.FILES if each in present], manifests),
    )


def _renovate(tree: Tree, present: set[str], manifests: Mapping[str, bytes]) -> Iterator[Remark]:
    for file in renovate.FILES:
        if file not in present:
            continue
        try:
            config = bot_config.loads(tree.read(file).decode())
        except (Unreadable, ValueError):
            config = None
        if file == "package.json":
            config = config.get("renovate") if isinstance(config, dict) else None
            if config is None:
                continue
        if isinstance(config, str):  # package.json may name a preset alone
            config = {"extends": [config]}
        if not isinstance(config, dict):
            yield Remark(file, _if_it_does(file, _rule(tree, list(manifests))))
            return
        written = {path: renovate.writes(config, path, content) for path, content in manifests.items()}
        paths = sorted(path for path, managers in written.items() if managers)
        if paths:
            managers = tuple(dict.fromkeys(each for path in paths for each in written[path]))
            yield Remark(file, _remark_text(file, config, managers, paths, _rule(tree, paths)))
        return


def _rule(tree: Tree, paths: list[str]) -> dict[str, Any]:
    """What goes into ``packageRules``.

    A pattern for all clusters, those to come included, where it takes no file but ``paths``.
    """
    names = {path.rpartition("/")[2] for path in paths}
    alike = {path for path in tree.candidates() if path.rpartition("/")[2] in names}
    is_general = alike <= set(paths) and all(name.startswith("gotk-components.") for name in names)
    chosen = [f"**/{name}" for name in names] if is_general else paths
    return {"matchFileNames": sorted(chosen), "enabled": False}


def _remark_text(
    file: str, config: Mapping[str, Any], managers: tuple[str, ...], paths: list[str], rule: object
) -> str:
    does = (
        "writes them anew with flags of its own choice, or changes the version in their header alone"
        if managers[0] == "flux"
        else "bumps the versions in them one by one, ahead of their CRDs"
    )
    which = " and ".join(f"`{each}`" for each in managers)
    if config.get("packageRules"):
        place, text = "at the end of `packageRules`", json.dumps(rule, indent=2)
    else:
        place, text = "", json.dumps({"packageRules": [rule]}, indent=2)[2:-2]
    inside = " in its object `renovate`" if file == "package.json" else ""
    where = " ".join(filter(None, ["Add this", place, f"to {code(file)}{inside}"]))
    return (
        f"**Renovate writes the same {'file' if len(paths) == 1 else 'files'}.** As {code(file)} tells, "
        f"its manager {which} takes {listed(paths)} and {does}. {where}:\n\n```json\n{text}\n```"
    )


def _if_it_does(file: str, rule: object) -> str:
    text = json.dumps(rule, indent=2)
    return (
        f"{code(file)} could not be read. If Renovate runs here, it writes the same files. "
        f"Add this at the end of `packageRules`:\n\n```json\n{text}\n```"
    )
