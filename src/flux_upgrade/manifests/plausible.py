"""Whether what a release holds can be what its tag says, so that no minor passes for a patch.

A checksum beside an archive is of whoever serves it. What Flux's releases have in common is not: in
Flux 2.N, three controllers are 1.N, and the patches of a minor differ in patches of controllers only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from flux_upgrade.manifests.generators import KNOWN_PATCHES
from flux_upgrade.model.errors import ImplausibleRelease, Unreadable
from flux_upgrade.model.versions import ReleaseManifests, Version

_LEADING = ("source-controller", "kustomize-controller", "notification-controller")
"""Their minor is Flux's, in every release from v2.0.0-rc.1 to the last in ``KNOWN_PATCHES``."""
_KNOWN = frozenset(map("1.{}".format, KNOWN_PATCHES))
_HINT = "do not use this release source before you have compared it with github.com/fluxcd/flux2/releases"


def require_plausible(release: ReleaseManifests, others: Iterable[ReleaseManifests] = ()) -> None:
    """Raise ImplausibleRelease for content that is not of the minor that the tag names.

    ``others``: releases that were taken before. Those of the same minor are compared with it: a new
    minor, of which nothing is known, is compared with the release that is in use.
    """
    tag = Version(release.tag)
    if not tag.is_flux_2:
        return
    why = _misfit(release, tag)
    for other in others if not tag.is_prerelease else ():
        its = Version(other.tag)
        if not why and its.minor == tag.minor and not its.is_prerelease:
            why = next(_differences(other, release), "")
    if why:
        raise ImplausibleRelease(f"what the release source has as {tag} is another release: {why}", hint=_HINT)


def _misfit(release: ReleaseManifests, tag: Version) -> str:
    own = f"1.{tag.numbers[1]}"
    for name in _LEADING:
        versions = _versions(release, name)
        if not versions:
            return f"it names no version of {name}"
        for minor, version in versions.items():
            if minor != own and (own in _KNOWN or minor in _KNOWN):
                return f"it has {name} {version}, and Flux {tag.minor} has v{own}"
    return ""


def _differences(one: ReleaseManifests, other: ReleaseManifests) -> Iterator[str]:
    """Between two releases of a minor: what differs between no two of Flux's."""
    older, newer = sorted((one, other), key=lambda each: Version(each.tag))
    for name in sorted({*older.components} & {*newer.components}):
        before, after = _versions(older, name), _versions(newer, name)
        if before.keys() != after.keys():
            shown = [", ".join(each.values()) or "none" for each in (before, after)]
            yield f"{older.tag} has {name} {shown[0]}, and {newer.tag} has {shown[1]}"
    before_served, after_served = _served(older), _served(newer)
    for name in sorted(before_served.keys() & after_served.keys()):
        gone = before_served[name] - after_served[name]
        if gone:
            yield f"{older.tag} serves {', '.join(sorted(gone))} of {name}, and {newer.tag} does not"


def _versions(release: ReleaseManifests, name: str) -> Mapping[str, str]:
    """Minor → version, of each image of a controller in its file, wherever it stands there."""
    tags = re.findall(rf"/{re.escape(name)}:([^\s\"'@]+)", release.files.get(f"{name}.yaml", ""))
    return {Version(tag).minor: tag for tag in tags}


def _served(release: ReleaseManifests) -> Mapping[str, frozenset[str]]:
    from flux_upgrade.manifests.crds import served_by  # late, as impact/ is: a proposal reads two releases of a minor

    try:
        return {name: crd.served for name, crd in served_by(release).crds.items()}
    except Unreadable as error:
        raise ImplausibleRelease(f"the CRDs of {release.tag} cannot be read: {error.message}", hint=_HINT) from error
