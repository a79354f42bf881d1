"""A bootstrap from a registry: its addresses, files and tags, and the cluster's objects and Secrets.

Names and layout: fluxcd/flux2, RFC "Flux Bootstrap for OCI-compliant Container Registries". Its tree has
``gotk_components.yaml``, its commands write ``gotk-components.yaml``: that is what a Git repository's
``kustomization.yaml`` refers to, which is to be usable as it is. Objects and intervals are the RFC's; form
and order of the keys are those that ``flux bootstrap`` writes ``gotk-sync.yaml`` in.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from flux_upgrade.bootstrap.go_formats import line
from flux_upgrade.bootstrap.options import KUSTOMIZATION_FILE, BootstrapOptions, OciOptions
from flux_upgrade.bootstrap.secrets import docker_secret
from flux_upgrade.bootstrap.sync import GENERATED, SYNC_API, head
from flux_upgrade.manifests.options import refuse
from flux_upgrade.model.errors import UnsupportedRelease, UsageError
from flux_upgrade.model.hosting import Secret
from flux_upgrade.model.kubernetes_objects import SOURCES
from flux_upgrade.model.oci import SCHEME, reference
from flux_upgrade.model.oci.packing import is_packable
from flux_upgrade.model.oci.reference import Address, parse_address
from flux_upgrade.model.text import repository_path
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag

COMPONENTS = "flux-components"
"""The objects that reconcile Flux itself; those of the cluster are named after the namespace."""
GENERIC = "generic"
"""Of ``spec.provider``: any registry, with credentials. The others log in with an identity of their own."""
_V1_SINCE = "v2.6.0"  # The first to serve OCIRepository v1; v1beta2 had been there since v0.32, and was gone with v2.8
_CA_CRT_SINCE = "v2.1.0"  # source-controller 1.1; before, an OCIRepository read the key `caFile`
_OLDEST = "v2.0.0-rc.1"  # The first to serve Kustomization v1
_LIKE = "oci://ghcr.io/org/flux-manifests:production"


class ArtifactAddresses(NamedTuple):
    """Where the artifacts are."""

    flux: Address  # Of Flux itself; it has a tag
    cluster: Address | None = None  # Of the cluster's own manifests; it has a tag. None: Flux alone is reconciled.
    folder: str = ""  # What the cluster reconciles in its artifact: `clusters/production`; empty: all of it

    @property
    def sync_path(self) -> str:
        return f"./{self.folder}"

    @property
    def overlay_file(self) -> str:
        """The kustomization in the cluster's artifact that is there before anything else is."""
        return posixpath.join(self.folder, KUSTOMIZATION_FILE)


def addresses_of(options: BootstrapOptions) -> ArtifactAddresses:
    """``options``: with ``oci``. Raises UsageError for whatever is wrong with it, all at once."""
    oci = oci_options(options)
    problems: list[str] = []
    flux = _address("--url", oci.url, problems)
    cluster = _address("--cluster-url", oci.cluster_url, problems) if oci.cluster_url else None
    folder = repository_path(oci.cluster_path)
    addresses = ArtifactAddresses(flux, cluster, folder)
    problems += _problems(oci, addresses)
    if cluster is not None and options.namespace == COMPONENTS:
        problems.append(f"--namespace {COMPONENTS} is reserved for the objects that reconcile Flux")
    refuse(problems, f"write an address such as {_LIKE}")
    return addresses


def oci_options(options: BootstrapOptions) -> OciOptions:
    """The flags that only a bootstrap from a registry has. Raises UsageError where there are none."""
    if options.oci is None:
        raise UsageError("the address of the artifact is missing", hint="add --url=oci://…")
    return options.oci


def _address(flag: str, text: str, problems: list[str]) -> Address:
    if not text:
        problems.append(f"{flag} is missing: use an address such as {_LIKE}")
        return Address("", "")
    try:
        found = parse_address(text)
        reference.require_short(found.tag)
    except UsageError as error:
        problems.append(f"{flag}: {error.message} (such as {_LIKE})")
        return Address("", "")
    if not found.tag or found.digest:
        problems.append(f"{flag} must have a tag and no digest")
    elif reference.is_ours(found.tag):
        problems.append(f"{flag}: the tag {found.tag} never moves; use the tag that Flux follows")
    return found


