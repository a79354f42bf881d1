"""The Flux CLI's container image: in Dockerfiles, and where Kubernetes or CI runs it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.model.errors import ReleaseNotFound, UnsupportedPin
from flux_upgrade.model.text import decoded
from flux_upgrade.pins.cli.cli_versions import base_name, cli_pin, of_script
from flux_upgrade.pins.cli.dockerfile import Dockerfile
from flux_upgrade.pins.cli.image_references import (
    CliImageReference,
    loose,
    reading_of,
    reference_of,
    references,
)
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.kustomize_files import Kustomizations
from flux_upgrade.pins.formats.ranges import respelled
from flux_upgrade.pins.formats.readings import unknown
from flux_upgrade.pins.formats.yaml_places import BrokenDocument, objects
from flux_upgrade.pins.pin import Pin, PinChange, SourceFile

NAME = "cli-image"

_YAML = (".yaml", ".yml")
_DOCKERFILE = re.compile(r"(?:.*\.)?(?:Dockerfile|Containerfile)(?:\..*)?", re.IGNORECASE)


def find(files: Sequence[SourceFile], context: PinContext) -> Iterator[Pin]:
    """Every reference to the image of the Flux CLI, and every ``RUN`` of install.sh in a Dockerfile."""
    kustomizations = context.kustomizations
    for file in files:
        if file.path.endswith(_YAML):
            yield from _of_yaml(file, kustomizations)
        else:
            yield from _of_dockerfile(file)


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Change the tag, and the digest behind it. The registry has to have the image: mirrors lag behind."""
    image = pin.details
    if not isinstance(image, CliImageReference):
        raise TypeError(f"{pin.path}:{pin.line} is another kind's")
    tag = respelled(target, image.tag)
    digest = context.artifacts.digest(image.repository, tag)
    if digest is None:
        raise ReleaseNotFound(
            f"there is no image {image.repository}:{tag}", hint="run again when it is published"
        )
    if not image.digest:
        return PinChange((image.version.replaced(tag),), tag)
    if context.artifacts.digest(image.repository, image.tag) != image.digest:
        raise UnsupportedPin(
            f"{image.repository}: the digest {image.digest[:19]}… is not that of the tag {image.tag}",
            hint="pin the digest that the tag has, or leave it out",
        )
    written = f"{tag}@{digest}"
    return PinChange((image.version.replaced(written),), written)


def _of_yaml(file: SourceFile, kustomizations: Kustomizations) -> Iterator[Pin]:
    rows = decoded(file.content).split("\n")
    for each in objects(file.content):
        found = loose(each) if isinstance(each, BrokenDocument) else references(each, file.content, rows)
        for image in found:
            if file.path in kustomizations.patch_files:
                yield _pin(file, image._replace(known=unknown("the file is a patch of another object")))
            else:
                yield _pin(file, image)


def _of_dockerfile(file: SourceFile) -> Iterator[Pin]:
    if not _DOCKERFILE.fullmatch(base_name(file.path)):
        return
    source = Dockerfile(decoded(file.content))
    for where, value in source.images():
        image = reference_of(where, value)
        if image is not None:
            yield _pin(file, _explained(image, source))
    for name, value in source.arguments():
        image = reference_of(f"ARG {name}", value)
        if image is not None:
            yield _pin(file, image._replace(known=unknown("it is the default of a build argument")))
    is_set = source.sets("FLUX_VERSION")
    for value in source.commands():
        found = of_script(value.text, is_set=is_set)
        if found is not None:
            yield cli_pin(NAME, file, value._replace(text=found[0]), "RUN install.sh", found[1])


def _explained(image: CliImageReference, source: Dockerfile) -> CliImageReference:
    """With the line of the ARG that a variable gets its value from: said, never followed."""
    argument = image.known and source.argument_in(image.version.text)
    if not argument:
        return image
    line, default = argument.value.line, argument.value.text
    reading = unknown(
        "a build argument stands for it", f"change it by hand in line {line}, ARG {argument.name}={default}"
    )
    return image._replace(known=reading)


def _pin(file: SourceFile, image: CliImageReference) -> Pin:
    pin = cli_pin(NAME, file, image.version, image.where, reading_of(image))
    return pin._replace(details=image)
