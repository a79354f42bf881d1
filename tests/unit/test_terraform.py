"""The Terraform resource that writes a manifest is found, and the manifest is held or updated with it."""

from __future__ import annotations

from typing import Any

import pytest

from flux_upgrade.clusters.ownership.terraform import TerraformOwner, hold, mover, owner_of, owners
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.hcl import blocks
from flux_upgrade.pins.terraform import pin as terraform
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.snapshot.file import File
from memory import MemoryArtifacts, MemoryCharts, MemoryTree, regenerator

FILE = "clusters/a/flux-system/gotk-components.yaml"

PLAIN = """\
# resource "flux_bootstrap_git" "old" { path = "clusters/old" }
/* resource "flux_bootstrap_git" "older" {
} */
locals {
  note = "a \\" quote, a { brace, a ${lookup({ a = "}" }, "a")} template and # no comment"
  text = <<-EOT
    resource "flux_bootstrap_git" "text" {
    }
  EOT
}

resource "flux_bootstrap_git" "this" {
  depends_on = [
    github_repository_deploy_key.this, // why
  ]
  timeouts = {
    version = "v0.0.1"
  }

  path    = "clusters/a"
  version = "v2.8.7" # https://github.com/fluxcd/flux2/releases
}
"""
ONLY = TerraformOwner("infra/flux.tf", 12, version_line=21, version='"v2.8.7"', cluster_path="clusters/a")


def resource(*lines: str) -> str:
    return "".join(f"{line}\n" for line in ('resource "flux_bootstrap_git" "this" {', *lines, "}"))


def owners_in(text: str, path: str = "infra/flux.tf") -> tuple[TerraformOwner, ...]:
    return owners(MemoryTree({path: text.encode()}))


def test_the_resource_is_found_and_nothing_else() -> None:
    assert owners_in(PLAIN) == (ONLY,)
    assert owners_in(PLAIN.replace("\n", "\r\n")) == (ONLY,)
    assert owners_in(PLAIN, "infra/flux.tofu")[0].line == 12
    assert owners_in(PLAIN, "infra/flux.tfvars") == ()


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], TerraformOwner("infra/flux.tf", 1)),
        (['path = "./apps/flux"'], TerraformOwner("infra/flux.tf", 1, cluster_path="./apps/flux")),
        (["path = var.path"], TerraformOwner("infra/flux.tf", 1, cluster_path=None)),
        (['path = "${var.path}"'], TerraformOwner("infra/flux.tf", 1, cluster_path="${var.path}")),
        (["version = var.flux_version"], TerraformOwner("infra/flux.tf", 1, version_line=2, version="var.flux_version")),
        (['version = "v${var.v}"'], TerraformOwner("infra/flux.tf", 1, version_line=2, version='"v${var.v}"')),
        (["embedded_manifests = true"], TerraformOwner("infra/flux.tf", 1, is_embedded=True)),
        (["embedded_manifests = false"], TerraformOwner("infra/flux.tf", 1)),
        (['namespace = "gitops"'], TerraformOwner("infra/flux.tf", 1, namespace="gitops")),
        (["namespace = kubernetes_namespace.x.metadata[0].name"], TerraformOwner("infra/flux.tf", 1, namespace=None)),
        (["lifecycle {", '  path = "no"', "}"], TerraformOwner("infra/flux.tf", 1)),
    ],
)  # fmt: skip
def test_attributes(lines: list[str], expected: TerraformOwner) -> None:
    assert owners_in(resource(*lines)) == (expected,)


def test_a_resource_on_one_line() -> None:
    assert owners_in('resource "flux_bootstrap_git" "x" { path = "clusters/a" }')[0].cluster_path == "clusters/a"
    assert owners_in('resource flux_bootstrap_git x {\npath = "clusters/a"\n}')[0].cluster_path == "clusters/a"


JSON = """{
  "resource": {
    "flux_bootstrap_git": {
      "this": {
        "path": "clusters/a",
        "version": "v2.8.7"
      }
    }
  }
}
"""


def test_the_json_syntax() -> None:
    assert owners_in(JSON, "flux.tf.json") == (
        TerraformOwner("flux.tf.json", 4, version_line=6, version='"v2.8.7"', cluster_path="clusters/a"),
    )
    assert owners_in(JSON.replace("clusters/a", "${var.path}"), "flux.tf.json")[0].cluster_path is None
    as_list = JSON.replace('"this": {', '"this": [{').replace("      }\n    }\n", "      }]\n    }\n")
    assert owners_in(as_list, "flux.tofu.json")[0].version_line == 6


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("x.tf.json", "flux_bootstrap_git"),
        ("x.tf.json", '["flux_bootstrap_git"]'),
        ("x.tf.json", '{"resource": [], "x": "flux_bootstrap_git"}'),
        ("x.tf.json", '{"resource": {"flux_bootstrap_git": {"x": 1}}}'),
        ("x.tf", 'data "flux_bootstrap_git" "x" {}'),
        ("x.tf", 'resource "flux_bootstrap_git'),
        ("x.tf", 'resource "other" "flux_bootstrap_git" {}'),
        ("x.tf", "flux_bootstrap_git }}}}"),
        ("x.tf", 'x = <<EOT\nresource "flux_bootstrap_git" "x" {}\n'),
        ("x.tf", "resource flux_bootstrap_git " + '"${' * 9999),
    ],
)
def test_odd_files_have_no_owner(path: str, text: str) -> None:
    assert owners_in(text, path) == ()


