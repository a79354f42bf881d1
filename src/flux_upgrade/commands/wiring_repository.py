"""Where the repository is: options, config and the checkout's remote → a forge, and its history."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.commands.wiring import build_checkout, build_client, build_timing
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.file_history import FileHistory, FollowedFiles
from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.adapters.git.checkout import Checkout
    from flux_upgrade.adapters.github.api import GitHubApi
    from flux_upgrade.config.config import SharedFile
    from flux_upgrade.config.layers import ReadShared
    from flux_upgrade.model.ports import Forge

_GITHUB = "github"


class RepositorySource(NamedTuple):
    path: str  # In the checkout
    repository: str  # As `--repository`; empty: the checkout's remote `origin`
    forge: str  # As the config file has it; empty: the remote's host decides
    accounts: tuple[str, ...] = ()  # Logins that flux-upgrade acted as before, as the config file has them

    @property
    def is_name(self) -> bool:
        """Whether ``repository`` is ``owner/name``, of GitHub."""
        name = self.repository
        return bool(name) and ":" not in name and name.count("/") == 1 and self.forge in ("", _GITHUB)

    def flavour(self, url: str, environment: Environment) -> str:
        from flux_upgrade.adapters.git.remotes import flavour_of

        return self.forge or flavour_of(url, environment.of_runner)


def build_forge(environment: Environment, source: RepositorySource) -> Forge:
    """Raises UsageError."""
    if source.is_name:
        return github_forge(environment, source.repository, source.accounts)
    from flux_upgrade.adapters.git.remotes import RemoteAccess, is_at, repository_of

    checkout = build_checkout(environment, find(source.path).root)
    url = source.repository or checkout.remote_url()
    flavour = source.flavour(url, environment)
    if flavour == _GITHUB:
        return github_forge(environment, repository_of(url), source.accounts)
    from flux_upgrade.adapters.git.forge import GitForge

    # Gitea's and Forgejo's runners say where they are in GitHub's words, and their token is for that server.
    is_runners = is_at(url, environment.github.server_url)
    token = environment.tokens.git or (environment.tokens.repository if is_runners else "")
    variables = {**environment.of_programs, **environment.git}
    forge = GitForge(RemoteAccess(url, flavour, token), variables, build_timing(environment).now, checkout)
    return masked_forge(environment, forge)


def github_forge(environment: Environment, repository: str, accounts: tuple[str, ...] = ()) -> Forge:
    from flux_upgrade.adapters.github.forge import GitHubForge

    forge = GitHubForge(build_github(environment), repository, environment.tokens.repository, accounts)
    return masked_forge(environment, forge)


def masked_forge(environment: Environment, forge: Forge) -> Forge:
    """One that is told no secret of the run."""
    from flux_upgrade.adapters.masking import MaskingForge

    return MaskingForge(forge, environment.mask)


def build_github(environment: Environment) -> GitHubApi:
    from flux_upgrade.adapters.github.api import GitHubApi

    github = environment.github
    client = build_client(environment, github.api_url, environment.tokens.repository, charged_to=None)
    timing = build_timing(environment)
    return GitHubApi(client, timing, api_url=github.api_url, graphql_url=github.graphql_url)


def shared_configs(environment: Environment) -> ReadShared:
    """What reads the file that a config file extends, which has to be trusted: it could name any file."""

    def read(file: SharedFile) -> str:
        from flux_upgrade.adapters.github.shared_config import SharedConfigs  # late: it imports requests

        environment.say(f"reading {file}")
        content = SharedConfigs(build_github(environment)).read(file.repository, file.path, file.commit)
        return content.decode("utf-8", "surrogateescape")

    return read


def build_history(
    environment: Environment,
    source: RepositorySource,
    checkout: Checkout,
    paths: Iterable[str] = (),
    *,
    is_checkout: bool,
) -> FileHistory:
    """What files were: as Git has it, or GitHub, where the checkout is shallow. Raises nothing.

    ``paths``: those that it may be asked about.
    """
    from flux_upgrade.adapters.git.git_history import GitHistory

    forge = partial(_history_on_github, environment, source, checkout) if is_checkout else None
    return GitHistory(checkout, paths, forge)


def build_followed(checkout: Checkout, paths: Iterable[str]) -> FollowedFiles:
    """Build the reader of the commit that Flux follows. ``paths``: of the files that it may be asked about."""
    from flux_upgrade.adapters.git.followed_commit import FollowedCommit  # late: nearly every run upgrades nothing

    return FollowedCommit(checkout, paths)


def _history_on_github(environment: Environment, source: RepositorySource, checkout: Checkout) -> FileHistory | None:
    """None where the repository is elsewhere, or there is no token. Raises UsageError."""
    repository = source.repository
    if not source.is_name:
        from flux_upgrade.adapters.git.remotes import repository_of

        url = repository or checkout.origin()
        repository = repository_of(url) if url and source.flavour(url, environment) == _GITHUB else ""
    if not repository or not environment.tokens.repository:
        return None
    from flux_upgrade.adapters.github.history import GitHubHistory

    return GitHubHistory(build_github(environment), repository, checkout.head)
