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
    from flux_upgrade.bootstrap.request import BootstrapRequest
    from flux_upgrade.bootstrap.secrets import SecretPlace
    from flux_upgrade.model.files import Remote
    from flux_upgrade.model.hosting import Hosting
    from flux_upgrade.model.kubernetes_objects import KubernetesApi
    from flux_upgrade.model.ports import Forge

_FLAVOURS = {
    Provider.GITHUB: "github",
    Provider.GITLAB: "gitlab",
    Provider.GITEA: "gitea",
    Provider.BITBUCKET_SERVER: "git",
    Provider.GIT: "git",
}
"""The names that ``forge`` of the config file has for them."""
_GIT_USER = "git"


def build_hosting(environment: Environment, options: BootstrapOptions, *, writes: bool) -> Hosting | None:
    """GitHub's API; None for a provider whose API is not spoken, and without a token."""
    token = environment.tokens.repository
    if options.provider is not Provider.GITHUB or not token or options.oci is not None:
        return None
    from flux_upgrade.adapters.github.hosting import GitHubHosting

    hosting = GitHubHosting(build_github(environment), repository_of(options), token)
    if writes:
        return hosting
    from flux_upgrade.adapters.recording import RecordingHosting

    return RecordingHosting(hosting, environment.github.server_url)


def repository_of(options: BootstrapOptions) -> str:
    """``owner/name``; empty where the provider has no such names."""
    return f"{options.owner}/{options.repository}" if options.owner else ""


class BootstrapTarget(NamedTuple):
    """The repository that is set up, and what says how it is reached."""

    environment: Environment
    """For the server that the options name."""
    asked: BootstrapRequest
    options: BootstrapOptions
    """Of the first cluster."""
    url: str
    """As it was given, not as Flux takes it."""
    checkout: CheckoutLocation


def build_remote(target: BootstrapTarget) -> Remote:
    """The branch as it is on the server now. For a dry run, it is only read."""
    from flux_upgrade.adapters.git.remote import GitRemote

    environment = target.environment
    now = build_timing(environment).now
    remote = GitRemote(_reached(target), target.options.branch, _variables(environment), now)
    if not target.asked.dry_run:
        return remote
    from flux_upgrade.adapters.recording import RecordingRemote

    return RecordingRemote(remote)


def build_pulls(target: BootstrapTarget, flavour: str) -> Forge:
    """Where the pull request is opened; for a dry run, a record of it. ``flavour``: as ``Config.forge``."""
    forge = _forge(target, flavour)
    if not target.asked.dry_run:
        return forge
    from flux_upgrade.adapters.recording import RecordingForge

    return RecordingForge(forge)


def _forge(target: BootstrapTarget, flavour: str) -> Forge:
    environment = target.environment
    if target.options.provider is Provider.GITHUB:
        from flux_upgrade.commands.wiring_repository import github_forge

        return github_forge(environment, repository_of(target.options))
    from flux_upgrade.adapters.git.forge import GitForge

    server = _reached(target, flavour)
    return GitForge(server, _variables(environment), build_timing(environment).now)


def _reached(target: BootstrapTarget, flavour: str = "") -> RemoteAccess:
    """Where it is pushed to, and as whom: by the user's own means where a checkout has them."""
    from flux_upgrade.adapters.git.remotes import RemoteAccess, parse

    options, environment = target.options, target.environment
    server = RemoteAccess(
        "",
        flavour or _FLAVOURS[options.provider],
        name=options.author_name,
        email=options.author_email,
        is_bearer=options.with_bearer_token,
    )
    if options.provider is Provider.GITHUB:
        url = f"{environment.github.server_url}/{repository_of(options)}.git"
        return replace(server, url=url, token=environment.tokens.repository)
    token = environment.tokens.git or target.asked.secrets.own.get(options.provider, "")
    is_git = options.provider is Provider.GIT
    url = target.url if is_git else url_of(options._replace(auth=Auth.TOKEN))
    place = target.checkout
    remote = build_checkout(environment, place).origin() if place.is_checkout else ""
    ways = (url, remote) if remote and where(remote) == where(url) else (url,)
    if token and not _is_known(target, url, remote):
        raise UsageError(
            f"the config file alone says that the token is for {parse(url).host}",
            hint="say it with the command: --hostname, or --url; whoever wrote that file would be given it",
        )
    if token and (way := next((each for each in ways if each.startswith("http")), "")):
        user = parse(ways[-1]).user if ways[-1].startswith("http") else ""
        return replace(server, url=way, token=token, user=_user(options, user))
    return replace(server, url=ways[-1])


def _is_known(target: BootstrapTarget, url: str, remote: str) -> bool:
    """Whether more than a file in the repository says that a server is the one that a token is for."""
    host, provider = where(url)[0], target.options.provider
    is_said = bool({"hostname", "url"} & {*target.asked.flags})
    is_runners = servers_of(target.environment).get(host) == provider
    known = (DEFAULT_HOSTS.get(provider), where(remote)[0] if remote else "")
    return is_said or is_runners or host in known


def _user(options: BootstrapOptions, found: str) -> str:
    """Whose the token is; ``found``: by the checkout's remote. The default is that of the Flux CLI."""
    if options.provider not in (Provider.GIT, Provider.BITBUCKET_SERVER):
        return found
    return options.username if options.username != _GIT_USER else found or _GIT_USER


def _variables(environment: Environment) -> Mapping[str, str]:
    """What Git is run with, which talks to the one server. What was given beats the machine's own file."""
    ca_file = environment.ca_file
    trusted = {"GIT_SSL_CAINFO": os.path.abspath(ca_file)} if ca_file else {}
    return {**environment.of_programs, **environment.git, **trusted}


def build_place(path: str, checkout: CheckoutLocation, *, writes: bool) -> SecretPlace:
    """A file for Secrets outside of the checkout; else it is only read. Raises UsageError."""
    from flux_upgrade.adapters.local.secret_file import SecretFile

    found = SecretFile(path, (checkout.root,))
    if writes:
        return found
    from flux_upgrade.bootstrap.secrets import ReadOnlyPlace

    return ReadOnlyPlace(found)


def build_cluster(environment: Environment, kubeconfig: str, context: str) -> KubernetesApi:
    """The cluster of a kubeconfig. Raises UsageError, ClusterUnavailable."""
    from flux_upgrade.adapters.kubernetes.connect import connect

    return connect(kubeconfig, context, build_timing(environment))
