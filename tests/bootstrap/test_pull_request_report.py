"""A bootstrap reports the same outcome in its log, its JSON, its outputs and its job summary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bootstrap.proposed_bootstraps import bootstrap, case, cluster, names
from flux_upgrade.action.action_yml import OUTPUTS
from flux_upgrade.action.bootstrap_report import bootstrap_outputs, bootstrap_summary, bootstrap_value, outcome_of
from flux_upgrade.bootstrap.apply import BootstrapResult, Published
from flux_upgrade.bootstrap.proposed import Handover, PlaceKind
from flux_upgrade.bootstrap.report_text import bootstrap_text
from flux_upgrade.bootstrap.workflow_file import to_be_added
from flux_upgrade.model.errors import NotReady, Overtaken
from flux_upgrade.planning.proposal import Action
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
VALIDATOR = Draft202012Validator(json.loads((REFERENCE / "bootstrap.schema.json").read_text()))
STAGING = cluster(path="clusters/staging")
NEW = bootstrap(STAGING)
SAME = bootstrap(STAGING._replace(files=STAGING.files._replace(changes=())))
URL = "https://github.com/acme/fleet/pull/1"


def ran(action: Action = Action.OPENED, **more: Any) -> BootstrapResult:
    """A run with a pull request."""
    published = Published(NEW, action, "acme/fleet", 1, URL)
    return BootstrapResult(NEW, **{"repository": "acme/fleet", "published": published, "calls": 3, **more})


REVERTED = Hold(HoldReason.REVERTED, "it was merged, and is gone", "run it by hand")
RUNS = {
    "opened": ran(),
    "unchanged": ran(Action.UNCHANGED),
    "dry": ran(is_dry=True),
    "held": ran(published=Published(NEW, Action.HELD, "acme/fleet", 1, URL, REVERTED, warnings=("slow",))),
    "failed": ran(published=Published(NEW, Action.FAILED, "acme/fleet", error=Overtaken("moved"))),
    "pushed": BootstrapResult(NEW, repository="acme/fleet", is_pushed=True, commit="3d3c42e", is_created=True),
    "checkout": BootstrapResult(NEW, checkout="fleet"),
    "same": BootstrapResult(SAME, checkout="fleet"),
    "ready": BootstrapResult(NEW, repository="acme/fleet", is_pushed=True, commit="3d3c42e", ready={"clusters/staging": "main@sha1:3d3c42e"}),
    "not-ready": BootstrapResult(NEW, is_pushed=True, commit="3d3c42e", error=NotReady("kustomize-controller is not ready", hint="wait")),
    "artifact": BootstrapResult(SAME, artifact="registry.example.com/flux:v2.9.4-0123456789ab", digest="sha256:0", is_promoted=True),
}  # fmt: skip
OUTCOMES = {
    "opened": "opened",
    "unchanged": "none",
    "dry": "held",
    "held": "held",
    "failed": "failed",
    "pushed": "updated",
    "checkout": "updated",
    "same": "none",
    "ready": "updated",
    "not-ready": "failed",
    "artifact": "updated",
}


@pytest.fixture(params=RUNS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_value_is_what_the_schema_says(name: str) -> None:
    value = json.loads(json.dumps(bootstrap_value(RUNS[name])))
    VALIDATOR.validate(value)
    assert value["outcome"] == outcome_of(RUNS[name]) == OUTCOMES[name]


@pytest.mark.parametrize("stated", names())
def test_every_case_is_reported(stated: str) -> None:
    result = BootstrapResult(case(stated).proposal)
    VALIDATOR.validate(json.loads(json.dumps(bootstrap_value(result))))
    assert all(line.isprintable() for line in bootstrap_text(result).splitlines())
    assert bootstrap_summary(result).startswith("## Flux bootstrap\n")


def test_the_schema_takes_nothing_else() -> None:
    value = bootstrap_value(RUNS["opened"])
    assert VALIDATOR.is_valid(value)
    assert not VALIDATOR.is_valid({**value, "more": 1})
    assert not VALIDATOR.is_valid({**value, "outcome": "done"})


def test_the_outputs_are_those_of_the_action(name: str) -> None:
    found = bootstrap_outputs(RUNS[name])
    assert set(found) == {each.name for each in OUTPUTS} - {"report", "report-file"}
    assert found["outcome"] == OUTCOMES[name]


def test_the_pull_request_is_an_output_as_long_as_it_is_open() -> None:
    found = bootstrap_outputs(RUNS["opened"])
    assert (found["pull-request-number"], found["pull-request-url"]) == ("1", URL)
    assert json.loads(found["pull-requests"]) == [{"number": 1, "url": URL, "operation": "opened", "target": "v2.9.4"}]
    assert bootstrap_outputs(ran(Action.CLOSED))["pull-request-number"] == ""


def test_with_a_pull_request_the_log_says_where_it_is() -> None:
    assert bootstrap_text(RUNS["opened"]).splitlines() == [
        "clusters/staging · Flux v2.9.4 · ssh://git@github.com/acme/fleet",
        "  new: clusters/staging/flux-system/gotk-components.yaml",
        "  new: clusters/staging/flux-system/gotk-sync.yaml",
        "  new: clusters/staging/flux-system/kustomization.yaml",
        f"pull request: opened · {URL}",
        "",
        "clusters/staging: 5 actions required, see the pull request",
        "3 calls to acme/fleet",
    ]


def test_without_one_the_log_has_the_commands() -> None:
    lines = bootstrap_text(RUNS["checkout"]).splitlines()
    assert "5 actions required for clusters/staging:" in lines
    assert (
        "1. Create an SSH key, and register it as a deploy key. A temporary directory keeps the key out of your checkout."
        in lines
    )
    assert '    cd "$(mktemp -d)"' in lines
    assert "    kubectl apply --server-side -k ./clusters/staging/flux-system" in lines
    assert not any("```" in line or "**" in line for line in lines)


def test_what_is_ready_needs_no_action() -> None:
    text, summary = bootstrap_text(RUNS["ready"]), bootstrap_summary(RUNS["ready"])
    assert "clusters/staging: ready at main@sha1:3d3c42e" in text
    assert "required" not in (text + summary).lower()
    assert "| `clusters/staging` | v2.9.4 | 3 | ready at `main@sha1:3d3c42e` |" in summary


def test_a_dry_run_says_what_would_be() -> None:
    assert f"pull request: would be opened · {URL}" in bootstrap_text(RUNS["dry"])
    assert f"Pull request [#1]({URL}): would be opened." in bootstrap_summary(RUNS["dry"])


def test_what_is_held_and_what_failed_is_reported() -> None:
    assert "  reverted: it was merged, and is gone\n  to unblock: run it by hand\n" in bootstrap_text(RUNS["held"])
    assert "warning: slow\n" in bootstrap_text(RUNS["held"])
    assert "  overtaken: moved\n" in bootstrap_text(RUNS["failed"])
    assert "> **not-ready**: kustomize-controller is not ready" in bootstrap_summary(RUNS["not-ready"])
    (failure,) = bootstrap_value(RUNS["not-ready"])["failures"]
    assert failure == {"slug": "not-ready", "message": "kustomize-controller is not ready", "remedy": "wait"}


def test_what_is_to_do_with_a_new_key_is_reported_though_no_file_changes() -> None:
    fresh = Handover(PlaceKind.FILE, public_key="ssh-ed25519 AAAA", is_fresh=True)
    (there,) = SAME.clusters
    result = BootstrapResult(bootstrap(there._replace(handover=fresh)), checkout="fleet")
    lines = bootstrap_text(result).splitlines()
    assert "Action required for the new Secret of clusters/staging:" in lines
    assert "    ssh-ed25519 AAAA" in lines
    assert "ssh-ed25519 AAAA" in bootstrap_summary(result)


def test_the_setting_that_an_added_workflow_needs_is_reported_where_no_pull_request_does() -> None:
    proposal = bootstrap(STAGING, workflow=to_be_added(()))
    pushed = BootstrapResult(proposal, repository="acme/fleet", is_pushed=True, commit="3d3c42e")
    for text in (bootstrap_text(pushed), bootstrap_summary(pushed)):
        assert "Allow GitHub Actions to create and approve pull requests" in text
    assert "Allow GitHub Actions" not in bootstrap_text(RUNS["pushed"])
    assert "Allow GitHub Actions" not in bootstrap_text(RUNS["opened"]._replace(proposal=proposal))


def test_where_a_secret_lies_is_in_the_log_alone() -> None:
    result = ran(secret_files=("/home/me/staging.yaml",))
    assert "Secret: /home/me/staging.yaml" in bootstrap_text(result)
    assert "/home/me" not in json.dumps(bootstrap_value(result)) + bootstrap_summary(result)
