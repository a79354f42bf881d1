"""References to the image of the Flux CLI: ``ghcr.io/fluxcd/flux-cli:v2.9.4@sha256:…``.

It is published as ``ghcr.io/fluxcd/flux-cli`` and ``docker.io/fluxcd/flux-cli``
(fluxcd.io/flux/cmd), and mirrored under the same two last words.
"""

from __future__ import annotations

import re

from flux_upgrade.kinds.formats.yaml_places import Value, is_variable
from flux_upgrade.kinds.parts.cli_versions import Told, tag_of, unknown
from flux_upgrade.kinds.pin import Standing
from flux_upgrade.values import NamedTuple

MARK = b"fluxcd/flux-cli"
REPOSITORY = r"(?:[\w.-]+(?::\d+)?/)*fluxcd/flux-cli"
_REFERENCE = re.compile(rf"(?:docker://)?({REPOSITORY})(?::([\w.-]+))?(?:@(\S+))?")
_VARIABLE = re.compile(r"\S*fluxcd/flux-cli(?:[:@].*)?")
_VERSION = re.compile(r"([\w.-]*)(?:@(\S+))?")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_ONE_MACHINE = re.compile(r"(.+)-(?:amd64|arm64|arm|armv7)")
"""Tags of single architectures, as Flux 0.x published them."""
_DOCKER_HUB = "docker.io/"


class Reference(NamedTuple):
    """The CLI's image at a place."""

    where: str
    repository: str
    """With its host: ``docker.io/fluxcd/flux-cli``; empty where a variable is in it."""
    version: Value
    """Tag and digest as they stand together: ``v2.9.4@sha256:…``; empty text: neither."""
    tag: str = ""
    digest: str = ""
    told: Told | None = None
    """What is known of it beforehand: why it stays as it is."""


def reference_of(where: str, value: Value) -> Reference | None:
    """The reference that is all of a value; None where it is of another image."""
    match = _REFERENCE.fullmatch(value.text)
    if match is not None:
        repository, tag, digest = (group or "" for group in match.groups())
        written = f"{tag}@{digest}" if tag and digest else tag or digest
        version = value._replace(text=written, start=value.end - len(written))
        return Reference(where, with_host(repository), version, tag, digest)
    if _VARIABLE.fullmatch(value.text) and is_variable(value.text):
        told = unknown("a variable stands for a part of it", "change it by hand where the variable is set")
        return Reference(where, "", value, told=told)
    return None


def split_reference(where: str, repository: str, version: Value) -> Reference | None:
    """One whose version stands elsewhere than its repository; None where it is of another image."""
    if re.fullmatch(REPOSITORY, repository) is None:
        return None
    match = _VERSION.fullmatch(version.text)
    tag, digest = ("", "") if match is None else (group or "" for group in match.groups())
    told = None
    if is_variable(version.text):
        told = unknown("a variable stands for it", "change it by hand where the variable is set")
    return Reference(where, with_host(repository), version, tag, digest, told)


def with_host(repository: str) -> str:
    """What a name without a host means to container tools: Docker Hub."""
    first = repository.partition("/")[0]
    has_host = "." in first or ":" in first or first == "localhost"
    return repository if has_host else _DOCKER_HUB + repository


def told_of(image: Reference) -> Told:
    """What the reference comes to."""
    if image.version.reason:
        return unknown(image.version.reason)
    if image.told is not None:
        return image.told
    if image.digest and not _DIGEST.fullmatch(image.digest):
        return unknown("its digest is malformed", "write sha256: and 64 hexadecimal digits")
    if image.tag in ("", "latest"):
        return _without_release(image)
    version = tag_of(image.tag)
    return Told(Standing.EXACT, version) if version and not _is_single(image.tag) else _no_release(image.tag)


def _no_release(tag: str) -> Told:
    if _is_single(tag):
        return unknown(
            "its tag is of one architecture alone", "use the tag of the release, which has them all"
        )
    return unknown("its tag names no release of Flux", "write the release in full, like v2.9.4")


def _is_single(tag: str) -> bool:
    match = _ONE_MACHINE.fullmatch(tag)
    return match is not None and tag_of(match[1]) != ""


def _without_release(image: Reference) -> Told:
    if image.digest:
        return unknown("a digest alone does not tell the release", "put the tag before it: v2.9.4@sha256:…")
    return Told(
        Standing.FLOATING,
        reason="latest: the newest CLI whenever the image is pulled",
        hint="give the tag of a release to keep the CLI within one minor of its clusters",
    )
