"""Each input of the Action becomes the argument that it stands for, and a bad one is refused by its name."""

from __future__ import annotations

import re

import pytest

from flux_upgrade.action import action_yml, inputs
from flux_upgrade.action.action_yml import Outcome, most_severe
from flux_upgrade.action.runner import Runner, runner_of
from flux_upgrade.model.errors import UsageError

RUNNER = runner_of({"GITHUB_WORKSPACE": "/github/workspace", "GITHUB_EVENT_NAME": "schedule"})
DEFAULTS = {f"INPUT_{each.name.upper()}": each.default for each in action_yml.INPUTS}
GIVEN = {"INPUT_TOKEN": "t"}


def test_the_defaults_are_a_plain_upgrade() -> None:
    assert inputs.arguments(DEFAULTS) == ["upgrade", ".", "--pull-request", "--release-source=github"]
    assert inputs.arguments({}) == ["upgrade", ".", "--pull-request"]


def test_every_input_becomes_its_argument() -> None:
    env = {
        "INPUT_MODE": "upgrade",
        "INPUT_PATH": "clusters/a b",
        "INPUT_POLICY": "minor",
        "INPUT_RANGE": ">=2.6 <2.9",
        "INPUT_APPROVE": "2.9",
        "INPUT_CONFIG": "flux.yaml",
        "INPUT_TOKEN": "secret",
        "INPUT_RELEASE-SOURCE": "https://mirror.example",
        "INPUT_RELEASE-TOKEN": "other-secret",
        "INPUT_BASE": "develop",
        "INPUT_FLAGS": "network-policy=false\nlog-level=debug\n",
        "INPUT_DRY-RUN": "true",
        "INPUT_REPOSITORY": "octo-org/fleet",
        "INPUT_CA-FILE": "ca.pem",
        "INPUT_ALLOW-HOSTS": "registry.internal, *.example.internal:8443",
        "INPUT_PROMOTE": "tag",
        "INPUT_REGISTRY-USERNAME": "octocat",
        "INPUT_REGISTRY-PASSWORD": "third-secret",
        "INPUT_DOCKER-CONFIG": "docker.json",
        "INPUT_PLAIN-HTTP": "true",
        "INPUT_TO": "",
        "INPUT_CREATE-REPOSITORY": "false",
        "INPUT_DESCRIPTION": "",
        "INPUT_ADD-WORKFLOW": "false",
        "INPUT_ACTIONS-SECRET": "",
        "INPUT_ACTIONS-ENVIRONMENT": "",
        "INPUT_ROTATE-KEY": "false",
        "INPUT_KNOWN-HOSTS": "",
        "INPUT_TRUST-CONFIG": "true",
    }
    assert set(env) == set(DEFAULTS)
    assert inputs.arguments(env) == [
        "upgrade",
        "clusters/a b",
        "--trust-config",
        "--pull-request",
        "--dry-run",
        "--plain-http",
        "--username=octocat",
        "--policy=minor",
        "--range=>=2.6 <2.9",
        "--approve=2.9",
        "--config=flux.yaml",
        "--release-source=https://mirror.example",
        "--base=develop",
        "--flags=network-policy=false\nlog-level=debug",
        "--repository=octo-org/fleet",
        "--ca-file=ca.pem",
        "--allow-hosts=registry.internal, *.example.internal:8443",
        "--promote=tag",
        "--docker-config=docker.json",
    ]


