"""What Flux published of a release → manifests that render as the release's own: the way back of ``render``.

Where only the OCI artifact ``flux-manifests`` can be reached, there is no ``manifests.tar.gz``:
there is what Flux rendered from it, with its default flags and nearly every component. Rendering
copies lines and splices a few in, at known places; here they are taken out again. What stays in is
what rendering writes anew whatever stood there (arguments by position, the node selector). Proof, each
time: what was derived has to render to the bytes that it was derived from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from flux_upgrade.manifests.generators import GENERATORS, SOURCE_WATCHER, Generator, known_generator, sections
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.render import header, kind, render, split
from flux_upgrade.model.errors import UnsupportedRelease, UntrustedArchive
from flux_upgrade.model.versions import ReleaseManifests

_PLAIN = InstallOptions(version="")
_SUFFIX = f"-{_PLAIN.namespace}"
_COMPONENTS = re.compile(r"^# Components: ([a-z0-9-]+(?:,[a-z0-9-]+)*)$", re.MULTILINE)
_METADATA = re.compile(r"^metadata:\n((?:  .*\n)+)", re.MULTILINE)
_POD_METADATA = re.compile(r"^  template:\n    metadata:\n((?:      .*\n)+)", re.MULTILINE)
_NAME = re.compile(r"^  name: (\S+)$", re.MULTILINE)
_COMPONENT = re.compile(r"^    app\.kubernetes\.io/component: ([a-z0-9-]+)$", re.MULTILINE)
_REFERENCE = re.compile(r"^(roleRef:\n(?:  .*\n)*?  name: )(\S+)$", re.MULTILINE)
# ``part-of`` stays: on pods it is the release's own, and elsewhere rendering writes it again.
_SPLICED = ("app.kubernetes.io/instance", "app.kubernetes.io/version")
_FLAGS = re.compile(r"^      (imagePullSecrets|tolerations):$", re.MULTILINE)
_HINT = "take an unchanged copy of ghcr.io/fluxcd/flux-manifests, or a release source that has <tag>/manifests.tar.gz"


def at_default_registry(published: str) -> str:
    """A published manifest as it stands in ghcr.io's artifact, whatever registry this copy names.

    Docker Hub's copy names docker.io/fluxcd, a mirror's perhaps itself. Where the controllers are not
    all of one registry, the text stays as it is.
    """
    found = _COMPONENTS.search(published)
    names = "|".join(re.escape(name) for name in found[1].split(",")) if found else "(?!)"
    image = re.compile(rf"^( +image: )(\S+)(/(?:{names}):[^\s@]+)$", re.MULTILINE)
    registries = {match[2] for match in image.finditer(published)}
    if len(registries) != 1:
        return published
    return image.sub(lambda match: f"{match[1]}{_PLAIN.registry}{match[3]}", published)


def derive(tag: str, published: str) -> ReleaseManifests:
    """The manifests of release ``tag``, derived from the ``gotk-components.yaml`` published for it.

    Components that Flux left out of it are missing: source-watcher before v2.9.3. They are never
    ``verified``: Flux publishes no checksum of the artifact beside it. Raises UnsupportedRelease for
    releases before Flux 2 and for those newer than the rules that do not follow any of them;
    UntrustedArchive where the manifest of another is not what Flux publishes.
    """
    if tag.startswith(("v0.", "v1.")):
        raise UnsupportedRelease(f"{tag} is older than Flux 2", hint="render it with the Flux CLI of that version")
    known = known_generator(tag)
    text, why = at_default_registry(published), ""
    for generator in (known,) if known else reversed(GENERATORS):
        try:
            return _derived(tag, text, generator)
        except (ValueError, IndexError, KeyError, UnsupportedRelease) as error:
            why = why or str(error)
    if known is None:
        raise UnsupportedRelease(
            f"{tag} is newer than this flux-upgrade, which cannot reproduce its published manifest: {why}",
            hint="use a newer flux-upgrade, or a release source that has <tag>/manifests.tar.gz",
        )
    raise UntrustedArchive(f"the manifest published for {tag} is not what Flux published: {why}", hint=_HINT)


def _derived(tag: str, text: str, generator: Generator) -> ReleaseManifests:
    """Raises ValueError, IndexError, KeyError, UnsupportedRelease where it cannot be."""
    found = _COMPONENTS.search(text)
    components = tuple(found[1].split(",")) if found else ()
    options = InstallOptions(tag, components=components)
    if not text.startswith(header(options)):
        raise ValueError(f"its header is not that of {tag}")
    namespace, *documents = split(text.removeprefix(header(options)))
    if kind(namespace) != "Namespace":
        raise ValueError("it does not begin with its namespace")
    files = _files(documents, components, generator)
    manifests = ReleaseManifests(tag, files, verified=False)
    if render(manifests, options, generator) != text:
        raise ValueError("it was not generated with Flux's default flags")
    return manifests


def _files(documents: Iterable[str], components: tuple[str, ...], generator: Generator) -> dict[str, str]:
    wanted = {f"{name}.yaml": list[str]() for name in ("policies", "rbac", *components)}
    for number, document in enumerate(documents, start=2):
        component = _COMPONENT.search(_block(document))
        # By the marks that all releases of Flux 2 bear.
        places = [
            *(["policies.yaml"] if kind(document) == "NetworkPolicy" else []),
            *(["rbac.yaml"] if _name(document).endswith(_SUFFIX) else []),
            *([f"{component[1]}.yaml"] if component else []),
        ]
        if len(places) != 1 or places[0] not in wanted:
            raise ValueError(f"its document {number} belongs to none of the release's files, or to several")
        own = _METADATA.sub(lambda match: f"metadata:\n{_own_metadata(match[1], 2)}", document, count=1)
        if kind(own) == "Deployment":
            own = _own_deployment(own, number, components, generator)
        wanted[places[0]].append(own)
    missing = [name for name, contents in wanted.items() if not contents]
    if missing:
        raise ValueError(f"it has nothing of {', '.join(missing)}")
    roles = {_name(role) for role in wanted["rbac.yaml"] if kind(role) == "ClusterRole"}

    def own_reference(match: re.Match[str]) -> str:
        """A binding's reference, without the suffix that it got with the role of that name."""
        name = match[2].removesuffix(_SUFFIX)
        return match[1] + (name if name in roles else match[2])

    wanted["rbac.yaml"] = [_REFERENCE.sub(own_reference, document, count=1) for document in wanted["rbac.yaml"]]
    return {name: "---\n".join(contents) for name, contents in wanted.items()}


