"""Of what changes in CRDs, that alone is listed which the repository uses."""

from __future__ import annotations

import pytest

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.impact.diff.changes import Changes, CrdChange, FieldChange
from flux_upgrade.model.unknown import known_or
from flux_upgrade.report.listed_changes import in_cluster

GROUP = "source.toolkit.fluxcd.io"
FIELD = FieldChange("spec.url", "required")
CHANGE = CrdChange(
    f"helmrepositories.{GROUP}",
    "HelmRepository",
    GROUP,
    added=("v2",),
    deprecated=("v1beta2",),
    removed=("v1beta1",),
    storage=("v1", "v2"),
    fields=(("v1beta2", FIELD), ("v1", FIELD)),
    other=("spec.names.shortNames",),
)
UNUSED = CHANGE._replace(added=(), deprecated=(), fields=(), other=())
CHANGES = Changes(crds=(CHANGE,), noise=(("descriptions", 3),))


def listed(*used: tuple[str, str, str]) -> Changes:
    changes = known_or(in_cluster(Assessment(CHANGES, used=frozenset(used))), None)
    assert changes is not None
    return changes


def test_everything_is_listed_where_nobody_looked() -> None:
    assert in_cluster(Assessment(CHANGES)) == CHANGES


def test_a_version_that_is_used() -> None:
    expected = CHANGE._replace(deprecated=(), fields=(("v1", FIELD),))
    assert listed((GROUP, "HelmRepository", "v1")).crds == (expected,)


@pytest.mark.parametrize(
    "used", [(GROUP, "GitRepository", "v1"), ("helm.toolkit.fluxcd.io", "HelmRepository", "v1")], ids=" ".join
)
def test_of_what_nobody_uses_only_what_concerns_stored_objects(used: tuple[str, str, str]) -> None:
    changes = listed(used)
    assert changes.crds == (UNUSED,)
    assert changes.noise[-1] == ("changes of API versions that nothing here uses", 1)


def test_a_kind_of_which_nothing_is_left_is_counted() -> None:
    changed = CHANGES._replace(crds=(CHANGE._replace(removed=(), storage=None),))
    changes = known_or(in_cluster(Assessment(changed, used=frozenset())), None)
    assert changes is not None
    assert changes.crds == ()


@pytest.mark.parametrize(
    "used",
    [(GROUP, "HelmRepository", "${version}"), (GROUP, "", "{{ .version }}")],
    ids=["a version that is put in", "a text that names no kind"],
)
def test_what_may_be_used_counts_as_used(used: tuple[str, str, str]) -> None:
    assert listed(used).crds == (CHANGE,)
