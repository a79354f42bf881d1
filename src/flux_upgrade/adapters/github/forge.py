"""GitHub as a forge: one GraphQL query to read, PyGithub to write."""

from __future__ import annotations

from flux_upgrade.adapters.github.fetch import GitHubFetch
from flux_upgrade.adapters.github.query import Json
from flux_upgrade.adapters.http.client import Client
from flux_upgrade.adapters.http.origins import origin
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.forge import Done, Question, Repository, Step
from flux_upgrade.model.ports import Timing
from flux_upgrade.model.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.adapters.github.transport import Transport

_PERSONAL = ("ghp_", "github_pat_", "gho_")
"""How tokens begin that act for a person.

Source: https://docs.github.com/authentication/keeping-your-account-and-data-secure/about-authentication-to-github
"""


class GitHubForge:
    """The port Forge over the API of github.com or a GitHub Enterprise Server.

    ``client`` has the token, for the origin of both addresses; ``token`` tells of which
    kind it is, and is not kept. ``pause``: seconds between two writes, as GitHub asks for.
    Raises UsageError for a repository or addresses that cannot be such.
    """

    def __init__(  # noqa: PLR0913  (a server has two addresses)
        self,
        client: Client,
        repository: str,
        token: str,
        *,
        timing: Timing,
        api_url: str = "https://api.github.com",
        graphql_url: str = "https://api.github.com/graphql",
        pause: float = 1.0,
    ) -> None:
        owner, name = owner_and_name(repository)
        require_one_server(api_url, graphql_url)
        personal = token.startswith(_PERSONAL)
        self._fetch = GitHubFetch(client, timing, (owner, name), graphql_url, is_personal=personal)
        self._client = client
        self._timing = timing
        self._addresses = (api_url, graphql_url)
        self._pause = pause
        self._facts: Json | None = None
        self._transport: Transport | None = None

    @property
    def calls(self) -> int:
        """Every request of the client counts, those of retries too."""
        return self._client.sent

    def close(self) -> None:
        self._client.close()

    def fetch(self, question: Question) -> Repository:
        """One call, and one more for each further 50 branches or 100 paths."""
        repository, self._facts = self._fetch.fetch(question)
        return repository

    def apply(self, step: Step) -> Done:
        """Writes are sent once, unless GitHub says that it did not look at them."""
        from flux_upgrade.adapters.github.transport import Transport
        from flux_upgrade.adapters.github.writes import GitHubWrites

        if self._facts is None:
            self.fetch(Question((), ()))
        if self._transport is None:
            api_url, graphql_url = self._addresses
            self._transport = Transport(
                self._client, self._timing, api_url=api_url, graphql_url=graphql_url, pause=self._pause
            )
        return GitHubWrites(self._transport, self._timing, self._facts or {}).apply(step)


def owner_and_name(repository: str) -> tuple[str, str]:
    """The two parts of ``owner/name``. Raises UsageError."""
    owner, _, name = repository.partition("/")
    if not owner or not name or "/" in name:
        raise UsageError(f"{one_line(repository)} is no repository", hint="give it as owner/name")
    return owner, name


def require_one_server(api_url: str, graphql_url: str) -> None:
    """The token goes to one origin: what looks has to be what acts. Raises UsageError."""
    try:
        origins = {origin(api_url), origin(graphql_url)}
    except ValueError:
        origins = set()
    if len(origins) != 1 or next(iter(origins))[0] not in ("http", "https"):
        raise UsageError(
            f"{one_line(api_url)} and {one_line(graphql_url)} are not the addresses of one GitHub",
            hint="give GITHUB_API_URL and GITHUB_GRAPHQL_URL as the runner has them, https://host/...",
        )
