"""Examples use one pin per action, inputs that exist and a valid config file."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from config_files import load
from e2e import example_jobs
from flux_upgrade.action import inputs as action
from flux_upgrade.action.action_yml import INPUTS, OUTPUTS
from flux_upgrade.bootstrap.workflow_file import ACTION
from flux_upgrade.cli.flags import ARTIFACT
from flux_upgrade.cli.options import ApiUsesOptions, FleetOptions
from flux_upgrade.config.reader import load as load_config
from flux_upgrade.model.oci.reference import parse_address
from flux_upgrade.policy.policy import MaxBump
from parsed_options import parsed
from real_parts import require_program
from workflows.linters import CONFIGS, EXAMPLES, WORKFLOWS

USES = re.compile(r"^\s*(?:- )?uses: (\S+)@(\S+)(.*)$", re.MULTILINE)
OURS = ACTION.partition("@")[0]
OF_CHECKS = [path for path in EXAMPLES if path.stem.startswith("check-")]
REUSABLE = next(path for path in EXAMPLES if path.stem == "reusable")
OF_ACTION = [path for path in EXAMPLES if path not in (*OF_CHECKS, REUSABLE)]
OF_BOOTSTRAPS = [path for path in EXAMPLES if path.stem.startswith("bootstrap-")]
OF_UPGRADES = [path for path in OF_ACTION if path not in OF_BOOTSTRAPS]
OF_ARTIFACTS = [path for path in EXAMPLES if path.stem.startswith("oci-")]
ANSWERS = next(path for path in OF_UPGRADES if path.stem == "answers")
BY_PULL_REQUEST = [path for path in OF_ACTION if path not in OF_ARTIFACTS or path.stem == "oci-pull-request"]


def each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in paths])


each_example = each(OF_ACTION)
each_upgrade = each(OF_UPGRADES)


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text())["jobs"]
    return found


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in jobs(path).values():
        yield from job["steps"]


def inputs(path: Path) -> list[dict[str, str]]:
    """What each of our steps is given, as variables."""
    return [
        {f"INPUT_{name.upper()}": value for name, value in step["with"].items()}
        if step.get("uses", "").startswith(OURS)
        else step.get("env", {})
        for step in steps(path)
        if step.get("uses", "").startswith(OURS) or "flux-upgrade action" in step.get("run", "")
    ]


def test_every_action_is_pinned_to_one_commit_with_its_version_beside_it() -> None:
    pins: dict[str, set[str]] = {}
    for path in (*WORKFLOWS, *EXAMPLES):
        for name, ref, rest in USES.findall(path.read_text()):
            assert re.fullmatch(r"[0-9a-f]{40}", ref), f"{path.name}: {name}@{ref}"
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", rest), f"{path.name}: {name}@{ref}{rest}"
            pins.setdefault(name, set()).add(f"{ref}{rest}")
    assert len(pins) > 5
    assert {name: found for name, found in pins.items() if len(found) > 1} == {}


@each_upgrade
def test_an_example_runs_daily_by_approval_and_one_at_a_time(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    on = workflow[True]  # YAML 1.1 takes the key `on` for a boolean
    assert on["schedule"]
    assert "approve" in on["workflow_dispatch"]["inputs"]
    assert workflow["concurrency"]["cancel-in-progress"] is False
    assert workflow["permissions"] == {}


def group_of(path: Path, event: str, run: int, approve: str = "") -> str:
    """The concurrency group of a run. Of several that wait in one group, GitHub keeps the newest."""
    given: dict[str, Any] = contexts(event, {"sender": {"type": "User"}, "pull_request": NO_PULL, "issue": NO_ISSUE})
    given["github"] |= {"run_id": run}
    given["github"]["event"]["schedule"] = "17 5 * * *" if event == "schedule" else None
    given["inputs"]["approve"] = approve
    return str(example_jobs.evaluated(yaml.safe_load(path.read_text())["concurrency"]["group"], given))


@each([path for path in [*OF_UPGRADES, REUSABLE] if path not in OF_ARTIFACTS])
def test_no_run_replaces_one_that_waits_with_an_approval(path: Path) -> None:
    approvals = enumerate(("2.9", "2.9", "2.8"), 1)
    approving = [group_of(path, "workflow_dispatch", run, approve) for run, approve in approvals]
    others = {group_of(path, "schedule", 8), group_of(path, "schedule", 9)}
    assert len(others) == 1
    assert len({*approving, *others}) == 4
    assert group_of(path, "workflow_dispatch", 7) not in approving


@each(OF_ARTIFACTS)
def test_runs_about_an_artifact_wait_for_each_other_and_none_replaces_another(path: Path) -> None:
    # Registries have no compare-and-swap, so two runs must not move one tag.
    concurrency = yaml.safe_load(path.read_text())["concurrency"]
    assert concurrency == {"group": "flux-upgrade-oci", "cancel-in-progress": False, "queue": "max"}


@each_example
def test_an_example_gives_inputs_that_there_are(path: Path) -> None:
    given = inputs(path)
    assert len(given) == (2 if path.stem in ("oci-environment", "oci-sign") else 1)
    assert [action.unknown(each) for each in given] == [()] * len(given)


@each_upgrade
def test_an_example_passes_an_approval_on(path: Path) -> None:
    assert "inputs.approve" in inputs(path)[-1]["INPUT_APPROVE"]


@each_example
def test_an_example_reads_outputs_that_there_are(path: Path) -> None:
    read = set(re.findall(r"steps\.flux-upgrade\.outputs\.([a-z-]+)", path.read_text()))
    assert read <= {each.name for each in OUTPUTS}


@each(BY_PULL_REQUEST)
def test_the_job_may_do_what_the_token_is_said_to_need(path: Path) -> None:
    needed = {"contents", "pull-requests", "issues", "statuses"}
    description = next(each.description for each in INPUTS if each.name == "token")
    assert needed <= set(re.findall(r"`([a-z-]+)`", description))
    of_app = [
        {key.removeprefix("permission-") for key, value in step["with"].items() if value == "write"}
        for step in steps(path)
        if "create-github-app-token" in step.get("uses", "")
    ]
    others = {"packages"} if path in OF_ARTIFACTS else set()
    if path.stem == "bootstrap-new-repository":
        others = {"administration", "secrets", "workflows"}
    assert needed | others in (*map(written_by, jobs(path).values()), *of_app)


def written_by(job: dict[str, Any]) -> set[str]:
    return {name for name, level in job.get("permissions", {}).items() if level == "write"}


@each(OF_ARTIFACTS)
def test_an_example_about_an_artifact_has_its_address_and_the_password_of_its_registry(path: Path) -> None:
    for given in inputs(path):
        address = parse_address(given["INPUT_PATH"].replace("ORG", "org"))
        assert address.repository == "ghcr.io/org/flux-manifests"
        assert address.tag == ("" if path.stem == "oci-pull-request" else "production")
        assert given["INPUT_REGISTRY-USERNAME"] == "${{ github.actor }}"
        assert given["INPUT_REGISTRY-PASSWORD"] == "${{ github.token }}"


@each([path for path in OF_ARTIFACTS if path not in BY_PULL_REQUEST])
def test_who_moves_a_tag_may_write_packages_and_no_code(path: Path) -> None:
    for job in jobs(path).values():
        assert written_by(job) - {"id-token"} == {"packages"}


def test_a_rollback_is_a_choice() -> None:
    path = next(path for path in OF_ARTIFACTS if path.stem == "oci-scheduled")
    on = yaml.safe_load(path.read_text())[True]
    assert on["workflow_dispatch"]["inputs"]["mode"]["options"] == ["upgrade", "rollback"]
    # On a schedule there are no inputs.
    (given,) = inputs(path)
    assert given["INPUT_MODE"] == "${{ inputs.mode || 'upgrade' }}"


def test_an_environment_stands_before_the_job_that_approves() -> None:
    path = next(path for path in OF_ARTIFACTS if path.stem == "oci-environment")
    push, promote = jobs(path).values()
    assert "environment" not in push
    assert (promote["environment"], promote["needs"]) == ("production", "push")
    assert push["outputs"] == {"version": "${{ steps.flux-upgrade.outputs.pending-version }}"}
    first, second = inputs(path)
    assert (first["INPUT_POLICY"], second["INPUT_POLICY"]) == ("none", "none")
    assert "INPUT_APPROVE" not in first
    assert "needs.push.outputs.version" in second["INPUT_APPROVE"]


def test_what_is_signed_is_a_digest_between_two_equal_steps() -> None:
    path = next(path for path in OF_ARTIFACTS if path.stem == "oci-sign")
    first, second = inputs(path)
    assert first == second
    found = list(steps(path))
    ours = [index for index, step in enumerate(found) if step.get("uses", "").startswith(OURS)]
    (sign,) = (index for index, step in enumerate(found) if "cosign sign" in step.get("run", ""))
    assert ours[0] < sign < ours[1]
    assert "@$DIGEST" in found[sign]["run"]
    # Where there is nothing to sign, nothing is.
    assert {step.get("if") for step in found[ours[0] + 1 :]} == {"${{ steps.flux-upgrade.outputs.digest }}"}


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in CONFIGS])
def test_a_config_file_is_valid(path: Path) -> None:
    loaded = load(path.read_text(), path.name)
    assert bool(loaded.groups) == (path.stem != "shared.flux-upgrade")


def test_one_example_extends_the_other() -> None:
    own, shared = (next(path for path in CONFIGS if path.stem.startswith(name)) for name in ("extending", "shared"))
    loaded = load_config(own.read_text(), own.name, read_shared=lambda _: shared.read_text())
    bumps = {each.name: each.governance.policy.bump for each in (*loaded.groups, loaded.default)}
    assert bumps == {"staging": MaxBump.MINOR, "": MaxBump.PATCH}
    assert loaded.default.governance.reviewers == ("octo-org/platform",)


@each(OF_BOOTSTRAPS)
def test_an_example_that_bootstraps_is_run_by_hand_and_keeps_no_permissions(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert "workflow_dispatch" in workflow[True]
    assert workflow["permissions"] == {}
    assert workflow["concurrency"]["group"].startswith("flux-upgrade-bootstrap")
    assert workflow["concurrency"]["cancel-in-progress"] is False
    (given,) = inputs(path)
    assert given["INPUT_MODE"] == "bootstrap"


@each(OF_CHECKS)
def test_an_example_that_checks_runs_on_pull_requests_and_may_only_read(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert "pull_request" in workflow[True]
    assert workflow["permissions"] == {}
    assert [job["permissions"] for job in jobs(path).values()] == [{"contents": "read"}]
    (command,) = (step["run"] for step in steps(path) if "run" in step)
    words = command.partition(" flux-upgrade ")[2].split()
    assert parsed(ApiUsesOptions, words, {"GITHUB_ACTIONS": "true"}).annotates


# The one that a pull request starts


BOT = "github-actions[bot]"


def answering(
    sender: str = "User", head: str = "acme/fleet", ref: str = "flux-upgrade/a/patch", author: str = BOT
) -> dict[str, Any]:
    """The contexts of an event of a pull request."""
    pull = {"number": 7, "head": {"repo": {"full_name": head}, "ref": ref}, "user": {"login": author}}
    event = {"sender": {"type": sender}, "pull_request": pull, "issue": NO_ISSUE, "schedule": None}
    return contexts("pull_request_target", event)


def contexts(event_name: str, event: dict[str, Any]) -> dict[str, Any]:
    github = {"event_name": event_name, "event": event, "repository": "acme/fleet", "run_id": 42}
    return {"github": github, "inputs": {"approve": ""}}


def ticking(sender: str = "User", label: str = "flux-upgrade/dashboard", author: str = BOT) -> dict[str, Any]:
    """The contexts of an edit or a label of an issue."""
    issue = {"number": 9, "labels": [{"name": label}], "user": {"login": author}}
    return contexts("issues", {"sender": {"type": sender}, "issue": issue, "pull_request": NO_PULL, "schedule": None})


NO_ISSUE: dict[str, Any] = {"number": None, "labels": [], "user": {"login": None}}
NO_PULL = {"number": None, "head": {"repo": {"full_name": None}, "ref": None}, "user": {"login": None}}
SCHEDULED = contexts(
    "schedule", {"sender": {"type": None}, "pull_request": NO_PULL, "issue": NO_ISSUE, "schedule": "17 5 * * *"}
)
DISPATCHED = contexts(
    "workflow_dispatch", {"sender": {"type": "User"}, "pull_request": NO_PULL, "issue": NO_ISSUE, "schedule": None}
)


@pytest.mark.parametrize(
    "given",
    [answering(), ticking(), ticking(label="flux-upgrade/pending"), SCHEDULED, DISPATCHED],
    ids=["answer", "box", "pending issue", "schedule", "dispatch"],
)
def test_what_a_user_did_to_a_pull_request_of_ours_starts_a_run(given: dict[str, Any]) -> None:
    assert example_jobs.given("answers.yaml", given["github"]["event_name"], given) == {"approve": ""}


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(answering(sender="Bot"), id="what-we-did-ourselves"),
        pytest.param(answering(head="mallory/fleet"), id="a-fork"),
        pytest.param(answering(head=""), id="a-fork-that-is-gone"),
        pytest.param(answering(ref="feature"), id="another-branch"),
        pytest.param(answering(ref="x/flux-upgrade/a/patch"), id="another-branch-that-ends-as-ours"),
        pytest.param(ticking(sender="Bot"), id="our-own-edit-of-the-dashboard"),
        pytest.param(ticking(label="bug"), id="another-issue"),
        pytest.param(answering(author="mallory"), id="a-pull-request-that-another-account-opened-from-our-branch"),
        pytest.param(answering(author="dependabot[bot]"), id="another-bot's-pull-request"),
        pytest.param(ticking(author="mallory"), id="another-account's-dashboard"),
        pytest.param(ticking(label="flux-upgrade/pending", author="mallory"), id="another-account's-pending-issue"),
    ],
)
def test_nothing_else_starts_a_run(given: dict[str, Any]) -> None:
    assert example_jobs.given("answers.yaml", given["github"]["event_name"], given) is None


@pytest.mark.parametrize(
    ("given", "group"),
    [
        pytest.param(answering(), "flux-upgrade-7", id="one-for-each-pull-request"),
        pytest.param(ticking(), "flux-upgrade-9", id="one-for-the-dashboard"),
        pytest.param(SCHEDULED, "flux-upgrade-schedule", id="schedule"),
        # Nobody would repeat an approval that is dropped.
        pytest.param(DISPATCHED, "flux-upgrade-42", id="dispatch-by-itself"),
        pytest.param(answering(sender="Bot"), "flux-upgrade-42", id="a-bot-replaces-nobodys-run"),
    ],
)
def test_no_waiting_run_is_dropped_for_one_that_looks_at_less(given: dict[str, Any], group: str) -> None:
    workflow = yaml.safe_load(ANSWERS.read_text())
    assert example_jobs.evaluated(workflow["concurrency"]["group"], given) == group


def test_the_pull_request_is_neither_checked_out_nor_put_into_a_script() -> None:
    checkout = next(each for each in steps(ANSWERS) if each["uses"].startswith("actions/checkout@"))
    assert "ref" not in checkout["with"]
    assert [each for each in steps(ANSWERS) if "run" in each or "github.event" in str(each)] == []
    types = yaml.safe_load(ANSWERS.read_text())[True]["pull_request_target"]["types"]
    states = ("closed", "reopened", "ready_for_review", "converted_to_draft")
    assert sorted(types) == sorted(("labeled", "unlabeled", "edited", *states))
    # The box of a dashboard, and the label that approves what a pending issue is about.
    assert yaml.safe_load(ANSWERS.read_text())[True]["issues"]["types"] == ["edited", "labeled"]


# The workflow that others call, and what calls it

UPGRADE = next(path for path in WORKFLOWS if path.stem == "upgrade")
MANY = next(path for path in EXAMPLES if path.stem == "many-repositories")


def test_the_workflow_that_is_called_has_what_its_example_gives() -> None:
    called = yaml.safe_load(UPGRADE.read_text())[True]["workflow_call"]
    (job,) = jobs(REUSABLE).values()
    assert job["uses"].partition("@")[0] == f"{OURS}/.github/workflows/{UPGRADE.name}"
    assert {*job["with"]} <= {*called["inputs"]}
    assert written_by(job) == {"contents", "pull-requests", "issues", "statuses"}
    scheduled = yaml.safe_load((REUSABLE.parent / "scheduled.yaml").read_text())
    reusable = yaml.safe_load(REUSABLE.read_text())
    for key in (True, "concurrency", "permissions", "name"):
        assert scheduled[key] == reusable[key]


def test_the_workflow_that_is_called_passes_inputs_on_under_their_names() -> None:
    called = yaml.safe_load(UPGRADE.read_text())[True]["workflow_call"]["inputs"]
    (ours,) = (step for step in steps(UPGRADE) if step.get("uses") == "./flux-upgrade")
    given = {name: f"${{{{ inputs.{name} }}}}" for name in called if name not in ("path", "client-id")}
    assert given.items() <= ours["with"].items()
    assert action.unknown({f"INPUT_{name.upper()}": str(value) for name, value in ours["with"].items()}) == ()
    # As the Action itself has it, where nothing is given.
    defaults = {each.name: each.default for each in INPUTS}
    assert {name: str(called[name]["default"]).lower() for name in given} == {name: defaults[name] for name in given}


def test_the_workflow_that_is_called_runs_the_action_of_its_own_commit() -> None:
    theirs, own = (step["with"] for step in steps(UPGRADE) if step.get("uses", "").startswith("actions/checkout@"))
    assert (own["repository"], own["ref"]) == ("${{ job.workflow_repository }}", "${{ job.workflow_sha }}")
    assert (theirs["path"], own["path"]) == ("repository", "flux-upgrade")
    # Neither leaves a token in the checkout.
    assert {theirs["persist-credentials"], own["persist-credentials"]} == {False}


@pytest.mark.parametrize(("app", "token"), [("of-the-app", "of-the-app"), ("", "of-the-job")])
def test_the_workflow_that_is_called_works_with_an_app_or_with_the_token_of_the_job(app: str, token: str) -> None:
    (ours,) = (step for step in steps(UPGRADE) if step.get("uses") == "./flux-upgrade")
    found = {"steps": {"app": {"outputs": {"token": app}}}, "github": {"token": "of-the-job"}}
    assert example_jobs.evaluated(ours["with"]["token"], found) == token


def test_each_repository_has_a_job_with_a_token_for_it_alone() -> None:
    upgrade = jobs(MANY)["upgrade"]
    assert (upgrade["strategy"]["fail-fast"], upgrade["strategy"]["max-parallel"]) == (False, 5)
    (app,) = (step["with"] for step in upgrade["steps"] if "create-github-app-token" in step.get("uses", ""))
    assert app["repositories"] == "${{ matrix.repository }}"
    (listing,) = (
        step["with"] for step in jobs(MANY)["list"]["steps"] if "create-github-app-token" in step.get("uses", "")
    )
    assert {name for name in listing if name.startswith("permission-")} == {"permission-metadata"}
    # GITHUB_TOKEN is of the repository with the workflow, and has nothing to do.
    assert all("permissions" not in job for job in jobs(MANY).values())


def test_the_page_is_made_whatever_became_of_a_repository() -> None:
    page = jobs(MANY)["page"]
    assert page["if"] == "${{ always() && needs.list.result == 'success' }}"
    (command,) = (step["run"] for step in page["steps"] if "run" in step)
    words = command.partition(" flux-upgrade ")[2].partition(" >>")[0].replace('"', "").split()
    found = parsed(FleetOptions, words, {})
    assert (found.reports, found.html, found.expected) == (("reports",), "fleet.html", ("$EXPECTED",))
    (fetched,) = (step["with"] for step in page["steps"] if "download-artifact" in step.get("uses", ""))
    (kept,) = (step for step in jobs(MANY)["upgrade"]["steps"] if "upload-artifact" in step.get("uses", ""))
    assert fetched["path"] == "reports"
    assert kept["with"]["name"].startswith(fetched["pattern"].rstrip("*"))
    assert kept["if"].startswith("${{ always()")


@pytest.mark.parametrize("names", [(), ("octo-org/a",), ("octo-org/a", "octo-org/b.c")])
def test_the_list_of_repositories_is_that_of_the_installation(names: tuple[str, ...], tmp_path: Path) -> None:
    (command,) = (step["run"] for step in jobs(MANY)["list"]["steps"] if "run" in step)
    require_program("jq")
    gh = tmp_path / "gh"
    gh.write_text("#!/bin/sh\n" + "".join(f"echo {name}\n" for name in names))
    gh.chmod(0o755)
    output = tmp_path / "output"
    env = {"PATH": f"{tmp_path}:/usr/local/bin:/usr/bin:/bin", "GITHUB_OUTPUT": str(output)}
    subprocess.run(["bash", "-eo", "pipefail", "-c", command], env=env, cwd=tmp_path, check=True)  # noqa: S603, S607 as the runner does
    listed = json.dumps([name.partition("/")[2] for name in names], separators=(",", ":"))
    assert output.read_text() == f"repositories={listed}\nexpected={','.join(names)}\n"


@pytest.mark.parametrize("stem", ["monorepo-groups", "upgrade"])
def test_a_report_is_uploaded_under_the_name_that_fleet_looks_for(stem: str) -> None:
    path = next(path for path in (*WORKFLOWS, *EXAMPLES) if path.stem == stem)
    (kept,) = (step["with"] for step in steps(path) if "upload-artifact" in step.get("uses", ""))
    assert kept["name"] == ARTIFACT
