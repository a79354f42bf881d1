"""What an object takes of an artifact of one's own, and where it says so.

OCIRepositories, and the sync of FluxInstances, from which the flux-operator makes one:
source-controller docs/spec/v1/ocirepositories.md; flux-operator internal/builder/templates.go, where
``sync.ref`` becomes ``spec.ref.tag``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.model.oci import SCHEME
from flux_upgrade.model.oci.reference import Address, is_immutable
from flux_upgrade.model.patterns import fits
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.readings import MADE, RESOURCE_SET, TEMPLATE
from flux_upgrade.pins.objects import flux_manifests_reference as parts
from flux_upgrade.pins.objects.flux_distribution import INLINE, INSTANCE, is_instance
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.passages import ENDS
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Step, is_variable

LATEST = "latest"  # What Flux takes where no tag is named
_HUB = frozenset({"docker.io", "index.docker.io", "registry-1.docker.io"})
_URL = re.compile(r"oci://(?P<host>[^/]+)/(?P<path>[^:@]*[^:@/])/?(?P<rest>[:@].*)?")
_PLACEHOLDER = re.compile(r"\$\{[^}]{0,1000}\}|\$[A-Za-z_]\w*|\$\([^)]{0,1000}\)|\{\{.{0,1000}?\}\}|<<.{0,1000}?>>")
_ONE = re.compile(
    r"(?:.*[-_.])?(?:"
    r"v?\d+\.\d+\.\d+(?:[-_.].*)?"  # a release
    r"|(?=[a-f]*\d)[0-9a-f]{7,64}"  # a commit, a checksum, a date
    r")"
)


class ArtifactReference(NamedTuple):
    """An object in the tree that takes the artifact, or may take it."""

    file: File
    stated: parts.FluxManifestsReference
    source: str = ""  # The name of the OCIRepository, also of the one that the flux-operator makes
    instance: str = ""  # The name of the FluxInstance, where it is one
    is_verified: bool = False  # Flux takes nothing without a signature (`spec.verify`)
    is_suspended: bool = False
    is_selective: bool = False  # It takes the layer that `spec.layerSelector` names, which need not be the first
    reason: str = ""  # Why it is unknown what is taken, or why that cannot be changed; else empty
    hint: str = ""
    is_made: bool = False  # What is taken is known, but the object is generated from what stands there

    @property
    def is_known(self) -> bool:
        return self.is_made or not self.reason

    @property
    def path(self) -> str:
        """Of the file, relative to the tree's root."""
        return self.file.path

    @property
    def line(self) -> int:
        """1-based: where the version stands, or else the address."""
        return self.stated.deciding[0].line if self.stated.deciding else self.stated.line

    @property
    def where(self) -> str:
        """Which field of which object, as in ``Pin.where``."""
        return f"{self.stated.place}, {self.stated.field}"

    @property
    def follows(self) -> str:
        """The tag that it goes with, wherever that is moved; empty: it has a digest, or a range."""
        if self.stated.digest is not None or self.stated.semver is not None:
            return ""
        return LATEST if self.stated.tag is None else self.stated.tag.text

    @property
    def is_pinned(self) -> bool:
        """Whether it takes one artifact, until somebody changes it here."""
        return self.stated.digest is not None or names_one(self.follows)


def names_one(tag: str) -> bool:
    """Whether a tag, by its looks, is of one artifact for good: one of ours, a release, a checksum."""
    return is_immutable(tag) or _ONE.fullmatch(tag) is not None


def in_object(file: File, each: Object, address: Address) -> Iterator[ArtifactReference]:
    yield from _of(file, each, address)
    if each.text_at("kind") != "ResourceSet":
        return
    name = f"ResourceSet {each.text_at('metadata', 'name')}"
    for entry in each.entries("spec", "resources"):
        for found in _of(file, each, address, *entry):
            made = found._replace(stated=found.stated._replace(place=f"{name}, {found.stated.place}"))
            if not made.reason:
                made = made._replace(is_made=True, reason=RESOURCE_SET[0], hint=RESOURCE_SET[1])
            yield made
    template = each.at("spec", "resourcesTemplate")
    if template is not None:
        # A block scalar's text begins in the line after its indicator.
        why = "the flux-operator generates the object from a template", "edit the template yourself"
        for line in _lines(template.text, address):
            yield _bare(file, name, template.line + line, address, why)


def in_text(file: File, broken: BrokenDocument, address: Address) -> Iterator[ArtifactReference]:
    """From a document that is no YAML, no more than that there is a reference, and where."""
    for line in _lines(broken.text, address):
        yield _bare(file, "OCIRepository", broken.line + line - 1, address, TEMPLATE)


