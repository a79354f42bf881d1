"""A merged upgrade after which Flux reports a failure: when its revert is opened, and what becomes of that."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
import written_release

from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model import markers
from flux_upgrade.model.errors import FluxUpgradeError, ForbiddenByForge, ForgeUnavailable
from flux_upgrade.model.forge import Done, PullRequest, PullState, RevertPull, Step
from flux_upgrade.policy.decision import OnFailure, Ring
from flux_upgrade.policy.hold_reasons import HoldReason
from memory import MemoryHistory, WrittenReleases, regenerator
from memory_forge import MemoryForge
from rings import CONTEXT, FLUX, HEALTHY, RingRepository, group

STAGING, PRODUCTION = "staging/minor", "production/minor"
MERGED = 2
REVERT = f"revert-{MERGED}-flux-upgrade/staging/minor"


def failing(
    on_failure: OnFailure = OnFailure.REVERT,
    apis: written_release.Apis | None = None,
    server: type[MemoryForge] = MemoryForge,
) -> RingRepository:
    """Staging has merged v2.9.4, and Flux reports a failure; ``apis``: of the releases, those of the demo by default."""
    ring = Ring(healthy=HEALTHY, on_failure=on_failure)
    after = group("production", ring=Ring(("staging",), timedelta(days=3)))
    groups, versions = (group("staging", ring=ring), after), {"staging": "v2.8.8", "production": "v2.8.8"}
    one = RingRepository(groups, versions, server=server)
    one.world.history = MemoryHistory()
    if apis is not None:
        one.world.using = regenerator(WrittenReleases(apis=apis))
        former = one.world.using.regenerate(InstallOptions("v2.8.8")).text.encode()
        one.forge.push_to_base({path: former for path in one.forge.files if path.endswith("gotk-components.yaml")})
    one.run()
    one.merge(STAGING)
    one.forge.post(CONTEXT, "failure", FLUX)
    return one


def reverts(one: RingRepository) -> list[PullRequest]:
    return [pull for branch, pull in one.forge.pulls.values() if branch == REVERT]


def test_one_draft_reverts_the_upgrade() -> None:
    one = failing()
    assert one.later(hours=1) == {STAGING: "updated", REVERT: "opened", PRODUCTION: "updated"}
    (draft,) = reverts(one)
    assert (draft.is_draft, draft.state) == (True, PullState.OPEN)
    assert draft.title == 'Revert "Upgrade Flux to v2.9.4 in staging"'
    oid = one.forge.base_commits[0].oid
    for part in (
        f"Reverts #{MERGED}, because Flux reports a failure in `staging` after the upgrade to v2.9.4.",
        "| Context | `kustomization/flux-system/staging` |",
        "| Posted by | `flux-staging[bot]` |",
        f"| Commit | [{oid[:12]}](https://git.example/acme/fleet/commit/{oid}) |",
        "2.9 is then not proposed again for `staging` until you approve it, and v2.9.4 is held for `production`.",
    ):
        assert part in draft.body
    ((where, text),) = one.forge.comments
    assert where == MERGED
    assert "flux-upgrade opens a draft that reverts this pull request." in text
    assert one.run() == {}
    assert one.later(days=1) == {}
    assert (len(reverts(one)), len(one.forge.comments)) == (1, 1)


def test_whoever_closes_it_has_answered() -> None:
    one = failing()
    one.later(hours=1)
    (draft,) = reverts(one)
    one.forge.close_pull(draft.number)
    one.forge.push_to_base({"apps/readme.md": b"Hello\n"})
    one.forge.post(CONTEXT, "failure", FLUX)
    assert one.later(days=1) == {}
    one.forge.delete(REVERT)
    assert one.later(days=1) == {}
    assert (len(reverts(one)), len(one.forge.comments)) == (1, 1)


def test_a_revert_that_a_person_opened_is_enough() -> None:
    one = failing()
    one.forge.apply(RevertPull(one.forge.pulls[MERGED][1], "Back", "Mine"))
    assert one.later(hours=1) == {STAGING: "updated", PRODUCTION: "updated"}
    assert [each.title for each in reverts(one)] == ["Back"]


def test_a_run_that_ended_after_the_comment_leaves_the_draft_to_the_next() -> None:
    one = failing()
    one.later(hours=1)
    (draft,) = reverts(one)
    del one.forge.pulls[draft.number]
    one.forge.delete(REVERT)
    assert one.run() == {REVERT: "opened"}
    assert (len(reverts(one)), len(one.forge.comments)) == (1, 1)


def test_what_is_merged_by_it_is_held_for_the_next_group() -> None:
    one = failing()
    one.later(hours=1)
    (draft,) = reverts(one)
    one.forge.merge(draft.number)
    assert one.later(hours=1) == {PRODUCTION: "updated"}
    assert {HoldReason.REVERTED, HoldReason.GROUP_REVERTED} <= one.reasons
    assert one.pull(PRODUCTION).is_draft
    assert one.run() == {}
    assert (len(reverts(one)), len(one.forge.comments)) == (1, 1)


def test_it_is_not_opened_where_the_files_were_changed_after_the_merge() -> None:
    one = failing()
    one.now += timedelta(hours=1)
    one.forge.today = one.today
    path = next(each for each in one.forge.files if "staging" in each and each.endswith("gotk-components.yaml"))
    changed = one.forge.files[path].replace(b"--log-level=info", b"--log-level=debug")
    one.forge.push_to_base({path: changed})
    one.forge.post(CONTEXT, "failure", FLUX)
    assert one.later(hours=1) == {STAGING: "updated", PRODUCTION: "updated"}
    assert reverts(one) == []
    ((_, text),) = one.forge.comments
    assert "flux-upgrade does not open a revert, because the Flux files were changed after the merge." in text
    assert one.run() == {}


def test_success_in_time_opens_nothing() -> None:
    one = failing()
    one.forge.push_to_base({"apps/readme.md": b"Hello\n"})
    one.forge.post(CONTEXT, "success", FLUX)
    one.later(hours=1)
    assert (reverts(one), one.forge.comments) == ([], [])


def test_a_failure_after_a_success_is_not_blamed_on_the_upgrade() -> None:
    one = failing()
    good = one.forge.base_commits[0].oid
    one.forge.post(CONTEXT, "success", FLUX)
    one.later(days=1)
    one.forge.push_to_base({"apps/broken.yaml": b"a: 1\n"})
    one.forge.post(CONTEXT, "failure", FLUX)
    one.later(days=5)
    ((number, text),) = one.forge.comments
    bad = one.forge.base_commits[0].oid
    assert (number, reverts(one)) == (MERGED, [])
    assert f"Flux reported success with v2.9.4 on {good[:12]}, so look at the commits from there to {bad[:12]}" in text


def test_by_default_there_is_a_comment_alone() -> None:
    one = failing(OnFailure.COMMENT)
    state = markers.state_of(one.forge.pulls[MERGED][1].body)
    assert state is not None
    assert not state.way_back
    before = one.forge.calls
    assert one.later(hours=1) == {STAGING: "updated", PRODUCTION: "updated"}
    assert one.forge.calls == before + 4, "it looks for no revert, and deletes the merged branch"
    assert reverts(one) == []
    assert "Fix the problem, or revert this pull request." in one.forge.comments[0][1]


def _stored_anew(kind: str, tag: str) -> Sequence[str]:
    """Since v2.9, kinds are stored in a version that v2.8 does not have."""
    del kind
    return ("v2", "v1") if written_release.numbers(tag)[0] >= 9 else ("v1",)


def test_it_is_not_opened_where_the_api_server_would_reject_the_older_crds() -> None:
    one = failing(apis=_stored_anew)
    assert "A revert is not enough:" in one.forge.pulls[MERGED][1].body
    assert one.later(hours=1) == {STAGING: "updated", PRODUCTION: "updated"}
    assert reverts(one) == []
    assert (
        "flux-upgrade does not open a revert, because the cluster may store objects in API versions that the older "
        "CRDs do not have. The API server would reject those CRDs."
    ) in one.forge.comments[0][1]


@pytest.mark.parametrize("recorded", ["", "anything"])
def test_it_is_not_opened_where_that_was_not_known(recorded: str) -> None:
    one = failing()
    body = one.forge.pulls[MERGED][1].body
    one.forge.edit(MERGED, body=body.replace('"way_back": "safe"', f'"way_back": "{recorded}"'))
    one.later(hours=1)
    assert reverts(one) == []
    assert (
        "because it was not known at the merge whether the API server accepts the older CRDs."
        in (one.forge.comments[0][1])
    )


def test_nobody_looked_at_what_the_upgrade_means() -> None:
    ring = Ring(healthy=HEALTHY, on_failure=OnFailure.REVERT)
    after = group("production", ring=Ring(("staging",)))
    one = RingRepository((group("staging", ring=ring), after), {"staging": "v2.8.8", "production": "v2.8.8"})
    one.run()
    state = markers.state_of(one.pull(STAGING).body)
    assert state is not None
    assert state.way_back == markers.WayBack.UNKNOWN


class Refusing(MemoryForge):
    """Refuses reverts with an error: for good, or once where no answer came."""

    error: FluxUpgradeError | None = None

    def apply(self, step: Step) -> Done:
        if isinstance(step, RevertPull) and self.error is not None:
            error, self.error = self.error, self.error if isinstance(self.error, ForbiddenByForge) else None
            raise error
        return super().apply(step)


def _refusing(error: FluxUpgradeError) -> tuple[RingRepository, Refusing]:
    one = failing(server=Refusing)
    assert isinstance(one.forge, Refusing)
    one.forge.error = error
    return one, one.forge


def test_a_refused_revert_is_an_error_and_the_comment_is_there() -> None:
    one, forge = _refusing(ForbiddenByForge("it conflicts"))
    for day in range(2):
        done = one.later(days=day)
        assert done[REVERT] == "failed"
    assert len(one.forge.comments) == 1
    forge.error = None
    assert one.run() == {REVERT: "opened"}


def test_a_lost_answer_is_asked_for_once_more() -> None:
    one, _ = _refusing(ForgeUnavailable("no answer"))
    assert one.later(hours=1) == {STAGING: "updated", REVERT: "opened", PRODUCTION: "updated"}
    assert one.run() == {}
