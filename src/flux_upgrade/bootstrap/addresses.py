"""What stands in ``spec.url`` of the GitRepository.

Sources: fluxcd/go-git-providers (``gitprovider/repositoryref.go``, ``stash/resource_repository.go``) for
providers with an API; fluxcd/flux2 ``cmd/flux/bootstrap_git.go`` for any other server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider
from flux_upgrade.manifests.options import refuse

DEFAULT_HOSTS = {Provider.GITHUB: "github.com", Provider.GITLAB: "gitlab.com", Provider.GITEA: "gitea.com"}
"""``--hostname`` where it is not given; Bitbucket Server has none."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(?:([^/@?#]*)@)?([^/?#@]*)(/[^?#]*)?(\?[^#]*)?")
_SCP = re.compile(r"[^/:]+:(?!//).+")
_PORT = re.compile(r":[0-9]*\Z")
_SCHEMES = ("ssh", "https", "http")
_CODECOMMIT = re.compile(r"git-codecommit.*amazonaws\.com")
# What Go escapes in a path and in a user's name (net/url, shouldEscape), beside what is no ASCII.
_IN_PATH = re.compile(r"[A-Za-z0-9$&+,/:;=@_.~-]")
_WRITTEN_PATH = re.compile(r"([A-Za-z0-9!$&'()*+,;=:@\[\]_.~/-]|%[0-9A-Fa-f]{2})*")
_IN_USER = re.compile(r"[A-Za-z0-9$&+,;=_.~-]")
_OWNER = re.compile(r"[^\s/?#@:%]+(/[^\s/?#@:%]+)*")
_NAME = re.compile(r"[^\s?#@:%/]+(/[^\s?#@:%/]+)*")
_HOST = re.compile(r"(https?://)?[A-Za-z0-9._\[\]:-]+(/[^\s?#]*)?")


def url_of(options: BootstrapOptions) -> str:
    """The address from which Flux will clone. Raises UsageError, which lists all problems."""
    is_git = options.provider is Provider.GIT
    problems = _git_problems(options) if is_git else _provider_problems(options)
    refuse(problems, "see the values of each flag in `flux-upgrade bootstrap --help`")
    return _of_git(options) if is_git else _of_provider(options)


def host_of(options: BootstrapOptions) -> str:
    """``--hostname``, or the provider's own; without a scheme. Empty where there is none."""
    return _hostname(options).removeprefix("https://").removeprefix("http://")


def _hostname(options: BootstrapOptions) -> str:
    return (options.hostname or DEFAULT_HOSTS.get(options.provider, "")).rstrip("/")


def _provider_problems(options: BootstrapOptions) -> Iterator[str]:
    if not _hostname(options):
        yield f"{options.provider} needs --hostname"
    elif not _HOST.fullmatch(_hostname(options)):
        yield f"--hostname '{options.hostname}' is not a host name such as git.example.com"
    if not _OWNER.fullmatch(options.owner):
        yield "--owner is missing" if not options.owner else f"--owner '{options.owner}' is not a valid owner"
    if not _NAME.fullmatch(options.repository):
        what = f"'{options.repository}' is not a valid name" if options.repository else "is missing"
        yield f"--repository {what}"
    if options.provider is Provider.BITBUCKET_SERVER and "/" in options.owner + options.repository:
        yield "on Bitbucket Server, --owner is a project, and neither --owner nor --repository has groups"
    if options.ssh_hostname and not re.fullmatch(r"[A-Za-z0-9._\[\]:-]+", options.ssh_hostname):
        yield f"--ssh-hostname '{options.ssh_hostname}' is not a host such as ssh.example.com:2222"


