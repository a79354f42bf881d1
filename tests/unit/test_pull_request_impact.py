"""Each finding about the impact of an upgrade has its sentence in the pull request."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.impact.diff.changes import Changes, CrdChange, ObjectChange, RuleChange
from flux_upgrade.impact.impact import Hit, PastRelease, Refused, Stored
from flux_upgrade.impact.overlay.result import Overlay, OverlayFinding, OverlayVerdict
from flux_upgrade.model import markers
from flux_upgrade.model.markdown import prose
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.planning.proposal import Proposal
from flux_upgrade.policy.decision import BumpKind, ChangeKind
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.pullrequests.text import body as pages
from flux_upgrade.pullrequests.text import commit
from replacing import replace
from written_proposals import Stated, case, migration, proposal, proposal_context, state

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
FILES = {
    "apps/a.yaml": "apiVersion: image.toolkit.fluxcd.io/v1beta2\nkind: ImagePolicy\n",
    "apps/b.yaml": "apiVersion: image.toolkit.fluxcd.io/v1beta2\nkind: ImagePolicy\n",
}
MOVES = [{"path": path, "line": 1, "to": "v1", "name": "app"} for path in FILES]
LEFT = {"path": "apps/a.yaml", "line": 1, "name": "app", "reason": "needs-hand", "detail": "spec.x is gone"}
REFUSED = Refused("alerts.notification.toolkit.fluxcd.io", "Alert", "v1beta2", PastRelease("v2.1.0", "", ()))
MANY = "clusters/{n}/flux-system/gotk-components.yaml"
CRD = CrdChange("alerts.notification.toolkit.fluxcd.io", "Alert", "notification.toolkit.fluxcd.io")


def proposal_stating(impact: Mapping[str, Any] | None = None, **stated: Any) -> Proposal:
    """The upgrade of one cluster, with what it means."""
    return proposal(Stated(impact=impact or {}, **stated), files=FILES)


def proposal_with(impact: Assessment, **stated: Any) -> Proposal:
    """The same, the value given as a whole."""
    found = proposal(Stated(**stated))
    ((plan, upgrade),) = found.upgrades
    return replace(found, upgrades=((plan, replace(upgrade, impact=impact)),))


def body(proposed: Proposal, **facts: Any) -> str:
    return pages.body(proposed, proposal_context(**facts), state(proposed))


def todo(proposed: Proposal) -> list[str]:
    """The first words of what is to be done before merging."""
    return re.findall(r"^\d+\. (.{0,60})", body(proposed), re.MULTILINE)


NOT_CHECKED = "was not checked"


def test_what_was_checked_is_not_listed_as_not_checked() -> None:
    assert NOT_CHECKED in body(proposal())
    assert "Not checked:" in body(proposal())
    assert NOT_CHECKED not in body(proposal_stating())
    assert "Not checked:" not in body(proposal_stating())


def test_what_the_cluster_of_a_reference_stored_may_be_unknown() -> None:
    text = body(proposal_stating({"pin": True, "unknown": "the checkout is shallow"}))
    assert "Make sure that `flux migrate` has run in this cluster." in text
    assert "Not checked: whether the cluster stores objects" in text
    assert "What changes in the cluster" not in text


def test_the_first_line_counts_what_is_to_be_done() -> None:
    assert "no action required" in body(proposal_stating())
    proposed = proposal_stating(
        {"cli": "2.8", "refused": [{"kind": "Alert", "group": "g", "version": "v1beta2"}], "lefts": [LEFT]}
    )
    assert "· **2 actions required**" in body(proposed)
    assert todo(proposed)[0].startswith("Migrate the manifests that v2.9.4 no longer serves:")


@pytest.mark.parametrize(
    ("crd", "sentence"),
    [
        pytest.param(CRD, "Reverting is safe: both releases store objects in the same API versions.", id="equal"),
        pytest.param(
            replace(CRD, storage=("v1beta2", "v1beta3")),
            "Reverting is safe: `Alert` is stored as `v1beta3` from then on, which the older CRDs have, too.",
            id="another-that-was-there",
        ),
        pytest.param(
            replace(CRD, storage=("v1beta2", "v1"), added=("v1",)),
            "A revert is not enough: `Alert` is stored as `v1` after the upgrade, which the older CRDs do not have.",
            id="a-new-one",
        ),
    ],
)  # fmt: skip
def test_rolling_back_says_whether_the_older_crds_are_taken(crd: CrdChange, sentence: str) -> None:
    assert f"Flux 2.9 is then not proposed again until you approve it. {sentence}" in body(
        proposal_with(Assessment(Changes(crds=(crd,))))
    )


def test_rolling_back_a_patch_is_no_question_of_versions() -> None:
    proposed = proposal(Stated(version="v2.8.7", target="v2.8.8", impact={}), subject=BumpKind.PATCH, files=FILES)
    assert "Storage versions" not in body(proposed)
    assert "**Changes in the cluster**" in body(proposed)


@pytest.mark.parametrize(
    ("impact", "uses"),
    [
        pytest.param({}, "not used here", id="nobody"),
        pytest.param({"moves": MOVES, "moved": True}, "2 uses here, migrated below", id="moved-in-the-same-commit"),
        pytest.param({"moves": MOVES}, "2 uses left here", id="moved-elsewhere"),
        pytest.param({"lefts": [LEFT]}, "1 use left here", id="left"),
        pytest.param({"lefts": [{**LEFT, "reason": "text"}]}, "not used here", id="a-text"),
    ],
)
def test_who_still_uses_what_is_not_served_is_counted(impact: Mapping[str, Any], uses: str) -> None:
    assert f"· {uses}\n" in body(proposal_stating(impact))


def test_nothing_is_said_of_versions_that_are_all_served() -> None:
    assert "No longer served" not in body(proposal_with(Assessment(Changes())))


def test_what_another_pull_request_moves_is_merged_first() -> None:
    text = body(proposal_stating({"moves": MOVES}))
    assert "1. Merge the API migration first: v2.9.4 no longer serves these:\n   - `apps/a.yaml:1`" in text
    assert "Moved along" not in text


def test_what_is_moved_along_is_in_the_plan_and_in_the_message() -> None:
    alone, along = proposal_stating(), proposal_stating({"moves": MOVES, "moved": True})
    assert commit.plan_digest(alone) != commit.plan_digest(along)
    assert "2 places edited in 2 files" in commit.commit_message(along, proposal_context()).replace("\n", " ")
    assert "**API migrations in this pull request:** 2 manifests in 2 files" in body(along)


def test_what_did_not_change_is_said_where_it_is_so() -> None:
    same = proposal_with(Assessment(Changes()))
    sentence = "- Unchanged: RBAC, NetworkPolicies and the controllers' arguments, environment, resources and ports"
    assert sentence in body(same)
    rules = Changes(rules=(RuleChange("ClusterRole/x", ("get secrets",)),))
    assert "- Unchanged: NetworkPolicies and the controllers' arguments" in body(proposal_with(Assessment(rules)))
    others = (ObjectChange(ChangeKind.ARGUMENTS, "Deployment/x", "spec", "`--x` added"),)
    assert "- Unchanged: RBAC and NetworkPolicies\n" in body(proposal_with(Assessment(Changes(others=others))))


def test_what_a_patch_switches_off_is_said_besides() -> None:
    """A patch by index, say, which meets the only version that is left."""
    of_flux = Changes(crds=(CRD._replace(removed=("v1beta2",)),))
    built = Changes(crds=(CRD._replace(removed=("v1beta2",), unserved=("v1beta3",)),))
    overlay = Overlay("clusters/a/kustomization.yaml", (), "kustomize", built=built)
    text = body(proposal_with(Assessment(of_flux, overlay=overlay)))
    assert "- No longer served: `v1beta2` of Alert" in text
    assert "- API version no longer served: `notification.toolkit.fluxcd.io/v1beta3` of `Alert`" in text
    assert "API version removed" not in text


def test_a_long_list_of_changes_is_folded() -> None:
    others = tuple(ObjectChange(None, f"Service/{n}", "spec", f"`x{n}` added") for n in range(30))
    text = body(proposal_with(Assessment(Changes(others=others))))
    above, _, folded = text.partition("<details>")
    assert len(re.findall(r"^- `Service/", above, re.MULTILINE)) == 8
    assert len(re.findall(r"^- `Service/", folded, re.MULTILINE)) == 22
    assert "<b>22 more changes</b>" in folded


def test_what_a_build_makes_of_it_is_what_changes_in_the_cluster() -> None:
    built = Changes(others=(ObjectChange(None, "Service/built", "spec", "`x` added"),))
    overlay = Overlay("kustomization.yaml", (), "kustomize", built=built)
    manifest = Changes(others=(ObjectChange(None, "Service/manifest", "spec", "`x` added"),))
    text = body(proposal_with(Assessment(manifest, overlay=overlay)))
    assert "`Service/built`" in text
    assert "Service/manifest" not in text
    assert "No patches (`kustomization.yaml`, built with kustomize before and after the upgrade)" in text


def test_what_nobody_could_look_at_is_said() -> None:
    sentence = "**Not checked:** changes in the cluster, and patches of its manifests."
    assert sentence in body(proposal_stating({"pin": True}))
    assert "Not looked at" not in body(proposal_stating())
    both = proposal(Stated(impact={}), Stated(path="clusters/b/flux-system/gotk-components.yaml", impact={"pin": True}))
    assert "**Not checked:** changes in the cluster of `clusters/b`, and patches of its manifests." in body(both)


def test_a_kustomization_that_was_not_built_is_reported_though_nothing_is_found() -> None:
    overlay = Overlay("k.yaml", (), unbuilt="a resource is remote")
    text = body(proposal_with(Assessment(Changes(), overlay=overlay)))
    assert "**Patches:** No patches (`k.yaml`, not built: a resource is remote)." in text
    assert "**Patches" not in body(proposal_with(Assessment(Changes(), overlay=Overlay("k.yaml", ()))))


def test_patches_that_did_nothing_before_either_are_one_line() -> None:
    idle = [replace(FINDING, line=line, verdict=OverlayVerdict.IDLE, already=True) for line in (3, 9)]
    text = body(proposal_with(Assessment(Changes(), overlay=Overlay("k.yaml", tuple(idle)))))
    assert "- No effect before or after the upgrade: `k.yaml:3` and `k.yaml:9`\n" in text
    assert "It lands elsewhere" not in text


def migration_first(*broken: int) -> Proposal:
    """``broken``: which of the moves are from a version that is not served today either."""
    moves = [{**move, "was_served": at not in broken} for at, move in enumerate(MOVES)]
    return migration({"version": "v2.8.8", "target": "v2.9.4", "waiting": ["a"], "moves": moves}, FILES)


def test_no_release_is_said_to_serve_what_it_does_not() -> None:
    broken, some, none = migration_first(0, 1), migration_first(1), migration_first()
    cannot = "v2.8.8 does not serve the old version"
    assert f"{cannot}s either: Flux cannot apply these manifests today.\n" in body(broken)
    assert "serves both" not in body(broken) + commit.commit_message(broken, proposal_context())
    assert f"{cannot} of these either: Flux cannot apply these manifests today.\n- `apps/b.yaml:1`\n" in body(some)
    assert "You can merge this at any time, because v2.8.8 serves both versions of the others." in body(some)
    assert "serves both but for 1 place" in commit.commit_message(some, proposal_context()).replace("\n", " ")
    for proposed in (broken, some):
        assert "while v2.8.8 runs. Flux then still cannot apply what it cannot apply today." in body(proposed)
    assert "because v2.8.8 serves both versions. The upgrade" in body(none)
    assert "while v2.8.8 runs.\n" in body(none)
    assert "cannot apply" not in body(none)


def test_before_merging_stands_once() -> None:
    hit = Hit("r", "2.9", "It differs", "https://fluxcd.io/x", "a.yaml", 1, "HelmRelease", "a", "", "", "")
    impact = Assessment(Changes(), stored=Stored(resolved=(REFUSED,)), migrated=("v2.8.8",), breaks=(hit,))
    text = body(proposal_with(impact))
    assert text.count("**Action required**") == 1
    assert "**Confirmed**\n- [x]" in text


FINDING = OverlayFinding("k.yaml", 3, "patch of Deployment/x", OverlayVerdict.BREAKS, "it lands elsewhere")


@pytest.mark.parametrize(
    ("finding", "is_todo", "sentence"),
    [
        pytest.param(FINDING, True, "Fix the patches that break with v2.9.4:\n   - `k.yaml:3`", id="breaks"),
        pytest.param(replace(FINDING, already=True), False, "It lands elsewhere", id="broken-already"),
        pytest.param(replace(FINDING, verdict=OverlayVerdict.FROZEN), True, "Review the patches that override a whole list", id="frozen"),
        pytest.param(replace(FINDING, verdict=OverlayVerdict.IDLE), False, "0/1 patch still applies", id="idle"),
        pytest.param(replace(FINDING, verdict=OverlayVerdict.UNKNOWN), False, "It lands elsewhere", id="unknown"),
        pytest.param(replace(FINDING, verdict=OverlayVerdict.APPLIES), False, "1/1 patch still applies", id="applies"),
    ],
)  # fmt: skip
def test_a_patch_is_a_thing_to_do_only_where_the_upgrade_breaks_it(
    finding: OverlayFinding, sentence: str, *, is_todo: bool
) -> None:
    text = body(proposal_with(Assessment(Changes(), overlay=Overlay("k.yaml", (finding,)))))
    assert sentence in text
    assert ("1 action required" in text) is is_todo


def test_many_kustomizations_are_counted_together() -> None:
    stated = [
        Stated(
            path=f"clusters/{name}/flux-system/gotk-components.yaml",
            impact={"overlay": {"path": f"{name}.yaml", "findings": [{"path": name, "what": "patch of x"}] * 2}},
        )
        for name in "abcd"
    ]
    assert "**Patches:** 8/8 patches of 4 kustomizations still apply.\n" in body(proposal(*stated, name="all"))


KUBERNETES = "Check the clusters' Kubernetes version: v2.9.4 "


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ("1.31", f"{KUBERNETES}needs Kubernetes 1.33, but `kubernetes-version` is `1.31`."),
        ("1.33", f"{KUBERNETES}was tested with Kubernetes 1.34 to 1.36, but `kubernetes-version` is `1.33`."),
        ("v1.35.2-gke.1", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_kubernetes_is_looked_at_where_it_was_not_tested(version: str, sentence: str) -> None:
    text = body(proposal_stating({"kubernetes": version}))
    assert sentence in text
    assert (KUBERNETES in text) is bool(sentence)
    assert "- Kubernetes ≥ 1.33, tested with 1.34 to 1.36\n" in text


def test_a_patch_says_nothing_about_kubernetes() -> None:
    stated = Stated(version="v2.8.7", target="v2.8.8", impact={"kubernetes": "1.31"})
    text = body(proposal(stated, subject=BumpKind.PATCH))
    assert "Kubernetes" not in text
    assert "no action required" in text


HIT = {"rule": "r", "since": "2.9", "change": "It differs", "source": "https://fluxcd.io/x", "path": "a.yaml", "line": 1, "kind": "HelmRelease", "name": "a"}  # fmt: skip


@pytest.mark.parametrize(
    ("keeps", "sentence"),
    [
        (["", ""], "It differs. ([Flux 2.9](https://fluxcd.io/x)) Met in `a.yaml:1` HelmRelease a, `a.yaml:2`"),
        (["x: y", "x: y"], "To keep the old behavior: `x: y` in `a.yaml:1` HelmRelease a, `a.yaml:2`"),
        (["x: y", ""], "To keep the old behavior:\n   - `a.yaml:1` HelmRelease a: `x: y`\n   - `a.yaml:2` HelmRelease a: look at it"),
        (["x: y"] * 5, "To keep the old behavior: `x: y` in:\n   - `a.yaml:1` HelmRelease a\n"),
    ],
)  # fmt: skip
def test_a_break_is_said_once_with_the_line_that_keeps_the_old_behaviour(keeps: list[str], sentence: str) -> None:
    hits = [{**HIT, "line": line, "keep": keep} for line, keep in enumerate(keeps, 1)]
    text = body(proposal_stating({"breaks": [*hits, *hits]}))
    assert "1 action required" in text
    assert sentence in text


def test_what_the_history_does_not_tell_is_said_only_where_a_version_goes() -> None:
    unknown = Stored(unknown=Unknown("the checkout is shallow"))
    item = "Make sure that `flux migrate` has run in this cluster"
    gone = Changes(crds=(replace(CRD, removed=("v1beta2",)),))
    assert item in body(proposal_with(Assessment(gone, stored=unknown)))
    assert item not in body(proposal_with(Assessment(Changes(), stored=unknown)))


def test_migrating_is_not_asked_for_where_it_does_not_help() -> None:
    text = body(proposal_with(Assessment(Changes(), stored=Stored((REFUSED,), (REFUSED,), "2.8"))))
    assert "1. Upgrade to a release in between first, and run `flux migrate` there" in text
    assert "migrated -->" not in text


def boxes(text: str) -> list[str]:
    return re.findall(r"^ *- \[(.)\] <!-- flux-upgrade:migrated -->", text, re.MULTILINE)


def test_a_box_that_was_ticked_stays_ticked() -> None:
    before = proposal_with(Assessment(Changes(), stored=Stored((REFUSED,), cli="2.8")))
    assert boxes(body(before)) == [" "]
    assert not markers.is_ticked(body(before), markers.MIGRATED)
    after = proposal_with(Assessment(Changes(), stored=Stored(resolved=(REFUSED,)), migrated=("v2.8.8",)))
    assert markers.is_ticked(body(after), markers.MIGRATED)
    assert "no action required" in body(after)


def test_whoever_ticked_at_another_release_is_asked_again() -> None:
    impact = Assessment(Changes(), stored=Stored((REFUSED,), cli="2.8"), migrated=("v2.7.5",))
    assert boxes(body(proposal_with(impact))) == [" "]


def test_an_issue_has_no_boxes() -> None:
    for impact in (
        Assessment(Changes(), stored=Stored((REFUSED,), cli="2.8")),
        Assessment(Changes(), upgrade_path=(Version("v2.9.4"), Version("v2.10.0"))),
        Assessment(Changes(), stored=Stored(resolved=(REFUSED,)), migrated=("v2.8.8",)),
    ):
        proposed = proposal_with(impact)
        _, text = pages.issue(proposed, proposal_context(), state(proposed))
        assert "- [" not in text
        assert "the box" not in text


def test_the_next_step_waits_for_the_box() -> None:
    text = body(
        proposal_with(Assessment(Changes(), upgrade_path=(Version("v2.9.4"), Version("v2.10.0"), Version("v2.11.0"))))
    )
    assert "**Multi-step upgrade:** step 1 of 3: v2.9.4, then v2.10.0, then v2.11.0, once this is merged" in text
    assert (
        "1. **After merging:** once v2.9.4 runs in this cluster, run `flux migrate` there with the Flux CLI 2.9. "
        in text
    )
    assert "· **1 action required**" in text
    assert boxes(text) == [" "]


@pytest.mark.parametrize(
    ("reason", "impact", "item"),
    [
        (HoldReason.BLOCKED_BY_API_REMOVAL, {"lefts": [LEFT], "moves": MOVES[1:]}, "`apps/a.yaml:1`: `ImagePolicy app`, `image.toolkit.fluxcd.io/v1beta2`: spec.x is gone."),
        (HoldReason.BLOCKED_BY_API_REMOVAL, {"moves": MOVES[:1]}, "`apps/a.yaml:1`: `ImagePolicy app`, `image.toolkit.fluxcd.io/v1beta2` → `v1`"),
        (HoldReason.MIGRATION_PENDING, {"moves": MOVES[:1], "lefts": [LEFT]}, "`apps/a.yaml:1`: `ImagePolicy app`, `image.toolkit.fluxcd.io/v1beta2` → `v1`"),
        (HoldReason.COMPONENT_IN_USE, {"orphaned": [LEFT]}, "`apps/a.yaml:1`: `ImagePolicy app`, `image.toolkit.fluxcd.io/v1beta2`"),
        (HoldReason.OVERLAY_BREAKS, {"overlay": {"path": "k", "failed": "no such path"}}, "No such path."),
        (HoldReason.KUBERNETES_TOO_OLD, {"moves": MOVES}, None),
        (HoldReason.EDIT_CONFLICT, {"moves": MOVES}, None),
    ],
)  # fmt: skip
def test_a_held_cluster_is_reported_with_the_lines_to_fix(
    reason: HoldReason, impact: Mapping[str, Any], item: str | None
) -> None:
    held = Stated(path="b/gotk-components.yaml", held={"reason": reason, "detail": "why"}, impact=impact)
    text = body(proposal(Stated(path="a/gotk-components.yaml"), held, files=FILES, name="all"))
    _, _, below = text.partition(f"`b` stays at the current version: why (`{reason}`).")
    lines = re.findall(r"^   - (.*)$", below.partition("\n\n")[0], re.MULTILINE)
    assert lines == ([item] if item is not None else [])


def migration_of(count: int = 1, **changes: Any) -> Proposal:
    stated = {"version": "v2.8.8", "target": "v2.9.4", "waiting": ["clusters/a/flux-system/gotk-components.yaml"]}
    path = "tenants/{n}/a.yaml"
    moves = [{"path": path, "line": 1, "to": "v1", "name": "app"}]
    return migration({**stated, "moves": moves, **changes}, {path: FILES["apps/a.yaml"]}, count=count)


@pytest.mark.parametrize("limit", [4_000, 12_000, 65_536])
@pytest.mark.parametrize("count", [2, 1_000])
def test_a_migration_of_any_size_fits(count: int, limit: int) -> None:
    proposed = migration_of(count)
    text = body(proposed, limit=limit)
    assert len(text) <= limit
    assert f"**Migration** · `clusters/staging` · {count} manifests in {count} files · before v2.9.4" in text
    assert text.count("<details>") == text.count("</details>") >= 1
    assert markers.state_of(text) == state(proposed)


def test_the_message_of_a_migration_is_known_again_and_no_name_forges_it() -> None:
    proposed = migration_of(3)
    message = commit.commit_message(proposed, proposal_context())
    assert markers.trailers(message)["Flux-Upgrade-Subject"] == "migration"
    assert markers.trailers(message)["Flux-Upgrade-Plan"] == commit.plan_digest(proposed)
    assert commit.status(proposed).description.startswith("ImagePolicy v1beta2 → v1: v2.8.8 serves both")
    assert len(commit.status(migration_of(500)).description) <= 140


def test_the_order_in_which_things_were_found_changes_nothing() -> None:
    for name in ("impact-of-clusters", "migration", "impact-held"):
        one = case(name)
        texts = set()
        for seed in range(4):
            shuffled = random.Random(seed)  # noqa: S311 an order, no secret
            other = replace(
                one.proposal,
                upgrades=tuple(shuffled.sample(one.proposal.upgrades, len(one.proposal.upgrades))),
                held=tuple(shuffled.sample(one.proposal.held, len(one.proposal.held))),
            )
            texts.add(pages.body(other, one.context, state(other)))
        assert len(texts) == 1, name


@pytest.mark.parametrize("limit", [9_000, 65_536])
def test_two_hundred_clusters_that_break_everything_fit(limit: int) -> None:
    one = case("impact-everything").proposal.upgrades[0]
    many = tuple(_at_another_path(one, number) for number in range(200))
    proposed = replace(case("impact-everything").proposal, upgrades=many)
    text = body(proposed, limit=limit)
    assert len(text) <= limit
    assert "· 200 installations ·" in text
    assert text.count("<details>") == text.count("</details>")


def _at_another_path(one: tuple[Plan, Upgrade], number: int) -> tuple[Plan, Upgrade]:
    """The same elsewhere, with breaks and a history of its own."""
    plan, upgrade = one
    assert upgrade.impact is not None
    breaks = tuple(replace(hit, path=f"{number}/{hit.path}") for hit in upgrade.impact.breaks)
    refused = tuple(
        replace(each, release=replace(each.release, since=f"20{number % 80 + 10}-01-01"))
        for each in upgrade.impact.stored.refused
    )
    stored = replace(upgrade.impact.stored, refused=refused)
    impact = replace(upgrade.impact, breaks=breaks, stored=stored)
    return replace(plan, path=f"clusters/{number}/gotk-components.yaml"), replace(upgrade, impact=impact)


def test_text_of_anybodys_does_nothing() -> None:
    one = case("impact-hostile")
    text = pages.body(one.proposal, one.context, state(one.proposal))
    html = [token.content for token in MARKDOWN.parse(text) if token.type == "html_block"]
    inline = [child for token in MARKDOWN.parse(text) if token.type == "inline" for child in token.children or []]
    tags = {child.content for child in inline if child.type == "html_inline"}
    assert {tag for tag in tags if not tag.startswith("<!-- flux-upgrade:")} == set()
    assert all(re.match(r"</?(details|summary)|<!-- (/?flux-upgrade\b|flux-upgrade)", each) for each in html)
    seen = "".join(child.content for child in inline if child.type in ("text", "text_special"))
    assert not re.search(r"@\w|#\d", seen)
    assert [child.attrs["href"] for child in inline if child.type == "link_open" and "evil" in str(child.attrs)] == []


NASTY = st.lists(
    st.sampled_from(["`", "``", "|", "<b>", "<!--", "-->", "@octocat", "#1", "*", "_", "[x](y)", "\\", "\n", " ", "a", "- "]),
    max_size=12,
).map("".join)  # fmt: skip


@given(NASTY)
def test_prose_of_anybodys_is_text_and_code(text: str) -> None:
    shown = prose(f"x{text}x")
    children = [child for token in MARKDOWN.parse(shown) for child in token.children or []]
    assert {child.type for child in children} <= {"text", "code_inline", "text_special"}
    words = "".join(child.content for child in children if child.type != "code_inline")
    assert not re.search(r"@\w|#\d", words)


def test_names_in_backticks_are_code_and_spaces_stay() -> None:
    assert prose("set `multi-step: true` in the config *file*") == r"set `multi-step: true` in the config \*file\*"
    assert prose("one ` alone") == r"one \` alone"
    assert prose("`` is empty") == r"\`\` is empty"
