"""The config file becomes the configuration, with defaults, groups, inputs and flags in their order."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
import yaml
from config_reference import EXAMPLE
from hypothesis import given
from hypothesis import strategies as st

import config_files
from flux_upgrade.config import reader
from flux_upgrade.config.config import PATH, Config, Governance, Limits, Migrate
from flux_upgrade.config.config import slug as slug_of
from flux_upgrade.config.keys import TOP
from flux_upgrade.model.errors import InvalidConfig
from flux_upgrade.policy.decision import ChangeKind
from flux_upgrade.policy.policy import MaxBump, Pending
from flux_upgrade.policy.schedule import Schedule
from flux_upgrade.report.config_check import check_report

WHOLE = """\
policy: minor
range: ">=2.6"
pending: summary
cool-down: {patch: 12h, minor: 2w}
flags: {network-policy: false, toleration-keys: [a, b], log-level: debug}
labels: [flux]
reviewers: [octocat, org/team]
assignees: [hubot]
auto-merge: patch
schedule: ["* 9-15 * * 1-4", "* 8 * * 5"]
timezone: Europe/Berlin
check-images: false
migrate: with-upgrade
multi-step: off
include: [apps, "!apps/old"]
kubernetes-version: 1.30
needs-approval: [rbac, network-policy]
branch-prefix: deps/flux-
forge: gitea
flux-operator: change
limits: {open: 20, new: 0, minutes: 30}
ignore: ["archive/**"]
groups:
  staging:
    paths: ["clusters/staging-*/**"]
    policy: none
    cool-down: {minor: 0}
    flags: {network-policy: true}
    check-images: true
    labels: []
    schedule: "* * * * *"
    migrate: off
    multi-step: on
    include: []
    kubernetes-version: v1.33.4
    needs-approval: []
  production:
    paths: [/clusters/production/, "!sandbox"]
