"""The releases that a version reference named before, by its line in earlier contents of the file."""

from __future__ import annotations

import pytest

from flux_upgrade.assessment.earlier_releases import earlier_releases
from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.pin import Pin

DIGESTS = [f"sha256:{number:064x}" for number in range(2)]
CHARTS = {"2.15.0": Version("v2.5.1")}


def resolved(value: str) -> Version | Unknown:
    return CHARTS.get(value, Unknown(f"{value} is not known"))


def look(now: str, raw: str, version: str, *before: str, line: int = 1) -> tuple[list[str], str]:
    """Return the releases and what is missing. ``before``: the contents of the file, oldest first."""
    revisions = [FileRevision(f"{number:040}", "", text.encode()) for number, text in enumerate((*before, now))]
    pin = Pin("a.yaml", "any", now.encode(), line, raw=raw, version=Version(version))
    earlier = earlier_releases(pin, FileRevisions(tuple(revisions)), resolved)
    return [each.version for each in earlier.releases], str(earlier.missing or "")


@pytest.mark.parametrize(
    ("now", "before"),
    [
        ("tag: v2.6.4\n", "tag: v2.5.1\n"),
        ("tag: v2.6.4\n", "\n\n      tag: v2.5.1  # pinned\n"),
        ('tag: v2.6.4 # {"a": 1}\n', "tag: v2.5.1\n"),
        ("url: https://example.com/v2.6.4/install.yaml\n", "- x\nurl: https://example.com/v2.5.1/install.yaml\n"),
        (f"image: flux:v2.6.4@{DIGESTS[0]}\n", f"image: flux:v2.5.1@{DIGESTS[1]}\n"),
        ('version = "v2.6.4" // note\n', '  version = "v2.5.1"\n'),
        ("tag: v2.6.4\r\n", "tag: v2.5.1\r\n"),
    ],
)
def test_a_release_in_its_line(now: str, before: str) -> None:
    assert look(now, "v2.6.4", "v2.6.4", before) == (["v2.5.1", "v2.6.4"], "")


def test_a_release_that_came_back_ran_again() -> None:
    texts = [f"tag: {tag}\n" for tag in ("v2.5.1", "v2.6.4", "v2.6.4", "v2.5.1")]
    assert look("tag: v2.6.4\n", "v2.6.4", "v2.6.4", *texts)[0] == ["v2.5.1", "v2.6.4", "v2.5.1", "v2.6.4"]


def test_of_lines_that_look_alike_the_same_one_counts() -> None:
    now, before = "tag: v2.7.5\ntag: v2.6.4\n", "tag: v2.0.1\ntag: v2.5.1\n"
    assert look(now, "v2.6.4", "v2.6.4", before, line=2) == (["v2.5.1", "v2.6.4"], "")


def test_of_another_number_of_them_each_may_be_meant() -> None:
    now, before = "tag: v2.7.5\ntag: v2.6.4\n", "tag: v2.0.1\ntag: v2.5.1\ntag: v2.4.0\n"
    assert look(now, "v2.6.4", "v2.6.4", before, line=2) == (["v2.0.1", "v2.5.1", "v2.4.0", "v2.6.4"], "")


def test_another_form_of_the_line_is_unknown() -> None:
    releases, missing = look("tag: v2.6.4\n", "v2.6.4", "v2.6.4", "semver: 2.x\n")
    assert (releases, missing) == (["v2.6.4"], "a.yaml has another form in commit 00000000")


def test_what_is_unknown_keeps_its_place() -> None:
    texts = ("version: 2.15.0\n", "semver: 2.x\n", "version: 2.16.4\n")
    revisions = [FileRevision(f"{number:040}", "", text.encode()) for number, text in enumerate(texts)]
    pin = Pin("a.yaml", "any", texts[-1].encode(), 1, raw="2.16.4", version=Version("v2.6.4"))
    history = FileRevisions(tuple(revisions), Unknown("shallow"), has_gaps=True)
    runs = earlier_releases(pin, history, resolved).runs
    assert [str(run) if isinstance(run, Unknown) else run.version for run in runs] == [
        "shallow",
        "v2.5.1",
        "a.yaml has another form in commit 00000000",
        "2.16.4 is not known",
        "shallow",
    ]


def test_a_release_that_only_may_have_run_is_aside() -> None:
    texts = ("a: v2.5.1\na: v2.4.0\n", "a: v2.6.4\n")
    revisions = [FileRevision(f"{number:040}", "", text.encode()) for number, text in enumerate(texts)]
    pin = Pin("a.yaml", "any", texts[-1].encode(), 1, raw="v2.6.4", version=Version("v2.6.4"))
    earlier = earlier_releases(pin, FileRevisions(tuple(revisions)), resolved)
    assert [run.revision.is_aside for run in earlier.releases] == [True, True, False]


def test_what_is_no_release_is_resolved() -> None:
    assert look("version: 2.16.4\n", "2.16.4", "v2.6.4", "version: 2.15.0\n") == (["v2.5.1"], "2.16.4 is not known")


@pytest.mark.parametrize(("line", "raw"), [(0, "v2.6.4"), (1, ""), (7, "v2.6.4"), (1, "v2.7.0")])
def test_a_version_that_is_not_in_its_line_is_unknown(line: int, raw: str) -> None:
    version = raw or "v2.6.4"
    assert look("tag: v2.6.4\n", raw, version, line=line) == ([], "the line with the version is not known")
