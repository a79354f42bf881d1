"""What a bootstrap works with: settings and options → the provider's API, the branch, the cluster."""
# Paths as the user wrote them: os calls, and no pathlib to import.
# ruff: noqa: PTH100

from __future__ import annotations

import os
from dataclasses import replace

from flux_upgrade.adapters.git.checkout import CheckoutLocation
from flux_upgrade.bootstrap.addresses import DEFAULT_HOSTS, url_of
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider
from flux_upgrade.cli.options import Settings
from flux_upgrade.commands.wiring import build_checkout, build_timing
from flux_upgrade.commands.wiring_repository import build_github
from flux_upgrade.commands.wiring_servers import servers_of, where
from flux_upgrade.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from flux_upgrade.adapters.git.remotes import RemoteAccess
    from flux_upgrade.bootstrap.secrets import SecretPlace
    from flux_upgrade.config.config import Config
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


def build_hosting(settings: Settings, options: BootstrapOptions) -> Hosting | None:
    """GitHub's API; None for a provider whose API is not spoken, and without a token."""
    if options.provider is not Provider.GITHUB or not settings.tokens.repository or options.oci is not None:
        return None
    from flux_upgrade.adapters.github.hosting import GitHubHosting

    hosting = GitHubHosting(build_github(settings), repository_of(options), settings.tokens.repository)
    if not settings.dry_run:
        return hosting
    from flux_upgrade.adapters.recording import RecordingHosting

    return RecordingHosting(hosting, settings.github.server_url)


def repository_of(options: BootstrapOptions) -> str:
    """``owner/name``; empty where the provider has no such names."""
    return f"{options.owner}/{options.repository}" if options.owner else ""


def build_remote(settings: Settings, options: BootstrapOptions, place: CheckoutLocation) -> Remote:
    """The branch as it is on the server now. For a dry run, it is only read."""
    from flux_upgrade.adapters.git.remote import GitRemote

    server = _reached(settings, options, place)
    remote = GitRemote(server, options.branch, _environment(settings), build_timing(settings).now)
    if not settings.dry_run:
        return remote
    from flux_upgrade.adapters.recording import RecordingRemote

    return RecordingRemote(remote)


def build_pulls(
    settings: Settings, options: BootstrapOptions, config: Config, place: CheckoutLocation
) -> Forge:
    """Where the pull request is opened; for a dry run, a record of it."""
    forge = _forge(settings, options, config, place)
    if not settings.dry_run:
        return forge
    from flux_upgrade.adapters.recording import RecordingForge

    return RecordingForge(forge)


def _forge(settings: Settings, options: BootstrapOptions, config: Config, place: CheckoutLocation) -> Forge:
    if options.provider is Provider.GITHUB:
        from flux_upgrade.commands.wiring_repository import github_forge

        return github_forge(settings, repository_of(options))
    from flux_upgrade.adapters.git.forge import GitForge

    server = _reached(settings, options, place, config.forge)
    return GitForge(server, _environment(settings), build_timing(settings).now)


def _reached(
    settings: Settings, options: BootstrapOptions, place: CheckoutLocation, flavour: str = ""
) -> RemoteAccess:
    """Where it is pushed to, and as whom: by the user's own means where a checkout has them."""
    from flux_upgrade.adapters.git.remotes import RemoteAccess, parse

    own = settings.bootstrap.secrets.own if settings.bootstrap is not None else {}
    server = RemoteAccess(
        "",
        flavour or _FLAVOURS[options.provider],
        name=options.author_name,
        email=options.author_email,
        is_bearer=options.with_bearer_token,
    )
    if options.provider is Provider.GITHUB:
        url = f"{settings.github.server_url}/{repository_of(options)}.git"
        return replace(server, url=url, token=settings.tokens.repository)
    token = settings.tokens.git or own.get(options.provider, "")
    is_git = options.provider is Provider.GIT
    url = settings.repository if is_git else url_of(options._replace(auth=Auth.TOKEN))
    remote = build_checkout(settings, place).origin() if place.is_checkout else ""
    ways = (url, remote) if remote and where(remote) == where(url) else (url,)
    if token and not _is_known(settings, options, url, remote):
        raise UsageError(
            f"the config file alone says that the token is for {parse(url).host}",
            hint="say it with the command: --hostname, or --url; whoever wrote that file would be given it",
        )
    if token and (way := next((each for each in ways if each.startswith("http")), "")):
        user = parse(ways[-1]).user if ways[-1].startswith("http") else ""
        return replace(server, url=way, token=token, user=_user(options, user))
    return replace(server, url=ways[-1])


def _is_known(settings: Settings, options: BootstrapOptions, url: str, remote: str) -> bool:
    """Whether more than a file in the repository says that a server is the one that a token is for."""
    asked, host = settings.bootstrap, where(url)[0]
    is_said = asked is not None and bool({"hostname", "url"} & {*asked.flags})
    is_runners = servers_of(settings).get(host) == options.provider
    return (
        is_said
        or is_runners
        or host in (DEFAULT_HOSTS.get(options.provider), where(remote)[0] if remote else "")
    )


def _user(options: BootstrapOptions, found: str) -> str:
    """Whose the token is; ``found``: by the checkout's remote. The default is that of the Flux CLI."""
    if options.provider not in (Provider.GIT, Provider.BITBUCKET_SERVER):
        return found
    return options.username if options.username != _GIT_USER else found or _GIT_USER


def _environment(settings: Settings) -> Mapping[str, str]:
    """What Git is run with, which talks to the one server. What was given beats the machine's own file."""
    trusted = {"GIT_SSL_CAINFO": os.path.abspath(settings.ca_file)} if settings.ca_file else {}
    return {"HOME": settings.home, "PATH": settings.search_path, **settings.git, **trusted}


def build_place(settings: Settings, path: str, checkout: CheckoutLocation) -> SecretPlace:
    """A file for Secrets outside of the checkout; for a dry run, it is only read. Raises UsageError."""
    from flux_upgrade.adapters.local.secret_file import SecretFile

    found = SecretFile(path, (checkout.root,))
    if not settings.dry_run:
        return found
    from flux_upgrade.bootstrap.secrets import ReadOnlyPlace

    return ReadOnlyPlace(found)


def build_cluster(settings: Settings, kubeconfig: str, context: str) -> KubernetesApi:
    """The cluster of a kubeconfig. Raises UsageError, ClusterUnavailable."""
    from flux_upgrade.adapters.kubernetes.connect import connect

    return connect(kubeconfig, context, build_timing(settings))
