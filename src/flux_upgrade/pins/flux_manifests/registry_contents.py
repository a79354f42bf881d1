"""What the registry knows of the artifact flux-manifests, and what a reference to it comes to."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.model.errors import SourceUnavailable, UnsupportedPin, UntrustedArchive
from flux_upgrade.model.oci.manifest import REVISION
from flux_upgrade.model.patterns import BadPattern, search
from flux_upgrade.model.text import enumeration
from flux_upgrade.model.versions import Version, is_tag
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.formats.readings import Reading, floating, not_looked_up, published, unknown
from flux_upgrade.pins.objects.flux_manifests_reference import NO_SEMVER, FluxManifestsReference, doubts
from flux_upgrade.pins.pin import PinState
from flux_upgrade.snapshot.yaml_places import Value, as_number, is_variable

TROUBLE = (SourceUnavailable, UntrustedArchive)  # What the registry, or the source of releases, may raise
_OFFICIAL = ("ghcr.io/fluxcd/flux-manifests", "docker.io/fluxcd/flux-manifests")
_HEADER = "# Components: "
_GAINED = (("v2.9.3", "source-watcher"),)
"""Flux .github/workflows/release.yaml: since when the artifact is made with a component more."""
_KNOWN = "v2.9.4"  # The last release of which that is known
_LATEST = "latest"


def release_of(repository: str, reference: str, context: PinContext) -> str | None:
    """The release that an artifact says it is; empty where it says none. None: there is no such artifact.

    Raises SourceUnavailable, UntrustedArchive.
    """
    annotations = context.artifacts.annotations(repository, reference)
    if annotations is None:
        return None
    # ``v2.9.4@sha1:…``; before Flux v0.40 ``v0.39.0/…`` (Flux RFC-0005).
    tag = annotations.get(REVISION, "").replace("/", "@").partition("@")[0]
    return tag if is_tag(tag) else ""


def new_digest(repository: str, tag: str, target: str, context: PinContext) -> str:
    """The digest of ``tag``, which has to be the release ``target``.

    Raises ReleaseNotFound where there is no such tag (yet), UntrustedArchive where it is
    another release; SourceUnavailable.
    """
    hint = "run again later: Flux pushes it some minutes after the release, and a mirror later"
    digest = published(context.artifacts, repository, tag, hint)
    release = release_of(repository, tag, context)
    if release and release != target:
        raise UntrustedArchive(f"{repository}:{tag} is labeled as {release}", hint="check who pushed it")
    return digest


def require_tag(repository: str, tag: str, target: str, context: PinContext) -> tuple[str, ...]:
    """Make sure that ``tag`` is the release ``target``. Returns a remark if the registry cannot be reached.

    A folder of releases speaks for the artifact that Flux itself publishes, so that a plan can be made offline.
    Raises as ``new_digest``.
    """
    try:
        new_digest(repository, tag, target, context)
    except SourceUnavailable:
        if not context.is_offline or repository not in _OFFICIAL:
            raise
        return (f"The registry is unreachable, so {tag} in {repository} was not checked.",)
    return ()


def require_own_digest(reference: FluxManifestsReference, place: str, context: PinContext) -> None:
    """Raise UnsupportedPin where the tag and the digest do not belong together; as ``new_digest``."""
    if reference.tag is None or reference.digest is None:
        return
    tag, digest = reference.tag.text, reference.digest.text
    actual = context.artifacts.digest(reference.repository, tag)
    if actual == digest:
        return
    why = f"the registry has no {reference.repository}:{tag} for this digest"
    if actual is not None:
        release = release_of(reference.repository, digest, context)
        why = f"the digest does not belong to the tag {tag}, whose digest is {actual}"
        why += f"; it belongs to {release}" if release else ""
    raise UnsupportedPin(f"{place}: {why}", hint="set a tag and a digest that belong together")


def differences(old: str, new: str, context: PinContext) -> Iterator[str]:
    """What the artifact gains or loses as a whole between two releases, a sentence each."""
    before, after = (_components(tag, context) for tag in (old, new))
    if before is None or after is None:
        # Known changes of Flux, if its artifacts cannot be read.
        for since, component in _GAINED:
            if Version(old) < Version(since) <= Version(new):
                yield _gain(component, old, since)
        if Version(new) > Version(_KNOWN):
            yield f"The components in the artifacts of {old} and {new} could not be compared."
        return
    if gained := sorted(after - before):
        yield _gain(enumeration(gained), old, new)
    if lost := sorted(before - after):
        yield f"The artifact of {new} no longer includes {enumeration(lost)}."


def components(tag: str, context: PinContext) -> frozenset[str]:
    """Those that the artifact of a release holds. Raises ReleaseNotFound, SourceUnavailable, UntrustedArchive."""
    held = _components(tag, context)
    if held is not None:
        return held
    later = {component for since, component in _GAINED if Version(tag) < Version(since)}
    return frozenset(context.regenerator.manifests(tag).components) - later


def _gain(names: str, old: str, since: str) -> str:
    return (
        f"As of {since}, the artifact also contains {names}, which {old} does not."
        " If you do not want it, remove it with a patch."
    )


def _components(tag: str, context: PinContext) -> frozenset[str] | None:
    """Of the manifest that Flux published for a release; None where it is not to be had."""
    try:
        text = context.regenerator.published(tag) or ""
    except TROUBLE:
        return None
    for line in text.splitlines()[:10]:
        if line.startswith(_HEADER):
            return frozenset(filter(None, line.removeprefix(_HEADER).strip().split(",")))
    return None


def reading_of(reference: FluxManifestsReference, content: bytes, context: PinContext) -> Reading:
    """What a reference in a file with this content comes to."""
    for reason, hint in doubts(reference):
        return unknown(reason, hint)
    if reference.digest is not None:
        reading = _by_digest(reference, reference.digest.text, context)
        return reading if reference.semver is None else reading._replace(remarks=(NO_SEMVER,))
    if reference.semver is not None:
        reading = _by_range(reference, reference.semver, content, context)
        remarks = () if reference.tag is None else ("spec.ref.tag has no effect together with spec.ref.semver",)
        return reading._replace(remarks=(*remarks, *reading.remarks))
    text = "" if reference.tag is None else reference.tag.text
    if text in ("", _LATEST):
        return floating(
            "it follows the tag latest" if text else "it has no tag, so it follows the tag latest",
            "set a release's tag if flux-upgrade should update it",
        )
    return _located(reference, ranges.tag_of(text), f"the tag {text} is not a Flux release")


def lets_through(pattern: str, tag: str) -> bool:
    """Whether ``spec.ref.semverFilter`` does; False where it cannot be read."""
    if not pattern:
        return True
    try:
        return search(pattern, tag) is not None
    except BadPattern:
        return False


def _by_digest(reference: FluxManifestsReference, digest: str, context: PinContext) -> Reading:
    release: str | None = "" if reference.tag is None else ranges.tag_of(reference.tag.text)
    if release or is_variable(reference.repository):
        return _located(reference, release or "", "the digest's registry is not known")
    # The artifact's own word.
    try:
        release = release_of(reference.repository, digest, context)
    except TROUBLE as error:
        return not_looked_up("the release of the digest", error)
    if not release:
        why = "the artifact with that digest does not show its Flux release"
        if release is None:
            why = f"{reference.repository} has no artifact with that digest"
        return unknown(why, "add the tag that belongs to the digest")
    if reference.tag is not None:
        why = f"the tag {reference.tag.text} is not a Flux release"
        return unknown(why, f"write {release}, which has this digest", release)
    return Reading(PinState.EXACT, release)


def _by_range(reference: FluxManifestsReference, value: Value, content: bytes, context: PinContext) -> Reading:
    text = value.text
    if ranges.is_exact(text):
        return _located(reference, ranges.tag_of(text.lstrip("=v")), f"{text} is not a Flux release")
    number = as_number(value, content)
    if number or ranges.parsed(text) is None:
        return unknown(number or f"{text} is neither a version nor a range", "write it like 2.9.x")
    try:
        tags = [tag for tag in context.regenerator.stable_tags() if lets_through(reference.filter, tag)]
    except TROUBLE as error:
        return unknown(f"the range could not be resolved: {error.message}", error.hint)
    version = ranges.newest(text, tags)
    if not version:
        through = " that spec.ref.semverFilter includes" if reference.filter else ""
        why = f"the range {text} includes no Flux release{through}"
        return unknown(why, "write a range that includes a release")
    admits = f"{text} {'and spec.ref.semverFilter include' if reference.filter else 'includes'}"
    by_itself = f"Flux installs each new release that {admits}, without a pull request"
    reading = _located(reference, version, "")
    if reading.state is PinState.UNKNOWN:
        return reading
    return reading._replace(state=PinState.RANGE, remarks=(by_itself,))


def _located(reference: FluxManifestsReference, version: str, otherwise: str) -> Reading:
    """EXACT, where there is a version and a registry to ask; ``otherwise``: why there is no version."""
    if not version:
        return unknown(otherwise, "write a release's tag, like v2.9.4")
    if is_variable(reference.repository):
        why = "a variable sets the registry, so flux-upgrade cannot query it"
        return unknown(why, "write the registry as plain text, or edit the version yourself", version)
    return Reading(PinState.EXACT, version)
