"""Changes of behavior from Flux 2.1 to 2.9 are found in the resources of public repositories, in the right lines."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from conformance.real_files import TARGET, members, rows, tell
from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.impact.api_uses import scan
from flux_upgrade.impact.api_uses.flux_file import FluxFile
from flux_upgrade.impact.behaviour.find import find_breaks
from flux_upgrade.impact.behaviour.table import BREAK_RULES
from flux_upgrade.impact.impact import Hit
from flux_upgrade.manifests.crds import served_by

pytestmark = pytest.mark.real_part("shared data")

OLDEST = "v2.0.1"
RELEASES = (OLDEST, "v2.1.2", "v2.2.3", "v2.3.0", "v2.4.0", "v2.5.1", "v2.6.4", "v2.7.5", "v2.8.8", TARGET)
Repositories = dict[str, list[FluxFile]]
# Rule → what the line of a hit says.
SAYS = {
    "kustomize-components": r"components:",
    "helm-dropped-fields": r"(?:valuesFile|patchesStrategicMerge|patchesJson6902):",
    "registry-provider": r"provider:",
    "registry-service-account": r"serviceAccountName:",
    "image-autologin": r"image:.*(?:azurecr|dkr\.ecr)",
    "image-template": r"\.Updated|\.Changed\.ImageResult",
    "helm-post-render": r"postRenderers:",
    "gcr-receiver": r"type:",
    "strict-substitutions": r"postBuild:",
    "image-refspec": r"refspec:",
    "event-source": r"notification-controller",
}
# What a plain search finds, and whose rule speaks of it: nothing else in the files is spelled so.
SEARCHED = {
    "helm-post-render": rb"^ *postRenderers:",
    "strict-substitutions": rb"^ *postBuild:",
    "image-template": rb"\{\{.*\.Updated",
}


@pytest.fixture(scope="module")
def repositories(conformance: Path, releases: Path) -> Repositories:
    groups = served_by(DirectoryReleases(str(releases)).manifests(TARGET)).groups
    index = {row["file"]: row for row in rows(conformance / "resources.jsonl")}
    found: Repositories = defaultdict(list)
    for name, content in members(conformance / "resources.tar.xz"):
        row = index[name]
        file = scan.find(row["path"], content, groups)
        if file is not None:
            found[row["repo"]].append(file)
    return found


def hits(repositories: Repositories, current: str, target: str) -> dict[tuple[str, str], list[Hit]]:
    """By repository and path."""
    found = defaultdict(list)
    for name, files in repositories.items():
        for hit in find_breaks(files, current, target):
            found[name, hit.path].append(hit)
    return found


def test_each_hit_is_where_it_says(repositories: Repositories) -> None:
    contents = {(name, file.path): file.content for name, files in repositories.items() for file in files}
    for at, found in hits(repositories, OLDEST, TARGET).items():
        lines = contents[at].decode().split("\n")
        for hit in found:
            assert re.search(SAYS.get(hit.rule, r"\w+:"), lines[hit.line - 1]), f"{at} {hit}"


def test_what_a_search_finds_is_hit(repositories: Repositories) -> None:
    found = hits(repositories, OLDEST, TARGET)
    for rule, pattern in SEARCHED.items():
        searched = {
            (name, file.path)
            for name, files in repositories.items()
            for file in files
            if re.search(pattern, file.content, re.MULTILINE)
        }
        hit = {at for at, each in found.items() if any(one.rule == rule for one in each)}
        assert searched == hit, rule


def test_several_steps_report_what_one_jump_reports(repositories: Repositories) -> None:
    step_by_step = {
        hit
        for before, after in pairwise(RELEASES)
        for found in hits(repositories, before, after).values()
        for hit in found
    }
    at_once = {hit for found in hits(repositories, OLDEST, TARGET).values() for hit in found}
    assert at_once <= step_by_step
    # Of versions that are gone at the target, their migration speaks.
    assert {hit.rule for hit in step_by_step - at_once} <= {"helm-dropped-fields"}
    counted = Counter(hit.rule for hit in at_once)
    files = {rule: {hit.path for hit in at_once if hit.rule == rule} for rule in counted}
    for row in BREAK_RULES:
        tell(
            f"breaks {OLDEST} → {TARGET}: {counted[row.slug]:4} hits in {len(files.get(row.slug, ())):3} files: {row.slug}"
        )
    assert not hits(repositories, TARGET, TARGET)


def test_the_schemas_know_the_fields_that_keep_the_old(releases: Path) -> None:
    source = DirectoryReleases(str(releases))
    for row in (row for row in BREAK_RULES if row.keep):
        ((field, value),) = yaml.safe_load(row.keep).items()
        spans = [row.keep_since or span.first for span in row.spans]
        for tag in {TARGET, spans[-1]}:
            served = served_by(source.manifests(tag))
            for kind in row.kinds:
                crd = next(crd for (_, name), crd in served.kinds.items() if name == kind)
                version = crd.version(crd.storage)
                assert version is not None
                schema = version.schema["properties"]["spec"]["properties"][field]
                Draft202012Validator(schema).validate(value)
        if row.keep_since:
            before = _before(row.keep_since)
            crds = served_by(source.manifests(before)).kinds
            schemas = [str(crd.document.data) for (_, name), crd in crds.items() if name in row.kinds]
            assert schemas
            assert not any(f"'{field}'" in each for each in schemas), f"{before} knows {field}"


def _before(tag: str) -> str:
    """The last release of the minor before that of a tag."""
    return RELEASES[next(at for at, each in enumerate(RELEASES) if each[:4] == tag[:4]) - 1]


def test_the_kinds_are_fluxs(releases: Path) -> None:
    kinds = {kind for _, kind in served_by(DirectoryReleases(str(releases)).manifests(TARGET)).kinds}
    assert {kind for row in BREAK_RULES for kind in row.kinds} <= kinds
