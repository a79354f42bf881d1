"""The Flux that an artifact holds already, and what is to be in it: nothing that a person made is lost."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from flux_upgrade.artifacts.pull import Pulled
from flux_upgrade.bootstrap.changes import ManifestPlan
from flux_upgrade.bootstrap.files import Components
from flux_upgrade.bootstrap.oci_names import COMPONENTS_FILE
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import AlreadyBootstrapped
from flux_upgrade.model.oci.packing import Packed, is_packable, pack
from flux_upgrade.model.oci.tar import Kind
from flux_upgrade.model.values import NamedTuple

_MAX_LAYER = 64 * 1024 * 1024
"""Bytes of a layer that is made anew in memory; Flux's own manifest has below 1 MB."""


class Existing(NamedTuple):
    """What a tag stands for, which holds Flux."""

    pulled: Pulled
    files: Mapping[str, bytes]
    """Path in the artifact → content."""
    is_plain: bool
    """It holds nothing else, and can be packed anew."""

    @property
    def components(self) -> str:
        """Path of Flux's manifest."""
        return self.pulled.installation.path


class Wanted(NamedTuple):
    """What is to be in an artifact."""

    manifest: ManifestPlan
    files: Mapping[str, bytes]
    packed: Packed | None
    """The layer with them; None: it is that of ``Existing``."""


def existing(pulled: Pulled, namespace: str) -> Existing:
    """Raises AlreadyBootstrapped for a Flux of another namespace, or at another path of the artifact."""
    path, options = pulled.installation.path, pulled.installation.proof.options
    if path != posixpath.join(namespace, COMPONENTS_FILE):
        raise _taken(pulled, f"holds Flux as {path}, where a bootstrap would not have it")
    if options is not None and options.namespace != namespace:
        raise _taken(pulled, f"holds Flux for the namespace {options.namespace}")
    if pulled.layer.size > _MAX_LAYER:
        raise _taken(pulled, f"holds more than {_MAX_LAYER} bytes")
    entries = pulled.layer.entries()
    is_plain = all(each.kind is Kind.FOLDER or (each.is_file and is_packable(each.name)) for each in entries)
    files = {each.name: pulled.layer.read(each) for each in entries if each.is_file}
    return Existing(pulled, files, is_plain)


def wanted(
    found: Existing,
    install: InstallOptions,
    kustomization: Mapping[str, bytes] | None,
    components: Components,
) -> Wanted:
    """``install.version`` empty: the one that is there is kept; ``kustomization`` None: so is that.

    Raises AlreadyBootstrapped where another kustomization would lose something; and as ``Components.taken``.
    """
    where = f"{found.pulled.address}/{found.components}"
    manifest = components.taken(where, found.files[found.components], install)
    files = dict(found.files)
    if kustomization is not None:
        ours = {posixpath.join(install.namespace, name): text for name, text in kustomization.items()}
        # What the old kustomization had beside it goes with it: the old artifact keeps it.
        beside = f"{install.namespace}/"
        files = {path: text for path, text in files.items() if not path.startswith(beside)} | ours
    files[found.components] = manifest.content
    return Wanted(manifest, files, _packed(found, files))


def _packed(found: Existing, files: Mapping[str, bytes]) -> Packed | None:
    if files == found.files:
        return None
    content = files[found.components]
    if files == {**found.files, found.components: content}:
        spliced = found.pulled.layer.replaced(found.pulled.entry, content)
        return Packed(b"".join(spliced.chunks()), spliced.diff_id)
    if not found.is_plain:
        raise _taken(found.pulled, "holds links or odd names, which another kustomization would lose")
    return pack(files)


def _taken(pulled: Pulled, what: str) -> AlreadyBootstrapped:
    return AlreadyBootstrapped(
        f"{pulled.address} {what}",
        hint=f"name another tag, or take this one further with `flux-upgrade upgrade {pulled.address}`",
    )
