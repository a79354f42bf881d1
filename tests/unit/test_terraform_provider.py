"""The releases that a provider constraint admits are known, with the lock file that decides."""

from __future__ import annotations

import pytest

from flux_upgrade.model.text import repository_path
from flux_upgrade.pins.formats.terraform_module import folder_of, is_flux_source
from flux_upgrade.pins.formats.terraform_values import Modules
from flux_upgrade.pins.terraform.provider import ProviderConstraint, constraints, locked
from memory import MemoryTree


@pytest.mark.parametrize(
    ("text", "admitted", "refused"),
    [
        ("1.8.5", [8], [7, 9]),
        ("= 1.8.5", [8], [7, 9]),
        ("v1.8.5", [8], [9]),
        ("~> 1.8.0", [8], [7, 9]),
        ("~> 1.8", [8, 9, 10], [7]),
        ("~>1", [0, 9], []),
        (">= 1.2.0", [2, 9], [1]),
        (">1.8", [8, 9], [7]),
        ("> 1.8.5, < 1.9", [8], [7, 9]),
        ("<= 1.9", [8, 9], [10]),
        ("< 1.9.0", [8], [9]),
        (">= 1.8.0 , != 1.9.0 , <= 1.9.1", [8, 9], [10]),
        ("!= 1.9.0, <= 1.9.0", [8], [9]),
        ("~> 0.25.3", [], [8, 9]),
        (">= 1.9.0-rc.1", [9], [8]),
        (">= 2.0", [], [9]),
    ],
)
def test_which_minors_of_the_provider_a_constraint_admits(text: str, admitted: list[int], refused: list[int]) -> None:
    constraint = ProviderConstraint("versions.tf:6", text, is_literal=True)

    assert [minor for minor in (*admitted, *refused) if constraint.admits(minor)] == admitted


@pytest.mark.parametrize("text", ["", "1.8.x", "~> 1.8 || 2.0", "^1.8", "latest", ">= 1.8,", "1.2.3.4"])
def test_a_constraint_that_is_none(text: str) -> None:
    assert ProviderConstraint("versions.tf:6", text, is_literal=True).admits(8) is None


def test_an_expression_is_no_constraint() -> None:
    assert ProviderConstraint("versions.tf:6", "~> 1.8", is_literal=False).admits(8) is None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("fluxcd/flux", True),
        ("registry.terraform.io/fluxcd/flux", True),
        ("registry.opentofu.org/FluxCD/flux", True),
        ("hashicorp/flux", False),
        ("flux", False),
        ("", False),
    ],
)
def test_the_source_of_the_provider(source: str, *, expected: bool) -> None:
    assert is_flux_source(source) is expected


def test_what_a_folder_says_of_the_provider() -> None:
    tree = MemoryTree(
        {
            "a/versions.tf": b'terraform {\n  required_providers {\n    flux = { source = "fluxcd/flux" }\n'
            b'    other = { source = "example/flux", version = "1.0" }\n  }\n}\n',
            "a/more.tf.json": b'{"terraform": {"required_providers": {"x": {"source": "fluxcd/flux", "version": "1.8.5"}}}}',
            "a/old.tofu": b'provider "flux" {\n  version = "~> 1.0"\n}\n',
            "a/b/versions.tf": b'provider "flux" {\n  version = "~> 0.1"\n}\n',
            "versions.tf": b'provider "flux" {\n  version = "~> 0.2"\n}\n',
            "a/.terraform.lock.hcl": b'provider "registry.opentofu.org/fluxcd/flux" {\n  version = "1.8.5"\n}\n',
        }
    )

    assert [(each.place, each.text) for each in constraints(Modules(tree).at("a"))] == [
        ("a/more.tf.json:1", "1.8.5"),
        ("a/old.tofu:2", "~> 1.0"),
    ]
    found = locked(Modules(tree).at("a"))
    assert found is not None
    assert (found[0], str(found[1])) == ("a/.terraform.lock.hcl:2", "v1.8.5")
    assert locked(Modules(tree).at("")) is None


def test_a_lock_file_without_a_version() -> None:
    for text in (b'provider "x/fluxcd/flux" {}\n', b'provider "x/fluxcd/flux" {\n  version = var.x\n}\n', b"x = 1\n"):
        assert locked(Modules(MemoryTree({".terraform.lock.hcl": text})).at("")) is None


@pytest.mark.parametrize(
    ("folder", "expected"),
    [("", ""), ("/", ""), ("./", ""), ("./a/", "a"), ("/a//b", "a/b"), ("a/./b/../c", "a/c"), ("../a", "a")],
)
def test_a_folder_is_spelled_as_in_the_tree(folder: str, expected: str) -> None:
    assert repository_path(folder) == expected


def test_no_path_is_the_root() -> None:
    assert folder_of(None) == ""
