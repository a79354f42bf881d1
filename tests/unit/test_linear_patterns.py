"""The steps that a pattern of ours takes grow no faster than the text, on texts made to take many."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, NamedTuple

import flux_upgrade
from flux_upgrade.impact.api_uses.mentions import ApiGroups
from regex_steps import Engine, hostile_texts

ROOMS = ("clusters", "impact", "kustomize", "manifests", "model", "pins")
"""Those that read files of a pull request."""
SHORT = {
    "clusters.groups": "paths",
    "clusters.ownership.renovate_preset": "a name of a preset",
    "clusters.ownership.bot_config": "settings of a bot, which are limited in length",
    "pins.flux_instance.pin:_RELEASE": "a version",
    "pins.cli.command_versions:_HOST": "what stands a hundred characters before an address",
    "pins.cli.commands:_PIPELINE": "paths",
    "model.markers": "bodies of pull requests, which GitHub limits",
    "model.markdown": "texts that are cut before",
    "model.oci.reference": "addresses",
    "model.versions": "versions",
}
"""What the patterns of a module, or one of them, are for, where that is short."""
SIZES = (12, 24)
MOST = 2500  # Steps that are counted
FASTER, SLACK = 2.6, 60
TEXTS = 80  # For each pattern


class Named(NamedTuple):
    name: str
    pattern: re.Pattern[Any]
    is_anchored: bool


def patterns() -> Iterator[Named]:
    """Those at the top of modules, and those that a class makes for names that it is given."""
    for package in walk_packages(flux_upgrade.__path__, "flux_upgrade."):
        name = package.name.removeprefix("flux_upgrade.")
        if name.partition(".")[0] not in ROOMS or name in SHORT:
            continue
        module = import_module(package.name)
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        for variable, value in vars(module).items():
            if f"{name}:{variable}" in SHORT:
                continue
            used = set(re.findall(rf"\b{variable}\b(?:\[.*?\])?\.(\w+)\(", source))
            for number, each in enumerate(_in(value)):
                yield Named(f"{name}:{variable}:{number}", each, bool(used) and used <= {"match", "fullmatch"})
    groups = ApiGroups(["source.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"])
    for variable, value in vars(groups).items():
        yield from (Named(f"ApiGroups.{variable}", each, is_anchored=False) for each in _in(value))


def _in(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from (found for each in value.values() for found in _in(each))
    elif isinstance(value, tuple | list) and len(value) < 100:
        yield from (found for each in value for found in _in(each))


def growth(named: Named) -> tuple[float, str]:
    """The largest, as the steps that a doubled text takes, by those of the text itself."""
    engine = Engine(named.pattern, MOST)
    worst = 0.0, ""
    for texts in islice(zip(*(hostile_texts(engine, size) for size in SIZES), strict=True), TEXTS):
        small, large = (engine.steps_of(each, is_anchored=named.is_anchored) for each in texts)
        worst = max(worst, ((large - SLACK) / small, texts[1]))
    return worst


def test_patterns_take_linear_time() -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(50_000)
    try:
        slow = {}
        for each in dict.fromkeys(patterns()):
            found, text = growth(each)
            if found > FASTER:
                slow[each.name] = round(found, 1), each.pattern.pattern, text
    finally:
        sys.setrecursionlimit(before)
    assert not slow, "\n".join(f"{name}: {found}" for name, found in slow.items())
