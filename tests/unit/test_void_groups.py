"""A group of the config file that matches nothing is reported with the reason and the nearest directories."""

from __future__ import annotations

import pytest

from flux_upgrade.clusters.clusters import Member
from flux_upgrade.clusters.void_groups import GroupPaths, Void, group_paths, void_groups, void_patterns
from flux_upgrade.config.config import Config, Group
from flux_upgrade.manifests.proof import Proof, Verdict
from flux_upgrade.pins.gotk_components.pin import manifest_pin

FILE = ".github/flux-upgrade.yaml"


def places(config: Config, *folders: str) -> GroupPaths:
    paths = [f"{folder}/flux-system/gotk-components.yaml".lstrip("/") for folder in folders]
    found = [manifest_pin(path, "gotk-components", b"", Proof(Verdict.UNREADABLE)) for path in paths]
    return group_paths(config, [Member(each, each.path) for each in found])


def void(config: Config, *folders: str) -> list[Void]:
    return list(void_groups(config, places(config, *folders), FILE))


def nearest(pattern: str, *folders: str) -> str:
    (found,) = void(Config(groups=(Group("a", (pattern,)),)), *folders)
    return found.why


@pytest.mark.parametrize(
    ("pattern", "folders", "expected"),
    [
        ("clusters/prod/**", ("clusters/production", "clusters/staging"), "clusters/production"),
        ("clusters/stag/", ("clusters/production", "clusters/staging"), "clusters/staging"),
        ("/clusters/prd", ("clusters/production",), "clusters/production"),
        ("cluster/**", ("clusters/eu/a", "clusters/eu/b"), "clusters"),
        ("clusters/ue/*/", ("clusters/eu/a", "sites/eu/b"), "clusters/eu"),
        ("production", ("clusters/productions",), "clusters/productions"),
        ("clusters/productoin-*/**", ("clusters/production-1",), "clusters/production-1"),
        (
            "clusters/prod/flux-system/gotk-components.yaml",
            ("clusters/production", "clusters/prd-old"),
            "clusters/production",
        ),
        ("clusters/production/*.yaml", ("clusters/production",), "clusters/production"),
    ],
)
def test_the_nearest_directory(pattern: str, folders: tuple[str, ...], expected: str) -> None:
    assert nearest(pattern, *folders) == f"nearest directory: {expected}"


def test_without_a_near_one_the_directories_are_listed() -> None:
    assert nearest("shops/**", "a", "b", "") == "directories with Flux: a, b, flux-system"
    many = (f"c/{number}" for number in range(5))
    assert nearest("shops/**", *many) == "directories with Flux: c/0, c/1, c/2 and 2 more"
    assert nearest("**/shops/", "a") == "directories with Flux: a"
    assert nearest("shops/**") == "no directory has Flux"


def test_the_message_names_group_and_patterns() -> None:
    config = Config(groups=(Group("a", ("clusters/prod/**", "!sandbox")), Group("b", ("clusters/",))))
    (found,) = void(config, "clusters/production")
    assert found.text == (
        'group "a" matches nothing: paths clusters/prod/**, !sandbox (nearest directory: clusters/production)\n'
        f"correct the paths in {FILE}, or remove the group"
    )


def test_what_steers_a_terminal_is_not_shown() -> None:
    (found,) = void(Config(groups=(Group("a", ("\x1b[2J/**",)),)), "\x1b[1J")
    assert found.text.replace("\n", "").isprintable()


def test_ignored_files_are_the_reason_and_never_the_nearest() -> None:
    config = Config(groups=(Group("a", ("old/**",)), Group("b", ("ol/**",))), ignore=("old/",))
    covered, other = void(config, "old/1", "old/2", "old/3", "old/4")
    assert covered.why == (
        "ignore covers old/1/flux-system/gotk-components.yaml, old/2/flux-system/gotk-components.yaml, "
        "old/3/flux-system/gotk-components.yaml and 1 more"
    )
    assert covered.remedy == f"narrow ignore in {FILE}, or remove the group"
    assert other.why == "no directory has Flux"


def test_an_earlier_group_is_the_reason_whatever_else_is_ignored() -> None:
    config = Config(groups=(Group("all", ("c/",)), Group("a", ("c/1/", "c/2/"))), ignore=("c/2/",))
    (found,) = void(config, "c/1", "c/2")
    assert found.why == 'group "all" comes first and has c/1/flux-system/gotk-components.yaml'
    assert found.remedy == f'list it above "all" in {FILE}, or remove it'


def test_a_group_with_one_match_is_not_void() -> None:
    group = Group("a", ("c/1/", "c/2/", "!c/3/", "!c/1/x", "d/", "e/"))
    config = Config(groups=(Group("first", ("e/",)), group), ignore=("d/",))
    folders = ("c/1", "d", "e")
    assert not void(config, *folders)
    assert dict(void_patterns(group, config, places(config, *folders))) == {
        "c/2/": "nearest directory: c/1",
        "!c/3/": "nearest directory: c/1",
        "!c/1/x": "nearest directory: c/1",
        "d/": "ignore covers d/flux-system/gotk-components.yaml",
        "e/": 'group "first" comes first and has e/flux-system/gotk-components.yaml',
    }


def test_an_exception_that_excepts_is_of_use_and_so_is_what_it_excepts_from() -> None:
    group = Group("a", ("c/", "!c/1/", "c/1/x/"))
    config = Config(groups=(group, Group("b", ("c/1/",))))
    assert not list(void_patterns(group, config, places(config, "c/1", "c/2", "c/1/x")))
    assert not void(config, "c/1", "c/2")