"""


def load(text: str, flags: dict[str, Any] | None = None) -> Config:
    return config_files.load(text, PATH, flags)


def test_every_key_is_read() -> None:
    loaded = load(WHOLE)
    assert (loaded.default.name, loaded.default.paths) == ("", ())
    default = loaded.default.governance
    assert default.policy.bump is MaxBump.MINOR
    assert default.policy.range is not None
    assert default.policy.range.text == ">=2.6"
    assert default.policy.pending is Pending.SUMMARY
    assert default.policy.patch_cool_down == timedelta(hours=12)
    assert default.policy.minor_cool_down == timedelta(days=14)
    assert default.flags == {"network-policy": "false", "toleration-keys": "a,b", "log-level": "debug"}
    assert (default.labels, default.reviewers, default.assignees) == (("flux",), ("octocat", "org/team"), ("hubot",))
    assert default.auto_merge is MaxBump.PATCH
    assert (default.schedule, default.timezone) == (("* 9-15 * * 1-4", "* 8 * * 5"), "Europe/Berlin")
    assert default.window == Schedule(default.schedule, "Europe/Berlin")
    assert not default.check_images
    assert (loaded.branch_prefix, loaded.forge, loaded.ignore) == ("deps/flux-", "gitea", ("archive/**",))
    assert loaded.moves_operator
    assert loaded.limits == Limits(open=20, new=0, drafts=10, new_drafts=5, minutes=30)
    assert (default.migrate, default.multi_step, default.include) == (
        Migrate.WITH_UPGRADE,
        False,
        ("apps", "!apps/old"),
    )
    assert (default.kubernetes_version, default.needs_approval) == ("1.30", ("rbac", "network-policy"))
    assert [group.name for group in loaded.groups] == ["staging", "production"]


def test_a_group_takes_what_it_does_not_say_from_the_top() -> None:
    loaded = load(WHOLE)
    assert loaded.groups[1].paths == ("/clusters/production/", "!sandbox")
    staging, production = (each.governance for each in loaded.groups)
    assert staging.policy.bump is MaxBump.NONE
    assert staging.policy.range is not None
    assert (staging.policy.patch_cool_down, staging.policy.minor_cool_down) == (timedelta(hours=12), timedelta(0))
    assert staging.flags == {"network-policy": "true", "toleration-keys": "a,b", "log-level": "debug"}
    assert (staging.labels, staging.reviewers) == ((), ("octocat", "org/team"))
    assert production.auto_merge is MaxBump.PATCH
    assert production.window == loaded.default.governance.window
    assert staging.window == Schedule(("* * * * *",), "Europe/Berlin")
    assert (staging.check_images, production.check_images) == (True, False)
    assert production.flags == loaded.default.governance.flags
    assert (staging.migrate, staging.multi_step, staging.include) == (Migrate.OFF, True, ())
    assert (staging.kubernetes_version, staging.needs_approval) == ("v1.33.4", ())
    assert (production.migrate, production.multi_step) == (Migrate.WITH_UPGRADE, False)
    assert (production.kubernetes_version, production.include) == ("1.30", ("apps", "!apps/old"))
    assert production.needs_approval == (ChangeKind.RBAC, ChangeKind.NETWORK_POLICY)


@pytest.mark.parametrize("text", ["", "\n", "# nothing yet\n", "---\n", "{}", "\ufeff", "null\n", "groups: {}\n"])
def test_an_empty_file_is_the_defaults(text: str) -> None:
    assert load(text) == Config()


def test_the_defaults_in_the_table_are_the_defaults() -> None:
    written = "".join(f"{key.name}: {key.default}\n" for key in TOP.keys if key.default)
    assert load(written) == Config()
    assert load(written.replace("policy: patch\n", "")) == Config()
    assert set(yaml.safe_load(written)) == {key.name for key in TOP.keys} - {
        "range",
        "forge",
        "bootstrap",
        "extends",
        "kubernetes-version",
    }


@pytest.mark.parametrize(
    ("top", "group", "bumps"),
    [
        ("", "", (MaxBump.PATCH, MaxBump.PATCH)),
        ("range: 2.x", "", (MaxBump.MAJOR, MaxBump.MAJOR)),
        ("range: 2.x\npolicy: patch", "", (MaxBump.PATCH, MaxBump.PATCH)),
        ("range: 2.x", "policy: minor", (MaxBump.MAJOR, MaxBump.MINOR)),
        ("policy: minor", "range: 2.x", (MaxBump.MINOR, MaxBump.MINOR)),
        ("", "range: 2.x", (MaxBump.PATCH, MaxBump.MAJOR)),
    ],
)
def test_a_range_without_policy_is_the_whole_policy(top: str, group: str, bumps: tuple[MaxBump, MaxBump]) -> None:
    loaded = load(f"{top}\ngroups:\n  a:\n    paths: [a]\n    {group}\n")
    found = [group.governance.policy.bump for group in (loaded.default, *loaded.groups)]
    assert tuple(found) == bumps


def test_anchors_aliases_and_merge_keys_may_be_used() -> None:
    loaded = load("""\
labels: &labels [flux]
groups:
  a: &a
    paths: [a]
    policy: minor
    labels: *labels
  b:
    <<: *a
    paths: [b]
  c:
    <<: [{policy: none}, *a]
