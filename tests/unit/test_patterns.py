"""A pattern out of a file or a release is run by RE2: none keeps a run busy, however it is nested."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from flux_upgrade.bootstrap.known_hosts import host_of, known_hosts
from flux_upgrade.clusters.ownership import dependabot, renovate
from flux_upgrade.clusters.ownership.bot_config import matches
from flux_upgrade.clusters.ownership.terraform import TerraformOwner
from flux_upgrade.config.config import match
from flux_upgrade.impact.migrate.schema import faults
from flux_upgrade.kustomize.items import items_of
from flux_upgrade.kustomize.selectors import Selector
from flux_upgrade.kustomize.transformers import Images
from flux_upgrade.model.patterns import BadPattern, fits, is_whole, search
from flux_upgrade.pins.flux_manifests.registry_contents import lets_through
from memory import MemoryTree

SOURCE = Path(__file__).resolve().parents[2] / "src" / "flux_upgrade"
NESTED = "^(([a-z/.-]+)+)+[A-Z]$"
STARS = "a" + "*a" * 40 + "*b"
LONG = "a" * 300
PATH = f"clusters/{LONG}/flux-system/gotk-components.yaml"
MANIFEST = f"# Flux Version: v2.8.7\n        image: ghcr.io/fluxcd/{LONG}:v1.8.7\n".encode()


def _renovate(**config: object) -> object:
    tree = MemoryTree({"renovate.json": json.dumps(config).encode(), PATH: MANIFEST})
    return [*renovate.remarks(tree, {PATH: MANIFEST})]


def _dependabot(**entry: object) -> object:
    docker = {"package-ecosystem": "docker", "directory": "/", "schedule": {"interval": "daily"}, **entry}
    text = json.dumps({"version": 2, "updates": [docker]}).encode()
    return [*dependabot.remarks(MemoryTree({".github/dependabot.yml": text, PATH: MANIFEST}), {PATH: MANIFEST})]


DEPLOYMENT = items_of(
    f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {LONG}\nspec:\n  template:\n    spec:\n"
    f"      containers:\n      - image: {LONG}\n".encode()
)


PLACES: dict[str, Callable[[], object]] = {
    "Renovate's matchStrings": lambda: _renovate(
        customManagers=[{"managerFilePatterns": ["**"], "matchStrings": ["(a+)+$", "((a|a)+)+:!"]}]
    ),
    "Renovate's fileMatch": lambda: _renovate(kubernetes={"fileMatch": [NESTED]}),
    "Renovate's matchPackageNames": lambda: _renovate(
        kubernetes={"fileMatch": [".*"]}, packageRules=[{"matchPackageNames": [f"/{NESTED}/"], "enabled": False}]
    ),
    "Renovate's ignorePaths": lambda: _renovate(ignorePaths=[f"**/{STARS}/**", f"clusters/{STARS}"]),
    "Dependabot's directories": lambda: _dependabot(directories=[f"/clusters/{STARS}"]),
    "Dependabot's exclude-paths": lambda: _dependabot(directories=["**/*"], **{"exclude-paths": [f"**/{STARS}"]}),
    "Dependabot's dependency-name": lambda: _dependabot(
        directories=["**/*"], ignore=[{"dependency-name": f"fluxcd/{STARS}"}]
    ),
    "the config file": lambda: match((f"**/{STARS}",), PATH),
    "semverFilter": lambda: lets_through("^v2.*((.|[0-9])+)+x$", "v2.9.4" + "1" * 40),
    "a patch's target": lambda: Selector.read({"name": NESTED}).selected(DEPLOYMENT),
    "an entry of images": lambda: Images(f"({NESTED[1:-1]}|x)*", "", "1", "", "").apply(DEPLOYMENT),
    "a CRD's pattern": lambda: faults({"spec": LONG}, {"properties": {"spec": {"type": "string", "pattern": NESTED}}}),
    "Terraform's path": lambda: TerraformOwner("a.tf", 1, cluster_path="${a}a" * 40 + "b").writes(PATH),
    "known_hosts": lambda: known_hosts(host_of(f"ssh://git@{LONG}/a"), f"{STARS} ssh-rsa AAAA\n* ssh-rsa AAAA\n", ()),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_nested_pattern_ends(place: str) -> None:
    PLACES[place]()


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("(?<name>v[0-9.]+)$", "version: v2.9.4", "v2.9.4"),
        ("(?P<name>v[0-9.]+)$", "version: v2.9.4", "v2.9.4"),
        ("^(?<name>b)$", "a\nb\nc", "b"),
        ("(?<name>[^:]+):", "é\udce9: x", "é\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_named_groups(pattern: str, text: str, found: str) -> None:
    match = search(pattern, text, by_line=True)
    assert match is not None
    assert match.groupdict() == {"name": found}


@pytest.mark.parametrize("pattern", ["(", "[z-a]", r"(a)\1", "(?=a)", "(?<!a)b", "a{1001}", "((a{99}){99}){99}", "a*+"])
def test_what_is_no_pattern_of_re2(pattern: str) -> None:
    with pytest.raises(BadPattern):
        is_whole(pattern, "a")
    assert not fits(pattern, "a")


def test_the_end_of_a_text_is_not_before_its_last_newline() -> None:
    assert search("a$", "a\n") is None
    assert not is_whole("a", "a\n")


def test_case() -> None:
    assert is_whole("A|b", "B", ignore_case=True)
    assert not is_whole("A|b", "B")
    assert matches("**/{A,b}?/*.YAML", "x/bc/d.yaml", ignore_case=True)


OURS = {
    "action/inputs.py": "names of inputs",
    "bootstrap/validation.py": "the form of a flag",
    "cli/flag_kinds.py": "the form of a flag",
    "config/values.py": "the form of a value",
    "impact/behaviour/rules.py": "a row of a table",
    "pins/reported/other_installers.py": "a row of a table",
    "manifests/derive.py": "names of lower-case letters and hyphens",
    "manifests/infer.py": "escaped texts",
    "clusters/graph/variables.py": "escaped names",
    "impact/api_uses/mentions.py": "API groups of releases, escaped",
    "impact/api_uses/prefilter.py": "API groups of releases, escaped",
    "model/oci/reference.py": "patterns of the same module",
    "pins/cli/cli_image.py": "words of the same module",
}
"""Modules that compile by Python's engine what is put together, and why none of it comes from outside."""
_ENGINE = {"compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"}


def _is_written_here(node: ast.AST) -> bool:
    """A literal, a constant of a module or an escaped text, or put together of these."""
    if isinstance(node, ast.Name):
        return node.id.isupper()
    if isinstance(node, ast.Call):
        if ast.unparse(node).startswith(("re.escape(", "map(re.escape, ")):
            return True
        is_joined = isinstance(node.func, ast.Attribute) and node.func.attr in ("join", "encode")
        return is_joined and all(map(_is_written_here, [*node.args]))
    kinds = (ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.operator, ast.IfExp, ast.Compare)
    parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [*ast.iter_child_nodes(node)]
    return isinstance(node, kinds) and all(map(_is_written_here, parts))


def test_python_s_engine_runs_no_pattern_from_outside() -> None:
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name), args=[pattern, *_]) if (
                    name in _ENGINE and not _is_written_here(pattern)
                ):
                    found.setdefault(str(path.relative_to(SOURCE)), []).append(ast.unparse(node))
    assert {path: calls for path, calls in found.items() if path not in OURS} == {}
    assert sorted(found) == sorted(OURS)
