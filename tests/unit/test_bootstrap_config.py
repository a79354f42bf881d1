"""A `bootstrap` section of the config file becomes options, or problems with their lines."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml
from config_reference import BOOTSTRAP_EXAMPLE, schema

from config_files import load
from flux_upgrade.bootstrap.config_keys import parse_bootstrap_flags
from flux_upgrade.bootstrap.flag_table import FLAGS, FlagUse
from flux_upgrade.config.config import BootstrapConfig
from flux_upgrade.model.errors import InvalidConfig, UsageError
from flux_upgrade.report.config_check import check_report

PROBLEMS: dict[str, list[tuple[int, str]]] = {
    "bootstrap: []": [(1, "bootstrap expects a mapping, got a list")],
    "bootstrap:\n  privder: git": [(2, "unknown key 'privder', did you mean 'provider'?")],
    "bootstrap: {provider: gthub}": [
        (1, "provider 'gthub' is not one of github, gitlab, gitea, bitbucket-server, git, did you mean 'github'?")
    ],
    "bootstrap: {source: git, flags: [a]}": [
        (1, "flags must be a mapping such as {path: clusters/staging}, not a list")
    ],
    "bootstrap:\n  flags:\n    privat: false\n    private: maybe": [
        (3, "unknown flag 'privat', did you mean 'private'?"),
        (4, "--private 'maybe' must be true or false"),
    ],
    "bootstrap: {flags: {owner: 1}}": [(1, "--owner must be text: put it in quotes")],
    "bootstrap: {flags: {owner: [a]}}": [(1, "--owner must be text, not a list")],
    "bootstrap: {flags: {owner: 1.5}}": [(1, "--owner must be text, not a number; put it in quotes")],
    "bootstrap: {flags: {interval: 60}}": [
        (1, "--interval '60' is not a duration such as 60s or 60m")
    ],
    "bootstrap: {flags: {team: [[a]]}}": [(1, "--team must be a list of texts: put each item in quotes")],
    "bootstrap: {flags: {log-level: trace}}": [(1, "--log-level 'trace' is not one of debug, info, error")],
    "bootstrap: {flags: {path: ../x}}": [(1, "--path '../x' is not a directory inside the repository")],
    "bootstrap: {flags: {app-id: x}}": [(1, "--app-id 'x' is not a number")],
    "bootstrap: {flags: {registry-creds: 'u:hush'}}": [
        (1, "--registry-creds contains a password, which must not be committed: give it on the command line")
    ],
    "bootstrap: {flags: {password: hush}}": [(1, "--password would show in the process list: set GIT_PASSWORD")],
    "bootstrap: {flags: {kubeconfig: x}}": [
        (1, "--kubeconfig applies to one machine and one run: use it on the command line")
    ],
    "bootstrap: {clusters: {}}": [(1, "clusters is empty")],
    "bootstrap: {clusters: [a]}": [(1, "clusters must be a mapping of names to flags, not a list")],
    "bootstrap: {clusters: {a b: {}}}": [
        (1, "cluster 'a b' is not the name of a cluster (a-z, A-Z, 0-9, and after the first '.', '_' and '-')")
    ],
    "bootstrap: {clusters: {a: [b]}}": [
        (1, "cluster 'a' must be a mapping such as {path: clusters/staging}, not a list")
    ],
    "groups:\n  a:\n    paths: [a]\n    bootstrap: {}": [(4, "key 'bootstrap' belongs to the top level")],
}  # fmt: skip
BEYOND_SCHEMA = {
    "bootstrap:\n  provider: git\n  clusters:\n    a:\n      team: [x]": [
        (5, "--team is not a flag of `flux bootstrap git` (only of github, gitlab, gitea)")
    ],
    "bootstrap:\n  flags:\n    cluster-path: x": [(3, "--cluster-path needs --source=oci")],
    "bootstrap:\n  source: oci\n  flags: {branch: x}": [(3, "--branch cannot be combined with --source=oci")],
    "bootstrap:\n  clusters:\n    eu.1: {}\n    EU-1: {}": [
        (4, "cluster 'EU-1' would use the Actions secrets of cluster 'eu.1': rename it")
    ],
    "bootstrap: {flags: {team: 'a,,b'}}": [(1, "--team 'a,,b' is not a list such as a,b")],
}
VALID = (
    "bootstrap: {}",
    BOOTSTRAP_EXAMPLE,
    "bootstrap: {clusters: {a: , b: {path: b}}}",
    "bootstrap: {flags: }",
    "bootstrap: {flags: {private: 'false', personal: 1, reconcile: T}}",
    "bootstrap: {flags: {interval: 1h30m, app-id: 7, app-installation-id: '8'}}",
    "bootstrap: {flags: {team: 'a,b:admin', components-extra: [source-watcher], path: ./a/b}}",
    "bootstrap: {source: oci, flags: {url: 'oci://r.example.com/a:b', oci-provider: aws}}",
)


def problems(text: str) -> list[tuple[int, str]]:
    with pytest.raises(InvalidConfig) as caught:
        load(text, "x")
    lines = [each.split(":", 2) for each in caught.value.message.split("\n")]
    return [(int(line), message.removeprefix(" ")) for _, line, message in lines]


def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema())


def plain(text: str) -> Any:
    return json.loads(json.dumps(yaml.safe_load(text)))


@pytest.mark.parametrize(("text", "expected"), PROBLEMS.items())
def test_every_problem_is_reported_with_its_line(text: str, expected: list[tuple[int, str]]) -> None:
    assert problems(text) == expected
    assert not validator().is_valid(plain(text))


@pytest.mark.parametrize(("text", "expected"), BEYOND_SCHEMA.items())
def test_what_a_schema_cannot_check_is_reported_too(text: str, expected: list[tuple[int, str]]) -> None:
    assert problems(text) == expected


@pytest.mark.parametrize("text", VALID)
def test_the_schema_takes_what_the_loader_takes(text: str) -> None:
    load(text, "x")
    validator().validate(plain(text))


def test_the_file_becomes_values() -> None:
    loaded = load(BOOTSTRAP_EXAMPLE, "x").bootstrap
    assert loaded == BootstrapConfig(
        "github",
        "",
        {"repository": "octo-org/fleet", "components-extra": ("source-watcher",), "token-auth": False},
        (
            ("staging", {"path": "clusters/staging", "log-level": "debug"}),
            ("production", {"path": "clusters/production", "network-policy": True}),
        ),
    )
    assert load("", "x").bootstrap is None


def test_text_in_quotes_is_no_truth() -> None:
    loaded = load("bootstrap: {flags: {private: 'false'}}", "x").bootstrap
    assert loaded is not None
    assert loaded.flags == {"private": False}


def test_every_flag_is_in_the_schema_or_has_no_place_in_a_file() -> None:
    properties = schema()["$defs"]["bootstrap-flags"]["properties"]
    left = {flag.name for flag in FLAGS.values() if flag.use is FlagUse.REFUSED or flag.is_secret}
    assert {*properties} | left == {*FLAGS}
    assert not {*properties} & left


def test_the_summary_names_the_clusters() -> None:
    assert "bootstrap: staging, production" in check_report(load(BOOTSTRAP_EXAMPLE, "x"), "x", {}).splitlines()
    assert "bootstrap: one cluster" in check_report(load("bootstrap: {}", "x"), "x", {}).splitlines()


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("", {}),
        ("path: clusters/x\nprivate: 'false'", {"path": "clusters/x", "private": False}),
        ("{team: [a, b], interval: 10m}", {"team": ("a", "b"), "interval": "10m0s"}),
        ("--personal", {"personal": True}),
        ("path=a\nteam=a --team=b,c", {"path": "a", "team": ("a", "b", "c")}),
        ("registry-creds: 'u:p'", {"registry-creds": "u:p"}),
        ("--registry-creds=u:p", {"registry-creds": "u:p"}),
    ],
)
def test_flags_in_one_text_are_a_mapping_or_words(text: str, flags: dict[str, Any]) -> None:
    assert parse_bootstrap_flags(text, "--flags") == flags


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("privat: false", "--flags: unknown flag 'privat', did you mean 'private'?"),
        ("private: maybe", "--flags: --private 'maybe' must be true or false"),
        ("private=maybe path=..", "--flags: --private 'maybe' must be true or false; --path '..' is not a directory inside the repository"),
        ("--path clusters/x", "--flags: --path has no value; write --path=…; word 2 is not name=value"),
        ("--path=a --path=b", "--flags: --path is given twice"),
        ("--gpg-key-id=x", "--flags: --gpg-key-id is for your own commits"),
        ("clusters/x", "--flags: this must be a mapping such as {path: clusters/staging}, not text"),
        ("--registry-creds user:hush", "--flags: --registry-creds has no value; write --registry-creds=…; word 2 is not name=value"),
        ("registry-creds: hush", "--flags: --registry-creds is not user:password"),
        ("{a", "--flags: invalid YAML: "),
    ],
)  # fmt: skip
def test_bad_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_bootstrap_flags(text, "--flags")
    assert caught.value.message.startswith(message)
    assert "hush" not in caught.value.message
