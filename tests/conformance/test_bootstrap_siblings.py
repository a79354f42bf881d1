"""Real ``gotk-sync.yaml`` and ``kustomization.yaml`` files come out again to the byte, or are explained."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from conformance.real_files import members, tell
from flux_upgrade.bootstrap import sync
from flux_upgrade.bootstrap.kustomization import render_kustomization
from flux_upgrade.bootstrap.sync import GENERATED, SOURCE_API, SYNC_API, RecoveredSync, recover_sync, written
from flux_upgrade.model.errors import Unreadable
from memory import MemoryTree

FOLDER = "clusters/one/flux-system"
OURS = ("gotk-components.yaml", "gotk-sync.yaml")
OBJECT = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n"
HEAD = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
EXPLAINED = frozenset(
    {
        "byte for byte",
        "byte for byte, as Flux 0 wrote it",
        "edited by hand, all of it kept and reported",
        "another form of the same data",
        "no sync: other objects",
    }
)

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def siblings(conformance: Path) -> Files:
    return dict(members(conformance / "siblings.tar.xz"))


def named(siblings: Files, name: str) -> Files:
    return {path: content for path, content in siblings.items() if path.endswith((f"__{name}", f"/{name}"))}


def test_every_file_is_one_of_three_kinds(siblings: Files) -> None:
    names = Counter(path.rpartition("/")[2].rpartition("__")[2] for path in siblings)
    assert set(names) == {"gotk-sync.yaml", "kustomization.yaml", "gotk-patches.yaml"}
    assert sum(names.values()) == len(siblings)


def has_header(found: RecoveredSync) -> bool:
    return GENERATED in found.manifest.text


def as_flux_0(found: RecoveredSync) -> str:
    """What the command line of Flux 0 wrote for the same flags.

    Older API versions; ``gitImplementation`` up to v0.39; ``validation`` up to v0.17; no header before v0.21.1.
    """
    text = written(found.sync)
    spec = found.source.data["spec"]
    if "gitImplementation" in spec:
        text = text.replace("spec:\n", f"spec:\n  gitImplementation: {spec['gitImplementation']}\n", 1)
    if found.kustomization.data["spec"].get("validation") == "client":
        text += "  validation: client\n"
    return text if has_header(found) else text.removeprefix(GENERATED)


def explanation(content: bytes) -> str:
    try:
        found = recover_sync(content)
    except Unreadable as error:
        return "no sync: other objects" if error.message.startswith("no ") else error.message
    if found.is_exact:
        return "byte for byte"
    text = content.decode().replace("\r\n", "\n")
    is_old = (found.sync.source_api, found.sync.sync_api) != (SOURCE_API, SYNC_API) or not has_header(found)
    if is_old and text == as_flux_0(found):
        return "byte for byte, as Flux 0 wrote it"
    return "edited by hand, all of it kept and reported" if sync.edits(found) else "another form of the same data"


def test_every_sync_is_reproduced_from_its_options_or_explained(siblings: Files) -> None:
    syncs = named(siblings, "gotk-sync.yaml")
    reasons = Counter(map(explanation, syncs.values()))
    tell(f"{len(syncs)} real gotk-sync.yaml:")
    for reason, count in reasons.most_common():
        tell(f"  {count:4} {reason}")
    assert set(reasons) <= EXPLAINED
    assert reasons["byte for byte"] + reasons["byte for byte, as Flux 0 wrote it"] > len(syncs) * 0.7


def test_every_sync_is_left_alone_by_the_same_flags(siblings: Files) -> None:
    """And taken to others, and back again, it has lost nothing that was edited by hand."""
    moved = 0
    for path, content in named(siblings, "gotk-sync.yaml").items():
        try:
            found = recover_sync(content)
        except Unreadable:
            continue
        same = found.sync._replace(source_api=SOURCE_API, sync_api=SYNC_API)
        old_api = same != found.sync
        assert old_api == bool(sync.shown(found, same)), path
        other = same._replace(interval="7m0s", secret_name=same.secret_name and "another")
        there = recover_sync(sync.resynced(found, other))
        assert sync.shown(there, other) == (), path
        back = recover_sync(sync.resynced(there, same))
        assert sorted(sync.edits(back)) == sorted(sync.edits(found)), path
        moved += 1
    tell(f"{moved} of them taken to other flags and back, with every edit")


def test_every_kustomization_is_kept_or_comes_out_again(siblings: Files) -> None:
    listings = named(siblings, "kustomization.yaml")
    regenerated = 0
    for path, content in listings.items():
        tree = MemoryTree({f"{FOLDER}/kustomization.yaml": content, f"{FOLDER}/x.yaml": OBJECT})
        assert render_kustomization(tree, FOLDER, OURS) == content, path
        folder = folder_of(content)
        if folder is not None:
            assert render_kustomization(MemoryTree(folder), FOLDER, OURS) == content, path
            regenerated += 1
    tell(f"{len(listings)} real kustomization.yaml kept to the byte; {regenerated} of them are Flux's own")
    assert regenerated > len(listings) / 2


def folder_of(content: bytes) -> Files | None:
    """The folder that Flux listed; None where a person wrote the file: another form, or another order."""
    text = content.decode()
    names = [each.removeprefix("- ") for each in text.removeprefix(HEAD).splitlines()]
    plain = HEAD + "".join(f"- {name}\n" for name in names)
    if text != plain or names != sorted(names) or not set(OURS) <= set(names):
        return None
    return {
        f"{FOLDER}/{name}" if name.endswith((".yaml", ".yml")) else f"{FOLDER}/{name}/kustomization.yaml": OBJECT
        for name in names
    }