def test_a_block_that_is_not_closed_is_read_as_far_as_it_goes() -> None:
    (block,) = blocks('resource "a" "b" {\n  path = "x"\n')
    assert block.attributes["path"].literal == "x"


@pytest.mark.parametrize(
    ("owner", "path", "expected"),
    [
        ({"cluster_path": "clusters/a"}, FILE, True),
        ({"cluster_path": "./clusters/a/"}, FILE, True),
        ({"cluster_path": "/clusters/a"}, FILE, True),
        ({"cluster_path": "clusters/a", "namespace": None}, "clusters/a/gitops/gotk-components.yaml", True),
        ({"cluster_path": ""}, "flux-system/gotk-components.yaml", True),
        ({"cluster_path": "", "namespace": "gitops"}, "gitops/gotk-components.yaml", True),
        ({"cluster_path": "clusters/${var.name}"}, FILE, False),
        ({"cluster_path": "${var.root}/a"}, FILE, False),
        ({"cluster_path": None}, FILE, False),
        ({"cluster_path": None}, "flux-system/gotk-components.yaml", False),
        ({"cluster_path": None, "namespace": None}, "x/gitops/gotk-components.yaml", False),
        ({"cluster_path": "clusters/b"}, FILE, None),
        ({"cluster_path": ""}, FILE, None),
        ({"cluster_path": "clusters"}, FILE, None),
        ({"cluster_path": "clusters/a", "namespace": "gitops"}, FILE, None),
        ({"cluster_path": "clusters/${var.name}/b"}, FILE, None),
        ({"cluster_path": None, "namespace": "gitops"}, FILE, None),
        ({"cluster_path": None}, "my-flux-system/gotk-components.yaml", None),
        ({"cluster_path": "clusters/a"}, "clusters/a/flux-system/other.yaml", None),
    ],
)  # fmt: skip
def test_who_writes_a_file(owner: dict[str, Any], path: str, expected: bool | None) -> None:  # noqa: FBT001 a table's column
    ownership = owner_of(path, (TerraformOwner("x.tf", 1, **owner),))
    assert (ownership and ownership.is_certain) is expected


def test_the_one_that_says_so_comes_first() -> None:
    vague, exact = (TerraformOwner("a.tf", 1, cluster_path=None), TerraformOwner("b.tf", 1, cluster_path="clusters/a"))
    ownership = owner_of(FILE, (vague, exact))
    assert ownership is not None
    assert ownership.owner == exact


@pytest.mark.parametrize(
    ("text", "detail", "hint"),
    [
        (
            PLAIN,
            'Terraform writes this file: infra/flux.tf:21 says version = "v2.8.7"',
            'infra/flux.tf:21: version = "v2.9.4"',
        ),
        (
            resource('path = "clusters/a"'),
            "Terraform writes this file: infra/flux.tf:1 says flux_bootstrap_git without a version",
            'infra/flux.tf:1: add version = "v2.9.4" to it; otherwise, the version of the provider decides',
        ),
        (
            resource('path = "clusters/a"', "version = var.flux"),
            "Terraform writes this file: infra/flux.tf:3 says version = var.flux",
            "infra/flux.tf:3: set var.flux to v2.9.4",
        ),
        (
            resource('path = "clusters/a"', "embedded_manifests = true"),
            "Terraform writes this file: infra/flux.tf:1 says flux_bootstrap_git without a version",
            "infra/flux.tf:1: embedded_manifests is set, so upgrade the provider to a version that embeds v2.9.4",
        ),
        (
            resource("path = var.path", 'version = "v2.8.7"'),
            'Terraform may write this file: infra/flux.tf:3 says version = "v2.8.7", but not for which cluster',
            'infra/flux.tf:3: version = "v2.9.4"',
        ),
    ],
)
def test_the_hold_names_the_line_to_change(text: str, detail: str, hint: str) -> None:
    ownership = owner_of(FILE, owners_in(text))
    assert ownership is not None
    held = hold(ownership, Version("v2.9.4"))
    assert (held.reason, held.detail, held.hint) == (HoldReason.OWNED_BY_TERRAFORM, detail, hint)
    assert held.error is None
    assert held.target == "v2.9.4"


def test_the_hold_in_the_json_syntax() -> None:
    ownership = owner_of(FILE, owners_in(JSON, "flux.tf.json"))
    assert ownership is not None
    assert hold(ownership, Version("v2.9.4")).hint == 'flux.tf.json:6: "version": "v2.9.4"'


def test_an_installation_moves_with_the_pin_of_its_resource() -> None:
    tree = {
        "infra/a.tf": PLAIN.encode(),
        "infra/b.tf": resource('path = "clusters/b"', "version = var.flux").encode(),
        "infra/c.tf": resource("path = var.path", 'version = "v2.8.7"').encode(),
        "infra/d.tf": resource('path = "clusters/d"', "embedded_manifests = true", 'version = "v2.8.7"').encode(),
    }
    context = PinContext(MemoryTree(tree), regenerator(), MemoryArtifacts(), MemoryCharts())
    pins = tuple(terraform.find([File(*each) for each in tree.items()], context))
    all_owners = owners(context.tree)

    def moved_by(path: str) -> str | None:
        ownership = owner_of(path, all_owners)
        assert ownership is not None
        pin = mover(ownership, pins)
        return None if pin is None else f"{pin.path}:{pin.line}"

    assert len(pins) == len(all_owners) == 4
    assert moved_by(FILE) == "infra/a.tf:21"
    assert moved_by(FILE.replace("/a/", "/b/")) is None
    assert moved_by(FILE.replace("/a/", "/c/")) is None
    assert moved_by(FILE.replace("/a/", "/d/")) is None
