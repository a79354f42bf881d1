"""A run reads the whole repository around the path that it is given, and its config file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from flows import fleet, manifest, path_in
from flux_upgrade.clusters.void_groups import Void
from flux_upgrade.commands.read import read_inventory
from flux_upgrade.config.config import PATH as CONFIG
from flux_upgrade.config.config import Migrate
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import FluxUpgradeError, InvalidConfig, NothingFound, SourceUnavailable, UsageError
from flux_upgrade.planning.planner import Inventory, plan_update_groups
from flux_upgrade.policy.policy import MaxBump
from parsed_options import upgrade_options

TERRAFORM = b'resource "flux_bootstrap_git" "x" {\n  path    = "clusters/a"\n  version = var.flux\n}\n'


class Tree:
    """A folder with files, a checkout or not, and what is gathered in it."""

    def __init__(self, root: Path, source: Path) -> None:
        self.root, self.source = root, source

    def write(self, files: Mapping[str, bytes], *, is_checkout: bool = True) -> Tree:
        for path, content in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        if is_checkout:
            (self.root / ".git").mkdir(exist_ok=True)
            (self.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        return self

    def gathered(self, path: str = "", *words: str) -> Inventory:
        where = str(self.root / path) if path else str(self.root)
        options = upgrade_options("plan", where, f"--release-source={self.source}", *words)
        return read_inventory(options, Environment())

    def decisions(self, path: str = "", *words: str) -> dict[str, list[str]]:
        plans = [plan for team in plan_update_groups(self.gathered(path, *words)) for plan in team.plans]
        return {
            plan.path: [each.target for each in plan.upgrades] + [str(each.reason) for each in plan.holds]
            for plan in plans
        }


@pytest.fixture
def tree(tmp_path: Path, written_source: Path) -> Tree:
    return Tree(tmp_path / "fleet", written_source)


A, B = path_in("clusters/a"), path_in("clusters/b")


def test_paths_are_those_in_the_repository(tree: Tree) -> None:
    tree.write(fleet({"clusters/a": "v2.8.8", "clusters/b": "v2.8.8"}))
    assert list(tree.decisions()) == [A, B]
    assert list(tree.decisions("clusters")) == [A, B]
    assert list(tree.decisions("clusters/b")) == [B]
    assert list(tree.decisions("clusters/b/flux-system/")) == [B]
    assert list(tree.decisions(A)) == [A]


def test_branches_do_not_depend_on_where_one_looks_from(tree: Tree) -> None:
    tree.write(fleet({"clusters/a": "v2.8.8"}))
    for path in ("", "clusters", "clusters/a/flux-system", A):
        (team,) = tree.gathered(path).update_groups
        assert team.slug == "clusters.a"


def test_a_link_to_the_checkout_is_the_checkout(tree: Tree, tmp_path: Path) -> None:
    tree.write(fleet({"clusters/a": "v2.8.8"}))
    (tmp_path / "link").symlink_to(tree.root / "clusters")
    assert list(tree.decisions("../link")) == [A]


def test_outside_of_a_checkout_paths_begin_where_one_looks(tree: Tree) -> None:
    tree.write(fleet({"clusters/a": "v2.8.8"}), is_checkout=False)
    assert list(tree.decisions()) == [A]
    assert list(tree.decisions("clusters")) == [path_in("a")]


@pytest.mark.parametrize("path", ["", "clusters", "clusters/a"])
def test_the_config_file_is_the_repositorys(tree: Tree, path: str) -> None:
    tree.write({**fleet({"clusters/a": "v2.8.7"}), CONFIG: b"policy: minor\ncool-down: {minor: 0}\n"})
    assert tree.decisions(path) == {A: ["v2.9.4"]}
    assert tree.gathered(path, "--policy=none").config.default.governance.policy.bump is MaxBump.NONE


@pytest.mark.parametrize("asked", ["", "flux-operator: report\n", "flux-operator: change\n"])
def test_the_config_file_says_what_becomes_of_the_operators_pins(tree: Tree, asked: str) -> None:
    tree.write({**fleet({"clusters/a": "v2.8.7"}), CONFIG: asked.encode()})
    assert tree.gathered().pin_context.moves_operator is ("change" in asked)


def test_another_config_file_may_be_named(tree: Tree, tmp_path: Path) -> None:
    tree.write({**fleet({"clusters/a": "v2.8.7"}), CONFIG: b"policy: minor\n"})
    (tmp_path / "other.yaml").write_bytes(b"policy: none\n")
    assert tree.gathered("", f"--config={tmp_path}/other.yaml").config.default.governance.policy.bump is MaxBump.NONE


def test_what_an_upgrade_means_is_asked_for_above_the_config_file(tree: Tree) -> None:
    config = b"migrate: off\nmulti-step: off\ninclude: [apps]\nkubernetes-version: 1.30\n"
    tree.write({**fleet({"clusters/a": "v2.8.7"}), CONFIG: config + b"groups: {a: {paths: [clusters]}}\n"})
    asked = ["--migrate=with-upgrade", "--multi-step", "--include=infra", "--include=!infra/old"]
    merged = tree.gathered("", *asked, "--kubernetes-version=v1.35.2").config
    for each in (group.governance for group in (merged.default, *merged.groups)):
        assert (each.migrate, each.multi_step, each.include, each.kubernetes_version) == (
            Migrate.WITH_UPGRADE,
            True,
            ("infra", "!infra/old"),
            "v1.35.2",
        )
    plain = tree.gathered().config.groups[0].governance
    assert (plain.migrate, plain.multi_step, plain.include, plain.kubernetes_version) == (
        Migrate.OFF,
        False,
        ("apps",),
        "1.30",
    )


def test_groups_and_patterns_are_relative_to_the_repository(tree: Tree) -> None:
    config = b"ignore: [/clusters/b/]\ngroups:\n  all: {paths: [/clusters/]}\n"
    tree.write({**fleet({"clusters/a": "v2.8.7", "clusters/b": "v2.8.7"}), CONFIG: config})
    for path in ("", "clusters"):
        (team,) = tree.gathered(path).update_groups
        assert (team.name, [member.path for member in team.members]) == ("all", [A])
    assert tree.gathered("clusters/b").update_groups == ()


@pytest.mark.parametrize("path", ["", "clusters/a"])
def test_what_stands_around_is_looked_for_in_the_whole_repository(tree: Tree, path: str) -> None:
    tree.write({**fleet({"clusters/a": "v2.8.7"}), "infra/flux.tf": TERRAFORM})
    assert tree.decisions(path)[A] == ["owned-by-terraform"] * 2


def test_what_is_referred_to_from_elsewhere_is_no_orphan(tree: Tree) -> None:
    files = {
        A: manifest("v2.8.8"),
        "all/kustomization.yaml": b"resources: [../clusters/a/flux-system/gotk-components.yaml]\n",
    }
    tree.write(files)
    assert tree.decisions("clusters/a")[A] == ["v2.9.4"]
    tree.write({"all/kustomization.yaml": b"resources: []\n"})
    assert tree.decisions("clusters/a")[A] == ["orphan"]
    assert tree.decisions(A)[A] == ["v2.9.4"], "who names the file knows what is done with it"


def test_what_was_found_is_known_only_of_a_whole_repository(tree: Tree) -> None:
    tree.write({**fleet({"clusters/a": "v2.8.8", "clusters/b": "v2.8.8"}), CONFIG: b"ignore: [/clusters/b/]\n"})
    assert tree.gathered().all_paths == frozenset({A, B})
    assert tree.gathered("clusters").all_paths is None
    assert tree.gathered(A).all_paths is None


@pytest.mark.parametrize(
    ("text", "approved"),
    [
        ("2.9", "2.9"),
        ("v2.9", "2.9"),
        ("2.9.4", "v2.9.4"),
        ("v2.9.4", "v2.9.4"),
        (" v2.9.4 ", "v2.9.4"),
        ("2.10", "2.10"),
    ],
)
def test_an_approval_is_of_a_minor_or_of_a_version(tree: Tree, text: str, approved: str) -> None:
    tree.write(fleet({"clusters/a": "v2.8.8"}))
    assert tree.gathered("", f"--approve={text}").request.approve == (approved,)


@pytest.mark.parametrize("text", ["", "2", "v2", "2.x", "latest", "2.9.4.1", "2.09", "vv2.9", "2.9 2.8", "-2.9"])
def test_an_approval_of_anything_else_is_none(tree: Tree, text: str) -> None:
    tree.write(fleet({"clusters/a": "v2.8.8"}))
    with pytest.raises(UsageError, match="neither a minor nor a version"):
        tree.gathered("", f"--approve={text}")


# What is wrong, and the order in which it is said


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["--policy=minro"], UsageError, "did you mean 'minor'?"),
        (["--policy=Minor"], UsageError, "--policy 'Minor' is not one of none, patch, minor, major"),
        (["--range=2.x ||"], UsageError, "one side of || is empty"),
        (["--range=latest"], UsageError, "'latest'"),
        (["--flags=nope=1"], UsageError, "unknown flag 'nope'"),
        (["--flags=version=v2.9.4"], UsageError, "is set by policy and range"),
        (["--flags=namespace=x"], UsageError, "installed a second time"),
        (["--include=../a", "--include="], UsageError, "--include '../a' is not a pattern"),
        (["--include=!a"], UsageError, "--include begins with an exception, '!a', and matches nothing"),
        (["--kubernetes-version=2.9"], UsageError, "--kubernetes-version expects a version of Kubernetes"),
        (["--kubernetes-version=1.3"], UsageError, "did you mean 1.30?"),
        (["--config=no-such.yaml"], UsageError, "no-such.yaml cannot be read"),
        (["--approve=x"], UsageError, "neither a minor"),
        (["--release-source=ftp://x"], UsageError, "must be github, a directory"),
    ],
)
def test_what_cannot_be_used_is_said(tree: Tree, words: list[str], error: type[FluxUpgradeError], message: str) -> None:
    tree.write(fleet({"clusters/a": "v2.8.8"}))
    with pytest.raises(error) as caught:
        tree.gathered("", *words)
    assert message in caught.value.message
    assert caught.value.hint


def test_a_config_file_that_is_wrong_is_named_as_in_the_repository(tree: Tree) -> None:
    tree.write({**fleet({"clusters/a": "v2.8.8"}), CONFIG: b"polcy: minor\n"})
    with pytest.raises(InvalidConfig, match=rf"^{CONFIG}:1: unknown key 'polcy'"):
        tree.gathered("clusters")


@pytest.mark.parametrize("kind", ["folder", "link to nowhere"])
def test_a_config_file_that_cannot_be_read_is_no_missing_one(tree: Tree, kind: str) -> None:
    tree.write(fleet({"clusters/a": "v2.8.8"}))
    (tree.root / ".github").mkdir()
    if kind == "folder":
        (tree.root / CONFIG).mkdir()
    else:
        (tree.root / CONFIG).symlink_to("nowhere")
    with pytest.raises(UsageError, match="cannot be read"):
        tree.gathered()


def test_nothing_is_found_where_there_is_nothing(tree: Tree) -> None:
    tree.write({"README.md": b"x"})
    with pytest.raises(NothingFound):
        tree.gathered()
    with pytest.raises(UsageError):
        tree.gathered("no-such-folder")


def test_a_config_file_is_looked_at_before_the_releases(tree: Tree) -> None:
    tree.write({**fleet({"clusters/a": "v2.8.8"}), CONFIG: b"polcy: minor\n"})
    (tree.root.parent / "empty").mkdir()
    tree.source = tree.root.parent / "empty"
    with pytest.raises(InvalidConfig):
        tree.gathered()


def test_a_source_that_is_none_is_said(tree: Tree, tmp_path: Path) -> None:
    tree.write(fleet({"clusters/a": "v2.8.8"}))
    tree.source = tmp_path / "no-such-source"
    with pytest.raises((SourceUnavailable, UsageError)):
        tree.gathered()


def test_dates_come_from_the_source(tree: Tree, tmp_path: Path, written_source: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for path in written_source.iterdir():
        (source / path.name).symlink_to(path)
    (source / "releases.json").unlink()
    (source / "releases.json").write_text(
        json.dumps([{"tag_name": "v2.9.4", "published_at": "2026-03-01T12:00:00Z", "body": "Notes"}])
    )
    tree.source = source
    (release,) = tree.write(fleet({"clusters/a": "v2.8.8"})).gathered().releases
    assert (release.tag, release.published_at, release.notes) == ("v2.9.4", "2026-03-01T12:00:00Z", "Notes")


def test_what_is_named_alone_can_be_ignored(tree: Tree) -> None:
    script = {"hack/one.sh": b"flux install --version=v2.8.7\n", "hack/two.sh": b"flux install --version=v2.8.7\n"}
    tree.write(fleet({"clusters/a": "v2.8.8"}) | script | {CONFIG: b"ignore: [hack/two.sh]\n"})
    assert [member.path for member in tree.gathered().reported_only] == ["hack/one.sh"]
    assert [member.path for member in tree.gathered("hack").reported_only] == ["hack/one.sh"]


# Groups that match nothing

TWO = b"groups:\n  a: {paths: [clusters/a/]}\n  b: {paths: [%b]}\n"
REPOSITORY = b"apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nspec: {url: oci://ghcr.io/acme/x}\n"


def void_groups(tree: Tree, path: str = "", *words: str) -> list[str]:
    return [each.name for each in tree.gathered(path, *words).void if isinstance(each, Void)]


def test_a_group_is_compared_with_the_whole_repository(tree: Tree) -> None:
    files = fleet({"clusters/a": "v2.8.8", "clusters/b": "v2.8.8"})
    for written, expected in ((b"clusters/b/", []), (b"clusters/bb/", ["b"])):
        tree.write({**files, CONFIG: TWO % written})
        for path in ("", "clusters", "clusters/a", "clusters/b", A):
            assert void_groups(tree, path) == expected, path
    (found,) = tree.gathered("clusters/a").void
    assert isinstance(found, Void)
    assert found.why == "nearest directory: clusters/b"


def test_a_part_of_a_repository_does_not_tell_what_pins_are_elsewhere(tree: Tree) -> None:
    pins = {"tools/flux.yaml": b"# flux2\n"}
    tree.write({**fleet({"clusters/a": "v2.8.8"}), **pins, CONFIG: TWO % b"tools/"})
    assert void_groups(tree) == ["b"]
    assert void_groups(tree, "clusters") == []


def test_what_only_a_run_about_an_artifact_knows_is_no_reason_to_warn(tree: Tree) -> None:
    files = {**fleet({"clusters/a": "v2.8.8"}), "infra/flux.yaml": REPOSITORY}
    tree.write({**files, CONFIG: TWO % b"infra/"})
    assert void_groups(tree) == []
    tree.write({CONFIG: b"ignore: [infra/]\n" + TWO % b"infra/"})
    assert void_groups(tree) == ["b"]


def test_a_sparse_checkout_tells_nothing(tree: Tree) -> None:
    tree.write({**fleet({"clusters/a": "v2.8.8"}), CONFIG: TWO % b"clusters/b/"})
    assert void_groups(tree) == ["b"]
    (tree.root / ".git" / "info").mkdir()
    (tree.root / ".git" / "info" / "sparse-checkout").write_text("clusters/a\n")
    assert void_groups(tree) == []


def test_the_config_file_that_was_given_is_named(tree: Tree, tmp_path: Path) -> None:
    tree.write(fleet({"clusters/a": "v2.8.8"}))
    (tmp_path / "other.yaml").write_bytes(TWO % b"clusters/b/")
    (found,) = tree.gathered("", f"--config={tmp_path}/other.yaml").void
    assert f"{tmp_path}/other.yaml" in found.remedy
