"""Where the value of an expression is: in a variable's default, a ``*.tfvars``, a local, or the call of a module.

developer.hashicorp.com/terraform/language/values/variables, "Variable Definition Precedence".
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from flux_upgrade.model.text import decoded, is_below, joined_path
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.hcl import Attribute
from flux_upgrade.pins.formats.terraform_files import TERRAFORM_FILES, VALUES
from flux_upgrade.pins.formats.terraform_module import (
    INTERPOLATION,
    LOCK,
    Module,
    TerraformBlock,
    one_line,
    read_module,
)
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Value, is_variable

_REFERENCE = re.compile(r'(?:"?\$\{ *)?(var|local)\.([\w-]+)(?: *\}"?)?')
_DEEPEST = 10  # From one variable or local to the next
_MOST_SHOWN = 5


class Origin(NamedTuple):
    """The one place that decides what an expression is; the expression itself if there is no such place."""

    path: str
    given: Attribute
    reference: str = ""  # How the expression refers to it: `var.flux_version`; empty if it says it itself
    reason: str = ""  # Why no place decides; empty if one does
    elsewhere: str = ""  # Where the values are that may decide, in words


class Modules:
    """The modules of a tree, each read once."""

    def __init__(self, tree: Snapshot) -> None:
        self._tree = tree
        self._modules: dict[str, Module] = {}
        self._origins: dict[tuple[str, int, str], Origin] = {}

    def at(self, folder: str) -> Module:
        if folder not in self._modules:
            self._modules[folder] = read_module(self._tree, self._paths.get(folder, ()))
        return self._modules[folder]

    def of_file(self, path: str) -> Module:
        return self.at(posixpath.dirname(path))

    def file(self, path: str) -> File:
        """A file of the tree; empty if it cannot be read."""
        return self._tree.at(path) or File(path, b"")

    def value(self, path: str, given: Attribute) -> tuple[Origin, Value]:
        """What decides an expression of the file at ``path``, and its text; with a reason if none can be replaced."""
        origin = self.origin(path, given)
        shown = one_line(origin.given)
        if origin.reason:
            said = f"{origin.reason}: {origin.elsewhere}" if origin.elsewhere else origin.reason
            return origin, Value(shown, 0, 0, origin.given.line, said)
        text, start = origin.given.literal or "", origin.given.start
        is_plain = decoded(self.file(origin.path).content).startswith(text, start)
        reason = "" if is_plain else "it contains escape sequences"
        return origin, Value(text, start, start + len(text), origin.given.line, reason)

    def origin(self, path: str, given: Attribute, left: int = _DEEPEST) -> Origin:
        """The place that decides an expression of the file at ``path``."""
        key = path, given.line, given.text
        if key not in self._origins:
            self._origins[key] = self._followed(path, given, left)
        return self._origins[key]

    def _followed(self, path: str, given: Attribute, left: int) -> Origin:
        if given.literal is not None and not INTERPOLATION.search(given.literal) and not is_variable(given.literal):
            return Origin(path, given)
        unknown = Origin(path, given, reason=f"only Terraform can evaluate {one_line(given)}")
        match = _REFERENCE.fullmatch(given.text)
        if match is None or not left:
            return unknown
        found = self._deciding(posixpath.dirname(path), match[1], match[2])
        followed = (self.origin(*each, left - 1) for each in found)
        origins = {(each.path, each.given.line, each.given.start): each for each in followed}
        if len(origins) == 1:
            (origin,) = origins.values()
            if not origin.reason:
                return origin._replace(reference=f"{match[1]}.{match[2]}")
        shown = [f"{path}:{value.line} says {one_line(value)}" for path, value in found[:_MOST_SHOWN]]
        more = [f"{len(found) - _MOST_SHOWN} more places set it"] if len(found) > _MOST_SHOWN else []
        return unknown._replace(elsewhere=", ".join(shown + more))

    def _deciding(self, folder: str, kind: str, name: str) -> Sequence[tuple[str, Attribute]]:
        """What a variable or local may come to: one place, if that one decides."""
        module = self.at(folder)
        stated = module.stated.get((kind, name), [])
        if kind == "local":
            return stated
        calls = self._calls.get(folder, ())
        passed = [(call.path, call.block.attributes[name]) for call in calls if name in call.block.attributes]
        default = stated if len(passed) < len(calls) or not passed else []
        # The values that Terraform reads by itself, the last one of a variable decides.
        read = sorted(filter(_is_loaded, module.values), key=lambda each: _precedence(each[0]))
        loaded = [(path, values[name]) for path, values in read if name in values]
        chosen = [(path, values[name]) for path, values in self._chosen(folder, module) if name in values]
        if not passed and not chosen and loaded:
            return loaded[-1:]
        found = {
            (path, value.line, value.start): (path, value) for path, value in (*default, *loaded, *chosen, *passed)
        }
        return list(found.values())

    def _chosen(self, folder: str, module: Module) -> Iterable[tuple[str, Mapping[str, Attribute]]]:
        """The values for ``-var-file``, in the directory and in those below it that are not modules."""
        own = [each for each in module.values if not _is_loaded(each)]
        for below in self._only_values:
            if below != folder and is_below(below, folder):
                own += self.at(below).values
        return own

    @cached_property
    def _paths(self) -> Mapping[str, list[str]]:
        """Directory → the paths of its module."""
        found: dict[str, list[str]] = {}
        for path in self._tree.named((*TERRAFORM_FILES, *VALUES, LOCK)):
            found.setdefault(posixpath.dirname(path), []).append(path)
        return found

    @cached_property
    def _only_values(self) -> Sequence[str]:
        """The directories that have values for variables, and no module."""
        return [
            folder for folder, paths in self._paths.items() if not any(path.endswith(TERRAFORM_FILES) for path in paths)
        ]

    @cached_property
    def _calls(self) -> Mapping[str, list[TerraformBlock]]:
        """Directory → the blocks ``module`` of the tree whose source it is."""
        found: dict[str, list[TerraformBlock]] = {}
        for folder in self._paths:
            for each in self.at(folder).places:
                source = each.block.attributes.get("source") if each.block.type == "module" else None
                if source is not None and (source.literal or "").startswith(("./", "../")):
                    found.setdefault(joined_path(folder, source.literal or ""), []).append(each)
        return found


def _is_loaded(values: tuple[str, Mapping[str, Attribute]]) -> bool:
    name = posixpath.basename(values[0])
    return name in ("terraform.tfvars", "terraform.tfvars.json") or name.endswith((".auto.tfvars", ".auto.tfvars.json"))


def _precedence(path: str) -> tuple[bool, bool, str]:
    name = posixpath.basename(path)
    return (not name.startswith("terraform.tfvars"), name.endswith(".json") and name.startswith("terraform."), name)
