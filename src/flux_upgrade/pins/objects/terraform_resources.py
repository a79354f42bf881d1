"""Resources of Terraform that hold what several kinds share: releases of Helm charts, and Kubernetes objects.

registry.terraform.io/providers: hashicorp/helm (``helm_release``), hashicorp/kubernetes (``kubernetes_manifest``),
gavinbunney/kubectl and alekc/kubectl (``kubectl_manifest``).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from flux_upgrade.model.text import encoded, joined_path
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.hcl import Attribute, Block
from flux_upgrade.pins.formats.terraform_files import TERRAFORM_FILES
from flux_upgrade.pins.formats.terraform_module import TerraformBlock, blocks_of
from flux_upgrade.pins.formats.terraform_values import Modules
from flux_upgrade.pins.objects.release_values import Stated
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Step, Value, objects

_FILE = re.compile(r"\$\{path\.module\}/(.+)")
_WHOLE = re.compile(r"\$\{([^{}]*)\}")
_MANIFESTS = {"kubernetes_manifest": "manifest", "kubectl_manifest": "yaml_body"}


class TerraformResource(NamedTuple):
    """A resource, and the modules that its expressions refer to."""

    file: File
    block: Block
    modules: Modules

    @property
    def address(self) -> str:
        return TerraformBlock(self.file.path, self.block).address

    @property
    def chart(self) -> str:
        """The last name of a Helm release's chart; empty if the resource is none."""
        if self.block.labels[:1] != ("helm_release",):
            return ""
        return self.chart_address.rpartition("/")[2]

    @property
    def chart_address(self) -> str:
        """Of a Helm release, as it is there, or where a variable or local is set."""
        given = self.block.attributes.get("chart")
        return ((given and given.literal) or self.literal("chart")).rstrip("/")

    def literal(self, name: str) -> str:
        """The text of an attribute, from wherever it is; empty if no single place sets it."""
        given = self.block.attributes.get(name)
        if given is None:
            return ""
        origin = self.modules.origin(self.file.path, given)
        return "" if origin.reason else origin.given.literal or ""

    def stated(self, given: Attribute | None, field: str) -> Stated | None:
        """What an expression comes to, and where that is set."""
        if given is None or given.text == "null":
            return None
        origin, value = self.modules.value(self.file.path, given)
        said = f"{field}, {origin.reference}" if origin.reference else field
        return Stated(self.modules.file(origin.path), value, said)

    def placed(self) -> tuple[File, int, str, Value | None]:
        """Return where a Helm release states its chart's version, or would (file, line, in words), and the version."""
        version = self.stated(self.block.attributes.get("version"), "version")
        if version is None:
            return self.file, self.block.line, f"{self.address}, version", None
        return version.file, version.value.line, f"{self.address}, {version.field}", version.value

    def manifest(self) -> Iterator[TerraformObject | BrokenDocument]:
        """The Kubernetes objects that it applies, as far as they are written in the file."""
        given = self.block.attributes.get(_MANIFESTS.get("".join(self.block.labels[:1]), ""))
        if given is not None:
            yield from self.objects(given)

    def objects(self, given: Attribute) -> Iterator[TerraformObject | BrokenDocument]:
        """What is written in an expression: an object, YAML in a heredoc, or a file in the module's directory."""
        inner = given.items[0] if given.call and given.items else None
        if given.members:
            yield HclObject(self, given)
        elif given.heredoc:
            for each in objects(encoded(given.heredoc)):
                if isinstance(each, BrokenDocument):
                    yield each._replace(line=each.line + given.line)
                else:
                    yield YamlObject(self, self.file, each, given.start, given.line)
        elif inner is not None and given.call in ("yamlencode", "yamldecode", "jsonencode"):
            yield from self.objects(inner)

    def values(self) -> Iterator[TerraformObject | None]:
        """The values of a Helm release, the last of which decides; None for those that only Terraform can evaluate."""
        yield SetValues(self)
        given = self.block.attributes.get("values")
        items = () if given is None else given.items if not given.call else (given,)
        if given is not None and not items and given.text != "[]":
            yield None
        for item in reversed(items):
            found = [*self.objects(item), *self._in_file(item)]
            if not found:
                yield None
            for each in found:
                yield None if isinstance(each, BrokenDocument) else each

    def _in_file(self, given: Attribute) -> Iterator[TerraformObject]:
        named = given.items[0].literal if given.call == "file" and len(given.items) == 1 else None
        match = _FILE.fullmatch(named or "")
        if match is not None:
            file = self.modules.file(joined_path(posixpath.dirname(self.file.path), match[1]))
            yield from (YamlObject(self, file, each) for each in file.readable)


def resources(files: Sequence[File], modules: Modules) -> Iterator[TerraformResource]:
    """Those of ``files``, of which some are Terraform's."""
    for file in files:
        if file.path.endswith(TERRAFORM_FILES):
            for block in blocks_of(file.path, file.content) or ():
                if block.type == "resource":
                    yield TerraformResource(file, block, modules)


def without_terraform(files: Sequence[File]) -> list[File]:
    return [file for file in files if not file.path.endswith(TERRAFORM_FILES)]


class HclObject(NamedTuple):
    """An object in Terraform's own syntax."""

    resource: TerraformResource
    given: Attribute

    @property
    def line(self) -> int:
        return self.given.line

    def stated(self, *path: str) -> Stated | None:
        return self.resource.stated(self._at(path), ".".join(path))

    def has(self, *path: str) -> bool:
        return self._at(path) is not None

    def _at(self, path: Sequence[str]) -> Attribute | None:
        found: Attribute | None = self.given
        for step in path:
            found = found.members.get(step) if found is not None else None
        return found


class SetValues(NamedTuple):
    """Values in blocks ``set { name = …, value = … }``, or in a list of such since helm's provider 3."""

    resource: TerraformResource

    @property
    def line(self) -> int:
        return self.resource.block.line

    def stated(self, *path: str) -> Stated | None:
        name = ".".join(path)
        found = [
            each["value"]
            for each in self.resource.block.bodies("set")
            if "name" in each and each["name"].literal == name and "value" in each
        ]
        return self.resource.stated(found[-1], name) if found else None

    def has(self, *path: str) -> bool:
        return self.stated(*path) is not None


@dataclass(frozen=True)
class YamlObject:
    """An object of a file, or of a heredoc, whose places are moved to those of its file."""

    resource: TerraformResource
    file: File
    object: Object
    start: int = 0  # Of the heredoc, in the file
    before: int = 0  # Lines before the heredoc

    @cached_property
    def line(self) -> int:
        return self.object.line + self.before

    def stated(self, *path: str) -> Stated | None:
        value = self.object.at(*path)
        if value is None:
            return None
        field = ".".join(path)
        whole = _WHOLE.fullmatch(value.text) if self.start else None
        if whole is not None:
            return self.resource.stated(Attribute(value.line + self.before, whole[1].strip(), None), field)
        start, end, line = value.start + self.start, value.end + self.start, value.line + self.before
        return Stated(self.file, value._replace(start=start, end=end, line=line), field)

    def has(self, *path: str) -> bool:
        steps: tuple[Step, ...] = path
        return self.object.has(*steps)


TerraformObject = HclObject | SetValues | YamlObject
