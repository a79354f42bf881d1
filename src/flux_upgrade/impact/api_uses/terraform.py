"""Resources that Terraform applies by itself, without Flux.

https://registry.terraform.io/providers/hashicorp/kubernetes/latest/docs/resources/manifest has the object in HCL,
https://registry.terraform.io/providers/gavinbunney/kubectl/latest/docs/resources/kubectl_manifest a text.
"""

from __future__ import annotations

from collections.abc import Callable

from flux_upgrade.pins.formats import hcl

SUFFIXES = (".tf", ".tofu")
_RESOURCES = ("kubernetes_manifest", "kubectl_manifest")


def applies(text: str) -> Callable[[int], bool]:
    """Whether a line, 1-based, is in a resource that applies a manifest."""
    if not any(name in text for name in _RESOURCES):
        return lambda _: False
    blocks = hcl.blocks(text)
    ends = [*(each.line for each in blocks[1:]), text.count("\n") + 2]
    found = [
        range(each.line, end)
        for each, end in zip(blocks, ends, strict=True)
        if each.type == "resource" and each.labels[:1] and each.labels[0] in _RESOURCES
    ]
    return lambda line: any(line in lines for lines in found)