def _own_metadata(block: str, indent: int) -> str:
    """Lines of a metadata without the labels, the namespace and the suffix that rendering adds."""
    found = dict(sections(block.splitlines(keepends=True), indent))
    found.pop("namespace", None)
    labels = found.get("labels", [])
    found["labels"] = [line for line in labels if line.strip().split(":", 1)[0] not in _SPLICED]
    if "name" in found:
        found["name"] = [line.removesuffix(f"{_SUFFIX}\n").rstrip() + "\n" for line in found["name"]]
    return "".join(line for lines in found.values() for line in lines)


def _own_deployment(document: str, number: int, components: tuple[str, ...], generator: Generator) -> str:
    name = _name(document)
    if _FLAGS.search(document):
        # Rendering would keep them, so that the proof would not tell.
        raise ValueError(f"its document {number} has a pull secret or tolerations")
    document = document.replace(f" image: {_PLAIN.registry}/{name}:", f" image: fluxcd/{name}:")
    if not re.search(rf"^ +image: fluxcd/{re.escape(name)}:[^\s@]+$", document, re.MULTILINE):
        raise ValueError(f"its document {number} has not the image of the release")
    if not generator.pod_labels:
        return document
    if SOURCE_WATCHER in components and name in ("helm-controller", "kustomize-controller"):
        head, _, tail = document.rpartition("        - --feature-gates=ExternalArtifact=true\n")
        document = head + tail
    return _POD_METADATA.sub(
        lambda match: f"  template:\n    metadata:\n{_own_metadata(match[1], 6)}", document, count=1
    )


def _block(document: str) -> str:
    found = _METADATA.search(document)
    if found is None:
        raise ValueError("a document has no metadata")
    return found[1]


def _name(document: str) -> str:
    found = _NAME.search(_block(document))
    if found is None:
        raise ValueError("an object has no name")
    return found[1]
