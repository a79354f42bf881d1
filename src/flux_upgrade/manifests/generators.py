"""Which rules Flux's generator followed, release by release.

The rules are those of ``pkg/manifestgen/install`` in fluxcd/flux2. They are
known for the releases up to the last patch in ``KNOWN_PATCHES``; for a newer one
they are proved first (``render.rules_for``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from flux_upgrade.manifests.options import InstallOptions, ambiguous
from flux_upgrade.model.values import NamedTuple


class Generator(NamedTuple):
    """One set of rules; ``since`` is the first Flux release that had it."""

    since: str
    legacy_order: bool = False  # Documents sorted by kind, apiVersion, namespace, name (kustomize's legacy order)
    pod_labels: bool = False
    """The labels stand on the Deployments' pod templates as well; the feature gate for
    ExternalArtifact is set where source-watcher is installed."""
    storage_host_of_component: bool = False
    """source-watcher serves its artifacts under its own name (fluxcd/flux2 v2.7.2)."""
    runtime_namespace: bool = False  # The events address names the namespace by variable (fluxcd/flux2 v2.7.2)


class Rules(NamedTuple):
    """How one release is rendered, and why that is right."""

    render: Callable[[InstallOptions], str]
    generator: Generator | None  # None where the Flux CLI renders
    evidence: str = ""  # Empty for a release that the rules were compared with; else a sentence for the report
    not_covered: bool = False  # True where the evidence speaks for default flags only


LEGACY = Generator("v0.28.0", legacy_order=True)
GENERATORS = (
    LEGACY,
    Generator("v2.0.0-rc.4"),
    Generator("v2.7.0", pod_labels=True),
    Generator("v2.7.2", pod_labels=True, storage_host_of_component=True, runtime_namespace=True),
)

KNOWN_PATCHES = {0: 1, 1: 2, 2: 3, 3: 0, 4: 0, 5: 1, 6: 4, 7: 5, 8: 8, 9: 4}
"""The last patch of each 2.x minor whose output was compared with Flux's own, byte for byte."""
_RC_KNOWN = 5
_RC_FIFO = 4  # legacy order was dropped in v2.0.0-rc.4

_TAG = re.compile(r"v2\.(\d+)\.(\d+)(?:-rc\.(\d+))?")

# sha256 of the generator's source, in the order of GENERATOR_PATHS, for every
# set that a release of 2.x was made with: facts, with which a new release is
# shown to have unchanged rules without running or reading its code.
GENERATOR_PATHS = (
    "pkg/manifestgen/install/install.go",
    "pkg/manifestgen/install/manifests.go",
    "pkg/manifestgen/install/options.go",
    "pkg/manifestgen/install/templates.go",
    "pkg/manifestgen/manifest.go",
)
_V2_0 = (
    "961292214659abe30932f257160e026cd2136af84939a97075fe71425d894e46",
    "149a42689aa7123b29bccd93409ac5e09effe4bd3de9489d1363082ad4a26339",
    "dd4e46844a41b41f5c480cdd300a3f2476204fb0922f80ead1a8abe1b0fb03f6",
    "4259a2a34051bf2f7a643e6a086ceea89071c0b3784650883f4e4f16f590a84f",
    "664fbb5e5afafd371b60b28ab1ac546dfedd1fd60a966bd009c1644dc9f9ff60",
)
_V2_1 = (
    "500cacf0aeb3a33005daecf31d5f07a066ea9f4b59e1ce6b8f98fe3bf2b17060",
    "ad07cf7f3f26bb19d6846a68d494885bb68cc46ed532415b2900641c44ab31db",
    *_V2_0[2:],
)
_V2_3 = (*_V2_1[:2], "4f9a3bb9401fdca4bc979ca7aa4b4a5c6c7d72fdc267ae1c486da3b06384ff94", *_V2_1[3:])
_V2_7 = (
    *_V2_3[:2],
    "163c34607671d65615cef8eb695b71661d616ff97ac678efef9cbc6517e46372",
    "068e897296d201a9acbb29ccf9e230785c5687ca1dee3f398201cd3c45725a6f",
    _V2_3[4],
)
_V2_7_2 = (
    _V2_7[0],
    "0319db4dec8ce2904d85f5b9ec389bb0fdfda3c2fa0dd8390a08a5cd6d82dc2c",
    _V2_7[2],
    "ef90867f1814aa97ba8054808014fdc485a513f621e95ac0601bd794173f8df4",
    _V2_7[4],
)
_SOURCES = {"v2.0.0": _V2_0, "v2.1.0": _V2_1, "v2.3.0": _V2_3, "v2.7.0": _V2_7, "v2.7.2": _V2_7_2}


def known_generator(tag: str) -> Generator | None:
    """The rules of a release that was compared with Flux's own output; None for any other."""
    match = _TAG.fullmatch(tag)
    if match is None:
        return None
    minor, patch, candidate = int(match[1]), int(match[2]), match[3]
    if candidate is not None:
        if (minor, patch) != (0, 0) or not 1 <= int(candidate) <= _RC_KNOWN:
            return None
        return LEGACY if int(candidate) < _RC_FIFO else GENERATORS[1]
    if patch > KNOWN_PATCHES.get(minor, -1):
        return None
    if (minor, patch) >= (7, 2):
        return GENERATORS[3]
    return GENERATORS[2] if minor == 7 else GENERATORS[1]  # noqa: PLR2004 v2.7.0 and v2.7.1


def generator_of_sources(hashes: dict[str, str]) -> Generator | None:
    """The rules of a generator whose source has these sha256 sums, by path; None: not one we know."""
    found = tuple(hashes.get(path, "") for path in GENERATOR_PATHS)
    return next((known_generator(tag) for tag, known in _SOURCES.items() if found == known), None)


