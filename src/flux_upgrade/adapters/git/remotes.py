"""Addresses of Git remotes: which forge is behind one, and how it may be shown. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote, urlsplit

from flux_upgrade.adapters.git.git_command import Settings
from flux_upgrade.adapters.http import origins
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.text import one_line

_SCP = re.compile(r"^(?:(?P<user>[^@/:]+)@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^/:@]+):(?P<path>[^/].*|/.*)$")
_HELPER = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9+.-]*)::")  # gitremote-helpers(7): a program of that name
_SSH = ("ssh", "git+ssh", "ssh+git")
_FORGEJO = ("codeberg.org",)
_IN_PATH = "/~!$&'()*+,;=:@"  # what a path of a URL has as it is, of RFC 3986


@dataclass(frozen=True)
class RemoteAccess:
    """Which server, and as whom."""

    url: str = field(repr=False)
    flavour: str  # `gitlab`, `gitea`, `forgejo`, or `git`
    token: str = field(default="", repr=False)  # empty: the user's own credential helpers and keys
    name: str = ""  # who commits; empty: who the user's Git says, else flux-upgrade
    email: str = ""
    user: str = ""  # whose the token is, where the server asks; empty: anybody's
    is_bearer: bool = False

    def settings(self, url: str) -> Settings:
        """Git's settings that send the token to the origin of ``url``, of the same server, and to no other.

        Forges take a token as the password of any user; ``user`` is for a server that does not, and
        ``is_bearer`` for one that takes no password. A redirect is not followed: Git would take the
        header along, wherever it leads. Raises UsageError for a remote that takes no token.
        """
        if not self.token:
            return ()
        address = parse(url)
        if address.scheme not in ("http", "https"):
            raise UsageError(
                f"a token is set, but the remote uses {one_line(address.scheme)}",
                hint="unset the token and use a key, or set the remote to its https URL",
            )
        _require_plain(url, "a token is set, but the remote's URL has")
        login = _basic(self.user or address.user or "oauth2", self.token)
        return _sent(address.origin, f"Bearer {self.token}" if self.is_bearer else login)


@dataclass(frozen=True)
class GitAddress:
    scheme: str  # `https`, `http`, `ssh`, `git`, or `file`
    host: str
    port: int | None
    path: str  # without slashes at its ends and without `.git`
    user: str = ""

    @property
    def origin(self) -> str:
        """Scheme, host and port, as URLs have them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port is None else f":{self.port}")


def parse(url: str) -> GitAddress:
    """The parts of a URL, of an scp-like ``git@host:path``, or of a path. Raises UsageError."""
    if (helper := _HELPER.match(url)) is not None:
        raise UsageError(
            f"the remote's URL is for the remote helper `{helper['name']}`, which flux-upgrade does not run",
            hint="set the remote to its https or ssh URL",
        )
    try:
        parts = urlsplit(url)
        if parts.scheme and "://" in url:
            scheme = "ssh" if parts.scheme in _SSH else parts.scheme
            user = unquote(parts.username or "")
            return GitAddress(scheme, parts.hostname or "", parts.port, _bare(unquote(parts.path)), user)
    except ValueError as error:
        raise UsageError(
            "the remote's URL is not valid", hint="check `git remote -v`, and fix it with `git remote set-url`"
        ) from error
    if (scp := _SCP.match(url)) is not None:
        return GitAddress("ssh", scp["host"].strip("[]").lower(), None, _bare(scp["path"]), scp["user"] or "")
    return GitAddress("file", "", None, url)


def spelled(url: str) -> str:
    """An address as it may be written down: a URL, and nothing in it to log in with but the user of ssh."""
    address = parse(url)
    if address.scheme == "file":
        return url
    if (scp := _SCP.match(url)) is not None and "://" not in url:
        path = quote(scp["path"].lstrip("/"), safe=_IN_PATH)
    else:
        path = urlsplit(url).path.lstrip("/")
    user = f"{quote(address.user)}@" if address.user and address.scheme == "ssh" else ""
    scheme, _, host = address.origin.partition("://")
    return f"{scheme}://{user}{host}/{path}"


