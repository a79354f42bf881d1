"""Owners of real manifests are found in their repositories, and any real file is read under any name."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from conformance.real_files import members, rows, tell
from flux_upgrade.clusters.ownership.orphans import References
from flux_upgrade.clusters.ownership.ownership import Ownership
from flux_upgrade.clusters.ownership.terraform import owner_of, owners
from memory import MemoryTree


def test_real_repositories(conformance: Path) -> None:
    trees: dict[str, dict[str, bytes]] = defaultdict(dict)
    for name, content in members(conformance / "siblings.tar.xz"):
        repository, _, path = name.partition("/")
        trees[repository][path.replace("__", "/")] = content
    paths: dict[str, set[str]] = defaultdict(set)
    for row in rows(conformance / "wild.jsonl"):
        folder = row["path"].rpartition("/")[0]
        repository = row["repo"].replace("/", "+")
        if any(path.rpartition("/")[0] == folder for path in trees.get(repository, ())):
            paths[repository].add(row["path"])
    referred, orphans = 0, []
    for repository, installations in paths.items():
        tree = MemoryTree(trees[repository] | dict.fromkeys(installations, b"# Flux Version: v2.8.7\n"))
        references = References(tree)
        for path in sorted(installations):
            if references.refers_to(path):
                referred += 1
            else:
                orphans.append(f"{repository}/{path}")
            assert owner_of(path, owners(tree)) is None
            assert Ownership(tree).remarks({path: tree.files[path]}, {}) == ()
    tell(f"referred to by a kustomization: {referred} real manifests; orphans: {len(orphans)} {orphans}")
    assert referred >= 60
    assert len(orphans) <= referred // 10


def test_any_real_file_under_any_name(conformance: Path) -> None:
    """What is read as a kustomization, a sync, Terraform or a bot's configuration may hold anything."""
    names = ("kustomization.yaml", "sync.yaml", "x.tf", "x.tf.json", "renovate.json", ".github/dependabot.yml")
    count = 0
    path = "a/flux-system/gotk-components.yaml"
    for archive in ("siblings.tar.xz", "pins.tar.xz", "resources.tar.xz"):
        for _, content in members(conformance / archive):
            tree = MemoryTree(dict.fromkeys(names, content + b"\n# flux_bootstrap_git") | {path: b"x"})
            References(tree).refers_to(path)
            owners(tree)
            Ownership(tree).remarks({path: b"# Flux Version: v2.8.7\n"}, {})
            count += 1
    tell(f"read as kustomizations, syncs, Terraform and bots' configuration without a traceback: {count} files")
    assert count >= 900
