"""What an OCIRepository or a FluxInstance takes of the artifact flux-manifests, and where it says so.

source-controller internal/controller/ocirepository_controller.go, getArtifactRef: the digest
goes before semver, semver before the tag, and without any of them it is the tag latest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.formats.ranges import is_nothing
from flux_upgrade.pins.objects.flux_distribution import is_instance
from flux_upgrade.snapshot.yaml_places import Object, Step, Value, is_variable

_OURS = re.compile(r"oci://(?P<repository>.+/flux-manifests)/?(?P<rest>[:@].*)?")
_PARTS = re.compile(r"(?P<tag>[^@]*)(?:@(?P<digest>.*))?")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
SUSPENDED = "spec.suspend is set: Flux installs nothing new until you resume it"
NO_SEMVER = "spec.ref.semver has no effect together with spec.ref.digest"
_API = "source.toolkit.fluxcd.io/"
_FIELDS = ("digest", "semver", "tag")
NO_PARTS = ("Flux accepts no tag and no digest in spec.url", "move it to spec.ref")
"""source-controller docs/spec/v1/ocirepositories.md, "URL"."""
_BETA, _BETA_ENDS = "source.toolkit.fluxcd.io/v1beta2", "v2.8.0"
"""Flux 2.8 release notes: the CRD OCIRepository no longer serves it."""


class FluxManifestsReference(NamedTuple):
    """What is stated of an artifact; None, or empty, what is not."""

    repository: str  # `ghcr.io/fluxcd/flux-manifests`; it may be a variable in part
    place: str  # What holds the parts, as `OCIRepository flux-system/flux-manifests`
    line: int  # 1-based, of the address
    field: str = ""  # The field that has the parts, or the last word in them: `spec.ref.tag`
    tag: Value | None = None
    digest: Value | None = None
    semver: Value | None = None
    filter: str = ""  # `spec.ref.semverFilter`: a regular expression that a tag has to match (Go's)
    api_version: str = ""
    problem: str = ""  # Why it is unknown; empty if it is known
    remedy: str = "write one tag, digest or range as plain text"

    @property
    def deciding(self) -> tuple[Value, ...]:
        """The values that say which release it is, the one that Flux goes by first."""
        if self.semver is not None and self.digest is None:
            return (self.semver,)
        return tuple(each for each in (self.digest, self.tag) if each is not None)

    @property
    def raw(self) -> str:
        if self.semver is not None and self.digest is None:
            return self.semver.text.strip()
        tag = "" if self.tag is None else self.tag.text.strip()
        return tag if self.digest is None else f"{tag}@{self.digest.text}".removeprefix("@")


def of_repository(each: Object, *above: Step) -> FluxManifestsReference | None:
    """Of an OCIRepository, or of what stands at ``above`` and is to become one; None: of another artifact."""
    if not is_repository(each, *above):
        return None
    address = _OURS.fullmatch(each.text_at(*above, "spec", "url"))
    return None if address is None else stated(each, address["repository"], address["rest"] or "", *above)


def is_repository(each: Object, *above: Step) -> bool:
    """Whether it is an OCIRepository, or is to become one."""
    api_version = each.text_at(*above, "apiVersion")
    return each.text_at(*above, "kind") == "OCIRepository" and api_version.startswith(_API)


def stated(each: Object, repository: str, rest: str, *above: Step) -> FluxManifestsReference:
    """What an OCIRepository states of ``repository``. ``rest``: what stands behind that in its address."""
    found = FluxManifestsReference(repository, each.called(*above), each.line_at(*above, "spec", "url"))
    if rest:
        return found._replace(field="spec.url", problem=NO_PARTS[0], remedy=NO_PARTS[1])
    ref: tuple[Step, ...] = (*above, "spec", "ref")
    values = {field: each.at(*ref, field) for field in _FIELDS}
    odd = [field for field in _FIELDS if each.has(*ref, field) and values[field] is None]
    given = [field for field, value in values.items() if not is_nothing(value)]
    found = found._replace(
        field=f"spec.ref.{(given or odd or ['tag'])[0]}",
        api_version=each.text_at(*above, "apiVersion"),
        semver=values["semver"] if "semver" in given else None,
        filter=each.text_at(*ref, "semverFilter"),
        problem=f"spec.ref.{odd[0]} is not text" if odd else "",
    )
    return with_parts(found, values["tag"] if "tag" in given else None, values["digest"] if "digest" in given else None)


def of_instance(each: Object) -> FluxManifestsReference | None:
    """Of a FluxInstance; None: of another artifact, or of none."""
    if not is_instance(each):
        return None
    value = each.at("spec", "distribution", "artifact")
    address = None if value is None else _OURS.fullmatch(value.text)
    if value is None or address is None:
        return None
    found = FluxManifestsReference(address["repository"], each.called(), value.line, "spec.distribution.artifact")
    if value.reason:
        return found._replace(problem=value.reason)
    if not address["rest"]:
        return found
    # An address with a digest alone is read as one with an empty tag.
    colon = 0 if address["rest"].startswith("@") else 1
    return with_parts(found, value.part(address.start("rest") + colon, address.end("rest")), None)


def doubts(found: FluxManifestsReference) -> Iterator[tuple[str, str]]:
    """Why what stands there does not tell what is taken, each with what to do; the first counts."""
    if found.problem:
        yield found.problem, found.remedy
    for value in found.deciding:
        if value.reason:
            yield value.reason, "write the version as plain text"
        if is_variable(value.text):
            yield "a variable sets it", "edit the variable where it is set"
    if found.digest is not None and _DIGEST.fullmatch(found.digest.text) is None:
        yield f"{found.digest.text} is not a digest", "write `sha256:` and 64 hexadecimal digits"


def not_served(found: FluxManifestsReference, target: str) -> Iterator[str]:
    """A sentence about an object that the release no longer takes as it is written."""
    if found.api_version == _BETA and Version(target) >= Version(_BETA_ENDS):
        yield (
            f"The object itself is written as {_BETA}, which Flux serves no longer from"
            f" {_BETA_ENDS} on: write v1 there first."
        )


def with_parts(found: FluxManifestsReference, tag: Value | None, digest: Value | None) -> FluxManifestsReference:
    """A tag may have a digest behind it: ``v2.9.4@sha256:…``, as Renovate pins it."""
    parts = None if tag is None else _PARTS.fullmatch(tag.text)
    if tag is None or parts is None or parts["digest"] is None:
        return found._replace(tag=tag, digest=digest)
    if tag.reason or digest is not None:
        return found._replace(tag=tag, digest=digest, problem=tag.reason or "it has two digests")
    return found._replace(
        tag=tag.part(*parts.span("tag")) if parts["tag"] else None, digest=tag.part(*parts.span("digest"))
    )
