"""The images of a target: whether their registry has them, and the digests of those that are pinned.

A registry is asked only for images that become others: what a file names already is the user's to know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from flux_upgrade.manifests.carry import with_images
from flux_upgrade.manifests.images import Controller, Image, ImageState
from flux_upgrade.manifests.proof import Proof
from flux_upgrade.model.errors import FluxUpgradeError, HostNotAllowed, Unreadable, UntrustedArchive
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.pin import ManifestChange
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.ports import Artifacts

_PUBLISHED = "ghcr.io/fluxcd/"  # Where Flux's releases are published; what they name is there
_Tagged = tuple[str, str]  # A repository and a tag in it
_Digests = Mapping[_Tagged, str | FluxUpgradeError | None]


class _Wanted(NamedTuple):
    """One controller whose image was pinned by digest, or becomes another."""

    name: str
    before: Image
    after: Image  # Without a digest
    asked: _Tagged | None  # What is to be there; None: nothing is asked, the image stays
    origin: _Tagged | None = None
    """Only if this stands for the digest in the file, the image follows the release; None: it does."""

    def needed(self, digests: _Digests) -> _Tagged | None:
        """What has to be there, by what the registry said of ``origin``."""
        follows = self.origin is None or digests[self.origin] == self.before.digest
        return self.asked if follows else None


def settled(
    change: ManifestChange, proof: Proof, target: Version, artifacts: Artifacts, *, checks: bool
) -> ManifestChange | Hold:
    """``change`` with its digest pins: those of the new tags, and as they were where the image stays.

    A hold where an image is not in its registry, or where that cannot be asked. ``checks``: whether images
    that are not pinned are asked for, too; those that Flux publishes itself, and templates, never are. Each
    controller costs one request at most, one that is nothing but a digest in a registry of its own two.
    Raises UsageError where credentials that were given cannot be used.
    """
    wanted = tuple(_wanted(change, proof, checks=checks))
    if not wanted:
        return change
    digests = artifacts.digests(
        [tagged for each in wanted for tagged in (each.origin, each.asked) if tagged is not None]
    )
    held = _unasked(target, wanted, digests) or _missing(target, wanted, digests)
    if held is not None:
        return held
    try:
        return _pinned(change, wanted, digests)
    except Unreadable as error:
        return Hold(HoldReason.UNREADABLE, error.message, error.hint, Unreadable)


def _wanted(change: ManifestChange, proof: Proof, *, checks: bool) -> Iterator[_Wanted]:
    old = {each.name: each for each in proof.controllers}
    for new in change.carried.controllers:
        was = old.get(new.name)
        if was is not None and was.image.digest:
            yield _renewed(was, new)
        elif checks and (was is None or was.image != new.image):
            image = new.image
            if image.tag and not image.repository.startswith(_PUBLISHED) and not image.is_template:
                yield _Wanted(new.name, Image("", "", ""), image, (image.repository, image.tag))


def _renewed(was: Controller, new: Controller) -> _Wanted:
    repository = new.image.repository
    # An image without a tag is the release's; one in a registry of its own may be any.
    old_tag, new_tag = was.image.tag or was.release_image.tag, new.image.tag or new.release_image.tag
    after = Image(repository, new_tag if was.image.tag else "", "")
    if (was.image.repository, old_tag) == (repository, new_tag):
        return _Wanted(new.name, was.image, after, None)
    is_any = was.state is ImageState.CUSTOM and not was.image.tag
    return _Wanted(new.name, was.image, after, (repository, new_tag), (repository, old_tag) if is_any else None)


def _unasked(target: Version, wanted: tuple[_Wanted, ...], digests: _Digests) -> Hold | None:
    errors = {tagged: each for tagged, each in digests.items() if isinstance(each, FluxUpgradeError)}
    if not errors:
        return None
    ranked = sorted(errors.values(), key=lambda each: not isinstance(each, UntrustedArchive))
    error, others = ranked[0], {each.message for each in ranked} - {ranked[0].message}
    more = f" (and {len(others)} more)" if others else ""
    detail = f"the images of {target} could not be checked: {error.message}{more}"
    if isinstance(error, UntrustedArchive):
        return Hold(HoldReason.UNTRUSTED_ARTIFACT, detail, error.hint, type(error))
    pinned = {tagged for each in wanted if each.before.digest for tagged in (each.origin, each.asked)}
    way_out = (
        "an image with a digest needs the digest of its new tag"
        if pinned & set(errors)
        else "if the registry is unreachable from here, set `check-images: false` in the config file"
    )
    hint = f"run again later, or give credentials for the registry with --docker-config; {way_out}"
    if isinstance(error, HostNotAllowed):
        return Hold(HoldReason.HOST_NOT_ALLOWED, detail, f"{error.hint}; {way_out}", type(error))
    return Hold(HoldReason.SOURCE_UNAVAILABLE, detail, hint, type(error))


def _missing(target: Version, wanted: tuple[_Wanted, ...], digests: _Digests) -> Hold | None:
    needed = [tagged for each in wanted if (tagged := each.needed(digests)) is not None]
    missing = [":".join(tagged) for tagged in needed if digests[tagged] is None]
    if not missing:
        return None
    verb = "is" if len(missing) == 1 else "are"
    detail = f"{counted(len(missing), 'image')} of {target} {verb} not in the registry: {', '.join(missing)}"
    return Hold(HoldReason.IMAGES_MISSING, detail, "mirror the images, then run again")


def _pinned(change: ManifestChange, wanted: tuple[_Wanted, ...], digests: _Digests) -> ManifestChange:
    pins: dict[str, Image] = {}
    for each in wanted:
        needed = each.needed(digests)
        if each.before.digest:
            pins[each.name] = each.before if needed is None else each.after._replace(digest=str(digests[needed]))
    seen = tuple(each.name for each in wanted if each.needed(digests) is not None)
    change = change._replace(seen=seen)
    if not pins:
        return change
    carried = change.carried
    controllers = tuple(replace(each, image=pins.get(each.name, each.image)) for each in carried.controllers)
    return change._replace(
        carried=replace(carried, content=with_images(change.new, pins), controllers=controllers),
        images=tuple((name, old, str(pins.get(name, image))) for name, old, image in change.images),
    )
