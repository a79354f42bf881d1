"""The composition root: the environment → adapters, and what is read through them, by small functions."""

# Paths as the user wrote them: os calls, and no pathlib to import.
# ruff: noqa: PTH113, PTH120

from __future__ import annotations

import os
from functools import partial

from flux_upgrade.cli.flags import DEFAULT_SOURCE
from flux_upgrade.config.environment import GITHUB_API, Environment
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.oci import SCHEME
from flux_upgrade.model.timing import LostTime, Timing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yaml import Node

    from flux_upgrade.adapters.git.checkout import Checkout
    from flux_upgrade.adapters.http.client import Client
    from flux_upgrade.adapters.http.egress import Egress
    from flux_upgrade.adapters.local.kustomize import Kustomize
    from flux_upgrade.adapters.oci.chart_credentials import ChartCredentials
    from flux_upgrade.adapters.oci.registry_credentials import CredentialSource
    from flux_upgrade.adapters.oci.repository import RegistryRepository
    from flux_upgrade.config.config import BootstrapConfig
    from flux_upgrade.config.yaml_text import KeyReader, YamlText
    from flux_upgrade.model.files import Worktree
    from flux_upgrade.model.oci.reference import Address
    from flux_upgrade.model.ports import ArtifactRegistry, Artifacts, Charts, FluxCli, Releases
    from flux_upgrade.model.unknown import Unknown
    from flux_upgrade.pins.context import PinContext
    from flux_upgrade.pins.regenerate import Regenerator
    from flux_upgrade.snapshot.snapshot import Snapshot

    Hosts = Callable[[], Egress]  # Which hosts may be asked, settled when the first one is; raises HostNotAllowed

_API_REPOSITORY = "/repos/"
_MAX_CONFIG = 1 << 20
_ELSEWHERE = "; or use a directory as --release-source"
_SOURCE = "the source of Flux releases"


def build_releases(environment: Environment, source: str) -> Releases:
    """``source``: as ``--release-source``. Raises UsageError, SourceUnavailable."""
    if source == DEFAULT_SOURCE or source.startswith(("http://", "https://")):
        return _build_remote(environment, source)
    if source.startswith(SCHEME):
        return _build_mirrored(environment, source)
    if "://" in source:
        raise UsageError(
            f"--release-source '{source}' must be github, a directory, or an http(s) or oci address",
            hint="see `flux-upgrade render --help`",
        )
    from flux_upgrade.adapters.releases.directory import DirectoryReleases

    return DirectoryReleases(source)


def _build_remote(environment: Environment, source: str) -> Releases:
    from flux_upgrade.adapters.http.cache import DownloadCache

    cache = DownloadCache(environment.cache_dir or None)
    if source == DEFAULT_SOURCE:
        source = f"{GITHUB_API}{_API_REPOSITORY}fluxcd/flux2"
    api, marked, repository = source.rstrip("/").partition(_API_REPOSITORY)
    if not marked or repository.count("/") != 1:
        from flux_upgrade.adapters.releases.http import HttpReleases

        return HttpReleases(source, build_client(environment, charged_to=_SOURCE, advice=_ELSEWHERE), cache)
    from flux_upgrade.adapters.releases.http import GitHubReleases
    from flux_upgrade.adapters.releases.registry import FluxManifestsRegistry

    # An Enterprise Server has raw files below /raw; github.com has a host for them.
    raw = "https://raw.githubusercontent.com" if api == GITHUB_API else f"{api.removesuffix('/api/v3')}/raw"
    return GitHubReleases(
        build_client(environment, api, environment.tokens.releases, charged_to=_SOURCE, advice=_ELSEWHERE),
        cache,
        FluxManifestsRegistry(build_client(environment), credentials=build_credentials(environment)),
        repository=repository,
        api_url=api,
        raw_url=raw,
    )


def _build_mirrored(environment: Environment, source: str) -> Releases:
    from flux_upgrade.adapters.http.cache import DownloadCache
    from flux_upgrade.adapters.oci.repository import open_repository
    from flux_upgrade.adapters.releases.registry import Derivation, RegistryReleases
    from flux_upgrade.manifests.derive import at_default_registry, derive
    from flux_upgrade.model.oci.reference import parse_address

    example = "write it like oci://registry.example.com/fluxcd/flux-manifests, without a tag"
    try:
        address = parse_address(source)
    except UsageError as error:
        raise UsageError("--release-source is no address of a registry", hint=example) from error
    if address.tag or address.digest:
        raise UsageError("--release-source names one artifact, not a repository of them", hint=example)
    return RegistryReleases(
        open_repository(build_client(environment), address.repository, build_credentials(environment)),
        DownloadCache(environment.cache_dir or None),
        Derivation(at_default_registry, derive),
        build_timing(environment).now,
    )


