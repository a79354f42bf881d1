"""What a run left: what it printed, what it wrote, what it asked GitHub, and no secret in any of it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from github_stand_in import Call, Repository, Request, Response

from stand_in.checked import Checks, description, published_schema

NAME = "acme/fleet"
_DIGITS = re.compile(rb"\d+")
_OBJECT = re.compile(r"\b[0-9a-f]{40}\b")
_MASK = re.compile(r"^::add-mask::.*$", re.MULTILINE)


@dataclass(frozen=True)
class Ran:
    """What a run left."""

    code: int
    log: str
    err: str
    outputs: Mapping[str, str]
    summary: str
    report: Mapping[str, Any]
    """Empty where there is none."""
    calls: tuple[str, ...]
    """See ``name_of``."""
    writes: tuple[str, ...]

    @property
    def outcome(self) -> str:
        return self.outputs.get("outcome", "")


def name_of(call: Call) -> str:
    """``POST /git/trees``, ``POST /statuses/{sha}``, ``GRAPHQL updateRefs``."""
    if call.path == "/graphql":
        return f"GRAPHQL {call.operation}"
    return f"{call.method} {_OBJECT.sub('{sha}', call.path.removeprefix(f'/repos/{NAME}'))}"


class Validation:
    """Every exchange against what GitHub publishes; one that differs from another by numbers is not looked at again."""

    def __init__(self) -> None:
        self.checks = Checks()
        self._seen: set[tuple[object, ...]] = set()
        published_schema()
        description()

    def observe(self, request: Request, response: Response) -> None:
        checked: tuple[object, ...] = (request.method, request.target, request.body)
        if request.path != "/graphql":
            checked += (response.status, _DIGITS.sub(b"0", response.content()))
        if checked not in self._seen:
            self._seen.add(checked)
            self.checks.observe(request, response)

    def require(self) -> None:
        """AssertionError for what did not fit since the last time."""
        violations = "\n".join(self.checks.violations)
        self.checks.violations.clear()
        assert not violations, violations


@cache
def validation() -> Validation:
    """One for all of a process."""
    return Validation()


def kept_by(repository: Repository) -> Iterator[str]:
    """All texts that the forge keeps."""
    for issue in (*repository.pulls.values(), *repository.issues.values()):
        yield f"{issue.title}\n{issue.body}"
    yield from (f"{each.description} {each.target_url}" for each in repository.statuses)
    yield from (repository.store.read(oid).message for oid in repository.store.refs("refs/heads/").values())


def require_no_secret(secrets: Iterable[str], texts: Iterable[str]) -> None:
    """No token in any text, but for the lines that tell the runner to mask it."""
    whole = "\n".join(_MASK.sub("", text) for text in texts)
    for secret in secrets:
        assert secret not in whole, "the token was printed"
        encoded = base64.b64encode(f"x-access-token:{secret}".encode()).decode()
        assert encoded not in whole, "the token was printed, as Git sends it"
