"""The impact of an upgrade is in the plain text, the JSON, the job summary and the annotations."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from flux_upgrade.action.job_summary import summary
from flux_upgrade.action.report import run_value
from flux_upgrade.action.runner import annotation_command
from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.impact.kubernetes_versions import fit
from flux_upgrade.impact.migrate.result import Reason
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan
from flux_upgrade.planning.proposal import Action, Proposal, Result
from flux_upgrade.planning.write_tree import WriteResult
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.impact_json import impact_value, on_lines
from flux_upgrade.report.outcomes import upgrade_text
from flux_upgrade.report.plans import plans_json, plans_text
from flux_upgrade.report.wording import Annotation, Level
from replacing import replace
from rounds import round_of, team_of
from written_proposals import CASES, Stated, case, names, proposal

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
SCHEMA = Draft202012Validator(json.loads((REFERENCE / "plan.schema.json").read_text()))
REPORT = Draft202012Validator(json.loads((REFERENCE / "report.schema.json").read_text()))
STATED = re.compile(r"^\[installation\.impact\]|^impact = ", re.MULTILINE)
IMPACTS = [name for name in names() if STATED.search((CASES / f"{name}.txtar").read_text())]
FILES = {"apps/a.yaml": "apiVersion: image.toolkit.fluxcd.io/v1beta2\nkind: ImagePolicy\n"}
MOVE = {"path": "apps/a.yaml", "line": 1, "to": "v1", "name": "app"}
LEFT = {"path": "apps/a.yaml", "line": 1, "name": "app", "reason": "needs-hand", "detail": "spec.x is gone"}


def team(of: Proposal) -> UpdateGroupPlan:
    """What a proposal was made from."""
    plans = [plan for plan, _ in of.upgrades]
    found = team_of(of.name, *(plan for plan in (*plans, *of.held) if not _is_moved(plan)))
    return replace(found, migrations=tuple(plan for plan in plans if _is_moved(plan)))


def _is_moved(plan: Plan) -> bool:
    return any(each.waiting for each in plan.upgrades)


def stated(impact: Mapping[str, Any], **more: Any) -> UpdateGroupPlan:
    return team(proposal(Stated(impact=impact, **more), files=FILES))


@pytest.mark.parametrize("name", IMPACTS)
def test_every_case_is_valid_json(name: str) -> None:
    of = team(case(name).proposal)
    plan = json.loads(plans_json([of]))
    assert list(SCHEMA.iter_errors(plan)) == []
    assert list(REPORT.iter_errors(run_value(round_of(of), calls=0, written=True))) == []
    decisions = [each for one in plan["installations"] for each in one["decisions"]]
    assert [each for each in decisions if each["impact"] is not None] or plan["migrations"]


def test_the_json_has_all_of_it() -> None:
    (one,) = json.loads(plans_json([team(case("impact-everything").proposal)]))["installations"]
    impact = one["decisions"][0]["impact"]
    assert [each["path"] for each in impact["uses"]] == ["docs/howto.yaml"]
    assert impact["uses"][0] == {
        "path": "docs/howto.yaml",
        "line": 5,
        "group": "notification.toolkit.fluxcd.io",
        "version": "v1beta2",
        "kind": "Alert",
        "name": None,
        "namespace": None,
        "place": "resource",
        "action": "leave",
        "to": None,
        "fields": [],
        "reason": "text",
        "detail": "it is a part of a text",
        "remedy": None,
        "breaks": False,
        "broken-already": False,
    }
    assert impact["stored"]["cli"] == "2.8"
    assert [(each["kind"], each["release"], each["since"]) for each in impact["stored"]["refused"]] == [
        ("ImagePolicy", "v2.6.1", "2025-06-01T12:00:00Z"),
        ("ImageUpdateAutomation", "v2.6.1", "2025-06-01T12:00:00Z"),
        ("Alert", None, "2023-09-12T08:30:00Z"),
    ]
    assert [each["keep"] for each in impact["breaks"]][:1] == ["postRenderStrategy: nohooks"]
    assert [each["verdict"] for each in impact["overlay"]["findings"]] == ["applies", "frozen", "idle"]
    assert impact["overlay"]["changes"] == impact["changes"]
    assert impact["kubernetes"] == {
        "declared": "1.33",
        "least": "1.33",
        "tested": ["1.34", "1.36"],
        "verdict": "untested",
    }
    assert impact["changes"]["kinds"] == ["api-removed", "arguments", "network-policy"]
    removed = {each["kind"]: each["removed"] for each in impact["changes"]["crds"]}
    assert removed["Alert"] == ["v1beta2"]


def test_what_is_moved_before_is_listed_apart() -> None:
    report = json.loads(plans_json([team(case("migration").proposal)]))
    assert [each["path"] for each in report["migrations"]] == ["apps/alerts.yaml", "apps/images.yaml"]
    alerts = report["migrations"][0]
    assert alerts["waiting"] == ["clusters/staging/flux-system/gotk-components.yaml"]
    assert [(each["action"], each["to"]) for each in alerts["uses"]] == [("move", "v1beta3"), ("leave", None)]
    assert (alerts["decision"]["bump"], alerts["decision"]["target"]) == ("migration", "v2.9.4")
    assert [each["path"] for each in report["installations"]] == alerts["waiting"]


def test_a_file_that_differs_from_the_base_is_held_by_itself() -> None:
    of = team(case("migration").proposal)
    held = replace(of.migrations[0], decisions=(Hold(HoldReason.CHECKOUT_DIFFERS, "it is behind"),))
    report = json.loads(plans_json([replace(of, migrations=(held,))]))
    assert list(SCHEMA.iter_errors(report)) == []
    assert [(each["uses"], each["decision"]["reason"]) for each in report["migrations"]] == [([], "checkout-differs")]


@pytest.mark.parametrize(("version", "verdict"), [("1.31", "too-old"), ("1.33", "untested"), ("1.35", "fits")])
def test_kubernetes_gets_a_verdict(version: str, verdict: str) -> None:
    value = impact_value(Assessment(kubernetes=fit(version, "v2.9.4")))
    assert value["kubernetes"]["verdict"] == verdict


def test_every_reason_is_in_the_schema() -> None:
    definitions = json.loads((REFERENCE / "plan.schema.json").read_text())["$defs"]
    assert definitions["use"]["properties"]["reason"]["enum"] == [*Reason, None]


def test_a_plan_says_what_an_upgrade_means() -> None:
    text = plans_text([team(case("impact-everything").proposal)])
    for line in (
        "    before merging: run `flux migrate` with the Flux CLI 2.8 in the cluster",
        "      An earlier release ran here from 2023-09-12 and stored Alert as v1beta2, which the CRDs of v2.9.4 no longer contain.",
        "      apps/a/release.yaml:31 HelmRelease apps/a: postRenderStrategy: nohooks keeps the old behavior",
        "    2/3 patches still apply (clusters/staging/flux-system/kustomization.yaml, built with kustomize before and after the upgrade)",
        "    v2.9.4 was tested with Kubernetes 1.34 to 1.36, but kubernetes-version is 1.33.",
        "      NetworkPolicy/allow-webhooks: lets in only TCP 9292 from every namespace (was any port)",
    ):  # fmt: skip
        assert f"{line}\n" in text
    assert "step 1 of 2: v2.7.1, then v2.9.4" in plans_text([team(case("multi-step").proposal)])


@pytest.mark.parametrize(
    ("impact", "line"),
    [
        ({"said": [{"kind": "Alert", "group": "g", "version": "v1"}]}, "    `flux migrate` ran in the cluster: you confirmed it"),
        ({"unknown": "the checkout is shallow"}, "      v2.9.4 drops API versions that older releases stored, and the earlier releases are unknown: the checkout is shallow"),
        ({"after-migrate": [{"kind": "Alert", "group": "g", "version": "v1"}]}, "    before merging: upgrade to an intermediate release first, and run `flux migrate` there too"),
        ({"lefts": [LEFT]}, "      apps/a.yaml:1: ImagePolicy app, image.toolkit.fluxcd.io/v1beta2: spec.x is gone."),
        ({"orphaned": [LEFT]}, "      apps/a.yaml:1: ImagePolicy app, image.toolkit.fluxcd.io/v1beta2"),
        ({"moves": [{**MOVE, "fields": ["spec.x became spec.y"]}], "moved": True}, "      spec.x became spec.y"),
    ],
)  # fmt: skip
def test_a_plan_says_each_thing(impact: Mapping[str, Any], line: str) -> None:
    assert f"\n{line}\n" in plans_text([stated(impact)])


def test_a_plan_says_what_is_in_the_way_and_what_is_moved_before() -> None:
    of = team(case("migration").proposal)
    assert (
        "\napps/alerts.yaml\n"
        "  migration: 1 manifest → API versions that v2.9.4 serves\n"
        "    v2.9.4 no longer serves the old API versions\n"
        "      apps/alerts.yaml:1: Alert ops/page, notification.toolkit.fluxcd.io/v1beta2 → v1beta3\n"
    ) in plans_text([of])
    held = plans_text([team(case("impact-held").proposal)])
    assert "\n      apps/alerts.yaml:1: Alert page, notification.toolkit.fluxcd.io/v1beta2: spec.summary" in held


def test_a_long_list_is_counted() -> None:
    text = plans_text([stated({"moved": True, "moves": [MOVE] * 40})])
    assert text.count("apps/a.yaml:1") == 12
    assert "\n      … and 28 more\n" in text


def test_what_was_written_is_reported_file_by_file() -> None:
    before, along = (team(case(name).proposal) for name in ("migration", "moved-with-the-upgrade"))
    outcomes = [WriteResult(plan) for plan in (*before.migrations, *along.plans, *before.plans)]
    text = upgrade_text(outcomes, "checkout", written=True)
    assert (
        "apps/alerts.yaml\n  1 manifest → API versions that v2.9.4 serves · written\n    apps/alerts.yaml:1: Alert"
        in text
    )
    assert "  2 manifests migrated in the same commit:\n    apps/alerts.yaml:1: Alert page" in text
    assert "  held: v2.9.4 migration-pending: 3 API versions have to be moved\n" in text


def summary_of(of: UpdateGroupPlan, *results: Result) -> str:
    return summary(round_of(of, results=results), written=True, approve_command="")


def test_the_summary_says_what_is_to_be_done_first() -> None:
    everything = summary_of(team(case("impact-everything").proposal))
    assert "\n1. Run `flux migrate` with the Flux CLI 2.8 in the cluster, before the upgrade is merged\n" in everything
    steps, _, remarks = everything.partition("### Good to know")
    assert ". Check 1 resource that Flux 2.9 may break\n   - A Receiver of type gcr needs " in steps
    assert "\n- Review 3 resources that behave differently in Flux 2.9: " in remarks
    assert "| minor | ready (step 1 of 2, then v2.9.4) |" in summary_of(team(case("multi-step").proposal))


@pytest.mark.parametrize(
    ("name", "in_text", "in_summary", "in_json"),
    [
        (
            "moved-with-the-upgrade",
            "right after merging: run `flux migrate` with the Flux CLI 2.9 in the cluster",
            "Run `flux migrate` with the Flux CLI 2.9 in the cluster, right after the upgrade is merged",
            {"when": "after-merging", "cli": "2.9", "evidence": "used", "migrated": False},
        ),
        (
            "flux-migrate-before-migrated",
            "before merging: run `flux migrate` with the Flux CLI 2.8 in the cluster",
            "Run `flux migrate` with the Flux CLI 2.8 in the cluster, before the upgrade is merged",
            {"when": "before-merging", "cli": "2.8", "evidence": "migrated", "migrated": False},
        ),
        (
            "flux-migrate-before-ticked",
            "`flux migrate` ran in the cluster: you confirmed it",
            "",
            {"when": "before-merging", "cli": "2.8", "evidence": "migrated", "migrated": True},
        ),
        ("flux-migrate-before-never", "", "", None),
    ],
)
def test_every_report_says_when_flux_migrate_has_to_run(
    name: str, in_text: str, in_summary: str, in_json: dict[str, Any] | None
) -> None:
    of = team(case(name).proposal)
    text, table = plans_text([of]), summary_of(of)
    assert in_text in text
    assert ("flux migrate" in text) is bool(in_text)
    assert in_summary in table
    assert ("flux migrate" in table) is bool(in_summary)
    value = json.loads(plans_json([of]))
    ((found,),) = [[each["impact"]["managed-fields"] for each in plan["decisions"]] for plan in value["installations"]]
    assert in_json is None or found is not None
    assert in_json == (None if found is None else {key: found[key] for key in in_json or {}})
    task = "1. Migrate the manifests that v2.9.4 no longer serves\n   - spec.x is gone.\n"
    assert task in summary_of(stated({"lefts": [LEFT]}))


def test_whoever_waits_has_a_link_to_what_is_moved_before() -> None:
    one = case("migration").proposal
    of = team(one)
    result = Result(of.update_group, BumpKind.MIGRATION, one.branch, Action.OPENED, one, 7, "https://x/7")
    assert "[#7](https://x/7) opened |" in summary_of(of, result)
    other = replace(one, upgrades=tuple((plan, _waits_for_nobody(up)) for plan, up in one.upgrades))
    assert "https://x/7" not in summary_of(of, replace(result, proposal=other))


def _waits_for_nobody(upgrade: Any) -> Any:
    return replace(upgrade, waiting=("elsewhere",))


def test_annotations_stand_on_the_very_lines() -> None:
    found = on_lines([stated({"lefts": [LEFT], "breaks": [], "orphaned": []})])
    assert found == [
        Annotation(
            Level.WARNING,
            "ImagePolicy app: spec.x is gone.",
            "v2.9.4 does not serve image.toolkit.fluxcd.io/v1beta2",
            "apps/a.yaml",
            1,
        )
    ]
    assert annotation_command(found[0]) == (
        "::warning title=v2.9.4 does not serve image.toolkit.fluxcd.io/v1beta2,file=apps/a.yaml,line=1"
        "::ImagePolicy app: spec.x is gone."
    )
    assert found[0].note == f"apps/a.yaml:1: {found[0].title}: ImagePolicy app: spec.x is gone."


def test_what_is_gravest_is_annotated_first_and_each_line_once() -> None:
    found = [on_lines([team(case(name).proposal)]) for name in ("impact-hostile", "impact-everything")]
    assert [each.title for each in found[0]] == [
        "v2.9.4 does not serve image.toolkit.fluxcd.io/v1beta1",
        "The upgrade to v2.9.4 removes the controller of ImagePolicy",
        "Drops what is new in v2.9.4",
        "Flux 2.9 changes this: r",
        "v2.9.4 does not serve image.toolkit.fluxcd.io/v1beta2",
    ]
    assert [(each.file, each.line) for each in found[1]] == [
        ("apps/automation.yaml", 1),
        ("clusters/staging/flux-system/args.yaml", 1),
        ("apps/a/release.yaml", 31),
        ("apps/b/release.yaml", 12),
        ("infra/c.yaml", 40),
        ("infra/receiver.yaml", 3),
    ]
    both = stated({"lefts": [LEFT], "moves": [MOVE]}, count=3, path="{n}/gotk-components.yaml")
    assert len(on_lines([both])) == 1


def test_annotations_are_bounded() -> None:
    lines = [{**HIT, "line": line} for line in range(1, 101)]
    found = on_lines([stated({"breaks": lines})])
    assert len(found) == 25
    assert found[-1] == Annotation(Level.WARNING, "76 more lines are concerned: see the report")


HIT = {"rule": "r", "since": "2.9", "change": "It differs", "source": "https://fluxcd.io/x", "path": "a.yaml", "kind": "HelmRelease", "name": "a"}  # fmt: skip


def test_what_was_not_looked_at_has_no_impact() -> None:
    of = team(proposal())
    (one,) = json.loads(plans_json([of]))["installations"]
    assert one["decisions"][0]["impact"] is None
    assert on_lines([of]) == []
