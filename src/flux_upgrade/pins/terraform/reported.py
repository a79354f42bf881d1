"""Other ways in which Terraform installs Flux: reported, with the next step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.model.versions import Version
from flux_upgrade.pins.formats.hcl import Attribute, Block
from flux_upgrade.pins.formats.terraform_module import TerraformBlock, folder_of, one_line
from flux_upgrade.pins.pin import Pin, PinState, reported_pin
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import is_variable

_URL = re.compile(r"https://github\.com/fluxcd/flux2/releases/(?:latest/download|download/([^/]+))/install\.yaml")
_MIGRATE = "registry.terraform.io/providers/fluxcd/flux/latest/docs/guides/migrating-to-resource"


def find(kind: str, file: File, place: TerraformBlock) -> Iterator[Pin]:
    """What a block names, as pins of ``kind`` that are never changed."""
    block = place.block
    pin = reported_pin(file, kind, (block.line, place.address, ""), "", "")._replace(state=PinState.FLOATING)
    if (block.type, block.labels[:1]) == ("data", ("flux_install",)):
        yield _install(pin, block)
    elif block.type in ("data", "resource", "locals"):
        yield from _urls(pin, block)


def _install(pin: Pin, block: Block) -> Pin:
    """The provider before 1.0 (docs/data-sources/install.md)."""
    version = block.attributes.get("version")
    reported = pin._replace(
        folder=folder_of(block.attributes.get("target_path")),
        reason="the data source flux_install belongs to the provider before 1.0",
        hint=f"migrate to the resource flux_bootstrap_git: {_MIGRATE}",
    )
    if version is None:
        return reported
    return _versioned(reported, "version", version)


def _urls(pin: Pin, block: Block) -> Iterator[Pin]:
    for name, attribute in block.attributes.items():
        match = _URL.fullmatch(attribute.literal or "")
        if match is None:
            continue
        reported = pin._replace(
            line=attribute.line,
            where=f"{pin.where}, {name}",
            raw=one_line(attribute),
            reason="Terraform downloads Flux's manifests",
            hint="keep them in Git instead, as `flux_bootstrap_git` or `flux bootstrap` write them",
        )
        if match[1] is None:
            yield reported
        else:
            yield _versioned(reported, name, attribute._replace(literal=match[1]))._replace(
                where=reported.where, raw=reported.raw
            )


def _versioned(pin: Pin, name: str, version: Attribute) -> Pin:
    tag = version.literal or ""
    reported = pin._replace(line=version.line, where=f"{pin.where}, {name}", raw=one_line(version))
    if tag == "latest":
        return reported
    is_release = Version.parse(tag) is not None and not is_variable(tag)
    return reported._replace(
        state=PinState.EXACT if is_release else PinState.UNKNOWN, version=Version(tag if is_release else "")
    )
