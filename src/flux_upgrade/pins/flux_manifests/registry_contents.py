"""What the registry knows of the artifact flux-manifests: which release it is, its digest, what is in it."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.artifact.manifest import REVISION
from flux_upgrade.errors import (
    ReleaseNotFound,
    SourceUnavailable,
    UnsupportedPin,
    UntrustedArchive,
)
from flux_upgrade.kinds.parts.flux_manifests_reference import Reference
from flux_upgrade.kinds.world import World
from flux_upgrade.versions import is_tag, precedence

TROUBLE = (SourceUnavailable, UntrustedArchive)
"""``v2.9.4@sha1:…``; before Flux v0.40 ``v0.39.0/…`` (Flux RFC-0005)."""
_HEADER = "# Components: "
_GAINED = (("v2.9.3", "source-watcher"),)
"""Flux .github/workflows/release.yaml: since when the artifact is made with a component more."""
_KNOWN = "v2.9.4"
"""The last release of which that is known."""


def release_of(repository: str, reference: str, world: World) -> str | None:
    """The release that an artifact says it is; empty where it says none. None: there is no such artifact.

    Raises SourceUnavailable, UntrustedArchive.
    """
    annotations = world.artifacts.annotations(repository, reference)
    if annotations is None:
        return None
    tag = annotations.get(REVISION, "").replace("/", "@").partition("@")[0]
    return tag if is_tag(tag) else ""


def new_digest(repository: str, tag: str, target: str, world: World) -> str:
    """The digest of ``tag``, which has to be the release ``target``.

    Raises ReleaseNotFound where there is no such tag (yet), UntrustedArchive where it is
    another release; SourceUnavailable.
    """
    digest = world.artifacts.digest(repository, tag)
    if digest is None:
        raise ReleaseNotFound(
            f"there is no {repository}:{tag}",
            hint="Flux pushes it some minutes after the release, and a mirror later: try again then",
        )
    release = release_of(repository, tag, world)
    if release and release != target:
        raise UntrustedArchive(
            f"{repository}:{tag} says of itself that it is {release}",
            hint="see who pushed it, and where from",
        )
    return digest


def require_own_digest(found: Reference, place: str, world: World) -> None:
    """Raise UnsupportedPin where the tag and the digest do not belong together; as ``new_digest``."""
    if found.tag is None or found.digest is None:
        return
    tag, digest = found.tag.text, found.digest.text
    actual = world.artifacts.digest(found.repository, tag)
    if actual == digest:
        return
    why = f"there is no {found.repository}:{tag} that the digest could belong to"
    if actual is not None:
        release = release_of(found.repository, digest, world)
        why = f"the digest does not belong to the tag {tag}, which has {actual}"
        why += f"; it is that of {release}" if release else ""
    raise UnsupportedPin(
        f"{place}: {why}", hint="find out which of the two is meant, and write both as they belong together"
    )


def differences(old: str, new: str, world: World) -> Iterator[str]:
    """What the artifact gains or loses as a whole between two releases, a sentence each."""
    before, after = (_components(tag, world) for tag in (old, new))
    if before is None or after is None:
        yield from _recorded(old, new)
        return
    if gained := sorted(after - before):
        yield _gain(_listed(gained), old, new)
    if lost := sorted(before - after):
        yield f"The artifact of {new} no longer holds {_listed(lost)}, which that of {old} does."


def _recorded(old: str, new: str) -> Iterator[str]:
    """The same from what is known of Flux, where its artifacts cannot be read."""
    for since, component in _GAINED:
        if precedence(old) < precedence(since) <= precedence(new):
            yield _gain(component, old, since)
    if precedence(new) > precedence(_KNOWN):
        yield f"Whether the artifacts of {old} and {new} hold the same components could not be compared."


def _gain(names: str, old: str, since: str) -> str:
    return (
        f"From {since} on the artifact holds {names}, too, which that of {old} does not:"
        " patch it away where it is not wanted."
    )


def _components(tag: str, world: World) -> frozenset[str] | None:
    """Of the manifest that Flux published for a release; None where it is not to be had."""
    try:
        text = world.regenerator.published(tag) or ""
    except TROUBLE:
        return None
    for line in text.splitlines()[:10]:
        if line.startswith(_HEADER):
            return frozenset(filter(None, line.removeprefix(_HEADER).strip().split(",")))
    return None


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if names[1:] else "") + names[-1]
