"""GitHub's refusals in our own words, with the thing to change. Pure.

GitHub says why in English sentences only. Those below were taken from its
documentation (https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api)
and from what users report; one that is not known is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from flux_upgrade.adapters.http import failures
from flux_upgrade.adapters.http.failures import RateLimited
from flux_upgrade.model.errors import (
    DraftsUnavailable,
    FluxUpgradeError,
    ForbiddenByForge,
    ForgeUnavailable,
    LimitReached,
    Overtaken,
    RepositoryUnfit,
    SourceUnavailable,
)
from flux_upgrade.model.text import one_line
from flux_upgrade.model.values import NamedTuple

_LATER = "run flux-upgrade again: it continues where this run ended"
_NETWORK = f"check the network, the proxy, the API's URL and the CA file; {_LATER}"
_BLOCK = ("contents: write", "pull-requests: write", "issues: write", "statuses: write")
"""As examples/scheduled.yaml has it."""
_NAMES = {"statuses": "Commit statuses"}
"""Permissions that GitHub's pages about tokens and apps call otherwise than workflows do."""
_ACTIONS_SETTING = (
    "tick Settings > Actions > General > 'Allow GitHub Actions to create and approve pull requests'; if it is "
    "disabled, use an app token"
)
_WORKFLOWS = (
    "GITHUB_TOKEN cannot change workflows: use an app token with 'Workflows: read and write', a personal token with "
    "scope 'workflow', or add the file to `ignore`"
)
_SIGNING = (
    "use GITHUB_TOKEN or an app token, because the rules require signed commits; or exempt the branches of flux-upgrade"
)
_RULES = "exempt the branches of flux-upgrade from that rule: Settings > Rules, or Settings > Branches"
_ISSUES = "tick Settings > General > Features > Issues, or set `pending: summary` and `dashboard: false`"
_AUTO_MERGE = "tick Settings > General > 'Allow auto-merge', or remove `auto-merge` from the config file"
_CLEAN = "require a check of your CI or a review in the rules of the base branch: auto-merge has nothing to wait for"
_SSO = "authorize the token for the organization: click Configure SSO in the list of your tokens"
_ADDRESSES = "add the runner's address to the organization's IP allow list, or use a runner that is on it"
_ARCHIVED = "unarchive the repository, or remove this workflow"
BOOTSTRAP = "run `flux-upgrade bootstrap`, or push a first commit"
"""For an empty repository, which can take no pull request."""
_KEY_IN_USE = "use another key: another repository or account on GitHub already has this one"
_NO_DEPLOY_KEYS = (
    "ask an owner of the organization to allow deploy keys (Settings > Member privileges > Deploy "
    "keys), or use a token (--token-auth) or a GitHub App (--app-id)"
)
_NO_MEMBER = (
    "ask an owner of the organization to create the repository (empty), or for an app token with "
    "'Administration: read and write'"
)

_KNOWN: tuple[tuple[str, type[FluxUpgradeError], str], ...] = (
    ("reference already exists", Overtaken, ""),
    ("a pull request already exists", Overtaken, ""),
    ("no commits between", Overtaken, ""),
    ("label does not exist", Overtaken, ""),
    ("pullrequest.base invalid", Overtaken, ""),
    ("pullrequest.head invalid", Overtaken, ""),
    ("draft pull requests are not supported", DraftsUnavailable, "set `pending: summary`"),
    ("not permitted to create or approve pull requests", ForbiddenByForge, _ACTIONS_SETTING),
    ("create or update workflow", ForbiddenByForge, _WORKFLOWS),
    ("saml", ForbiddenByForge, _SSO),
    ("ip allow list", ForbiddenByForge, _ADDRESSES),
    ("is archived", RepositoryUnfit, _ARCHIVED),
    ("was archived", RepositoryUnfit, _ARCHIVED),
    ("git repository is empty", RepositoryUnfit, BOOTSTRAP),
    ("key is already in use", ForbiddenByForge, _KEY_IN_USE),
    ("deploy keys are disabled", ForbiddenByForge, _NO_DEPLOY_KEYS),
    ("admin access to the organization", ForbiddenByForge, _NO_MEMBER),
    ("issues has been disabled", ForbiddenByForge, _ISSUES),
    ("issues are disabled", ForbiddenByForge, _ISSUES),
    ("verified signature", ForbiddenByForge, _SIGNING),
    ("rule violations", ForbiddenByForge, _RULES),
    ("protected branch", ForbiddenByForge, _RULES),
    ("protected ref", ForbiddenByForge, _RULES),
    ("auto merge is not allowed", ForbiddenByForge, _AUTO_MERGE),
    ("clean status", ForbiddenByForge, _CLEAN),
    ("unstable status", ForbiddenByForge, _CLEAN),
)
"""What stands in a refusal, in lower case → error and hint; the first that fits."""

_BROKEN = ("something went wrong while executing your query", "timedout")
_TOO_HEAVY = ("RESOURCE_LIMITS_EXCEEDED", "MAX_NODE_LIMIT_EXCEEDED")
_TOKEN_DENIED = ("resource not accessible by", "must have push access", "must have admin rights")
_LEAST_WAIT = 60.0
"""Seconds to wait for a secondary limit without a time, at least: https://docs.github.com/rest/using-the-rest-api/
rate-limits-for-the-rest-api#exceeding-the-rate-limit."""
_DENIED_TYPES = ("FORBIDDEN", "INSUFFICIENT_SCOPES", "NOT_FOUND")