def _of_provider(options: BootstrapOptions) -> str:
    owner, repository = options.owner, options.repository
    if options.provider is Provider.BITBUCKET_SERVER:
        # Bitbucket's own names: the project's key in capitals, the repository's slug in small letters.
        owner = f"~{owner.removeprefix('~')}" if options.personal else owner.upper()
        repository = repository.lower()
    elif options.personal:
        # A repository of a person is in no group, whatever was given.
        repository = repository.rpartition("/")[2]
    if options.auth is Auth.SSH:
        host, slash, below = host_of(options).partition("/")
        return f"ssh://git@{options.ssh_hostname or host}{slash}{below}/{owner}/{repository}"
    host = _hostname(options)
    base = host if "://" in host else f"https://{host}"
    prefix = "scm/" if options.provider is Provider.BITBUCKET_SERVER else ""
    return f"{base}/{prefix}{owner}/{repository}.git"


def _git_problems(options: BootstrapOptions) -> Iterator[str]:
    url = options.url
    found = _URL.fullmatch(url)
    # None of these repeats it: it may hold a password.
    if found is None and _SCP.fullmatch(url):
        yield "--url has no scheme: write ssh://git@HOST/PATH instead of git@HOST:PATH"
        return
    if found is None or not found[3] or found[1].lower() not in _SCHEMES or not url.isprintable():
        problem = "is not an address such as" if url else "is missing: use an address such as"
        yield f"--url {problem} ssh://git@example.com/repository or https://example.com/repository"
        return
    scheme, user, host = found[1].lower(), found[2] or "", found[3]
    if re.search(r"%(?![0-9A-Fa-f]{2})", found[4] or ""):
        yield "--url has a % that is not part of an escape: write it as %25"
    if ":" in user:
        yield "--url contains a password, which would be committed: remove it"
    if scheme == "http" and not options.allow_insecure_http:
        yield "--url uses http, which is insecure: use https, or add --allow-insecure-http"
    if options.auth is Auth.APP:
        yield "with a GitHub App, use --owner and --repository instead of --url"
    if _CODECOMMIT.search(host) and options.auth is Auth.SSH:
        yield from _codecommit_problems(scheme, user)


def _codecommit_problems(scheme: str, user: str) -> Iterator[str]:
    if scheme != "ssh":
        yield "AWS CodeCommit needs an ssh:// --url with the ID of the SSH key as its user, or --token-auth"
    elif user in ("", "git"):
        yield "AWS CodeCommit needs the ID of the SSH key as the user in --url"


def _of_git(options: BootstrapOptions) -> str:
    found = _URL.fullmatch(options.url)
    assert found is not None  # noqa: S101 _git_problems has seen to it
    scheme, user, host = found[1].lower(), found[2], found[3]
    rest = _path(found[4] or "") + (found[5] or "")
    if options.auth is Auth.TOKEN:
        if scheme == "ssh":
            # That of ssh says nothing of where https listens.
            host = _PORT.sub("", host)
        scheme = "http" if scheme == "http" else "https"
        return f"{scheme}://{host}{rest}"
    if user is None or options.username != "git":
        user = _escaped(options.username.encode(), _IN_USER)
    return f"ssh://{user}@{options.ssh_hostname or host}{rest}"


def _path(path: str) -> str:
    """As Go writes it: what was escaped well stays, all else is escaped anew."""
    if _WRITTEN_PATH.fullmatch(path):
        return path
    plain = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), path.encode())
    return _escaped(plain, _IN_PATH)


def _escaped(text: bytes, plain: re.Pattern[str]) -> str:
    return "".join(chr(each) if plain.fullmatch(chr(each)) else f"%{each:02X}" for each in text)


_BY_HOST = {
    "github": Provider.GITHUB,
    "gitlab": Provider.GITLAB,
    "gitea": Provider.GITEA,
    "forgejo": Provider.GITEA,
    "bitbucket": Provider.BITBUCKET_SERVER,
}
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
    provider = servers.get(host, "") or (known.get("provider", "") if host == _host(known) else "")
    if provider and provider != Provider.GIT:
        return Provider(provider)
    if host.endswith(_GITHUBS):
        return Provider.GITHUB
    return next((its for part, its in _BY_HOST.items() if part in host), None)


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


def _host(known: Mapping[str, str]) -> str:
    return name_of(known.get("hostname") or DEFAULT_HOSTS.get(Provider(known.get("provider") or "git"), ""))