def _of(file: File, each: Object, address: Address, *above: Step) -> Iterator[ArtifactReference]:
    of = _of_repository if parts.is_repository(each, *above) else _of_sync
    found = of(file, each, address, *above)
    if found is not None:
        yield _judged(found)


def _of_repository(file: File, each: Object, address: Address, *above: Step) -> ArtifactReference | None:
    spec: tuple[Step, ...] = (*above, "spec")
    url = each.text_at(*spec, "url")
    if not _may_be(url, address):
        return None
    match = _URL.fullmatch(url)
    rest = match["rest"] or "" if match else ""
    return ArtifactReference(
        file,
        parts.stated(each, address.repository if _is(url, address) else url, rest, *above),
        source=each.text_at(*above, "metadata", "name"),
        is_verified=_is_something(each, *spec, "verify"),
        is_suspended=each.text_at(*spec, "suspend") == "true",
        is_selective=_is_something(each, *spec, "layerSelector"),
    )


def _of_sync(file: File, each: Object, address: Address, *above: Step) -> ArtifactReference | None:
    kind = each.text_at(*above, "kind")
    values = {"FluxInstance": INSTANCE, "HelmRelease": INLINE}.get(kind)
    if values is None or (kind == "FluxInstance" and not above and not is_instance(each)):
        return None
    sync: tuple[Step, ...] = (*above, *values, "sync")
    url = each.text_at(*sync, "url")
    if each.text_at(*sync, "kind") != "OCIRepository" or not _may_be(url, address):
        return None
    field = ".".join(map(str, (*values, "sync")))
    found = parts.FluxManifestsReference(
        address.repository if _is(url, address) else url,
        each.called(*above),
        each.line_at(*sync, "url"),
        f"{field}.ref",
    )
    match = _URL.fullmatch(url)
    if match is not None and match["rest"]:
        found = found._replace(field=f"{field}.url", problem=parts.NO_PARTS[0], remedy="move it to spec.ref")
    else:
        found = parts.with_parts(found, each.at(*sync, "ref"), None)
    name, namespace = (each.text_at(*above, "metadata", key) for key in ("name", "namespace"))
    made = each.text_at(*sync, "name") or namespace or "flux-system"
    return ArtifactReference(file, found, made, name if kind == "FluxInstance" else "")


def _judged(reference: ArtifactReference) -> ArtifactReference:
    """With the reason why what stands there does not tell what is taken, or is not to be changed."""
    stated = reference.stated
    reason, hint = next(parts.doubts(stated), ("", ""))
    if not stated.problem and is_variable(stated.repository):
        reason = "a variable sets the address, which may be the artifact's"
        hint = "write the address as plain text"
    if not reason and reference.path.endswith(ENDS):
        return reference._replace(is_made=True, reason=MADE[0], hint=MADE[1])
    return reference._replace(reason=reason, hint=hint)


def _bare(file: File, place: str, line: int, address: Address, why: tuple[str, str]) -> ArtifactReference:
    stated = parts.FluxManifestsReference(address.repository, place, line, "spec.url")
    return ArtifactReference(file, stated, reason=why[0], hint=why[1])


def _is_something(each: Object, *path: Step) -> bool:
    # A mapping without a provider verifies, too: the CRD's default is cosign.
    return bool(each.keys(*path)) or each.text_at(*path) not in ("", "~", "null")


def _is(url: str, address: Address) -> bool:
    match = _URL.fullmatch(url)
    return match is not None and (_host(match["host"]), match["path"]) == (_host(address.host), address.path)


def _may_be(url: str, address: Address) -> bool:
    """Whether it is the address, whatever variables in it stand for."""
    if not is_variable(url):
        return _is(url, address)
    literal = "".join(_PLACEHOLDER.split(url.removeprefix(SCHEME))).strip("/")
    # Of a variable alone nobody can tell anything.
    if not literal:
        return False
    pattern = ".+".join(map(re.escape, _PLACEHOLDER.split(url.rstrip("/"))))
    return fits(rf"{pattern}(?:[:@].*)?", f"{SCHEME}{address.repository}")


def _host(name: str) -> str:
    return "docker.io" if name.lower() in _HUB else name.lower()


def _lines(text: str, address: Address) -> Iterator[int]:
    """The lines, 1-based, in which the address stands."""
    if "OCIRepository" not in text:
        return
    pattern = re.compile(rf"^[^#\n]*oci://{re.escape(address.repository)}(?![\w./-]*[\w-])", re.MULTILINE)
    for match in pattern.finditer(text):
        yield text.count("\n", 0, match.end()) + 1
