"""Changes between Flux's own releases, and between manifests that people committed, are listed completely."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from conformance.real_files import members, regenerator_of, rows, tell
from flux_upgrade.impact.diff.changes import Changes
from flux_upgrade.impact.diff.compare import manifest_changes
from flux_upgrade.impact.diff.sentences import lines
from flux_upgrade.manifests.documents import Document, parse
from flux_upgrade.manifests.options import COMPONENTS, InstallOptions
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.policy.decision import ChangeKind

pytestmark = pytest.mark.real_part("shared data")

# What becomes of each kind in each minor of Flux 2, as Flux's controllers have it in their CRDs and
# Flux's announcements of the minors say as well.
SOURCES = ("GitRepository", "Bucket", "HelmRepository", "HelmChart")
NOTIFICATIONS = ("Receiver", "Alert", "Provider")
IMAGES = ("ImageRepository", "ImagePolicy", "ImageUpdateAutomation")
REMOVED = {
    7: {**dict.fromkeys((*SOURCES, "Kustomization", *NOTIFICATIONS, *IMAGES), "v1beta1"), "HelmRelease": "v2beta1"},
    8: {**dict.fromkeys((*SOURCES, "OCIRepository", "Kustomization"), "v1beta2"), "HelmRelease": "v2beta2"},
    9: dict.fromkeys((*NOTIFICATIONS, *IMAGES), "v1beta2"),
}
STORED = {
    2: {"HelmRelease": "v2beta2", "Alert": "v1beta3", "Provider": "v1beta3"},
    3: {"HelmRepository": "v1", "HelmChart": "v1", "HelmRelease": "v2", "ImageUpdateAutomation": "v1beta2"},
    4: {"Bucket": "v1"},
    6: {"OCIRepository": "v1"},
    7: dict.fromkeys(IMAGES, "v1"),
}
"""Each of these versions is new in that minor."""
NEW_KINDS = {7: ["artifactgenerators.source.extensions.fluxcd.io", "externalartifacts.source.toolkit.fluxcd.io"]}
LATER_THAN_2_0 = {("HelmRelease", "v2beta2"), ("ImageUpdateAutomation", "v1beta2")}
"""Versions that came and went since."""

_documents: dict[str, Document] = {}


def shared(documents: Iterable[Document]) -> tuple[Document, ...]:
    """One for each text, so that what many manifests have in common is composed once."""
    return tuple(_documents.setdefault(each.text, each) for each in documents)


@pytest.fixture(scope="module")
def manifests(releases: Path) -> dict[str, tuple[Document, ...]]:
    """Every stable release of Flux 2 with all of its components, the oldest first."""
    regenerator = regenerator_of(releases)
    found: dict[str, tuple[Document, ...]] = {}
    for tag in reversed(regenerator.stable_tags()):
        shipped = regenerator.manifests(tag).components
        options = InstallOptions(tag, components=tuple(each for each in COMPONENTS if each in shipped))
        found[tag] = shared(regenerator.regenerate(options).manifest.documents)
    return found


def minor(tag: str) -> int:
    return int(tag.split(".")[1])


def removed(found: Changes) -> set[tuple[str, str]]:
    return {(each.kind, version) for each in found.crds for version in (*each.removed, *each.unserved)}


def test_what_each_release_removes_adds_and_stores_anew(manifests: dict[str, tuple[Document, ...]]) -> None:
    for before, after in pairwise(manifests):
        found = manifest_changes(manifests[before], manifests[after])
        is_first = minor(before) != minor(after)
        gone = REMOVED.get(minor(after), {}) if is_first else {}
        new = STORED.get(minor(after), {}) if is_first else {}
        assert removed(found) == set(gone.items()), after
        assert {each.kind: each.storage[1] for each in found.crds if each.storage} == new, after
        assert {each.kind: each.added for each in found.crds if each.added} == {
            kind: (version,) for kind, version in new.items()
        }, after
        assert sorted(found.crds_added) == (NEW_KINDS.get(minor(after), []) if is_first else []), after
        assert not found.crds_removed
        assert (ChangeKind.API_REMOVED in found.contents) == bool(gone)


def test_from_one_minor_to_the_next(manifests: dict[str, tuple[Document, ...]]) -> None:
    firsts = [tag for tag in manifests if tag.endswith(".0")]
    assert [minor(tag) for tag in firsts] == list(range(10))
    for before, after in pairwise(firsts):
        found = removed(manifest_changes(manifests[before], manifests[after]))
        assert found == set(REMOVED.get(minor(after), {}).items())
        if found:
            versions = ", ".join(sorted(f"{kind} {version}" for kind, version in found))
            tell(f"API versions removed, computed, {before} → {after}: {versions}")


def test_from_the_first_to_the_last(manifests: dict[str, tuple[Document, ...]]) -> None:
    found = manifest_changes(manifests["v2.0.1"], manifests["v2.9.4"])
    gone = {each for of_minor in REMOVED.values() for each in of_minor.items()}
    assert removed(found) == gone - LATER_THAN_2_0


def test_a_patch_release_is_reported_in_a_few_lines(manifests: dict[str, tuple[Document, ...]], releases: Path) -> None:
    target = shared(parse((releases / "v2.9.4" / "gotk-components.yaml").read_bytes()).documents)
    found = manifest_changes(manifests["v2.9.3"], target)
    sentences = lines(found)
    assert len(sentences) <= 25
    assert sentences[0] == ("NetworkPolicy/allow-webhooks: lets in only TCP 9292 from every namespace (was any port)")
    assert found.contents == {ChangeKind.NETWORK_POLICY, ChangeKind.SCHEMA}
    for line in sentences:
        tell(f"v2.9.3 → v2.9.4: {line}")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("v2.8.8", "v2.9.4", "GitRepository (v1): spec.provider also allows aws"),
        ("v2.6.4", "v2.7.0", "Controller added: source-watcher, ghcr.io/fluxcd/source-watcher:v2.0.1"),
        (
            "v2.6.4",
            "v2.7.0",
            "ClusterRole/crd-controller-flux-system also grants everything on *.source.extensions.fluxcd.io",
        ),
        (
            "v2.6.4",
            "v2.7.0",
            "Deployment/kustomize-controller, helm-controller: --feature-gates=ExternalArtifact=true added",
        ),
        ("v2.5.1", "v2.6.0", "ClusterRole/crd-controller-flux-system also grants create on serviceaccounts/token"),
        ("v2.3.0", "v2.4.0", "Receiver (v1beta1, v1beta2): now required: spec.secretRef"),
        ("v2.1.2", "v2.2.0", "Bucket (v1beta2): new: spec.prefix"),
    ],
)
def test_what_is_said_of_a_minor(
    manifests: dict[str, tuple[Document, ...]], before: str, after: str, said: str
) -> None:
    sentences = lines(manifest_changes(manifests[before], manifests[after]))
    assert said in sentences
    assert len(sentences) <= 40
    tell(f"{before} → {after}: {len(sentences)} lines")


def test_it_takes_no_time(manifests: dict[str, tuple[Document, ...]]) -> None:
    """Well under half a second, reading included, for the two manifests that differ the most."""
    texts = {tag: "---\n".join(each.text for each in manifests[tag]).encode() for tag in ("v2.0.1", "v2.9.4")}
    took = []
    for _ in range(3):
        start = time.process_time()
        lines(manifest_changes(*(parse(text).documents for text in texts.values())))
        took.append(time.process_time() - start)
    assert min(took) < 0.5
    tell(f"v2.0.1 → v2.9.4, {sum(map(len, texts.values())) // 1000} kB: {min(took):.2f} s")


def committed(conformance: Path) -> Iterator[tuple[str, bytes, bytes]]:
    """Version changes that people committed to their repositories; some of those that we know."""
    wanted = rows(conformance / "replay.jsonl")[::8]
    names = {row[side] for row in wanted for side in ("before", "after")}
    contents = dict(members(conformance / "wild.tar.xz", names))
    for row in wanted:
        yield f"{row['repo']} {row['commit'][:8]}", contents[row["before"]], contents[row["after"]]


def test_changes_between_committed_manifests_are_reported(conformance: Path) -> None:
    """Some commits bumped the header, and nothing else."""
    longest = 0
    for name, *contents in committed(conformance):
        try:
            before, after = ({each.key: each for each in shared(parse(side).documents)} for side in contents)
            found = manifest_changes(before.values(), after.values())
        except Unreadable:
            continue
        same = [each.text for each in before.values()] == [each.text for each in after.values()]
        assert (found == Changes()) == same, name
        sentences = lines(found)
        assert all(line.isprintable() for line in sentences), name
        longest = max(longest, len(sentences))
    tell(f"version changes that people committed: at most {longest} lines")
