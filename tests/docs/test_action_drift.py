"""action.yml, its tables in the code and the reference in the documentation say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from flux_upgrade.action import inputs
from flux_upgrade.action.action_yml import INPUTS, OUTCOMES, OUTPUTS, Outcome, reference
from flux_upgrade.cli.parse import build_parser

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


def test_inputs_are_the_programs() -> None:
    assert [
        (name, each["description"], str(each["default"]), each["required"]) for name, each in ACTION["inputs"].items()
    ] == [(each.name, each.description, each.default, False) for each in INPUTS]


def test_outputs_are_the_programs() -> None:
    assert [(name, each["description"]) for name, each in ACTION["outputs"].items()] == [
        (each.name, each.description) for each in OUTPUTS
    ]


def test_there_are_few_inputs_and_each_tells_its_default() -> None:
    # Those that a bootstrap alone has are seven more.
    assert len(INPUTS) <= 29
    for each in INPUTS:
        assert bool(each.default) != ("Default:" in each.description), each.name


def test_the_reference_has_every_input_output_and_outcome_once() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", reference(), re.MULTILINE)
    assert rows == [*(each.name for each in INPUTS), *(each.name for each in OUTPUTS), *Outcome]
    assert list(OUTCOMES) == list(Outcome)
    description = next(each.description for each in OUTPUTS if each.name == "outcome")
    assert set(re.findall(r"`([a-z]+)`", description)) == set(Outcome)


def test_the_action_runs_the_command_of_that_name() -> None:
    assert ACTION["runs"] == {"using": "docker", "image": "Dockerfile", "args": ["action"]}


def test_the_marketplace_takes_name_and_description() -> None:
    assert ACTION["name"] == "flux-upgrade"
    assert len(ACTION["description"]) <= 125
    assert set(ACTION["branding"]) == {"icon", "color"}


OF_BOOTSTRAPS = (
    "rotate-key",
    "create-repository",
    "description",
    "add-workflow",
    "actions-secret",
    "actions-environment",
    "known-hosts",
)
NOT_OF_BOOTSTRAPS = ("policy", "range", "approve", "promote", "allow-hosts", "to")


@pytest.mark.parametrize("mode", ["upgrade", "plan", "rollback", "bootstrap"])
def test_what_the_inputs_become_is_understood(mode: str) -> None:
    env = {f"INPUT_{each.name.upper()}": "x" for each in INPUTS} | {
        "INPUT_MODE": mode,
        "INPUT_POLICY": "minor",
        "INPUT_DRY-RUN": "true",
        "INPUT_PROMOTE": "tag",
        "INPUT_PLAIN-HTTP": "true",
        "INPUT_TRUST-CONFIG": "true",
        "INPUT_TO": "x" if mode == "rollback" else "",
        "INPUT_CREATE-REPOSITORY": "true",
        "INPUT_ADD-WORKFLOW": "true",
        "INPUT_ROTATE-KEY": "true",
    }
    for name in NOT_OF_BOOTSTRAPS if mode == "bootstrap" else OF_BOOTSTRAPS:
        env[f"INPUT_{name.upper()}"] = ""
    _, unknown = build_parser().parse_known_args(inputs.arguments(env))
    assert unknown == []