def test_a_bootstrap_has_inputs_of_its_own() -> None:
    env = {
        "INPUT_MODE": "bootstrap",
        "INPUT_PATH": "clusters/staging",
        "INPUT_REPOSITORY": "octo-org/new",
        "INPUT_BASE": "develop",
        "INPUT_FLAGS": "network-policy: false",
        "INPUT_CREATE-REPOSITORY": "true",
        "INPUT_DESCRIPTION": "The state of a cluster",
        "INPUT_ADD-WORKFLOW": "true",
        "INPUT_ACTIONS-SECRET": "FLUX",
        "INPUT_ACTIONS-ENVIRONMENT": "production",
        "INPUT_KNOWN-HOSTS": "known_hosts",
        "INPUT_DRY-RUN": "true",
        "INPUT_TRUST-CONFIG": "true",
    }
    assert inputs.arguments(env) == [
        "bootstrap",
        ".",
        "--create-repository",
        "--add-workflow",
        "--trust-config",
        "--pull-request",
        "--path=clusters/staging",
        "--dry-run",
        "--branch=develop",
        "--repository=octo-org/new",
        "--flags=network-policy: false",
        "--description=The state of a cluster",
        "--actions-secret=FLUX",
        "--actions-environment=production",
        "--known-hosts=known_hosts",
    ]


def test_a_bootstrap_of_an_artifact_opens_no_pull_request() -> None:
    address = "oci://ghcr.io/octo-org/flux:production"
    env = {"INPUT_MODE": "bootstrap", "INPUT_PATH": address, "INPUT_REGISTRY-USERNAME": "octocat"}
    expected = ["bootstrap", ".", "--source=oci", f"--url={address}", "--username=octocat"]
    assert inputs.arguments(env) == expected


@pytest.mark.parametrize("name", ["policy", "range", "approve", "promote", "to"])
def test_what_is_no_input_of_a_bootstrap_is_refused(name: str) -> None:
    value = {"policy": "minor", "promote": "tag"}.get(name, "2.9")
    with pytest.raises(UsageError, match=f"the input {name} is not for mode: bootstrap"):
        inputs.arguments({"INPUT_MODE": "bootstrap", f"INPUT_{name.upper()}": value})


@pytest.mark.parametrize("name", ["create-repository", "add-workflow", "description", "known-hosts"])
def test_what_is_for_a_bootstrap_alone_is_refused_elsewhere(name: str) -> None:
    with pytest.raises(UsageError, match=f"the input {name} is only for mode: bootstrap"):
        inputs.arguments({f"INPUT_{name.upper()}": "true"})


def test_a_rollback_gets_the_flags_of_its_registry_only() -> None:
    env = {
        "INPUT_MODE": "rollback",
        "INPUT_PATH": "oci://ghcr.io/octo-org/flux:production",
        "INPUT_POLICY": "minor",
        "INPUT_APPROVE": "2.9",
        "INPUT_DRY-RUN": "true",
        "INPUT_REGISTRY-USERNAME": "octocat",
        "INPUT_CA-FILE": "ca.pem",
        "INPUT_RELEASE-SOURCE": "github",
        "INPUT_TO": "v2.8.7-0123456789ab",
    }
    assert inputs.arguments(env) == [
        "rollback",
        "oci://ghcr.io/octo-org/flux:production",
        "--dry-run",
        "--username=octocat",
        "--to=v2.8.7-0123456789ab",
        "--ca-file=ca.pem",
    ]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("align with --to v2.9.4", "align with --to v2.9.4"),
        (
            "name a tag or a digest to go back to with --to; there are v2.8.7-0123456789ab",
            "name a tag or a digest to go back to with input `to`; there are v2.8.7-0123456789ab",
        ),
        ("give --username and --password-stdin", "give input `registry-username` and input `registry-password`"),
        ("if it is meant so, give --plain-http", "if it is meant so, give input `plain-http`"),
    ],
)
def test_what_a_message_says_of_flags_is_said_of_inputs(message: str, shown: str) -> None:
    assert inputs.in_inputs(message) == shown


def test_a_way_back_is_for_a_rollback_alone() -> None:
    with pytest.raises(UsageError, match="only for mode: rollback"):
        inputs.arguments({"INPUT_TO": "v2.8.7-0123456789ab"})


def test_plan_is_dry_anyway() -> None:
    assert inputs.arguments({"INPUT_MODE": "plan", "INPUT_DRY-RUN": "true"}) == ["plan", ".", "--pull-request"]


