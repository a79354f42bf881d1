"""A config file over the one that it extends: whose key wins, what would be loosened, and where a value comes from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flux_upgrade.config import reader
from flux_upgrade.config.config import PATH, Config, Governance, Limits, Migrate, Origin, SharedFile
from flux_upgrade.config.keys import RING, SHARED, TOP, Key, MappingShape
from flux_upgrade.config.shared_values import ANY, RESTRICTING
from flux_upgrade.model.errors import InvalidConfig, SharedConfigUnusable
from flux_upgrade.policy.policy import MaxBump
from flux_upgrade.report.config_check import check_report

COMMIT = "0123456789" * 4
EXTENDS = f"extends: octo-org/platform/flux/upgrade.yaml@{COMMIT}\n"
FILE = "octo-org/platform/flux/upgrade.yaml@012345678901"


def load(own: str, shared: str) -> Config:
    return reader.load(EXTENDS + own, PATH, read_shared=lambda _: shared)


def refused(own: str, shared: str) -> list[str]:
    with pytest.raises(InvalidConfig) as caught:
        load(own, shared)
    assert caught.value.hint.startswith(f"set the key in {PATH} yourself")
    return caught.value.message.split("\n")


# Key → a value that is looser than its default, the default, and one that is stricter.
VALUES: dict[str, tuple[str, str, str]] = {
    "policy": ("minor", "patch", "none"),
    "cool-down.patch": ("", "0", "12h"),
    "cool-down.minor": ("6d", "7d", "2w"),
    "on-conflict": ("take-release", "hold", ""),
    "check-images": ("false", "true", ""),
    "migrate": ("with-upgrade", "before", "off"),
    "multi-step": ("off", "on", ""),
    "flux-operator": ("change", "report", ""),
    "limits.open": ("0", "10", "9"),
    "limits.new": ("6", "5", "1"),
    "limits.drafts": ("11", "10", "1"),
    "limits.new-drafts": ("0", "5", "4"),
    "limits.minutes": ("8", "7", "1"),
    # Nothing holds without them.
    "range": ("", "", "'>=2.6 <2.9'"),
    "kubernetes-version": ("", "", "1.34"),
    "needs-approval": ("", "[]", "[rbac]"),
}
UNORDERED = {"pending": "summary", "reviewers": "[octocat]", "assignees": "[octocat]"}


def text_of(key: str, value: str) -> str:
    name, _, entry = key.partition(".")
    return f"{name}: {{{entry}: {value}}}\n" if entry else f"{name}: {value}\n"


def leaves(shape: MappingShape, before: str = "") -> Iterator[tuple[str, Key]]:
    for key in shape.keys:
        if isinstance(key.shape, MappingShape):
            yield from leaves(key.shape, f"{before}{key.name}.")
        else:
            yield f"{before}{key.name}", key


def test_every_key_that_can_be_shared_is_in_a_table() -> None:
    assert {path for path, _ in leaves(SHARED)} == {*VALUES, *UNORDERED}
    assert {path for path, key in leaves(SHARED) if key.shared is ANY} == {*UNORDERED}
    assert all(key.shared is RESTRICTING for path, key in leaves(SHARED) if not key.default)


@pytest.mark.parametrize(("key", "value", "default"), [(k, v[0], v[1]) for k, v in VALUES.items() if v[0]])
def test_what_is_looser_is_refused_with_both_values(key: str, value: str, default: str) -> None:
    (line,) = refused("", text_of(key, value))
    assert line == f"{PATH}:1: {key} '{value}' in {FILE} is looser than '{default}', which holds without it"


@pytest.mark.parametrize(("key", "value"), [(k, v[1]) for k, v in VALUES.items() if v[1]])
def test_what_is_equal_changes_nothing(key: str, value: str) -> None:
    loaded = load("", text_of(key, value))
    assert loaded._replace(extends="", origins=()) == Config()


@pytest.mark.parametrize(
    ("key", "value"), [*[(k, v[2]) for k, v in VALUES.items() if v[2] and k != "range"], *UNORDERED.items()]
)
def test_what_is_stricter_counts_as_in_the_file_itself(key: str, value: str) -> None:
    by_itself = reader.load(text_of(key, value), PATH)
    assert load("", text_of(key, value))._replace(extends="", origins=()) == by_itself
    assert by_itself != Config()


@pytest.mark.parametrize(
    ("key", "shared"), [(k, each) for k, v in VALUES.items() if k != "range" for each in v if each]
)
@pytest.mark.parametrize("which", range(3))
def test_the_files_own_key_wins_whatever_the_shared_file_has(key: str, shared: str, which: int) -> None:
    own = VALUES[key][which] or shared
    loaded = load(text_of(key, own), text_of(key, shared))
    assert loaded._replace(extends="", origins=()) == reader.load(text_of(key, own), PATH)


def test_entries_are_merged_one_by_one() -> None:
    shared = "cool-down: {patch: 1d, minor: 2w}\nlimits: {open: 3, new: 1}\n"
    loaded = load("cool-down: {minor: 1d}\nlimits: {new: 50}\n", shared)
    policy = loaded.default.governance.policy
    assert (policy.patch_cool_down.days, policy.minor_cool_down.days) == (1, 1)
    assert loaded.limits == Limits(open=3, new=50)


def test_lists_are_not_merged() -> None:
    loaded = load("needs-approval: [component]\nreviewers: []\n", "needs-approval: [rbac]\nreviewers: [octocat]\n")
    governance = loaded.default.governance
    assert (governance.needs_approval, governance.reviewers) == (("component",), ())


# `range` without `policy` lets every version in the range through


def test_a_shared_range_alone_would_loosen_the_policy() -> None:
    (line,) = refused("", "range: 2.x\n")
    assert "policy 'major (range without policy)'" in line
    assert "is looser than 'patch'" in line


@pytest.mark.parametrize(
    ("own", "shared", "bump"),
    [
        ("", "range: 2.x\npolicy: patch\n", MaxBump.PATCH),
        ("", "range: 2.x\npolicy: none\n", MaxBump.NONE),
        ("policy: minor\n", "range: 2.x\n", MaxBump.MINOR),
        ("range: 2.x\n", "policy: minor\n", MaxBump.MINOR),
        ("range: 2.x\n", "range: '>=2.6'\n", MaxBump.MAJOR),
    ],
)
def test_a_range_and_a_policy_of_two_files(own: str, shared: str, bump: MaxBump) -> None:
    policy = load(own, shared).default.governance.policy
    assert policy.bump is bump
    assert policy.range is not None
    assert policy.range.text == "2.x"


# Groups


def test_a_group_has_what_is_shared_unless_it_or_the_top_level_says_otherwise() -> None:
    own = "cool-down: {minor: 3d}\ngroups:\n  a: {paths: [a], policy: major}\n  b: {paths: [b], range: 2.x}\n"
    loaded = load(own, "policy: none\nmigrate: off\ncool-down: {patch: 1d, minor: 2w}\n")
    bumps = [each.governance.policy.bump for each in (*loaded.groups, loaded.default)]
    assert bumps == [MaxBump.MAJOR, MaxBump.NONE, MaxBump.NONE]
    for each in (*loaded.groups, loaded.default):
        assert each.governance.migrate is Migrate.OFF
        assert (each.governance.policy.patch_cool_down.days, each.governance.policy.minor_cool_down.days) == (1, 3)


def test_flags_win_over_both() -> None:
    given = {"policy": "major"}
    loaded = reader.load(EXTENDS, PATH, flags=given, read_shared=lambda _: "policy: none\n")
    assert loaded.default.governance.policy.bump is MaxBump.MAJOR


# What a shared file cannot have


NEVER = {each.name for each in TOP.keys if each.shared is None} | {"paths", *(each.name for each in RING)}


def test_what_loosens_runs_or_names_a_place_is_never_shared() -> None:
    assert {
        *(
            "auto-merge",
            "accounts",
            "allow-hosts",
            "also",
            "flags",
            "labels",
            "forge",
            "bootstrap",
            "known",
            "branch-prefix",
            "extends",
            "dashboard",
        ),
        *(
            "groups",
            "paths",
            "after",
            "soak",
            "healthy",
            "on-failure",
            "one-release-at-a-time",
            "ignore",
            "include",
            "schedule",
            "timezone",
        ),
    } == NEVER


@pytest.mark.parametrize("key", sorted(NEVER))
def test_a_key_that_is_never_shared_is_refused_whatever_its_value(key: str) -> None:
    with pytest.raises(SharedConfigUnusable) as caught:
        load("", f"\n{key}: none\n")
    assert caught.value.message == f"{FILE}:2: key '{key}' cannot be set in a shared file"
    assert "put the new commit into `extends`" in caught.value.hint


@pytest.mark.parametrize(
    ("shared", "message"),
    [
        ("polcy: none", "1: unknown key 'polcy', did you mean 'policy'?"),
        ("policy: low", "1: policy 'low' is not one of none, patch, minor, major"),
        ("a: b: c", "1: invalid YAML: mapping values are not allowed in this context"),
        ("- policy", "1: the file expects a mapping, got a list"),
        ("version https://git-lfs.github.com/spec/v1", "1: the file expects a mapping, got text"),
        ("policy: none\n---\npolicy: none", "2: a second YAML document begins here"),
        ("policy: \udcff", "1: the file is not UTF-8 text"),
        ("a: " + "[" * 60, "1: this is nested too deeply"),
    ],
)
def test_a_shared_file_that_is_none_is_refused_with_its_line(shared: str, message: str) -> None:
    with pytest.raises(SharedConfigUnusable) as caught:
        load("", shared)
    assert caught.value.message == f"{FILE}:{message}"


def test_its_text_steers_no_terminal() -> None:
    with pytest.raises(SharedConfigUnusable) as caught:
        load("", '"\\e[31mred": 1')
    assert "\x1b" not in caught.value.message


@pytest.mark.parametrize("shared", ["", "\n# nothing\n", "{}"])
def test_a_shared_file_may_be_empty(shared: str) -> None:
    assert load("", shared).default.governance == Governance()


# Which file, and who reads it


def test_the_file_is_asked_for_by_repository_path_and_commit() -> None:
    asked: list[SharedFile] = []

    def read(file: SharedFile) -> str:
        asked.append(file)
        return ""

    reader.load(EXTENDS, PATH, read_shared=read)
    assert asked == [SharedFile("octo-org/platform", "flux/upgrade.yaml", COMMIT)]
    reader.load("policy: none\n", PATH, read_shared=read)
    with pytest.raises(InvalidConfig):
        reader.load(f"{EXTENDS}polcy: none\n", PATH, read_shared=read)
    assert len(asked) == 1


def test_whoever_does_not_read_it_has_the_files_own_keys() -> None:
    loaded = reader.load(f"{EXTENDS}policy: none\n", PATH)
    assert loaded.default.governance.policy.bump is MaxBump.NONE
    assert loaded.origins == ()


@pytest.mark.parametrize("ref", ["main", "v1.2", "release/2", COMMIT[:12]])
def test_what_is_no_commit_is_refused_with_how_to_get_one(ref: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        reader.load(f"extends: octo-org/platform/flux.yaml@{ref}\n", PATH)
    assert caught.value.message.startswith(f"{PATH}:1: extends 'octo-org/platform/flux.yaml@{ref}' is not ")
    assert f"`gh api repos/octo-org/platform/commits/{ref} --jq .sha` shows the commit" in caught.value.message


# Where each value comes from


def test_each_value_has_the_file_that_it_comes_from() -> None:
    own = "limits: {open: 2}\npolicy: none\nneeds-approval: [rbac, schema]\ngroups:\n  a: {paths: [a, b]}\n"
    shared = "policy: patch\ncool-down: {minor: 2w}\nneeds-approval: [rbac]\n"
    found = load(own, shared)
    assert found.origins[1:] == (
        Origin("limits.open", "2", PATH),
        Origin("policy", "none", PATH, "patch"),
        Origin("needs-approval", "[rbac, schema]", PATH, "[rbac]"),
        Origin("groups.a.paths", "[a, b]", PATH),
        Origin("cool-down.minor", "2w", FILE),
    )
    report = check_report(found, "x", {}).splitlines()
    begin = report.index("where each value comes from:")
    assert report[begin + 3 : begin + 5] == [
        f"  policy: none ({PATH}, instead of patch)",
        f"  needs-approval: [rbac, schema] ({PATH}, instead of [rbac])",
    ]
    assert report[-2:] == [f"  cool-down.minor: 2w ({FILE})", "  all other keys: default"]


def test_a_report_without_the_shared_file_says_so() -> None:
    report = check_report(reader.load(EXTENDS, PATH), "x", {})
    assert report.endswith(f"extends: octo-org/platform/flux/upgrade.yaml@{COMMIT} (not read)\n")
    assert "comes from" not in check_report(reader.load("policy: none", PATH), "x", {})