def _problems(oci: OciOptions, addresses: ArtifactAddresses) -> Iterator[str]:
    if oci.cluster_path and addresses.cluster is None:
        yield "--cluster-path needs --cluster-url"
    if addresses.cluster is not None and addresses.flux.path and addresses.cluster == addresses.flux:
        yield "--cluster-url and --url are the same artifact"
    if ".." in oci.cluster_path.split("/") or not is_packable(addresses.overlay_file):
        yield f"--cluster-path '{oci.cluster_path}' is not a path inside the artifact"


def oci_api(version: str) -> str:
    """``apiVersion`` of OCIRepository in a release of Flux. Raises UnsupportedRelease."""
    if not is_tag(version) or Version(version) < Version(_OLDEST):
        raise UnsupportedRelease(
            f"Flux {version} cannot be bootstrapped from a registry", hint="use a release of Flux 2: see --version"
        )
    # A release candidate has what its release has.
    is_v1 = Version(version).numbers[:2] >= Version(_V1_SINCE).numbers[:2]
    return f"{SOURCES}/{'v1' if is_v1 else 'v1beta2'}"


def render_oci_sync(options: BootstrapOptions) -> str:
    """What is applied to the cluster once Flux runs there. ``options``: with their version chosen.

    Raises UsageError, UnsupportedRelease.
    """
    source_api, addresses = oci_api(options.install.version), addresses_of(options)
    # At the top of the artifact kustomize-controller finds the folder's kustomization by itself.
    objects = [(COMPONENTS, addresses.flux, "./")]
    if addresses.cluster is not None:
        objects.append((options.namespace, addresses.cluster, addresses.sync_path))
    text = GENERATED
    for name, address, path in objects:
        source = (*head(source_api, "OCIRepository", name, options.namespace), *_source(options, address))
        applied = (*head(SYNC_API, "Kustomization", name, options.namespace), *_kustomization(name, path))
        text += "---\n" + "".join(source) + "---\n" + "".join(applied)
    return text


def source_secrets(options: BootstrapOptions, username: str, password: str, ca: str = "") -> tuple[Secret, ...]:
    """What both sources refer to: credentials, and an authority of one's own; none where there is neither.

    ``username``, ``password``: with what source-controller reads the artifacts, not what pushes them; both
    empty where the artifacts are public, or a provider's identity reads them. ``ca``: certificates (PEM),
    the content of ``--ca-file``. Raises UsageError where the credentials do not fit.
    """
    provider, addresses = oci_options(options).provider, addresses_of(options)
    secrets = []
    if username or password:
        problems = []
        if not (username and password):
            problems.append("both a username and a password are required")
        if provider != GENERIC:
            problems.append(f"with --oci-provider {provider}, Flux uses its cloud identity")
        if addresses.cluster is not None and addresses.cluster.host != addresses.flux.host:
            hosts = f"{addresses.flux.host} and {addresses.cluster.host}"
            problems.append(f"the artifacts are on {hosts}, which need separate credentials")
        refuse(
            problems,
            "omit them, and create the Secret with `kubectl create secret docker-registry`",
            "the credentials for the cluster cannot be used: ",
        )
        host = addresses.flux.host
        secrets.append(docker_secret(options.secret_name, options.namespace, host, username, password))
    if ca:
        has_ca_crt = Version(options.install.version).numbers[:2] >= Version(_CA_CRT_SINCE).numbers[:2]
        data = {"ca.crt" if has_ca_crt else "caFile": ca}
        secrets.append(Secret(f"{options.secret_name}-ca", options.namespace, data))
    return tuple(secrets)


def _source(options: BootstrapOptions, address: Address) -> Iterator[str]:
    oci = oci_options(options)
    if options.ca_file:
        yield "  certSecretRef:\n"
        yield line("    name: ", f"{options.secret_name}-ca")
    if oci.allow_insecure_http:
        yield "  insecure: true\n"
    yield line("  interval: ", options.interval)
    if oci.provider != GENERIC:
        yield line("  provider: ", oci.provider)
    yield "  ref:\n"
    yield line("    tag: ", address.tag)
    # An identity of the provider's needs none.
    if oci.provider == GENERIC:
        yield "  secretRef:\n"
        yield line("    name: ", options.secret_name)
    yield line("  url: ", f"{SCHEME}{address.repository}")


def _kustomization(name: str, path: str) -> Iterator[str]:
    yield "  interval: 1h0m0s\n"
    yield line("  path: ", path)
    yield "  prune: true\n  retryInterval: 5m0s\n  sourceRef:\n    kind: OCIRepository\n"
    yield line("    name: ", name)
