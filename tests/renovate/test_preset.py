"""The real Renovate, with ``default.json``: it leaves Flux to flux-upgrade, and everything else as it was.

No server can be reached, so ``github>OWNER/flux-upgrade`` cannot be resolved. The rules of the preset stand in
``packageRules`` instead, where Renovate merges those of a preset to. Every host is disabled: a lookup fails, which
is a warning, and comes after the rules. The token is none: without one, Renovate looks nothing up on GitHub.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from flux_upgrade.manifests.options import InstallOptions
from memory import rendered
from real_parts import missing, require_program
from renovate.fetch_renovate import PACKAGE

pytestmark = pytest.mark.real_part("Renovate from npm")

PRESET = Path(__file__).resolve().parents[2] / "default.json"
MANIFEST = "clusters/a/flux-system/gotk-components.yaml"
CONFIG: dict[str, Any] = {
    "extends": ["config:recommended"],
    "flux": {"fileMatch": ["\\.yaml$"]},
    "kubernetes": {"fileMatch": ["\\.yaml$"]},
    "customManagers": [
        {
            "customType": "regex",
            "fileMatch": ["gotk-components\\.yaml$"],
            "matchStrings": ["# Flux Version: (?<currentValue>\\S+)"],
            "depNameTemplate": "fluxcd/flux2",
            "datasourceTemplate": "github-releases",
        }
    ],
}
SOURCES = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: flux, namespace: flux-system}
spec: {interval: 1h, url: 'oci://ghcr.io/fluxcd/flux-manifests', ref: {tag: v2.8.7}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: app, namespace: flux-system}
spec: {interval: 1h, url: 'oci://ghcr.io/acme/app', ref: {tag: 6.5.0}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux2, namespace: flux-system}
spec: {interval: 1h, url: 'https://github.com/fluxcd/flux2', ref: {tag: v2.8.7}}
"""
WORKFLOW = """\
on: push
jobs:
  a:
    runs-on: ubuntu-24.04
    container: ghcr.io/fluxcd/flux-cli:v2.8.7
    steps:
    - uses: fluxcd/flux2/action@v2.8.7
      with: {version: 2.8.7}
"""
FILES = {
    MANIFEST: rendered(InstallOptions("v2.8.7", components=("source-controller",))),
    "clusters/b/sources.yaml": SOURCES,
    "base/kustomization.yaml": "resources:\n- github.com/fluxcd/flux2//manifests/install?ref=v2.8.7\n"
    "- github.com/acme/base//app?ref=v1.0.0\n",
    ".tool-versions": "flux2 2.8.7\nkubectl 1.30.0\n",
    "mise.toml": '[tools]\nflux2 = "2.8.7"\nterraform = "1.9.0"\n',
    "Dockerfile": "FROM ghcr.io/fluxcd/flux-cli:v2.8.7\nFROM alpine:3.20\n",
    ".github/workflows/a.yaml": WORKFLOW,
    "versions.tf": 'terraform {\n  required_providers {\n    flux = {\n      source  = "fluxcd/flux"\n'
    '      version = "1.6.0"\n    }\n  }\n}\n',
}
LEFT_ALONE = {
    ("flux", "clusters/b/sources.yaml", "ghcr.io/fluxcd/flux-manifests"),
    ("flux", "clusters/b/sources.yaml", "fluxcd/flux2"),
    ("kustomize", "base/kustomization.yaml", "fluxcd/flux2"),
    ("asdf", ".tool-versions", "fluxcd/flux2"),
    ("mise", "mise.toml", "fluxcd/flux2"),
    ("dockerfile", "Dockerfile", "ghcr.io/fluxcd/flux-cli"),
    ("github-actions", ".github/workflows/a.yaml", "ghcr.io/fluxcd/flux-cli"),
}
"""Manager, file and package: besides the manifest."""
KEPT = {
    ("flux", "clusters/b/sources.yaml", "ghcr.io/acme/app"),
    ("kustomize", "base/kustomization.yaml", "acme/base"),
    ("asdf", ".tool-versions", "kubernetes/kubernetes"),
    ("mise", "mise.toml", "hashicorp/terraform"),
    ("dockerfile", "Dockerfile", "alpine"),
    ("github-actions", ".github/workflows/a.yaml", "fluxcd/flux2"),
    ("terraform", "versions.tf", "fluxcd/flux"),
}
HOST_RULES = [{"enabled": False}, {"matchHost": "api.github.com", "token": "none", "enabled": False}]


def run(program: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    if not PACKAGE.exists():
        missing("Renovate was not fetched: run tests/renovate/fetch_renovate.py (needs npm)")
    node = Path(require_program("node"))
    return subprocess.run(  # noqa: S603 ours
        [str(node), str(PACKAGE / "dist" / program), *arguments],
        cwd=cwd,
        env={
            "HOME": str(cwd.parent),
            "PATH": f"{node.parent}:/usr/bin:/bin",
            "RENOVATE_BASE_DIR": str(cwd.parent / "base"),
            "RENOVATE_HOST_RULES": json.dumps(HOST_RULES),
            "RENOVATE_PLATFORM": "local",
            "RENOVATE_DRY_RUN": "lookup",
            "LOG_FORMAT": "json",
            "LOG_LEVEL": "debug",
        },
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def dependencies(tmp_path: Path, config: dict[str, Any]) -> dict[tuple[str, str, str], bool]:
    """(manager, file, package) → whether Renovate updates it."""
    checkout = tmp_path / "checkout"
    for path, text in {**FILES, "renovate.json": json.dumps(config)}.items():
        (checkout / path).parent.mkdir(parents=True, exist_ok=True)
        (checkout / path).write_text(text)
    git = require_program("git")
    subprocess.run([git, "init", "--quiet", "."], cwd=checkout, check=True)  # noqa: S603 ours
    subprocess.run([git, "add", "."], cwd=checkout, check=True)  # noqa: S603 ours
    done = run("renovate.js", cwd=checkout)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = next((line["config"] for line in lines if line["msg"] == "packageFiles with updates"), None)
    assert found is not None, done.stdout[-3000:] + done.stderr
    return {
        (manager, file["packageFile"], each.get("packageName", each["depName"])): each.get("skipReason") != "disabled"
        for manager, files in found.items()
        for file in files
        for each in file["deps"]
    }


def test_without_the_preset_renovate_updates_flux(tmp_path: Path) -> None:
    found = dependencies(tmp_path, CONFIG)
    assert {manager for manager, file, _ in found if file == MANIFEST} == {"flux", "kubernetes", "regex"}
    assert set(found) >= LEFT_ALONE | KEPT
    assert all(found.values())


def test_with_the_preset_it_leaves_flux_alone_and_nothing_else(tmp_path: Path) -> None:
    rules = json.loads(PRESET.read_text())["packageRules"]
    found = dependencies(tmp_path, {**CONFIG, "packageRules": rules})
    off = {each for each, is_updated in found.items() if not is_updated}
    manifest = {each for each in found if each[1] == MANIFEST}
    assert {manager for manager, _, _ in manifest} == {"flux", "kubernetes", "regex"}
    assert off == manifest | LEFT_ALONE
    assert set(found) - off >= KEPT


def test_renovate_accepts_the_preset(tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "default.json").write_text(PRESET.read_text())
    done = run("config-validator.js", "--strict", "default.json", cwd=tmp_path / "checkout")
    assert done.returncode == 0, done.stdout
    assert "Config validated successfully" in done.stdout


def test_every_rule_says_why() -> None:
    rules = json.loads(PRESET.read_text())["packageRules"]
    assert all(rule["description"] and rule["enabled"] is False for rule in rules)
