"""What each call about a repository itself takes, for each kind of token. Pure.

Source: https://docs.github.com/rest/authentication/permissions-required-for-fine-grained-personal-access-tokens,
and the page on each call. What GITHUB_TOKEN can be given at all:
https://docs.github.com/actions/reference/workflow-syntax-for-github-actions#permissions.
"""

from __future__ import annotations

from flux_upgrade.adapters.github.refusals import Attempt
from flux_upgrade.model.errors import FluxUpgradeError, ForgeUnavailable, UsageError
from flux_upgrade.model.text import one_line

_NEVER = "GITHUB_TOKEN cannot have it"


def _tokens(right: str) -> str:
    return f"use a classic token with the scope `repo`, or another token with {right} ({_NEVER})"


def asking_who(name: str) -> Attempt:
    advice = (
        "use a personal token: GITHUB_TOKEN and app tokens cannot create a personal repository; "
        f"or create {name} yourself (empty), and remove `--create-repository`"
    )
    return Attempt(f"read whose token creates {name}", "metadata: read", advice=advice)


def creating(name: str) -> Attempt:
    owner = one_line(name.partition("/")[0])
    right = f"'Administration: read and write' for all repositories of {owner}"
    advice = f"{_tokens(right)}; or create it yourself (empty), and remove `--create-repository`"
    return Attempt(f"create {one_line(name)}", "administration: write", UsageError, advice=advice)


def granting(team: str, name: str) -> Attempt:
    right = "'Administration: read and write', and 'Members: read' of the organization"
    advice = f"check the team's slug, and {_tokens(right)}; or give the team access yourself, and remove `--team`"
    return Attempt(
        f"give the team {one_line(team)} access to {name}", "administration: write", UsageError, advice=advice
    )


def for_keys(doing: str, level: str, otherwise: type[FluxUpgradeError] = ForgeUnavailable) -> Attempt:
    """Something with deploy keys; ``level``: read, or write."""
    tokens = _tokens("'Administration: read and write' for this repository")
    advice = f"{tokens} of a repository admin; or let Flux use a token (--token-auth) or a GitHub App (--app-id)"
    return Attempt(doing, f"administration: {level}", otherwise, advice=advice)


def for_secret(secret: str, environment: str, name: str, *, puts: bool) -> Attempt:
    """Put a secret of Actions into the repository or one of its environments, or see whether it is there."""
    area, where = "Secrets", name
    if environment:
        area, where = "Environments", f"the environment {one_line(environment)} of {name}"
    tokens = _tokens(f"'{area}: read and write' for this repository")
    advice = f"{tokens}; or write the Secret into a file with --secret-file"
    if puts:
        doing = f"put the secret {one_line(secret)} into {where}"
        return Attempt(doing, f"{area.lower()}: write", UsageError, advice=advice)
    doing = f"check whether {where} has the secret {one_line(secret)}"
    return Attempt(doing, f"{area.lower()}: read", advice=advice)
