"""What each call about a repository itself takes, for each kind of token. Pure.

Source: https://docs.github.com/rest/authentication/permissions-required-for-fine-grained-personal-access-tokens,
and the page on each call. What GITHUB_TOKEN can be given at all:
https://docs.github.com/actions/reference/workflow-syntax-for-github-actions#permissions.
"""

from __future__ import annotations

from flux_upgrade.adapters.github.refusals import Attempt
from flux_upgrade.model.errors import ForbiddenByForge, ForgeUnavailable, UsageError
from flux_upgrade.model.text import one_line

_NEVER = "GITHUB_TOKEN never can"


def _tokens(right: str) -> str:
    return f"a classic token needs the scope repo, a fine-grained one or an app's {right}; {_NEVER}"


def asking_who(name: str) -> Attempt:
    """Ask whom the token acts for."""
    advice = (
        "a personal repository takes a personal token: GITHUB_TOKEN and the tokens of apps act for no "
        f"person; create {name} by hand, empty, and leave out `--create-repository`"
    )
    return Attempt(f"tell whose token it is that shall create {name}", "metadata: read", advice=advice)


def creating(name: str) -> Attempt:
    """Create the repository."""
    owner = one_line(name.partition("/")[0])
    right = f"'Administration: read and write' for all repositories of {owner}"
    advice = f"{_tokens(right)}; or create it by hand, empty, and leave out `--create-repository`"
    return Attempt(f"create {one_line(name)}", "administration: write", UsageError, advice=advice)


def granting(team: str, name: str) -> Attempt:
    """Give a team access."""
    right = "'Administration: read and write', and 'Members: read' of the organization"
    advice = (
        f"check the team's slug, and that the token may: {_tokens(right)}; or give the team access by hand, "
        "and leave out `--team`"
    )
    return Attempt(
        f"give the team {one_line(team)} access to {name}", "administration: write", UsageError, advice=advice
    )


def listing_keys(name: str) -> Attempt:
    """List the deploy keys."""
    return Attempt(f"list the deploy keys of {name}", "administration: read", advice=_keys())


def adding_key(name: str) -> Attempt:
    """Register a deploy key."""
    return Attempt(f"add a deploy key to {name}", "administration: write", UsageError, advice=_keys())


def removing_key(title: str, name: str) -> Attempt:
    """Remove a deploy key."""
    return Attempt(
        f"remove the deploy key {one_line(title)} from {name}",
        "administration: write",
        ForgeUnavailable,
        advice=_keys(),
    )


def _keys() -> str:
    tokens = _tokens("'Administration: read and write' for this repository")
    return (
        f"{tokens}, and whoever it acts for has to be an admin of the repository; or let Flux use a token "
        "(--token-auth) or a GitHub App (--app-id)"
    )


def sealing(secret: str, environment: str, name: str) -> Attempt:
    """Put a secret of Actions into the repository or into one of its environments."""
    area, where = _vault(environment, name)
    doing = f"put the secret {one_line(secret)} into {where}"
    return Attempt(doing, f"{area.lower()}: write", UsageError, advice=_secrets(area))


def looking_for_secret(secret: str, environment: str, name: str) -> Attempt:
    """See whether there is a secret of Actions."""
    area, where = _vault(environment, name)
    doing = f"see whether {where} has the secret {one_line(secret)}"
    return Attempt(doing, f"{area.lower()}: read", advice=_secrets(area))


def _vault(environment: str, name: str) -> tuple[str, str]:
    """The permission for secrets, and where they are."""
    if environment:
        return "Environments", f"the environment {one_line(environment)} of {name}"
    return "Secrets", name


def _secrets(area: str) -> str:
    tokens = _tokens(f"'{area}: read and write' for this repository")
    return f"{tokens}; or have the Secret written into a file (--secret-file)"


def no_environment(environment: str, name: str) -> ForbiddenByForge:
    """404 for the environment's key."""
    known = one_line(environment)
    return ForbiddenByForge(
        f"{name} has no environment {known}, or the token may not see it",
        hint=f"create it first: Settings > Environments > New environment, or `gh api --method PUT "
        f"repos/{name}/environments/{known}`; the token needs 'Environments: read and write', a classic one "
        "the scope repo",
    )


def hidden(name: str) -> ForbiddenByForge:
    """A repository of that name cannot be created, and cannot be seen."""
    return ForbiddenByForge(
        f"{one_line(name)} is there already, and the token may not see it",
        hint="give a token that may read it, or choose another name",
    )


def renamed(name: str, now: str) -> UsageError:
    """A former name redirects."""
    return UsageError(
        f"{name} was renamed: it is {one_line(now)} now",
        hint=f"give it by its name of today, and change the checkout's remote: {one_line(now)}",
    )


def not_yours(login: str, name: str) -> UsageError:
    """Nobody creates repositories in somebody else's account."""
    owner = one_line(name.partition("/")[0])
    return UsageError(
        f"the token is {one_line(login)}'s, who cannot create a repository for {owner}",
        hint=f"leave out `--personal` if {owner} is an organization, else give a token of {owner}'s",
    )


def a_person(name: str) -> UsageError:
    """``POST /orgs/{org}/repos`` is for organizations."""
    owner = one_line(name.partition("/")[0])
    return UsageError(f"{owner} is a person's account, not an organization", hint="give `--personal` too")


def no_account(name: str) -> UsageError:
    """Nobody has the name."""
    owner = one_line(name.partition("/")[0])
    return UsageError(
        f"there is no account {owner}, or the token may not see it", hint="check the owner's name"
    )