""")
    found = [(each.paths, each.governance.policy.bump, each.governance.labels) for each in loaded.groups]
    assert found == [
        (("a",), MaxBump.MINOR, ("flux",)),
        (("b",), MaxBump.MINOR, ("flux",)),
        (("a",), MaxBump.NONE, ("flux",)),
    ]


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        ("", {}, (MaxBump.PATCH, "")),
        ("", {"policy": MaxBump.MINOR}, (MaxBump.MINOR, "")),
        ("", {"range": "2.x"}, (MaxBump.MAJOR, "2.x")),
        ("", {"range": "2.x", "policy": MaxBump.PATCH}, (MaxBump.PATCH, "2.x")),
        ("policy: patch", {"range": "2.x"}, (MaxBump.PATCH, "2.x")),
        ("range: '>=2.6'", {"range": "2.x"}, (MaxBump.MAJOR, "2.x")),
        ("range: '>=2.6'", {"policy": MaxBump.MINOR}, (MaxBump.MINOR, ">=2.6")),
        ("policy: none", {"policy": MaxBump.MAJOR, "range": "2.x"}, (MaxBump.MAJOR, "2.x")),
    ],
)
def test_explicit_inputs_beat_the_file(text: str, asked: dict[str, Any], expected: tuple[MaxBump, str]) -> None:
    changed = load(f"{text}\ngroups: {{a: {{paths: [a]}}}}", asked)
    for group in (changed.default, *changed.groups):
        policy = group.governance.policy
        assert (policy.bump, policy.range.text if policy.range else "") == expected


def test_explicit_flags_are_added_to_those_of_the_file() -> None:
    changed = load(
        "flags: {log-level: debug, network-policy: false}\ngroups: {a: {paths: [a], flags: {log-level: error}}}",
        {"flags": "network-policy=true"},
    )
    assert changed.default.governance.flags == {"log-level": "debug", "network-policy": "true"}
    assert changed.groups[0].governance.flags == {"log-level": "error", "network-policy": "true"}
    assert changed.groups[0].paths == ("a",)


@pytest.mark.parametrize("asked", [True, False])
def test_whether_images_are_looked_for_is_asked_for_everywhere(*, asked: bool) -> None:
    changed = load(WHOLE, {"check-images": asked})
    assert {each.governance.check_images for each in (changed.default, *changed.groups)} == {asked}


def test_what_an_upgrade_means_is_asked_for_everywhere() -> None:
    asked = {"migrate": "before", "multi-step": True, "include": ["infra"], "kubernetes-version": "1.35"}
    changed = load(WHOLE, asked)
    for each in (group.governance for group in (changed.default, *changed.groups)):
        found = (each.migrate, each.multi_step, each.include, each.kubernetes_version)
        assert found == (Migrate.BEFORE, True, ("infra",), "1.35")
    staging = load(WHOLE, {"multi-step": False}).groups[0].governance
    assert (staging.migrate, staging.multi_step, staging.kubernetes_version) == (Migrate.OFF, False, "v1.33.4")


@pytest.mark.parametrize("off", ["off", "OFF", "no", "false", "'off'", '"off"'])
def test_off_may_be_written_as_it_is_spoken(off: str) -> None:
    loaded = load(f"migrate: {off}").default.governance
    assert loaded.migrate is Migrate.OFF


@pytest.mark.parametrize(
    ("text", "is_on"),
    [
        ("on", True), ("off", False), ("'on'", True), ('"off"', False), ("true", True), ("False", False),
        ("yes", True), ("NO", False),
    ],
)  # fmt: skip
def test_the_ladder_is_on_or_off(text: str, *, is_on: bool) -> None:
    assert load(f"multi-step: {text}").default.governance.multi_step is is_on


@pytest.mark.parametrize(
    "version", ["1.30", "1.33", "v1.33", "1.33.4", "v1.34.1-gke.1829001", "1.33.4+k3s1", "1.31.13-eks-113cf36", "1.16"]
)
@pytest.mark.parametrize("quote", ["", "'"])
def test_a_version_of_kubernetes_is_taken_as_it_is_written(version: str, quote: str) -> None:
    assert load(f"kubernetes-version: {quote}{version}{quote}").default.governance.kubernetes_version == version


def test_nothing_asked_changes_nothing() -> None:
    assert load(WHOLE, {}) == load(WHOLE)


@pytest.mark.parametrize(
    ("name", "slug"),
    [("staging", "staging"), ("Team.A_x", "team-a-x"), ("clusters/a b", "clusters-a-b"), ("-.x..", "x")],
)
def test_a_slug_can_stand_in_a_branch(name: str, slug: str) -> None:
    assert slug_of(name) == slug


def test_the_summary_says_what_the_file_means() -> None:
    assert (
        check_report(load(WHOLE), f"{PATH}: no problem", {})
        == """\