def build_artifacts(environment: Environment, hosts: Hosts) -> Artifacts:
    """OCI artifacts in any registry; connected when something is asked of them."""
    from flux_upgrade.adapters.oci.artifacts import RegistryArtifacts

    def connect() -> Callable[[str], RegistryRepository]:
        from flux_upgrade.adapters.oci.repository import open_repository

        client, credentials = build_client(environment, egress=hosts()), build_credentials(environment)
        return lambda name: open_repository(client, name, credentials)

    return RegistryArtifacts(connect)


def build_charts(environment: Environment, hosts: Hosts) -> Charts:
    """Helm charts in any repository; connected when something is asked of them."""
    from flux_upgrade.adapters.oci.artifacts import HelmCharts

    def connect() -> Callable[[str, str], Mapping[str, str]]:
        from flux_upgrade.adapters.oci.charts import chart_versions

        client, credentials = build_client(environment, egress=hosts()), build_chart_credentials(environment)
        return lambda repository, chart: chart_versions(client, repository, chart, credentials)

    return HelmCharts(connect)


def build_registry(environment: Environment, address: Address, *, writes: bool = True) -> ArtifactRegistry:
    """The registry of an artifact; if nothing is to be written, a record of what would be."""
    from flux_upgrade.adapters.oci.artifact_registry import OciArtifactRegistry
    from flux_upgrade.adapters.recording import RecordingRegistry

    registry = OciArtifactRegistry(
        build_client(environment),
        address.host,
        address.path,
        build_credentials(environment, is_asked=True),
        plain_http=environment.registry.plain_http,
    )
    return registry if writes else RecordingRegistry(registry)


def build_credentials(environment: Environment, *, is_asked: bool = False) -> CredentialSource:
    """Those that were given, for the artifact's registry alone; for any other, those of Docker's file.

    ``is_asked``: a file that cannot be used is an error, though nobody named it.
    """
    from flux_upgrade.adapters.oci.registry_credentials import (
        DockerConfig,
        FirstOf,
        ForgivingCredentials,
        GivenCredentials,
    )

    access = environment.registry
    found = DockerConfig(
        access.docker_config or access.found_config,
        environment.search_path,
        access.environment,
        required=bool(access.docker_config),
    )
    # Most of what is pulled is public, and can be had without.
    source = found if access.docker_config or is_asked else ForgivingCredentials(found)
    if not access.host or not access.username:
        return source
    return FirstOf(GivenCredentials(access.host, access.username, access.password), source)


def build_chart_credentials(environment: Environment) -> ChartCredentials:
    """Helm's own, then those that ``build_credentials`` gives for any registry."""
    from flux_upgrade.adapters.oci.chart_credentials import ChartCredentials, HelmRepositories
    from flux_upgrade.adapters.oci.registry_credentials import DockerConfig, FirstOf, ForgivingCredentials

    access = environment.registry
    # `helm registry login` writes the same format as `docker login`.
    own = DockerConfig(access.helm_registry, environment.search_path, access.environment)
    return ChartCredentials(
        HelmRepositories(access.helm_repositories), FirstOf(ForgivingCredentials(own), build_credentials(environment))
    )


def build_client(  # noqa: PLR0913 all but the first have a default
    environment: Environment,
    origin: str = "",
    token: str = "",
    *,
    charged_to: str | None = "",
    egress: Egress | None = None,
    advice: str = "",
) -> Client:
    """An http client whose token goes to one origin alone.

    ``charged_to``: who pays for failed requests; empty: their hosts; None: nobody, so that there is no limit.
    ``egress``: for hosts that the tree names.
    """
    from flux_upgrade.adapters.http.budget import Budget
    from flux_upgrade.adapters.http.cache import EtagCache
    from flux_upgrade.adapters.http.client import Client, Credential

    timing, lost = build_timing(environment), environment.lost or LostTime()
    return Client(
        timing,
        credential=Credential(origin, token) if token else None,
        etags=EtagCache(environment.cache_dir or None),
        ca_file=environment.ca_file or None,
        timeout=timing.patience.request,
        budget=None if charged_to is None else Budget(lost, timing.patience.host, charged_to),
        progress=environment.progress,
        egress=egress,
        advice=advice,
    )


def build_timing(environment: Environment) -> Timing:
    """The clock and the dice that the run was given, or the machine's."""
    if environment.timing is not None:
        return environment.timing
    import random
    import time

    return Timing(now=time.time, sleep=time.sleep, jitter=random.random)


