"""What a bootstrap works with: environment and options → the provider's API, the branch, the cluster."""
# Paths as the user wrote them: os calls, and no pathlib to import.
# ruff: noqa: PTH100

from __future__ import annotations

import os
from dataclasses import replace

from flux_upgrade.adapters.git.checkout import CheckoutLocation
from flux_upgrade.bootstrap.addresses import DEFAULT_HOSTS, url_of
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider
from flux_upgrade.commands.wiring import build_checkout, build_timing
from flux_upgrade.commands.wiring_repository import build_github
from flux_upgrade.commands.wiring_servers import servers_of, where
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from flux_upgrade.adapters.git.remotes import RemoteAccess
    from flux_upgrade.bootstrap.components import RenderedComponents
    from flux_upgrade.bootstrap.request import BootstrapCluster, BootstrapRequest
    from flux_upgrade.config.config import Config
    from flux_upgrade.model.files import Remote
    from flux_upgrade.model.hosting import Hosting
    from flux_upgrade.model.ports import Forge
    from flux_upgrade.pins.regenerate import Regenerator

_GIT_USER = "git"


def build_hosting(environment: Environment, options: BootstrapOptions, *, writes: bool) -> Hosting | None:
    """GitHub's API; None for a provider whose API is not spoken, and without a token."""
    token = environment.tokens.repository
    if options.provider is not Provider.GITHUB or not token or options.oci is not None:
        return None
    from flux_upgrade.adapters.github.hosting import GitHubHosting
    from flux_upgrade.adapters.recording import RecordingHosting

    hosting = GitHubHosting(build_github(environment), repository_of(options), token)
    return hosting if writes else RecordingHosting(hosting, environment.github.server_url)


def repository_of(options: BootstrapOptions) -> str:
    """``owner/name``; empty where the provider has no such names."""
    return f"{options.owner}/{options.repository}" if options.owner else ""


class BootstrapInventory(NamedTuple):
    """One run, as far as it is settled before anybody is asked."""

    environment: Environment  # For the server that the options name
    asked: BootstrapRequest
    url: str  # Of the repository as it was given, not as Flux takes it
    checkout: CheckoutLocation
    release_source: str
    path: str  # The folder that was named
    config: Config
    clusters: tuple[BootstrapCluster, ...]
    regenerator: Regenerator
    components: RenderedComponents

    @property
    def first(self) -> BootstrapOptions:
        """Of the first cluster: repository and branch are the same for all."""
        return self.clusters[0].options

    @property
    def publishes(self) -> bool:
        """Whether the branch on the server is worked on, and not the local checkout."""
        asked = self.asked
        return asked.pull_request or asked.push or asked.create_repository or bool(asked.kubernetes.kubeconfig)


def build_remote(inventory: BootstrapInventory) -> Remote:
    """The branch as it is on the server now. For a dry run, it is only read."""
    from flux_upgrade.adapters.git.remote import GitRemote, ReadOnlyRemote

    environment, options = inventory.environment, inventory.first
    remote = ReadOnlyRemote if inventory.asked.dry_run else GitRemote
    return remote(_reached(inventory), options.branch, _variables(environment), build_timing(environment).now)


def build_pulls(inventory: BootstrapInventory) -> Forge:
    """Where the pull request is opened; for a dry run, a record of it."""
    from flux_upgrade.adapters.recording import RecordingForge

    environment = inventory.environment
    if inventory.first.provider is Provider.GITHUB:
        from flux_upgrade.commands.wiring_repository import github_forge

        forge: Forge = github_forge(environment, repository_of(inventory.first))
    else:
        from flux_upgrade.adapters.git.forge import GitForge
        from flux_upgrade.commands.wiring_repository import masked_forge

        server = _reached(inventory, inventory.config.forge)
        forge = masked_forge(environment, GitForge(server, _variables(environment), build_timing(environment).now))
    return RecordingForge(forge) if inventory.asked.dry_run else forge


def _reached(inventory: BootstrapInventory, flavour: str = "") -> RemoteAccess:
    """Where it is pushed to, and as whom: by the user's own means where a checkout has them."""
    from flux_upgrade.adapters.git.remotes import RemoteAccess, parse

    options, environment = inventory.first, inventory.environment
    # As ``forge`` of the config file names them.
    own = "git" if options.provider is Provider.BITBUCKET_SERVER else str(options.provider)
    server = RemoteAccess(
        "", flavour or own, name=options.author_name, email=options.author_email, is_bearer=options.with_bearer_token
    )
    if options.provider is Provider.GITHUB:
        url = f"{environment.github.server_url}/{repository_of(options)}.git"
        return replace(server, url=url, token=environment.tokens.repository)
    token = environment.tokens.git or inventory.asked.credentials.secrets.own.get(options.provider, "")
    is_git = options.provider is Provider.GIT
    url = inventory.url if is_git else url_of(options._replace(auth=Auth.TOKEN))
    place = inventory.checkout
    remote = build_checkout(environment, place.root).origin() if place.is_checkout else ""
    ways = (url, remote) if remote and where(remote) == where(url) else (url,)
    if token and not _is_known(inventory, url, remote):
        raise UsageError(
            f"only the config file says that the token is for {parse(url).host}",
            hint="add --hostname or --url to the command, so that a changed config file cannot redirect the token",
        )
    way = next((each for each in ways if each.startswith("http")), "")
    if not token or not way:
        return replace(server, url=ways[-1])
    user = parse(ways[-1]).user if ways[-1].startswith("http") else ""
    if options.provider in (Provider.GIT, Provider.BITBUCKET_SERVER):
        # Whose the token is; the default is that of the Flux CLI.
        user = options.username if options.username != _GIT_USER else user or _GIT_USER
    return replace(server, url=way, token=token, user=user)


def _is_known(inventory: BootstrapInventory, url: str, remote: str) -> bool:
    """Whether more than a file in the repository says that a server is the one that a token is for."""
    host, provider = where(url)[0], inventory.first.provider
    is_said = bool({"hostname", "url"} & {*inventory.asked.flags})
    is_runners = servers_of(inventory.environment).get(host) == provider
    known = (DEFAULT_HOSTS.get(provider), where(remote)[0] if remote else "")
    return is_said or is_runners or host in known


def _variables(environment: Environment) -> Mapping[str, str]:
    """What Git is run with, which talks to the one server. What was given beats the machine's own file."""
    ca_file = environment.ca_file
    trusted = {"GIT_SSL_CAINFO": os.path.abspath(ca_file)} if ca_file else {}
    return {**environment.of_programs, **environment.git, **trusted}
