"""Where the repository is: settings, config and the checkout's remote → a forge, and its history."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.cli.options import Settings
from flux_upgrade.commands.wiring import build_checkout, build_client, build_timing
from flux_upgrade.config.config import Config
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.files import FileHistory
from flux_upgrade.model.ports import Forge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.adapters.git.checkout import Checkout
    from flux_upgrade.adapters.github.api import GitHubApi

_GITHUB = "github"


def build_forge(settings: Settings, config: Config) -> Forge:
    """The forge of ``--repository``, or of the checkout's remote ``origin``. Raises UsageError."""
    if _is_name(settings.repository, config):
        return github_forge(settings, settings.repository)
    from flux_upgrade.adapters.git.remotes import RemoteAccess, is_at, repository_of

    checkout = build_checkout(settings, find(settings.path))
    url = settings.repository or checkout.remote_url()
    flavour = _flavour(settings, config, url)
    if flavour == _GITHUB:
        return github_forge(settings, repository_of(url))
    from flux_upgrade.adapters.git.forge import GitForge

    environment = {"HOME": settings.home, "PATH": settings.search_path, **settings.git}
    # Gitea's and Forgejo's runners say where they are in GitHub's words, and their token is for that server.
    is_runners = is_at(url, settings.github.server_url)
    token = settings.tokens.git or (settings.tokens.repository if is_runners else "")
    return GitForge(RemoteAccess(url, flavour, token), environment, build_timing(settings).now, checkout)


def github_forge(settings: Settings, repository: str) -> Forge:
    """The GitHub that the settings name."""
    from flux_upgrade.adapters.github.forge import GitHubForge

    return GitHubForge(build_github(settings), repository, settings.tokens.repository)


def build_github(settings: Settings) -> GitHubApi:
    """The API of the GitHub that the settings name, with the repository's token."""
    from flux_upgrade.adapters.github.api import GitHubApi

    github = settings.github
    client = build_client(settings, github.api_url, settings.tokens.repository)
    timing = build_timing(settings)
    return GitHubApi(client, timing, api_url=github.api_url, graphql_url=github.graphql_url)


def build_history(settings: Settings, config: Config, paths: Iterable[str] = ()) -> FileHistory:
    """What files were: as Git has it, or GitHub, where the checkout is shallow. Raises nothing.

    ``paths``: those that it may be asked about.
    """
    from flux_upgrade.adapters.git.git_history import GitHistory

    place = find(settings.path)
    checkout = build_checkout(settings, place)
    with suppress(UsageError):
        if place.is_checkout and (checkout.is_shallow() or checkout.is_partial()):
            repository = _repository_on_github(settings, config, checkout)
            if repository and settings.tokens.repository:
                return _github_history(settings, repository, checkout.head())
    return GitHistory(checkout, paths)


def _github_history(settings: Settings, repository: str, head: str) -> FileHistory:
    from flux_upgrade.adapters.github.history import GitHubHistory

    return GitHubHistory(build_github(settings), repository, head)


def _repository_on_github(settings: Settings, config: Config, checkout: Checkout) -> str:
    """``owner/name``; empty where the forge is another one. Raises UsageError."""
    if _is_name(settings.repository, config):
        return settings.repository
    from flux_upgrade.adapters.git.remotes import repository_of

    url = settings.repository or checkout.origin()
    return repository_of(url) if url and _flavour(settings, config, url) == _GITHUB else ""


def _is_name(asked: str, config: Config) -> bool:
    """Whether ``--repository`` is ``owner/name``, of GitHub."""
    return bool(asked) and ":" not in asked and asked.count("/") == 1 and config.forge in ("", _GITHUB)


def _flavour(settings: Settings, config: Config, url: str) -> str:
    from flux_upgrade.adapters.git.remotes import flavour_of

    return config.forge or flavour_of(url, {**settings.git, "GITHUB_SERVER_URL": settings.github.server_url})
