"""The chart in resources ``helm_release`` of Terraform."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.pins.formats.readings import unknown
from flux_upgrade.pins.formats.terraform_module import one_line
from flux_upgrade.pins.formats.terraform_values import Modules
from flux_upgrade.pins.objects.chart_place import (
    CHART,
    LOCAL,
    ChartSource,
    ChartVersionPlace,
    overridden,
    overridden_by,
    source_at,
)
from flux_upgrade.pins.objects.terraform_resources import TerraformResource, YamlObject, resources
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import Snapshot

_LOCAL = ("./", "../", "/", "${path.")


def places(files: Sequence[File], tree: Snapshot) -> Iterator[ChartVersionPlace]:
    """Each version once: two releases may have one variable."""
    found: dict[tuple[str, int], ChartVersionPlace] = {}
    for resource in resources(files, Modules(tree)):
        if resource.chart == CHART:
            file, line, field, version = resource.placed()
            remarks = tuple(_overridden(resource))
            place = ChartVersionPlace(file, line, field, _source(resource), version, remarks=remarks)
            found.setdefault((file.path, version.start if version else -line), place)
    yield from found.values()


def _overridden(resource: TerraformResource) -> Iterator[str]:
    yield from overridden_by(
        (each["name"].literal or "", one_line(each["value"]))
        for each in resource.block.bodies("set")
        if "name" in each and "value" in each
    )
    for values in resource.values():
        if isinstance(values, YamlObject):
            yield from overridden(values.object)


def _source(resource: TerraformResource) -> ChartSource:
    """``repository``, or the address before the name of an OCI chart."""
    parent, _, _ = resource.chart_address.rpartition("/")
    if parent and f"{parent}/".startswith(_LOCAL):
        return LOCAL
    if "repository" not in resource.block.attributes:
        return source_at(parent)
    repository = resource.literal("repository")
    if not repository:
        return unknown("only Terraform can evaluate the repository", "write the repository's URL as plain text")
    return source_at(repository)