def without_login(url: str) -> tuple[str, Settings]:
    """An address without the user and password in it, and Git's settings that hand them over instead.

    Git puts the address into the arguments of its remote helpers, which all users of the machine can read. Of an
    address of ssh, only the password is taken out, which ssh would not use. Raises UsageError for an address that
    two parsers could read in two ways.
    """
    parts = urlsplit(url) if "://" in url else None
    if parts is None or "@" not in parts.netloc or not parts.hostname:
        return url, ()
    _require_plain(url, "the remote's URL has a user, and")
    address, (login, _, host) = parse(url), parts.netloc.rpartition("@")
    if address.scheme not in ("http", "https"):
        return parts._replace(netloc=f"{login.partition(':')[0]}@{host}").geturl(), ()
    plain = parts._replace(netloc=host).geturl()
    # Git rewrites an address by the longest match: so this one stays as it is.
    kept = tuple((f"url.{plain}.{name}", plain) for name in ("insteadOf", "pushInsteadOf"))
    if parts.password is None:
        return plain, (*kept, (f"credential.{address.origin}.username", address.user))
    return plain, (*kept, *_sent(address.origin, _basic(address.user, unquote(parts.password))))


def _require_plain(url: str, what: str) -> None:
    if odd := origins.odd_authority(url) or ("tabs or line ends" if set(url) & set("\t\r\n") else ""):
        raise UsageError(f"{what} {odd}", hint="set the remote to its https URL with `git remote set-url`")


def _basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _sent(origin: str, authorization: str) -> Settings:
    return (
        (f"http.{origin}/.extraHeader", ""),  # empty: forget those of the checkout
        (f"http.{origin}/.extraHeader", f"Authorization: {authorization}"),
        (f"http.{origin}/.followRedirects", "false"),
        ("credential.helper", ""),
    )


def _bare(path: str) -> str:
    return path.strip("/").removesuffix(".git").rstrip("/")


def masked(url: str) -> str:
    """An address as it may be printed: without user names and passwords, queries and fragments."""
    try:
        address = parse(url)
    except UsageError:
        return "the remote"
    if address.scheme == "file":
        return one_line(address.path)
    return one_line(f"{address.origin}/{address.path}")


def web_url(url: str) -> str:
    """Where a browser finds the repository: by https, or by http where the remote is; empty for a path."""
    address = parse(url)
    if address.scheme == "file" or not address.host:
        return ""
    if address.scheme not in ("http", "https"):
        address = replace(address, scheme="https", port=None)
    return f"{address.origin}/{quote(address.path)}"


def repository_of(url: str) -> str:
    """``owner/name`` (GitLab: with all its groups) of an address; the last two parts of a path."""
    address = parse(url)
    parts = [part for part in address.path.split("/") if part]
    return "/".join(parts[-2:] if address.scheme == "file" else parts)


def is_at(url: str, server_url: str) -> bool:
    """Whether the server's token may go to a remote: on its host, and not by http where it is https."""
    remote, server = parse(url), parse(server_url)
    is_downgrade = (server.scheme, remote.scheme) == ("https", "http")
    return remote.host == server.host and not is_downgrade


def flavour_of(url: str, environment: Mapping[str, str]) -> str:
    """Which forge a remote is on: ``github``, ``gitlab``, ``gitea``, ``forgejo``, or ``git``.

    Recognized by the host's name, or by what the forge's own runner says of its server:
    ``GITHUB_SERVER_URL`` (GitHub Enterprise Server; also set by Gitea and Forgejo, which
    say so), ``CI_SERVER_HOST`` (GitLab).
    """
    host = parse(url).host
    if host and host == (urlsplit(environment.get("GITHUB_SERVER_URL", "")).hostname or ""):
        if environment.get("FORGEJO_ACTIONS") or host in _FORGEJO:
            return "forgejo"
        return "gitea" if environment.get("GITEA_ACTIONS") else "github"
    if host in ("github.com", "ssh.github.com") or host.endswith(".ghe.com"):
        return "github"
    if "forgejo" in host or host in _FORGEJO:
        return "forgejo"
    if "gitlab" in host or (host and host == environment.get("CI_SERVER_HOST", "").lower()):
        return "gitlab"
    return "gitea" if "gitea" in host else "git"
