"""What a bootstrap works with: settings and options → the provider's API, the branch, the cluster."""

from __future__ import annotations

from flux_upgrade.access import GITHUB_API, GitHub
from flux_upgrade.bootstrap.addresses import DEFAULT_HOSTS, host_of, url_of
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider
from flux_upgrade.build import build_checkout, build_client, build_timing
from flux_upgrade.edges.checkout import Place
from flux_upgrade.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from flux_upgrade.bootstrapping.places import Place as SecretPlace
    from flux_upgrade.config import Config
    from flux_upgrade.edges.kustomize import Kustomize
    from flux_upgrade.ports import Cluster, Forge, Hosting, Remote

_FLAVOURS = {
    Provider.GITHUB: "github",
    Provider.GITLAB: "gitlab",
    Provider.GITEA: "gitea",
    Provider.BITBUCKET_SERVER: "git",
    Provider.GIT: "git",
}
"""The names that ``forge`` of the config file has for them."""
_PROVIDERS = {"github": "github", "gitlab": "gitlab", "gitea": "gitea", "forgejo": "gitea"}


def known_of(settings: Settings, place: Place) -> Mapping[str, str]:
    """What the checkout's remote tells: provider, owner, repository, hostname, url."""
    url = build_checkout(settings, place).origin() if place.is_checkout else ""
    return known_of_url(settings, url) if url else {}


def known_of_url(settings: Settings, url: str) -> Mapping[str, str]:
    """What the address of a remote tells; nothing where it is a folder."""
    from flux_upgrade.edges.forges.remotes import flavour_of, parse, repository_of

    address = parse(url)
    if not address.host:
        return {}
    runner = {**settings.git, "GITHUB_SERVER_URL": settings.github.server_url}
    provider = _PROVIDERS.get(flavour_of(url, runner), "")
    owner, _, name = repository_of(url).rpartition("/")
    known = {"owner": owner, "repository": name}
    if provider not in DEFAULT_HOSTS or address.host != DEFAULT_HOSTS[Provider(provider)]:
        known["hostname"] = address.host
    return {**known, "provider": provider} if provider else {"url": url, "provider": str(Provider.GIT)}


def at_host(settings: Settings, options: BootstrapOptions) -> Settings:
    """``settings`` for the GitHub that ``--hostname`` names, whose token goes to no other."""
    from flux_upgrade.edges.forges.remotes import parse

    host = host_of(options).partition(":")[0]
    if options.provider is not Provider.GITHUB or host == parse(settings.github.server_url).host:
        return settings
    server = f"https://{host}"
    tokens = settings.tokens
    api = GitHub(server, f"{server}/api/v3", f"{server}/api/graphql")
    if host == DEFAULT_HOSTS[Provider.GITHUB]:
        api = GitHub()
    # Where there is one token for both, it was meant for the server that the environment names.
    releases = tokens.releases if tokens.releases != tokens.repository or api.api_url == GITHUB_API else ""
    return settings._replace(github=api, tokens=tokens._replace(releases=releases))


def build_hosting(settings: Settings, options: BootstrapOptions) -> Hosting | None:
    """GitHub's API; None for a provider whose API is not spoken, and without a token."""
    if options.provider is not Provider.GITHUB or not settings.tokens.repository or options.oci is not None:
        return None
    from flux_upgrade.edges.forges.github_hosting import GitHubHosting

    github, token = settings.github, settings.tokens.repository
    hosting = GitHubHosting(
        build_client(settings, github.api_url, token),
        repository_of(options),
        token,
        timing=build_timing(settings),
        api_url=github.api_url,
        graphql_url=github.graphql_url,
    )
    if not settings.dry_run:
        return hosting
    from flux_upgrade.edges.recording_hosting import RecordingHosting

    return RecordingHosting(hosting, github.server_url)


def repository_of(options: BootstrapOptions) -> str:
    """``owner/name``; empty where the provider has no such names."""
    return f"{options.owner}/{options.repository}" if options.owner else ""


def build_remote(settings: Settings, options: BootstrapOptions, place: Place) -> Remote:
    """The branch as it is on the server now. For a dry run, it is only read."""
    from flux_upgrade.edges.remote import Author, open_remote

    author = Author(options.author_name, options.author_email, build_timing(settings).now)
    url, token = _reached(settings, options, place)
    remote = open_remote(url, options.branch, token, _environment(settings), author)
    if not settings.dry_run:
        return remote
    from flux_upgrade.edges.recording_remote import RecordingRemote

    return RecordingRemote(remote)


def build_pulls(settings: Settings, options: BootstrapOptions, config: Config, place: Place) -> Forge:
    """Where the pull request is opened; for a dry run, a record of it."""
    forge = _forge(settings, options, config, place)
    if not settings.dry_run:
        return forge
    from flux_upgrade.edges.forges.recording import RecordingForge

    return RecordingForge(forge)


def _forge(settings: Settings, options: BootstrapOptions, config: Config, place: Place) -> Forge:
    if options.provider is Provider.GITHUB:
        from flux_upgrade.build_forge import github_forge

        return github_forge(settings, repository_of(options))
    from flux_upgrade.edges.forges.git import GitForge
    from flux_upgrade.edges.forges.remotes import Remote

    url, token = _reached(settings, options, place)
    flavour = config.forge or _FLAVOURS[options.provider]
    remote = Remote(url, flavour, token, options.author_name, options.author_email)
    return GitForge(remote, _environment(settings), build_timing(settings).now)


def _reached(settings: Settings, options: BootstrapOptions, place: Place) -> tuple[str, str]:
    """The address that is pushed to, and the token for it: the user's own means where a checkout has them."""
    own = settings.bootstrap.secrets.own if settings.bootstrap is not None else {}
    if options.provider is Provider.GITHUB:
        return f"{settings.github.server_url}/{repository_of(options)}.git", settings.tokens.repository
    token = settings.tokens.git or own.get(options.provider, "")
    url = options.url if options.provider is Provider.GIT else url_of(options._replace(auth=Auth.TOKEN))
    if token and not url.startswith("ssh:"):
        return url, token
    remote = build_checkout(settings, place).origin() if place.is_checkout else ""
    is_same = bool(remote) and known_of_url(settings, remote).items() >= _names(options).items()
    return (remote if is_same else url), ""


def _names(options: BootstrapOptions) -> dict[str, str]:
    if options.provider is Provider.GIT:
        return {"url": options.url}
    return {"owner": options.owner, "repository": options.repository}


def _environment(settings: Settings) -> Mapping[str, str]:
    return {"HOME": settings.home, "PATH": settings.search_path, **settings.git}


def build_place(settings: Settings, path: str, checkout: Place) -> SecretPlace:
    """A file for Secrets outside of the checkout; for a dry run, it is only read. Raises UsageError."""
    from flux_upgrade.edges.secret_file import SecretFile

    found = SecretFile(path, (checkout.root,))
    if not settings.dry_run:
        return found
    from flux_upgrade.bootstrapping.places import OnlyRead

    return OnlyRead(found)


def build_cluster(settings: Settings, kubeconfig: str, context: str) -> Cluster:
    """The cluster of a kubeconfig. Raises UsageError, ClusterUnavailable."""
    from flux_upgrade.edges.kubernetes.connect import connect

    return connect(kubeconfig, context, build_timing(settings))


def build_kustomize(settings: Settings) -> Kustomize | None:
    """What builds a kustomization on this machine; None: nothing does."""
    from flux_upgrade.edges.kustomize import Kustomize

    found = Kustomize(settings.search_path, _environment(settings))
    return found if found.program else None