@pytest.mark.parametrize(
    ("env", "argument"),
    [
        ({"INPUT_RELEASE_SOURCE": "folder"}, "--release-source=folder"),
        ({"INPUT_RELEASE-SOURCE": "a", "INPUT_RELEASE_SOURCE": "b"}, "--release-source=a"),
        ({"INPUT_APPROVE": "  2.9 \n"}, "--approve=2.9"),
        ({"INPUT_APPROVE": "--policy=major"}, "--approve=--policy=major"),
        ({"INPUT_PATH": "--to=v9"}, "./--to=v9"),
        ({"INPUT_DRY-RUN": "TRUE"}, "--dry-run"),
    ],
)
def test_spelling(env: dict[str, str], argument: str) -> None:
    assert argument in inputs.arguments(env)


@pytest.mark.parametrize("name", [each.name for each in action_yml.INPUTS])
def test_an_empty_input_is_not_given(name: str) -> None:
    assert inputs.arguments({f"INPUT_{name.upper()}": " "}) == ["upgrade", ".", "--pull-request"]


@pytest.mark.parametrize("text", ["false", "False", "FALSE", ""])
def test_what_is_false(text: str) -> None:
    assert "--dry-run" not in inputs.arguments({"INPUT_DRY-RUN": text})


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"INPUT_DRY-RUN": "yes"}, "the input dry-run must be true or false, not 'yes'"),
        ({"INPUT_DRY-RUN": "tRUE"}, "the input dry-run"),
        ({"INPUT_DRY-RUN": "1", "INPUT_MODE": "plan"}, "the input dry-run"),
        ({"INPUT_MODE": "upgrad"}, "the input mode cannot be 'upgrad', did you mean 'upgrade'?"),
        ({"INPUT_MODE": "render"}, "the input mode cannot be 'render'"),
        ({"INPUT_POLICY": "minors"}, "the input policy cannot be 'minors', did you mean 'minor'?"),
    ],
)
def test_bad_values_name_the_input(env: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        inputs.arguments(env)
    assert caught.value.hint


def test_tokens_are_in_no_argument_and_are_not_shown() -> None:
    env = {"INPUT_TOKEN": "ghs_one\n", "INPUT_RELEASE-TOKEN": "ghp_two"}
    assert not [each for each in inputs.arguments(env) if "ghs_one" in each or "ghp_two" in each]
    given = inputs.secrets(env, RUNNER)
    assert (given.token, given.release_token) == ("ghs_one", "ghp_two")
    assert repr(given) == "Secrets()"


@pytest.mark.parametrize(("server", "release_token"), [("https://github.com", "t"), ("https://ghe.example", "")])
def test_the_token_of_an_enterprise_server_stays_there(server: str, release_token: str) -> None:
    runner = runner_of({"GITHUB_SERVER_URL": server})
    assert inputs.secrets(GIVEN, runner).release_token == release_token
    assert inputs.secrets({**GIVEN, "INPUT_RELEASE-TOKEN": "r"}, runner).release_token == "r"


def test_an_unknown_input_is_named_with_the_nearest() -> None:
    assert inputs.unknown({**DEFAULTS, "HOME": "/", "INPUT_DRY_RUN": "true"}) == ()
    assert inputs.unknown({"INPUT_POLICI": "x", "INPUT_ZZZ": ""}) == (
        "there is no input 'polici', did you mean 'policy'?",
        "there is no input 'zzz'",
    )
    assert inputs.arguments({"INPUT_POLICI": "x"}) == inputs.arguments({})


@pytest.mark.parametrize(
    ("event", "env"),
    [
        ("schedule", {}),
        ("workflow_dispatch", {"INPUT_APPROVE": "2.9"}),
        ("push", {}),
        ("pull_request", {"INPUT_MODE": "plan"}),
        ("pull_request", {"INPUT_DRY-RUN": "true"}),
        ("pull_request_target", {}),
        ("pull_request_target", {"INPUT_MODE": "plan"}),
        ("push", {"INPUT_PATH": "/github/workspace/clusters"}),
        ("push", {"INPUT_PATH": "a/../b"}),
        ("push", {"INPUT_PATH": "..clusters"}),
    ],
)
def test_what_goes_well(event: str, env: dict[str, str]) -> None:
    inputs.check({**GIVEN, **env}, RUNNER._replace(event=event), has_checkout=True)


@pytest.mark.parametrize(
    ("env", "runner", "message", "hint"),
    [
        (
            {},
            RUNNER._replace(event="pull_request"),
            "a run for a pull_request event",
            "on schedule, workflow_dispatch or push",
        ),
        (
            {"INPUT_MODE": "rollback"},
            RUNNER._replace(event="pull_request_target"),
            "acts on one pull request: mode cannot be rollback",
            "workflow_dispatch",
        ),
        (
            {"INPUT_MODE": "bootstrap", "INPUT_DRY-RUN": "true"},
            RUNNER._replace(event="pull_request_target"),
            "acts on one pull request: mode cannot be bootstrap",
            "workflow_dispatch",
        ),
        ({"INPUT_TOKEN": ""}, RUNNER, "the input token is empty", "check that the secret exists"),
        ({"INPUT_PATH": ".."}, RUNNER, "outside of the workspace: '..'", "relative to the workspace"),
        ({"INPUT_PATH": "a/../../b"}, RUNNER, "outside of the workspace", "relative"),
        ({"INPUT_PATH": "/github/workspace-2"}, RUNNER, "outside of the workspace", "relative"),
        (
            {"INPUT_PATH": "/home/runner/work/fleet/fleet"},
            RUNNER,
            "outside of the workspace",
            "a container does not know `github.workspace`",
        ),
        ({}, RUNNER._replace(workspace=""), "this is no run of GitHub Actions", "--pull-request"),
    ],
)
def test_what_cannot_go_well(env: dict[str, str], runner: Runner, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        inputs.check({**GIVEN, **env}, runner, has_checkout=True)
    assert hint in caught.value.hint


def test_a_missing_checkout_is_answered_with_the_lines_to_add() -> None:
    with pytest.raises(UsageError, match="no checkout") as caught:
        inputs.check(GIVEN, RUNNER, has_checkout=False)
    assert "- uses: actions/checkout@v7" in caught.value.hint
    assert "persist-credentials: false" in caught.value.hint


@pytest.mark.parametrize(
    "env", [{"INPUT_MODE": "bootstrap"}, {"INPUT_PATH": "oci://registry.test/flux:staging"}], ids=["bootstrap", "oci"]
)
def test_a_bootstrap_and_an_artifact_need_no_checkout(env: dict[str, str]) -> None:
    inputs.check({**GIVEN, **env}, RUNNER, has_checkout=False)


def test_the_workspace_may_be_the_root() -> None:
    assert inputs.inside("/", "clusters") == "/clusters"


def test_a_message_speaks_of_inputs() -> None:
    assert inputs.in_inputs("--policy 'x' is not one of; see --release-source=y, --dry-run") == (
        "input `policy` 'x' is not one of; see input `release-source`=y, input `dry-run`"
    )
    assert inputs.in_inputs("leave out `--create-repository`") == "leave out input `create-repository`"
    assert inputs.in_inputs("--path-x --base64 --on-conflict --configure") == (
        "--path-x --base64 --on-conflict --configure"
    )


def test_the_gravest_outcome_stands_for_all() -> None:
    assert most_severe([]) is Outcome.NONE
    assert most_severe([Outcome.NONE, Outcome.HELD]) is Outcome.HELD
    assert most_severe([Outcome.HELD, Outcome.OPENED, Outcome.UPDATED, Outcome.CLOSED]) is Outcome.OPENED
    assert most_severe([Outcome.FAILED, Outcome.OPENED]) is Outcome.FAILED
