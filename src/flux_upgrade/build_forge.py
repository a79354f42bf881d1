"""Where the pull requests are: settings, config and the checkout's remote → a forge."""

from __future__ import annotations

from flux_upgrade.build import build_checkout, build_client, build_timing
from flux_upgrade.config import Config
from flux_upgrade.edges.checkout import find
from flux_upgrade.ports import Forge
from flux_upgrade.settings import Settings

_GITHUB = "github"


def build_forge(settings: Settings, config: Config) -> Forge:
    """The forge of ``--repository``, or of the checkout's remote ``origin``. Raises UsageError."""
    asked = settings.repository
    if asked and ":" not in asked and asked.count("/") == 1 and config.forge in ("", _GITHUB):
        return github_forge(settings, asked)
    from flux_upgrade.edges.forges.remotes import Remote, flavour_of, parse, repository_of

    checkout = build_checkout(settings, find(settings.path))
    url = asked or checkout.remote_url()
    runner = {**settings.git, "GITHUB_SERVER_URL": settings.github.server_url}
    flavour = config.forge or flavour_of(url, runner)
    if flavour == _GITHUB:
        return github_forge(settings, repository_of(url))
    from flux_upgrade.edges.forges.git import GitForge

    environment = {"HOME": settings.home, "PATH": settings.search_path, **settings.git}
    # Gitea's and Forgejo's runners say where they are in GitHub's words, and their token is for that server.
    is_runners = parse(url).host == parse(settings.github.server_url).host
    token = settings.tokens.git or (settings.tokens.repository if is_runners else "")
    return GitForge(Remote(url, flavour, token), environment, build_timing(settings).now, checkout)


def github_forge(settings: Settings, repository: str) -> Forge:
    """The GitHub that the settings name."""
    from flux_upgrade.edges.forges.github import GitHubForge

    token, github = settings.tokens.repository, settings.github
    return GitHubForge(
        build_client(settings, github.api_url, token),
        repository,
        token,
        timing=build_timing(settings),
        api_url=github.api_url,
        graphql_url=github.graphql_url,
    )
