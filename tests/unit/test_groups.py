"""Installations are assigned to groups, each with a branch name that Git takes and that stays the same."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.clusters.groups import UpdateGroup, assign, branch_name
from flux_upgrade.config.config import Config, Governance, Group, slug
from flux_upgrade.manifests.proof import Proof, Verdict
from flux_upgrade.pins.gotk_components.pin import manifest_pin
from flux_upgrade.pins.pin import Pin
from real_parts import require_program


def installation(path: str) -> Pin:
    return manifest_pin(path, "gotk-components", b"", Proof(Verdict.UNREADABLE))


def teams(*paths: str, prefix: str = "", config: Config | None = None) -> tuple[UpdateGroup, ...]:
    return assign(map(installation, paths), prefix, config or Config())


def team(path: str, config: Config | None = None) -> UpdateGroup:
    (found,) = teams(path, config=config)
    return found


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        ("clusters/staging/flux-system/gotk-components.yaml", "clusters/staging", "clusters.staging"),
        ("flux-system/gotk-components.yaml", "root", "root"),
        ("a_b/c-d/flux-system/gotk-components.yaml", "a_b/c-d", "a_b.c-d"),
        ("my-flux-system/gotk-components.yaml", "my-flux-system", "my-flux-system-2b05a2"),
        ("x/lock/flux-system/gotk-components.yaml", "x/lock", "x.lock-f4d9e2"),
        ("root/flux-system/gotk-components.yaml", "root", "root-e62e7d"),
        ("gotk-components.yaml", "root", "root-0dab52"),
        ("clusters/staging/gotk-components.yaml", "clusters/staging", "clusters.staging-3628bb"),
        ("clusters/a.b/flux-system/gotk-components.yaml", "clusters/a.b", "clusters.a-b-ae93f3"),
        ("clusters/Prod/flux-system/gotk-components.yaml", "clusters/Prod", "clusters.prod-bb09f8"),
        ("clusters/prod-abcdef/flux-system/gotk-components.yaml", "clusters/prod-abcdef", "clusters.prod-abcdef-ebd34a"),
        ("a/flux-system/gotk-components.yml", "a/flux-system/gotk-components.yml", "a.flux-system.gotk-components-yml-1b1ff0"),
        ("flux/install.yaml", "flux/install.yaml", "flux.install-yaml-df517f"),
        ("日本/flux-system/gotk-components.yaml", "日本", "root-26c5c8"),
    ],
)  # fmt: skip
def test_names_and_slugs(path: str, name: str, expected: str) -> None:
    found = team(path)
    assert (found.name, found.slug) == (name, expected)
    assert found.group == Config().default


GROUPS = Config(
    default=Group(governance=Governance(labels=("default",))),
    groups=(
        Group("Test clusters", ("clusters/test-*",)),
        Group("", ("clusters/lab-*",), Governance(labels=("lab",))),
        Group("prod", ("clusters/",)),
    ),
    ignore=("old/",),
)


def test_groups_share_a_team_and_others_have_their_own() -> None:
    names = ("test-1", "prod-1", "lab-1", "test-2", "lab-2")
    paths = [f"clusters/{name}/flux-system/gotk-components.yaml" for name in names]
    other, ignored = "x/flux-system/gotk-components.yaml", "old/flux-system/gotk-components.yaml"
    found = teams(*paths, other, ignored, config=GROUPS)
    assert [(each.slug, [member.path for member in each.members]) for each in found] == [
        ("test-clusters", [paths[0], paths[3]]),
        ("prod", [paths[1]]),
        ("clusters.lab-1", [paths[2]]),
        ("clusters.lab-2", [paths[4]]),
        ("x", [other]),
    ]
    assert [each.group.governance.labels for each in found] == [(), (), ("lab",), ("lab",), ("default",)]
    assert found[0].name == "Test clusters"


def test_the_prefix_of_the_tree_counts() -> None:
    path = "test-1/flux-system/gotk-components.yaml"
    (found,) = teams(path, prefix="clusters/", config=GROUPS)
    assert found.slug == "test-clusters"
    assert found.members[0].path == f"clusters/{path}"
    assert found.members[0].pin.path == path


def test_a_folder_never_takes_a_groups_slug() -> None:
    path = "prod/flux-system/gotk-components.yaml"
    assert team(path).slug == "prod"
    hashed = team(path, GROUPS).slug
    assert hashed.startswith("prod-")
    longer = team(path, Config(groups=(Group("prod", ("x",)), Group(hashed, ("x",))))).slug
    assert longer.startswith(hashed)
    assert longer != hashed


def test_the_branch() -> None:
    assert branch_name("flux-upgrade/", "clusters.staging", "minor") == "flux-upgrade/clusters.staging/minor"


PARTS = st.one_of(
    st.sampled_from(
        ["a", "A", "b.c", "b-c", "b", "c", "root", "flux-system", "x.lock", "lock", ".x", "-", "..", "@{", "prod"]
    ),
    st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=8),
    st.just("long" * 40),
)
PATHS = st.tuples(
    st.lists(PARTS, max_size=3), st.sampled_from(["flux-system/gotk-components.yaml", "gotk-components.yaml", "x.yaml"])
).map(lambda drawn: "/".join([*drawn[0], drawn[1]]))


@given(st.sets(PATHS, min_size=1, max_size=12), st.lists(PARTS.filter(slug), max_size=3, unique_by=slug))
def test_slugs_are_unique_whatever_the_case_and_stable(paths: set[str], names: list[str]) -> None:
    config = Config(groups=tuple(Group(name, ("no-such-path",)) for name in names))
    slugs = [each.slug for each in teams(*paths, config=config)]
    assert len({each.lower() for each in slugs} | {slug(name) for name in names}) == len(slugs) + len(names)
    assert [team(path, config).slug for path in paths] == slugs
    assert all(len(each) < 200 for each in slugs)


@given(st.sets(PATHS, min_size=1, max_size=20))
def test_git_takes_every_branch(paths: set[str]) -> None:
    git = require_program("git")
    for each in teams(*paths):
        branch = branch_name("flux-upgrade/", each.slug, "patch")
        command = [git, "check-ref-format", "--branch", branch]
        assert subprocess.run(command, check=False, capture_output=True).returncode == 0, branch  # noqa: S603 git
