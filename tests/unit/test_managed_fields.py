"""`flux migrate` has to run for managed fields if the repository ever used a dropped version."""

from __future__ import annotations

import pytest

from flux_upgrade.impact.impact import Indication, Managed
from flux_upgrade.impact.stored_versions.history import DroppedVersions, managed, versions_dropped
from flux_upgrade.manifests.crds import ReleaseApis, crds_of
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.file_history import Mentions
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version

HELM, ALERT = "helm.toolkit.fluxcd.io/v2beta1", "notification.toolkit.fluxcd.io/v1beta2"
ASKED = DroppedVersions(
    frozenset({HELM, ALERT}),
    frozenset(),
    was_migrated=False,
    is_with_upgrade=False,
    current=Version("v2.8.8"),
    target=Version("v2.9.4"),
)
SHALLOW = "the checkout is shallow"


def managed_after(asked: DroppedVersions, mentions: Mentions | None = None, *migrated: str) -> Managed | None:
    return managed(asked, migrated, mentions or Mentions())


def test_a_use_is_enough_and_the_history_is_not_searched() -> None:
    asked = ASKED._replace(used=frozenset({HELM}))
    assert managed_after(asked) == Managed((HELM,), Indication.USED, "", "2.8", is_after=False)
    assert not asked.needs_history


def test_with_the_upgrade_it_runs_after_the_merge_with_the_new_cli() -> None:
    asked = ASKED._replace(used=frozenset({HELM}), is_with_upgrade=True)
    # What ran at the release that is left does not help: Git brings the old version back until the merge.
    found = managed_after(asked, None, "v2.8.8")
    assert found == Managed((HELM,), Indication.USED, "", "2.9", is_after=True, is_done=False)


def test_a_merged_migration_is_enough() -> None:
    asked = ASKED._replace(was_migrated=True)
    assert managed_after(asked) == Managed((HELM, ALERT), Indication.MIGRATED, "", "2.8", is_after=False)
    assert not asked.needs_history


@pytest.mark.parametrize(
    ("mentions", "evidence", "detail"),
    [
        (Mentions(("b.yaml", "a.yaml")), Indication.HISTORY, "a.yaml"),
        (Mentions(("b.yaml",), Unknown(SHALLOW)), Indication.HISTORY, "b.yaml"),
        (Mentions((), Unknown(SHALLOW)), Indication.UNKNOWN, SHALLOW),
    ],
)
def test_else_the_history_tells(mentions: Mentions, evidence: Indication, detail: str) -> None:
    assert ASKED.needs_history
    found = managed_after(ASKED, mentions)
    assert found is not None
    assert (found.evidence, found.detail) == (evidence, detail)


def test_what_was_never_used_needs_nothing() -> None:
    assert managed_after(ASKED) is None


def test_what_drops_nothing_needs_nothing() -> None:
    asked = ASKED._replace(dropped=frozenset())
    assert not asked.needs_history
    for each in (asked, asked._replace(was_migrated=True)):
        assert managed_after(each, Mentions(("a.yaml",))) is None


def test_it_is_done_once_people_say_so() -> None:
    asked = ASKED._replace(was_migrated=True)
    for tag, is_done in (("v2.7.5", False), ("v2.8.8", True)):
        found = managed_after(asked, None, tag)
        assert found is not None
        assert found.is_done is is_done


def test_the_cli_is_2_7_at_least() -> None:
    found = managed_after(ASKED._replace(was_migrated=True, current=Version("v2.3.0")))
    assert found is not None
    assert found.cli == "2.7"


def served(tag: str, **versions: dict[str, bool]) -> ReleaseApis:
    text = "---\n".join(
        f"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: {kind}s.x.io\n"
        f"spec:\n  names: {{kind: {kind}}}\n  versions:\n"
        + "".join(f"  - {{name: {name}, served: {str(is_served).lower()}}}\n" for name, is_served in each.items())
        for kind, each in versions.items()
    )
    return ReleaseApis(tag, crds_of(parse(text.encode()).documents))


def test_a_version_is_dropped_if_it_is_served_before_and_not_after() -> None:
    before = served(
        "v2.8.8",
        gone={"v1": True},
        kept={"v1": True, "v2": True},
        removed={"v1beta1": True, "v1": True},
        switched={"v1beta2": True, "v1": True},
        unserved={"v1beta3": False, "v1": True},
    )
    after = served(
        "v2.9.4",
        kept={"v1": True, "v2": True},
        removed={"v1": True},
        switched={"v1beta2": False, "v1": True},
        unserved={"v1": True},
    )
    assert versions_dropped(before, after, None) == {"x.io/v1beta1", "x.io/v1beta2"}
    assert versions_dropped(before, after, {"removeds.x.io"}) == {"x.io/v1beta1"}
