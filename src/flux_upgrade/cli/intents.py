"""What a user means by a command or a flag that does not exist: other tools' names, older names, and typos."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flux_upgrade.manifests.options import nearest

_Intents = Mapping[str, tuple[str, ...]]


def _table(meant: Mapping[str, str]) -> _Intents:
    """Word → what may be meant by it. ``meant``: the other way around, words with a space between them."""
    table: dict[str, tuple[str, ...]] = {}
    for target, words in meant.items():
        for word in words.split():
            table[word] = (*table.get(word, ()), target)
    return table


COMMANDS = _table(
    {
        "plan": "diff dry-run dryrun preview simulate outdated whatif what-if",
        "upgrade": "update bump apply promote pr pull-request up sync",
        "bootstrap": "init setup set-up create add install",
        "render": "export generate template manifests install",
        "check": "scan lint validate verify test audit",
        "inspect": "status list ls get show info describe find detect graph",
        "fleet": "dashboard overview report reports repositories",
        "rollback": "undo revert downgrade back restore",
        "migrate": "convert fix",
        "config": "configure settings",
        "completion": "completions autocomplete complete",
        "--help": "help usage",
        "--version": "version",
    }
)
FLAGS = _table(
    {
        "--dry-run": "--dryrun --preview --diff-only --what-if --whatif --no-write --simulate",
        "--multi-step": "--ladder --steps",
        "--include": "--scan --files",
        "--flux-migrate-done": "--migrated --flux-migrated",
        "--to": "--target --version --tag --to-version --target-version --release",
        "--version": "--target --tag",
        "--approve": "--allow --accept --confirm",
        "--policy": "--bump --level",
        "--range": "--constraint --semver",
        "--pull-request": "--pr --create-pr --open-pr --merge-request --mr --create-pull-request",
        "--repository": "--repo",
        "--base": "--branch --base-branch --target-branch",
        "--json": "-o --output --format --output-format",
        "--config": "-f --config-file --file",
        "--release-source": "--source --mirror --releases",
        "--ca-file": "--ca --cacert --ca-cert --ca-certificate --ca-bundle",
        "--plain-http": "--insecure --http",
        "--allow-insecure-http": "--insecure",
        "--kubernetes-version": "--k8s-version --kube-version --k8s",
        "--components-extra": "--extra-components",
        "--on-conflict": "--conflict --conflicts",
        "--from": "--running --current",
    }
)


def meant(word: str, intents: _Intents, known: Iterable[str]) -> str:
    """``, did you mean 'x'?`` or nothing. ``known``: what there is; an intent that is not there counts for nothing."""
    there = list(known)
    found = [f"'{each}'" for each in intents.get(word, ()) if each in there]
    return f", did you mean {' or '.join(found)}?" if found else nearest(word, there)
