"""The cluster's objects for a bootstrap from a registry: sources, Kustomizations, their Secret.

Objects and intervals: fluxcd/flux2, RFC "Flux Bootstrap for OCI-compliant Container Registries"; form and
order of the keys: as ``flux bootstrap`` writes ``gotk-sync.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.bootstrap.go_formats import line
from flux_upgrade.bootstrap.oci_names import COMPONENTS, GENERIC, ArtifactAddresses, addresses_of, oci_options
from flux_upgrade.bootstrap.options import BootstrapOptions
from flux_upgrade.bootstrap.secrets import docker_secret
from flux_upgrade.bootstrap.sync import GENERATED, SYNC_API, head
from flux_upgrade.manifests.options import refuse
from flux_upgrade.model.errors import UnsupportedRelease
from flux_upgrade.model.hosting import Secret
from flux_upgrade.model.oci import SCHEME
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag

_GROUP = "source.toolkit.fluxcd.io"
_V1_SINCE = "v2.6.0"
"""The first to serve OCIRepository v1; v1beta2 had been there since v0.32, and was gone with v2.8."""
_CA_CRT_SINCE = "v2.1.0"
"""source-controller 1.1; before, an OCIRepository read the key ``caFile``."""
_OLDEST = "v2.0.0-rc.1"
"""The first to serve Kustomization v1."""


class ClusterCredentials(NamedTuple):
    """With what source-controller reads the artifacts; not those that push."""

    username: str = ""
    password: str = ""

    def __repr__(self) -> str:
        """Without the password."""
        return "ClusterCredentials()"

    @property
    def are_given(self) -> bool:
        """Whether there are any; without, the artifacts are public, or a provider's identity reads them."""
        return bool(self.username or self.password)


class _Object(NamedTuple):
    """A source, and the Kustomization that applies what it fetches."""

    name: str
    address: Address
    path: str


def oci_api(version: str) -> str:
    """``apiVersion`` of OCIRepository in a release of Flux. Raises UnsupportedRelease."""
    if not is_tag(version) or Version(version) < Version(_OLDEST):
        raise UnsupportedRelease(
            f"Flux {version} cannot be bootstrapped from a registry",
            hint="take a release of Flux 2: see --version",
        )
    # A release candidate has what its release has.
    is_v1 = Version(version).numbers[:2] >= Version(_V1_SINCE).numbers[:2]
    return f"{_GROUP}/{'v1' if is_v1 else 'v1beta2'}"


def render_oci_sync(options: BootstrapOptions, *, is_public: bool = False) -> str:
    """What is applied to the cluster once Flux runs there. ``options``: with their version chosen.

    ``is_public``: the artifacts are read without credentials. Raises UsageError, UnsupportedRelease.
    """
    source_api = oci_api(options.install.version)
    text = GENERATED
    for each in _objects(options, addresses_of(options)):
        source = _source(options, each, is_public=is_public)
        applied = head(SYNC_API, "Kustomization", each.name, options.namespace)
        text += "---\n" + "".join(head(source_api, "OCIRepository", each.name, options.namespace))
        text += "".join(source) + "---\n" + "".join(applied) + "".join(_kustomization(each))
    return text


def source_secrets(
    options: BootstrapOptions, credentials: ClusterCredentials, ca: str = ""
) -> tuple[Secret, ...]:
    """What both sources refer to: credentials, and an authority of one's own; none where there is neither.

    ``ca``: certificates (PEM), the content of ``--ca-file``. Raises UsageError where the credentials do
    not fit.
    """
    addresses = addresses_of(options)
    secrets = []
    if credentials.are_given:
        refuse(
            _misfits(options, credentials, addresses),
            "leave them out, and make the Secret with `kubectl create secret docker-registry`",
            "the credentials for the cluster cannot be used: ",
        )
        host = addresses.flux.host
        secrets.append(docker_secret(options.secret_name, options.namespace, host, *credentials))
    if ca:
        has_ca_crt = Version(options.install.version).numbers[:2] >= Version(_CA_CRT_SINCE).numbers[:2]
        data = {"ca.crt" if has_ca_crt else "caFile": ca}
        secrets.append(Secret(ca_secret_name(options), options.namespace, data))
    return tuple(secrets)


def ca_secret_name(options: BootstrapOptions) -> str:
    """Of the Secret with the authority of a registry of one's own; ``--ca-file`` says that there is one."""
    return f"{options.secret_name}-ca"


def _misfits(
    options: BootstrapOptions, credentials: ClusterCredentials, addresses: ArtifactAddresses
) -> Iterator[str]:
    if not (credentials.username and credentials.password):
        yield "it takes both a username and a password"
    if oci_options(options).provider != GENERIC:
        yield f"with --oci-provider {oci_options(options).provider}, Flux logs in with an identity of its own"
    if addresses.cluster is not None and addresses.cluster.host != addresses.flux.host:
        yield f"the artifacts are at {addresses.flux.host} and {addresses.cluster.host}: give each its own"


def _objects(options: BootstrapOptions, addresses: ArtifactAddresses) -> Iterator[_Object]:
    # At the top of the artifact kustomize-controller finds the folder's kustomization by itself.
    yield _Object(COMPONENTS, addresses.flux, "./")
    if addresses.cluster is not None:
        yield _Object(options.namespace, addresses.cluster, addresses.sync_path)


def _source(options: BootstrapOptions, each: _Object, *, is_public: bool) -> Iterator[str]:
    oci = oci_options(options)
    if options.ca_file:
        yield "  certSecretRef:\n"
        yield line("    name: ", ca_secret_name(options))
    if oci.allow_insecure_http:
        yield "  insecure: true\n"
    yield line("  interval: ", options.interval)
    if oci.provider != GENERIC:
        yield line("  provider: ", oci.provider)
    yield "  ref:\n"
    yield line("    tag: ", each.address.tag)
    # An identity of the provider's needs none.
    if oci.provider == GENERIC and not is_public:
        yield "  secretRef:\n"
        yield line("    name: ", options.secret_name)
    yield line("  url: ", f"{SCHEME}{each.address.repository}")


def _kustomization(each: _Object) -> Iterator[str]:
    yield "  interval: 1h0m0s\n"
    yield line("  path: ", each.path)
    yield "  prune: true\n  retryInterval: 5m0s\n  sourceRef:\n    kind: OCIRepository\n"
    yield line("    name: ", each.name)