class Attempt(NamedTuple):
    """What was tried, and what it takes."""

    doing: str  # `open the pull request in acme/fleet`
    permission: str  # as it stands in a workflow: `pull-requests: write`
    otherwise: type[FluxUpgradeError] = ForgeUnavailable  # what a refusal is that nothing is known about
    has_workflows: bool = False  # whether files in `.github/workflows` are written
    advice: str = ""  # what to do where the token may not; made from `permission` unless it is given


class Refusal(NamedTuple):
    """An answer that is no success."""

    status: int
    headers: Mapping[str, Any]  # names in lower case
    text: str  # one line
    kinds: frozenset[str] = frozenset()  # GraphQL's error types


def refusal_of(status: int, body: object, headers: Mapping[str, Any]) -> Refusal:
    """The answer as GitHub's REST and GraphQL APIs give it; ``body`` is parsed JSON, or anything."""
    content = body if isinstance(body, dict) else {}
    listed = content.get("errors")
    errors = listed if isinstance(listed, list) else []
    message = content.get("message")
    sentences = dict.fromkeys(([message] if isinstance(message, str) else []) + [*map(_sentence, errors)])
    kinds = {error.get("type") for error in errors if isinstance(error, dict)}
    return Refusal(
        status,
        headers,
        one_line("; ".join(" ".join(text.split()) for text in sentences)),
        frozenset(kind for kind in kinds if isinstance(kind, str)),
    )


def _sentence(error: object) -> str:
    """``Reviews may only be …`` or ``PullRequest.base invalid``, of one entry of ``errors``."""
    if not isinstance(error, dict):
        return str(error)
    if message := error.get("message"):
        return str(message)
    where = ".".join(str(error[name]) for name in ("resource", "field") if name in error)
    return f"{where} {error.get('code', '')}"


def is_too_heavy(refusal: Refusal) -> bool:
    """Whether GitHub refuses a query for its size, or may have given up on it because of that."""
    return not refusal.kinds.isdisjoint(_TOO_HEAVY) or has_timed_out(refusal)


def has_timed_out(refusal: Refusal) -> bool:
    """Whether GitHub gave up on a query, which it says with status 200, too."""
    text = refusal.text.lower()
    return any(part in text for part in _BROKEN)


def error_of(refusal: Refusal, attempt: Attempt, now: float) -> FluxUpgradeError:
    """What to raise for it; ``now`` in epoch seconds, for the end of a rate limit."""
    text = refusal.text.lower()
    is_limited = "RATE_LIMITED" in refusal.kinds or "rate limit" in text
    if is_limited or failures.is_rate_limited(refusal.status, refusal.headers):
        return _limit(refusal, now, is_secondary="secondary" in text)
    message = f"GitHub refused to {attempt.doing}: {refusal.text or refusal.status}"
    for part, error, hint in _KNOWN:
        if part in text:
            return error(message, hint=hint)
    if refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR or is_too_heavy(refusal):
        what = f"GitHub returned status {refusal.status}" if refusal.status != HTTPStatus.OK else refusal.text
        return ForgeUnavailable(f"could not {attempt.doing}: {what}", hint=_LATER)
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        return ForbiddenByForge(message, hint="set a new token: it is missing, wrong or expired")
    # 404: GitHub does not tell a token that may not write from one that may not know.
    is_denied = refusal.status in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
    is_denied = is_denied or not refusal.kinds.isdisjoint(_DENIED_TYPES)
    if is_denied or any(part in text for part in _TOKEN_DENIED):
        return ForbiddenByForge(message, hint=_permission_hint(text, attempt))
    return attempt.otherwise(message, hint=f"check GitHub's message; {_LATER}")


def _limit(refusal: Refusal, now: float, *, is_secondary: bool) -> LimitReached:
    """The error for a rate limit. A secondary one does not end when the hour of the primary one does."""
    headers = refusal.headers if is_secondary else {**refusal.headers, "x-ratelimit-remaining": "0"}
    wait = failures.asked_wait(headers, now)
    until = now + (_LEAST_WAIT if wait is None else wait)
    message = f"GitHub's API rate limit is exceeded until {failures.utc(until)}"
    return LimitReached(message, hint=f"wait until then; {_LATER}", until=until)


def _permission_hint(text: str, attempt: Attempt) -> str:
    if attempt.has_workflows:
        return _WORKFLOWS
    if attempt.advice:
        return attempt.advice
    area, _, level = attempt.permission.partition(": ")
    block = _BLOCK if attempt.permission in _BLOCK else (*_BLOCK, attempt.permission)
    workflow = f"set `permissions: {{{', '.join(block)}}}` in the workflow's job"
    if level == "read":
        workflow = f"add `{attempt.permission}` to the `permissions` of the workflow's job"
    right = (
        f"{_NAMES.get(area) or area.replace('-', ' ').capitalize()}: {'read and write' if level == 'write' else level}"
    )
    personal = f"give the token '{right}' for this repository, or a classic token the scope `repo`"
    if "by integration" in text:
        return f"{workflow}, or give the app '{right}'"
    if "personal access token" in text:
        return personal
    return f"{workflow}; or {personal}"


def unreachable(error: SourceUnavailable, attempt: Attempt) -> ForgeUnavailable:
    """Where there was no answer, or half of one."""
    message = f"could not {attempt.doing}: {error.message}"
    if isinstance(error, RateLimited):
        return LimitReached(message, hint=f"wait until then; {_LATER}")
    return ForgeUnavailable(message, hint=_NETWORK)


def nonsense(attempt: Attempt, what: str = "the response is not from GitHub") -> ForgeUnavailable:
    """An answer of success that cannot be one."""
    return ForgeUnavailable(f"could not {attempt.doing}: {what}", hint="check the API's URLs and any proxy in between")
