"""A Terraform or OpenTofu module: the files of one folder, and what they say about each other."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from flux_upgrade.model.files import Tree
from flux_upgrade.model.text import decoded, repository_path
from flux_upgrade.pins.formats import hcl, hcl_json
from flux_upgrade.pins.formats.hcl import Attribute, Block
from flux_upgrade.pins.formats.kustomize_files import read
from flux_upgrade.pins.formats.yaml_places import is_variable
from flux_upgrade.pins.registry import TERRAFORM_FILES

RESOURCE = "flux_bootstrap_git"

INTERPOLATION = re.compile(r"[$%]\{.*?\}", re.DOTALL)
_LOCK = ".terraform.lock.hcl"
_VALUES = (".tfvars", ".tfvars.json")
# developer.hashicorp.com/terraform/language/files/override
_OVERRIDE = re.compile(r"(?:.+_)?override\.(?:tf|tofu)(?:\.json)?")
_REFERENCE = re.compile(r'(?:"?\$\{)?(var|local)\.([\w-]+)(?:\}"?)?')
_MOST = 100  # Characters of an expression that are shown
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


class TerraformBlock(NamedTuple):
    path: str  # Relative to the tree's root
    block: Block

    @property
    def address(self) -> str:
        """As Terraform calls it: ``flux_bootstrap_git.this``, ``data.flux_install.main``."""
        kind = [self.block.type] if self.block.type != "resource" else []
        return ".".join((*kind, *self.block.labels))

    @property
    def is_override(self) -> bool:
        """Whether it is merged into a block of the same address in another file."""
        return _OVERRIDE.fullmatch(posixpath.basename(self.path)) is not None


class Module(NamedTuple):
    """The files of a folder; what cannot be read is left out."""

    places: tuple[TerraformBlock, ...]  # Every block at the top of a file
    values: tuple[tuple[str, Mapping[str, Attribute]], ...]
    """Path of each file with values for variables → what it sets."""
    lock: TerraformBlock | None  # The block of `.terraform.lock.hcl` for the provider of Flux

    def same(self, place: TerraformBlock) -> Iterator[TerraformBlock]:
        """The other blocks of the same address: overrides of it, or what it overrides."""
        return (each for each in self.places if each != place and each.address == place.address)

    def where_set(self, expression: Attribute) -> str:
        """Where the variable or local that an expression is gets its value; empty where that is not seen."""
        match = _REFERENCE.fullmatch(expression.text)
        if match is None:
            return ""
        kind, name = match.groups()
        found = [
            f"{place.path}:{value.line} says {one_line(value)}"
            for place in self.places
            for value in [_value(place.block, kind, name)]
            if value is not None
        ]
        if kind == "var":
            found += [
                f"{path}:{given[name].line} says {one_line(given[name])}"
                for path, given in self.values
                if name in given
            ]
        return ", ".join(found)


def read_module(tree: Tree, folder: str) -> Module:
    """The module in a folder of the tree."""
    places: list[TerraformBlock] = []
    values: list[tuple[str, Mapping[str, Attribute]]] = []
    lock = None
    for path in tree.named((*TERRAFORM_FILES, *_VALUES, _LOCK)):
        if posixpath.dirname(path) != folder:
            continue
        content = read(tree, path) or b""
        if path.endswith(_VALUES):
            is_json = path.endswith(".json")
            values.append((path, hcl_json.attributes(content) if is_json else hcl.attributes(_text(content))))
        elif path.endswith(TERRAFORM_FILES):
            places += [TerraformBlock(path, block) for block in blocks_of(path, content) or ()]
        elif posixpath.basename(path) == _LOCK:
            found = [
                each
                for each in blocks_of(path, content) or ()
                if each.type == "provider" and is_flux_source("".join(each.labels[:1]))
            ]
            lock = TerraformBlock(path, found[0]) if found else None
    return Module(tuple(places), tuple(values), lock)


def blocks_of(path: str, content: bytes) -> tuple[Block, ...] | None:
    """The blocks of a file, in either syntax; None where it cannot be read."""
    if path.endswith(".json"):
        return hcl_json.blocks(content)
    return hcl.blocks(_text(content))


def _text(content: bytes) -> str:
    """With one character for another that is not UTF-8: their places stay."""
    return _NOT_UTF8.sub("\ufffd", decoded(content))


def folder_of(path: Attribute | None) -> str | None:
    """The folder of the repository that an attribute ``path`` names; None where that cannot be told."""
    if path is None or path.text == "null":
        return ""
    text = path.literal
    if text is None or "\\" in text or is_variable(text) or INTERPOLATION.search(text):
        return None
    return repository_path(text)


def _value(block: Block, kind: str, name: str) -> Attribute | None:
    if kind == "local":
        return block.attributes.get(name) if block.type == "locals" else None
    return block.attributes.get("default") if (block.type, block.labels) == ("variable", (name,)) else None


def is_flux_source(source: str) -> bool:
    """Whether an address of a provider, with or without a registry, is that of Flux."""
    return source.lower().split("/")[-2:] == ["fluxcd", "flux"]


def one_line(value: Attribute) -> str:
    """What stands there, without quotes, for people to read."""
    text = " ".join((value.text if value.literal is None else value.literal).split())
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"
