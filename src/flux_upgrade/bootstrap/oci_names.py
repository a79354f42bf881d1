"""What is called what in a bootstrap from a registry: addresses, objects, files, tags.

Names and layout: fluxcd/flux2, RFC "Flux Bootstrap for OCI-compliant Container Registries". Its tree has
``gotk_components.yaml``, its commands write ``gotk-components.yaml``: that is what a Git repository's
``kustomization.yaml`` refers to, which is to be usable as it is.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from flux_upgrade.bootstrap.options import BootstrapOptions, OciOptions
from flux_upgrade.manifests.options import nearest, refuse
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.oci import reference
from flux_upgrade.model.oci.packing import is_packable
from flux_upgrade.model.oci.reference import Address, parse_address
from flux_upgrade.model.text import repository_path
from flux_upgrade.model.values import NamedTuple

COMPONENTS = "flux-components"
"""The objects that reconcile Flux itself; those of the cluster are named after the namespace."""
COMPONENTS_FILE = "gotk-components.yaml"
KUSTOMIZATION_FILE = "kustomization.yaml"
SYNC_FILE = "gotk-sync.yaml"
GENERIC = "generic"
PROVIDERS = (GENERIC, "aws", "azure", "gcp")
"""Of ``spec.provider``: source-controller, docs/spec/v1/ocirepositories.md, "Provider"."""

_HEX = 12
_LIKE = "oci://ghcr.io/org/flux-manifests:production"


class ArtifactAddresses(NamedTuple):
    """Where the artifacts are."""

    flux: Address
    """Of Flux itself; it has a tag."""
    cluster: Address | None = None
    """Of the cluster's own manifests; it has a tag. None: Flux alone is reconciled."""
    folder: str = ""
    """What the cluster reconciles in its artifact: ``clusters/production``; empty: all of it."""

    @property
    def sync_path(self) -> str:
        """``folder`` as ``spec.path`` has it: ``./clusters/production``."""
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
        problems.append(f"--namespace {COMPONENTS} is taken by the objects that reconcile Flux itself")
    refuse(problems, f"write addresses like {_LIKE}")
    return addresses


def oci_options(options: BootstrapOptions) -> OciOptions:
    """The flags that only a bootstrap from a registry has. Raises UsageError where there are none."""
    if options.oci is None:
        raise UsageError("no artifact is named to bootstrap from", hint="give its address as --url=oci://…")
    return options.oci


def overlay_tag(diff_id: str) -> str:
    """``0123456789ab``: the immutable tag of an artifact without Flux, of its uncompressed layer's digest."""
    return diff_id.removeprefix("sha256:")[:_HEX]


def _address(flag: str, text: str, problems: list[str]) -> Address:
    if not text:
        problems.append(f"{flag} is missing: an address like {_LIKE}")
        return Address("", "")
    try:
        found = parse_address(text)
        reference.require_short(found.tag)
    except UsageError as error:
        problems.append(f"{flag}: {error.message} (like {_LIKE})")
        return Address("", "")
    if not found.tag or found.digest:
        problems.append(f"{flag}: it has to name a tag, and no digest")
    elif reference.is_ours(found.tag):
        problems.append(f"{flag}: the tag {found.tag} is one that never moves; name the one to follow")
    return found


def _problems(oci: OciOptions, addresses: ArtifactAddresses) -> Iterator[str]:
    if oci.provider not in PROVIDERS:
        yield (
            f"--oci-provider '{oci.provider}' is not one of {', '.join(PROVIDERS)}"
            + nearest(oci.provider, PROVIDERS)
        )
    if oci.cluster_path and addresses.cluster is None:
        yield "--cluster-path is given without --cluster-url"
    if addresses.cluster is not None and addresses.flux.path and addresses.cluster == addresses.flux:
        yield "--cluster-url and --url name the same artifact"
    if ".." in oci.cluster_path.split("/") or not is_packable(addresses.overlay_file):
        yield f"--cluster-path '{oci.cluster_path}' is no path inside an artifact"