def build_flux(environment: Environment) -> FluxCli:
    from flux_upgrade.adapters.local.programs import LocalFluxCli

    return LocalFluxCli(environment.search_path, environment.of_programs)


def build_regenerator(environment: Environment, releases: Releases) -> Regenerator:
    from flux_upgrade.pins.regenerate import Regenerator

    return Regenerator(releases, build_flux(environment))


def build_pin_context(
    environment: Environment, tree: Snapshot, releases: Releases, hosts: Hosts, *, moves_operator: bool = False
) -> PinContext:
    """Everything that kinds ask about. ``hosts``: which of those that the tree names they may ask.

    ``moves_operator``: as the config file has it.
    """
    from flux_upgrade.adapters.releases.directory import DirectoryReleases
    from flux_upgrade.pins.context import PinContext

    return PinContext(
        tree,
        build_regenerator(environment, releases),
        build_artifacts(environment, hosts),
        build_charts(environment, hosts),
        moves_operator,
        is_offline=isinstance(releases, DirectoryReleases),
    )


def build_snapshot(path: str, environment: Environment | None = None, within: str = "") -> Snapshot:
    """Return the files below a path, or one file, as a part of its checkout.

    ``environment``: to run Git with; None: Git is not run. ``within``: the directory that is taken for the
    checkout where there is none, if the path is in it. Raises UsageError if there is nothing at the path.
    """
    from flux_upgrade.adapters.git.checkout import find, head_of, is_sparse
    from flux_upgrade.adapters.local.files import Directory
    from flux_upgrade.snapshot.snapshot import Location, Snapshot

    place, is_file = find(path, within), os.path.isfile(path)
    below = os.path.dirname(place.prefix) if is_file else place.prefix
    part = f"{below}/" if below else ""
    location = Location(
        place.root, is_checkout=place.is_checkout, is_sparse=is_sparse(place.root), head=head_of(place.root)
    )
    uncommitted = partial(_uncommitted, environment, place.root)
    if not part and not is_file:
        return Snapshot(Directory(path), location, uncommitted=uncommitted)
    source = Directory(path, lambda name: repository.read(part + name))
    repository = Snapshot(Directory(place.root), location, uncommitted=uncommitted)
    return Snapshot(source, location._replace(part=part, is_file=is_file), repository, uncommitted)


def _uncommitted(environment: Environment | None, root: str) -> frozenset[str] | Unknown:
    from flux_upgrade.model.unknown import Unknown

    return Unknown("Git was not asked") if environment is None else build_checkout(environment, root).uncommitted()


def build_worktree(path: str, *, writes: bool) -> Worktree:
    """Where changes go: the tree; if nothing is to be written, a record of them."""
    from flux_upgrade.adapters.local.worktree import DirectoryWorktree
    from flux_upgrade.adapters.recording import RecordingWorktree

    worktree = DirectoryWorktree(path)
    return worktree if writes else RecordingWorktree(worktree)


def build_kustomize(environment: Environment) -> Kustomize | None:
    """What builds a kustomization on this machine; None: nothing does."""
    from flux_upgrade.adapters.local import kustomize

    return kustomize.find(environment.search_path, environment.of_programs)


def _read_bootstrap_key(name: str, node: Node, source: YamlText) -> BootstrapConfig | None:
    from flux_upgrade.bootstrap.config_keys import read

    return read(name, node, source)


KEY_READERS: dict[str, KeyReader] = {"bootstrap": _read_bootstrap_key}
"""Of the config file: what reads the keys that another room owns, imported where a file has them."""


def read_text(path: str, hint: str, limit: int = _MAX_CONFIG, snapshot: Snapshot | None = None) -> str:
    """Read a file of the user's that has to exist; bytes that are not UTF-8 as PEP 383 has it. Raises UsageError.

    ``snapshot``: the repository, which may have read it already.
    """
    from flux_upgrade.adapters.local.files import read_regular

    if snapshot is not None:
        name = os.path.relpath(os.path.realpath(path), snapshot.location.root)
        content = snapshot.repository.content(name) if not name.startswith("..") else None
        if content is not None and len(content) <= limit:
            return content.decode("utf-8", "surrogateescape")
    try:
        return read_regular(path, limit).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint=hint) from error


def build_checkout(environment: Environment, root: str) -> Checkout:
    """The user's checkout, as far as Git knows it."""
    from flux_upgrade.adapters.git.checkout import Checkout

    return Checkout(root, environment.of_programs, environment.workspace)
