"""Which provider has the repository: by what was given, else by what the checkout's remote tells."""

from __future__ import annotations

import re
from collections.abc import Mapping

from flux_upgrade.bootstrap.addresses import DEFAULT_HOSTS
from flux_upgrade.bootstrap.options import BootstrapOptions, Provider

_BY_HOST = {
    "github": Provider.GITHUB,
    "gitlab": Provider.GITLAB,
    "gitea": Provider.GITEA,
    "forgejo": Provider.GITEA,
    "bitbucket": Provider.BITBUCKET_SERVER,
}
_PORT = re.compile(r":[0-9]*\Z")
_SCHEME = re.compile(r"\Ahttps?://")
# GitHub Enterprise Cloud with data residency.
_GITHUBS = ".ghe.com"


def provider_of(
    named: str, flags: Mapping[str, object], known: Mapping[str, str], servers: Mapping[str, str]
) -> Provider | None:
    """``named`` outright; else by ``--url`` and ``--hostname``; else by the remote; else GitHub.

    ``flags``: Flux's name → value. ``known``: see ``of_remote``. ``servers``: host → provider, of the
    servers that the environment names. None: the host that was given could be anything's.
    """
    if named:
        return Provider(named)
    if flags.get("url"):
        return Provider.GIT
    host = name_of(str(flags.get("hostname") or ""))
    if not host:
        return Provider(known.get("provider") or Provider.GITHUB)
    return _by_host(host, known, servers)


def of_remote(known: Mapping[str, str], provider: Provider, flags: Mapping[str, object]) -> Mapping[str, str]:
    """What the checkout's remote tells of ``provider``'s server; nothing where that is another one.

    ``known``: provider, owner, repository, hostname (empty: the provider's own), ssh-hostname and url.
    """
    if provider is Provider.GIT or not known:
        return known
    its = Provider(known.get("provider") or provider)
    host = name_of(str(flags.get("hostname") or ""))
    # Of a server that could be anything's, whoever names the provider says what it is.
    is_other = host != _host(known) if host else its not in (provider, Provider.GIT)
    if is_other:
        return {}
    if provider is Provider.BITBUCKET_SERVER:
        return {**known, "owner": known.get("owner", "").removeprefix("scm/")}
    return known


def name_of(host: str) -> str:
    """The name alone, to compare: without scheme, port and path, in small letters."""
    return _PORT.sub("", _SCHEME.sub("", host.strip().lower()).partition("/")[0])


def is_other_github(options: BootstrapOptions) -> bool:
    """Whether it is a GitHub, and not github.com."""
    host = name_of(options.hostname)
    return options.provider is Provider.GITHUB and host not in ("", DEFAULT_HOSTS[Provider.GITHUB])


def _by_host(host: str, known: Mapping[str, str], servers: Mapping[str, str]) -> Provider | None:
    told = servers.get(host, "") or (known.get("provider", "") if host == _host(known) else "")
    if told and told != Provider.GIT:
        return Provider(told)
    if host.endswith(_GITHUBS):
        return Provider.GITHUB
    return next((provider for part, provider in _BY_HOST.items() if part in host), None)


def _host(known: Mapping[str, str]) -> str:
    return name_of(known.get("hostname") or DEFAULT_HOSTS.get(Provider(known.get("provider") or "git"), ""))
