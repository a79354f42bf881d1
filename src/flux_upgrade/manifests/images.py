"""Controller images: which are Flux's own, bumped in place, pinned, or the user's choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag

_CONTROLPLANE = "ghcr.io/controlplaneio-fluxcd"
_FILLED_IN = frozenset("${}%<>")
"""What template engines, and Flux's own post-build substitution, go by; no image has it."""


class Image(NamedTuple):
    """``repository[:tag][@digest]``; a part that is not there is empty."""

    repository: str
    tag: str
    digest: str

    @classmethod
    def parse(cls, reference: str) -> Image:
        """Any text is taken; what follows the last colon behind the last slash is the tag."""
        name, _, digest = reference.partition("@")
        path, slash, last = name.rpartition("/")
        own, _, tag = last.partition(":")
        return cls(path + slash + own, tag, digest)

    @property
    def is_template(self) -> bool:
        """Whether something has yet to be filled in: which registry it is, nobody can ask."""
        return not _FILLED_IN.isdisjoint(str(self))

    def __str__(self) -> str:
        return self.repository + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


def controlplane_registry(registry: str) -> str:
    """``registry``, if it has images of ControlPlane's distribution of Flux, else empty.

    Its tags are those of Flux's own images, below one path for each variant: alpine, distroless,
    distroless-fips (github.com/controlplaneio-fluxcd/distribution, images/).
    """
    path = registry.rstrip("/")
    return path if f"{path}/".startswith(f"{_CONTROLPLANE}/") else ""


def kept_distribution(registry: str) -> tuple[str, ...]:
    """What to know of a version reference whose images are below ``registry``: one sentence, or none."""
    path = controlplane_registry(registry)
    return (f"the images are those of ControlPlane's distribution, {path}: an upgrade keeps it",) if path else ()


def other_distribution(old: str, new: str) -> str:
    """What a change of the registry replaces, if it changes the distribution or its variant; else empty."""
    before, after = controlplane_registry(old), controlplane_registry(new)
    if before == after:
        return ""
    if before:
        return f"{new or 'fluxcd'} would replace the images of ControlPlane's distribution of Flux, {before}"
    return f"the images of ControlPlane's distribution of Flux, {after}, would replace those of {old or 'fluxcd'}"


class ImageState(StrEnum):
    """How a controller's image compares with the one that the body's release ships."""

    RELEASE = "release"
    AHEAD = "ahead"  # Bumped in place to a newer tag of Flux's
    BEHIND = "behind"
    PINNED = "pinned"  # The release's tag with a digest
    CUSTOM = "custom"  # A registry of its own, or a tag that is no version: the user's edit, which is carried


def tag_order(tag: str) -> Version | None:
    """A sort key for a controller's version tag, by semver's precedence; None if it is none."""
    version = tag if tag.startswith("v") else f"v{tag}"
    # No image tag has a "+".
    return Version(version) if is_tag(version) and "+" not in version else None


def controller_index(containers: Sequence[tuple[str, str]], controller: str) -> int | None:
    """Which of a Deployment's containers, (name, image) each, is Flux's: the others are the user's.

    Flux calls it ``manager``.
    """
    for index, (name, _) in enumerate(containers):
        if name == "manager":
            return index
    for index, (_, image) in enumerate(containers):
        if Image.parse(image).repository.endswith(f"/{controller}"):
            return index
    return 0 if containers else None


@dataclass(frozen=True, slots=True)
class Controller:
    name: str
    image: Image
    release_image: Image  # What the body's release ships for it, in the installation's registry
    line: int  # 1-based line of its Deployment in the file

    @property
    def state(self) -> ImageState:
        own, shipped = tag_order(self.image.tag), tag_order(self.release_image.tag)
        untagged = not self.image.tag and not self.image.digest
        if self.image.repository != self.release_image.repository or untagged or (self.image.tag and own is None):
            return ImageState.CUSTOM
        if own is None or shipped is None or own == shipped:
            return ImageState.PINNED if self.image.digest else ImageState.RELEASE
        return ImageState.AHEAD if own > shipped else ImageState.BEHIND

    @property
    def carried(self) -> Image:
        """The image with Flux's own bumps undone: what is left of a difference is the user's edit.

        A registry of its own keeps following the release where its tag did so
        far; with a tag of its own it is another build, and stays as it is.
        """
        if self.state is ImageState.CUSTOM:
            return self.image._replace(digest="")
        return self.release_image