NOTIFICATION = "notification-controller"
SOURCE_WATCHER = "source-watcher"


def metadata(lines: list[str], indent: int, labels: dict[str, str], namespace: str = "", suffix: str = "") -> str:
    """The lines of a ``metadata`` with Flux's labels, namespace and name suffix put in their places.

    ``indent``: of its keys. Raises ValueError for a form that is not Flux's.
    """
    found = dict(sections(lines, indent))
    pad = " " * indent
    first, *existing = found.get("labels", [f"{pad}labels:\n"])
    if first != f"{pad}labels:\n":
        raise ValueError("labels in another form")
    merged = {line.split(":", 1)[0].strip(): line for line in existing}
    merged |= {key: f"{pad}  {key}: {value}\n" for key, value in labels.items()}
    # In byte order, as kustomize writes them.
    found["labels"] = [first, *(merged[key] for key in sorted(merged))]
    if suffix:
        found["name"] = [f"{found['name'][0].rstrip()}{suffix}\n"]
    if namespace:
        found["namespace"] = [f"{pad}namespace: {namespace}\n"]
    return _joined(found)


def _joined(found: dict[str, list[str]]) -> str:
    """The lines of a block mapping, key by key in byte order."""
    return "".join([line for key in sorted(found) for line in found[key]])


def sections(lines: list[str], indent: int) -> Iterator[tuple[str, list[str]]]:
    """The keys of a block mapping at ``indent``, each with all of its lines."""
    key, section = "", list[str]()
    for line in lines:
        if line[:indent].isspace() and line[indent] not in " -":
            if section:
                yield key, section
            key, section = line[indent:].split(":", 1)[0], []
        section.append(line)
    if section:
        yield key, section


def deployment(
    document: str, component: str, options: InstallOptions, generator: Generator, labels: dict[str, str]
) -> str:
    """A controller's Deployment with args, image, node selector, pull secret and tolerations.

    ``document`` has its own metadata in place already. Raises ValueError or
    IndexError for a form that the rules are not made for.
    """
    head, template = _cut(document, "\n  template:\n    metadata:\n")
    pod_metadata, spec = _cut(template, "\n    spec:\n")
    if generator.pod_labels:
        pod_metadata = metadata((pod_metadata + "\n").splitlines(keepends=True), 6, labels)[:-1]
    found = dict(sections(spec.splitlines(keepends=True), 6))
    found["containers"] = _containers(found["containers"], component, options, generator)
    found["nodeSelector"] = ["      nodeSelector:\n", "        kubernetes.io/os: linux\n"]
    if options.image_pull_secret:
        secret = f"      - name: {options.image_pull_secret}\n"
        found["imagePullSecrets"] = ["      imagePullSecrets:\n", secret]
    if options.toleration_keys:
        # The template quotes the key; the emitter keeps quotes only where it must.
        keys = [f'"{key}"' if ambiguous(key) else "'*'" if key == "*" else key for key in options.toleration_keys]
        lines = (f"      - key: {key}\n        operator: Exists\n" for key in keys)
        found["tolerations"] = ["      tolerations:\n", *lines]
    return f"{head}\n  template:\n    metadata:\n{pod_metadata}\n    spec:\n{_joined(found)}"


def _cut(text: str, separator: str) -> tuple[str, str]:
    head, found, tail = text.partition(separator)
    if not found:
        raise ValueError(f"no {separator.rsplit(maxsplit=1)[-1].strip(':')} where one was expected")
    return head, tail


def _containers(lines: list[str], component: str, options: InstallOptions, generator: Generator) -> list[str]:
    """The first container's image, and its arguments.

    These are replaced by position, as the template's JSON patches do. Raises ValueError where another
    flag stands there.
    """
    if lines[1] != "      - args:\n":
        raise ValueError(f"{component}: the first container does not begin with its args")
    args = []
    for line in lines[2:]:
        if not line.startswith("        - "):
            break
        args.append(line.strip().removeprefix("- "))
    rest = lines[2 + len(args) :]
    wanted = [
        ("--watch-all-namespaces", "true" if options.watch_all_namespaces else "false"),
        ("--log-level", options.log_level),
    ]
    domain = options.cluster_domain
    if component != NOTIFICATION:
        namespace = "$(RUNTIME_NAMESPACE)" if generator.runtime_namespace else options.namespace
        address = f"http://{NOTIFICATION}.{namespace}.svc.{domain}./"
        wanted.insert(0, ("--events-addr", address if NOTIFICATION in options.components else ""))
    by_position = dict(enumerate(wanted))
    if component == "source-controller" or (component == SOURCE_WATCHER and generator.pod_labels):
        host = component if generator.storage_host_of_component else "source-controller"
        by_position[6] = "--storage-adv-addr", f"{host}.$(RUNTIME_NAMESPACE).svc.{domain}."
    for position, (flag, value) in by_position.items():
        if args[position].split("=", 1)[0] != flag:
            raise ValueError(f"{component}: argument {position} is not {flag}")
        args[position] = f"{flag}={value}"
    gated = ("helm-controller", "kustomize-controller")
    if generator.pod_labels and SOURCE_WATCHER in options.components and component in gated:
        args.append("--feature-gates=ExternalArtifact=true")
    if options.registry:
        released, asked = f" image: fluxcd/{component}:", f" image: {options.registry}/{component}:"
        rest = [line.replace(released, asked, 1) for line in rest]
    return [*lines[:2], *[f"        - {arg}\n" for arg in args], *rest]