.github/flux-upgrade.yaml: no problem
group staging: one pull request for clusters/staging-*/**
  without approval: nothing in >=2.6
  upgrades that need approval: shown in the job summary only
  minimum age: patch 12h, minor 0
  flags: network-policy=true, toleration-keys=a,b, log-level=debug
  reviewers: octocat, org/team
  assignees: hubot
  merged automatically: patches
  schedule: * * * * * (Europe/Berlin)
  manifests on removed API versions: not migrated: change them yourself
  Kubernetes: v1.33.4
group production: one pull request for /clusters/production/, !sandbox
  without approval: patches and minors in >=2.6
  upgrades that need approval: shown in the job summary only
  minimum age: patch 12h, minor 14d
  flags: network-policy=false, toleration-keys=a,b, log-level=debug
  labels: flux
  reviewers: octocat, org/team
  assignees: hubot
  merged automatically: patches
  schedule: * 9-15 * * 1-4 (Europe/Berlin), * 8 * * 5 (Europe/Berlin)
  images of the release: not checked in your registry
  manifests on removed API versions: migrated in the pull request of the upgrade
  upgrades that need several steps: proposed as one upgrade
  files searched for breaking changes: apps, !apps/old
  Kubernetes: 1.30
  always needs approval: network-policy, rbac
all other installations: a pull request each
  without approval: patches and minors in >=2.6
  upgrades that need approval: shown in the job summary only
  minimum age: patch 12h, minor 14d
  flags: network-policy=false, toleration-keys=a,b, log-level=debug
  labels: flux
  reviewers: octocat, org/team
  assignees: hubot
  merged automatically: patches
  schedule: * 9-15 * * 1-4 (Europe/Berlin), * 8 * * 5 (Europe/Berlin)
  images of the release: not checked in your registry
  manifests on removed API versions: migrated in the pull request of the upgrade
  upgrades that need several steps: proposed as one upgrade
  files searched for breaking changes: apps, !apps/old
  Kubernetes: 1.30
  always needs approval: network-policy, rbac
ignored: archive/**
branches: deps/flux-…
limits: open 20, new 0, drafts 10, new-drafts 5, minutes 30
flux-operator: its own version is updated in the same pull request
Git host: gitea
"""
    )
    assert (
        check_report(load(""), "x does not exist:", {})
        == """\
x does not exist:
all installations: a pull request each
  without approval: patches
  upgrades that need approval: shown in a draft pull request
  minimum age: patch 0, minor 7d
branches: flux-upgrade/…
limits: open 10, new 5, drafts 10, new-drafts 5, minutes 7
note: if strangers can read the repository on GitHub, let only collaborators create pull requests \
(Settings > General > Pull requests)
"""
    )


def test_the_summary_says_what_each_group_matches() -> None:
    matches = {"staging": ["  matches:", "    clusters/staging-1"], "": ["  matches:", "    lab"]}
    lines = check_report(load(WHOLE), "x: fine", matches).splitlines()
    assert lines[:5] == [
        "x: fine",
        "group staging: one pull request for clusters/staging-*/**",
        "  matches:",
        "    clusters/staging-1",
        "  without approval: nothing in >=2.6",
    ]
    rest = lines.index("all other installations: a pull request each")
    assert lines[rest + 1 : rest + 3] == ["  matches:", "    lab"]


@pytest.mark.parametrize("text", ["", "policy: patch\n", "groups:\n", "groups: {}\n"])
def test_a_file_without_groups_has_no_lines_of_them(text: str) -> None:
    assert reader.lines_of_groups(text) == {}


def test_every_group_has_a_line() -> None:
    assert reader.lines_of_groups(WHOLE) == {
        name: WHOLE.splitlines().index(f"  {name}:") + 1 for name in ("staging", "production")
    }


WORDS = st.sampled_from(
    [*EXAMPLE.split(), *WHOLE.split(), "<<:", "&a", "*a", "- ", "\n", "\n  ", "\t", "'", "{", "}", "[", "]", "0", "---"]
)


@given(st.one_of(st.lists(WORDS, max_size=30).map(" ".join), st.text(max_size=60)))
def test_any_text_is_a_config_or_a_list_of_problems(text: str) -> None:
    try:
        loaded = load(text)
    except InvalidConfig as error:
        for problem in error.message.split("\n"):
            path, line, message = problem.split(":", 2)
            assert path == PATH
            # YAML ends lines at these characters, too.
            assert 1 <= int(line) <= len(re.findall("[\n\r\x85\u2028\u2029]", text)) + 2
            assert message.isprintable()
    else:
        assert isinstance(loaded.default.governance, Governance)
