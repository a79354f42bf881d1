"""Rate limits: calls are counted by token; a limit strikes only where a test says that it is used up."""

from __future__ import annotations

from github_stand_in.model import Clock, Token, moment

_AN_HOUR = {"actions": 1000, "": 60}
"""https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api; others have 5,000."""


class Limits:
    """The counters of the hour. No token is the same as any other anonymous caller."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._used: dict[str, int] = {}
        self._exhausted: set[str] = set()
        self.ends = clock.epoch + 3600
        """Epoch seconds."""

    def begin(self) -> None:
        """Begin another hour."""
        self._used.clear()
        self._exhausted.clear()
        self.ends = self._clock.epoch + 3600

    def exhaust(self, token: Token) -> None:
        """Use up what is left of a token's hour."""
        self._exhausted.add(token.value)

    def use(self, token: Token, calls: int) -> None:
        """Count calls of others with a token."""
        self._used[token.value] = self._used.get(token.value, 0) + calls

    def count(self, token: Token | None) -> bool:
        """Count a call. Whether the limit was used up before."""
        if self._clock.epoch >= self.ends:
            self.begin()
        value = token.value if token else ""
        self._used[value] = self._used.get(value, 0) + 1
        return value in self._exhausted

    def give_back(self, token: Token | None) -> None:
        """Count a call as none."""
        value = token.value if token else ""
        self._used[value] = max(self._used.get(value, 0) - 1, 0)

    def of(self, token: Token | None) -> tuple[int, int]:
        """The limit, and how much of it is used."""
        kind, value = (token.kind, token.value) if token else ("", "")
        limit = _AN_HOUR.get(kind, 5000)
        return limit, limit if value in self._exhausted else min(self._used.get(value, 0), limit - 1)

    def headers(self, token: Token | None, resource: str) -> dict[str, str]:
        """What every answer says of them."""
        limit, used = self.of(token)
        numbers = {"limit": limit, "used": used, "remaining": limit - used, "reset": self.ends}
        return {
            **{f"x-ratelimit-{name}": str(number) for name, number in numbers.items()},
            "x-ratelimit-resource": resource,
        }

    def overview(self, token: Token | None) -> dict[str, object]:
        """GET /rate_limit."""
        limit, used = self.of(token)
        rate = {"limit": limit, "used": used, "remaining": limit - used, "reset": self.ends}
        return {"resources": dict.fromkeys(("core", "search", "graphql"), rate), "rate": rate}

    def graphql(self, token: Token) -> dict[str, object]:
        """GraphQL's ``RateLimit``."""
        limit, used = self.of(token)
        numbers = {"limit": limit, "used": used, "remaining": limit - used}
        return {"cost": 1, "nodeCount": 0, "resetAt": moment(self.ends), **numbers}
