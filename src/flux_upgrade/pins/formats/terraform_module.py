"""A Terraform or OpenTofu module: the files of one folder, and what they say about each other."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from flux_upgrade.model.text import decoded, repository_path
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats import hcl, hcl_json
from flux_upgrade.pins.formats.hcl import Attribute, Block
from flux_upgrade.pins.formats.terraform_files import TERRAFORM_FILES, VALUES
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import is_variable

RESOURCE = "flux_bootstrap_git"

INTERPOLATION = re.compile(r"[$%]\{(?:(?![$%]\{)[^}])*\}")
LOCK = ".terraform.lock.hcl"
# developer.hashicorp.com/terraform/language/files/override
_OVERRIDE = re.compile(r"(?:.+_)?override\.(?:tf|tofu)(?:\.json)?")
_MOST_ALIKE = 100  # Blocks of one address, values of one variable: each reference goes through them
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


@dataclass(frozen=True, eq=False)  # A module is itself only: pins refer to it
class Module:
    """The files of a folder; what cannot be read is left out."""

    places: tuple[TerraformBlock, ...]  # Every block at the top of a file
    values: tuple[tuple[str, Mapping[str, Attribute]], ...]
    """Path of each file with values for variables → what it sets."""
    lock: TerraformBlock | None  # The block of `.terraform.lock.hcl` for the provider of Flux

    def same(self, place: TerraformBlock) -> Iterator[TerraformBlock]:
        """The other blocks of the same address: overrides of it, or what it overrides."""
        return (each for each in self._by_address.get(place.address, [])[:_MOST_ALIKE] if each != place)

    @cached_property
    def _by_address(self) -> Mapping[str, list[TerraformBlock]]:
        found: dict[str, list[TerraformBlock]] = {}
        for each in self.places:
            found.setdefault(each.address, []).append(each)
        return found

    @cached_property
    def stated(self) -> Mapping[tuple[str, str], list[tuple[str, Attribute]]]:
        """`local` or `var`, and a name → what the blocks of the module set it to, each with its path."""
        found: dict[tuple[str, str], list[tuple[str, Attribute]]] = {}
        for path, block in self.places:
            if block.type == "locals":
                for name, value in block.attributes.items():
                    found.setdefault(("local", name), []).append((path, value))
            elif block.type == "variable" and len(block.labels) == 1 and "default" in block.attributes:
                found.setdefault(("var", block.labels[0]), []).append((path, block.attributes["default"]))
        return found

    @cached_property
    def of_providers(self) -> tuple[TerraformBlock, ...]:
        """The blocks that may say which provider is admitted; more than people write are left out."""
        named = ("terraform", "provider")
        return tuple(islice((each for each in self.places if each.block.type in named), _MOST_ALIKE))


def read_module(tree: Snapshot, paths: Iterable[str]) -> Module:
    """The module of these paths, which are in one directory of the tree."""
    places: list[TerraformBlock] = []
    values: list[tuple[str, Mapping[str, Attribute]]] = []
    lock = None
    for file in filter(None, map(tree.at, paths)):
        if file.path.endswith(VALUES):
            is_json = file.path.endswith(".json")
            set_here = hcl_json.attributes(file.content) if is_json else hcl.attributes(_text(file.content))
            values.append((file.path, set_here))
            continue
        blocks = blocks_of(file.path, file.content) or ()
        if file.path.endswith(TERRAFORM_FILES):
            places += [TerraformBlock(file.path, block) for block in blocks]
        elif posixpath.basename(file.path) == LOCK:
            of_flux = (
                block for block in blocks if block.type == "provider" and is_flux_source("".join(block.labels[:1]))
            )
            lock = next((TerraformBlock(file.path, block) for block in of_flux), None)
    return Module(tuple(places), tuple(values), lock)


def blocks_of(path: str, content: bytes) -> tuple[Block, ...] | None:
    """The blocks of a file, in either syntax; None where it cannot be read."""
    return hcl_json.blocks(content) if path.endswith(".json") else hcl.blocks(_text(content))


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


def is_flux_source(source: str) -> bool:
    """Whether an address of a provider, with or without a registry, is that of Flux."""
    return source.lower().split("/")[-2:] == ["fluxcd", "flux"]


def one_line(value: Attribute) -> str:
    text = " ".join((value.text if value.literal is None else value.literal).split())
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"
