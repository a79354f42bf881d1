"""Which servers a bootstrap is about: what checkout and environment tell of them, and whose tokens are."""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.bootstrap.addresses import DEFAULT_HOSTS, host_of
from flux_upgrade.bootstrap.options import BootstrapOptions, Provider
from flux_upgrade.config.environment import GITHUB_API, Environment, GitHub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.bootstrap.request import BootstrapRequest

_PROVIDERS = {"github": "github", "gitlab": "gitlab", "gitea": "gitea", "forgejo": "gitea"}
_OVER_443 = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}
"""Where they take ssh for those that a firewall keeps from its own port → the host."""
_HTTPS = 443


def known_of(environment: Environment, url: str) -> Mapping[str, str]:
    """What the address of a remote tells: provider, owner, repository, hostname, url; of none or a folder, nothing.

    Each provider takes what it has.
    """
    if not url:
        return {}
    from flux_upgrade.adapters.git.remotes import flavour_of, parse, repository_of, spelled

    address = parse(url)
    if not address.host:
        return {}
    provider = _PROVIDERS.get(flavour_of(url, environment.of_runner), "")
    owner, _, name = repository_of(url).rpartition("/")
    kind = provider or str(Provider.GIT)
    known = {"owner": owner, "repository": name, "url": spelled(url), "provider": kind}
    host = _OVER_443.get(address.host, address.host)
    if provider and host == DEFAULT_HOSTS[Provider(provider)]:
        return known
    if address.port is None:
        return {**known, "hostname": host}
    # The port of one way to the server says nothing of where the other is.
    if address.scheme == "ssh":
        return {**known, "hostname": host, "ssh-hostname": f"{host}:{address.port}"}
    return {**known, "hostname": address.origin.removeprefix("https://"), "ssh-hostname": host}


def servers_of(environment: Environment) -> Mapping[str, str]:
    """Host → provider, of the servers that the environment names."""
    from flux_upgrade.adapters.git.remotes import flavour_of, parse

    server, gitlab = environment.github.server_url, environment.git.get("CI_SERVER_HOST", "")
    found = {parse(server).host: flavour_of(server, environment.of_runner)}
    flavours = {**found, **({gitlab.lower(): "gitlab"} if gitlab else {})}
    return {host: _PROVIDERS[flavour] for host, flavour in flavours.items() if flavour in _PROVIDERS}


def at_host(
    environment: Environment, asked: BootstrapRequest, options: BootstrapOptions
) -> tuple[Environment, BootstrapRequest]:
    """Both for the GitHub that ``--hostname`` names.

    ``GITHUB_TOKEN`` is for the server that the environment names: that of ``GITHUB_SERVER_URL``, without
    it github.com. It goes to no other, unless the command itself has both ``--provider=github`` and
    ``--hostname``, which is how a person at a laptop says whose the token is. A config file or a remote
    cannot say it: whoever writes these would be given the token.
    """
    if options.provider is not Provider.GITHUB or _is_server(host_of(options), environment.github.server_url):
        return environment, asked
    tokens, api = environment.tokens, _github_at(host_of(options).partition("/")[0])
    # Where there is one token for both, it was meant for the server that the environment names.
    is_one = tokens.releases == tokens.repository
    if asked.names_github:
        releases = "" if is_one and api.api_url != GITHUB_API else tokens.releases
        return environment._replace(github=api, tokens=tokens._replace(releases=releases)), asked
    own = {name: token for name, token in asked.credentials.secrets.own.items() if name != Provider.GITHUB}
    secrets = asked.credentials.secrets._replace(own=own)
    environment = environment._replace(github=api, tokens=tokens._replace(repository=""))
    return environment, asked._replace(credentials=asked.credentials._replace(secrets=secrets))


def _is_server(host: str, server: str) -> bool:
    from flux_upgrade.adapters.git.remotes import parse

    one, other = parse(f"https://{host.lower()}"), parse(server.lower())
    return one.host == other.host and one.port in (None, other.port or _HTTPS)


def _github_at(host: str) -> GitHub:
    """Where its APIs are: docs.github.com, "Getting started with the REST API", of each product."""
    name = host.lower()
    if name == DEFAULT_HOSTS[Provider.GITHUB]:
        return GitHub()
    if name.endswith(".ghe.com"):
        return GitHub(f"https://{name}", f"https://api.{name}", f"https://api.{name}/graphql")
    return GitHub(f"https://{name}", f"https://{name}/api/v3", f"https://{name}/api/graphql")


def where(url: str) -> tuple[str, str]:
    """The repository at an address, by whichever way it is reached."""
    from flux_upgrade.adapters.git.remotes import parse

    address = parse(url)
    return _OVER_443.get(address.host, address.host), address.path
