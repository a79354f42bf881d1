"""FluxInstances that Terraform applies: as an object, as YAML, or by the chart flux-instance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.terraform_values import Modules
from flux_upgrade.pins.objects.flux_distribution import CHART, INSTANCE, VALUES, Below, Distribution, combined
from flux_upgrade.pins.objects.terraform_resources import TerraformObject, TerraformResource, resources
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import BrokenDocument

_Found = tuple[File, Distribution | BrokenDocument]


def distributions(files: Sequence[File], context: PinContext) -> Iterator[_Found]:
    """Each with the file of its resource; documents that cannot be read, too."""
    for resource in resources(files, Modules(context.tree)):
        if resource.chart == CHART:
            yield resource.file, _of_release(resource)
            continue
        for each in resource.manifest():
            if isinstance(each, BrokenDocument):
                yield resource.file, each
            elif _is_instance(each) and each.has(*INSTANCE, "distribution"):
                namespace = each.stated("metadata", "namespace")
                found = _distribution(resource, [each], INSTANCE)
                yield resource.file, found._replace(namespace=namespace.value.text if namespace is not None else "")


def _is_instance(each: TerraformObject) -> bool:
    group, kind = each.stated("apiVersion"), each.stated("kind")
    is_of_operator = group is not None and group.value.text.startswith("fluxcd.controlplane.io/")
    return is_of_operator and kind is not None and kind.value.text == "FluxInstance"


def _of_release(resource: TerraformResource) -> Distribution:
    """Blocks ``set`` go before values, and later values before earlier ones."""
    values = list(resource.values())
    known = [each for each in values if each is not None]
    unread = "values that only Terraform can evaluate" if None in values else ""
    namespace = resource.literal("namespace")
    return _distribution(resource, known, VALUES)._replace(of_chart=True, unread=unread, namespace=namespace)


def _distribution(
    resource: TerraformResource, sources: Sequence[TerraformObject], above: tuple[str, ...]
) -> Distribution:
    field, within = ".".join((*above, "distribution")), [Below(each, above) for each in sources]
    found = combined(resource.address, resource.file, sources[0].line, field, within)
    return found._replace(line=found.version.value.line) if found.version else found
