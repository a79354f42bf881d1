"""Labels, assignees and reviewers for a pull request: what GitHub does not take costs the others nothing."""

from __future__ import annotations

from collections.abc import Callable

from github.GithubObject import NotSet
from github.Issue import Issue
from github.NamedUser import NamedUser
from github.PullRequest import PullRequest

from flux_upgrade.model.errors import FluxUpgradeError, ForbiddenByForge
from flux_upgrade.model.forge import Extras


class Unacceptable(ForbiddenByForge):
    """GitHub understood the request and does not take it: one name that it does not know is enough."""


Failure = Callable[[str, Callable[[], object]], FluxUpgradeError | None]
"""Tries something, given what that is and how: what went wrong, if it did."""


class ExtrasGiver:
    """Gives them to one pull request. ``warnings`` tell what did not work.

    As ``Extras.names``, ``refused`` has what GitHub does not take, and ``missing`` what failed in passing.
    """

    def __init__(self, pull: PullRequest, issue: Issue, failure: Failure) -> None:
        self._pull, self._issue, self._failure = pull, issue, failure
        self.warnings: list[str] = []
        self.missing: list[str] = []
        self.refused: list[str] = []

    def give(self, extras: Extras, *, is_new: bool) -> None:
        """``is_new``: it has no labels or people yet that an edit could replace."""
        both = Extras(extras.labels, extras.assignees)
        if not (is_new and both.names and self._given_at_once(both)):
            self._give(Extras(labels=extras.labels))
            self._give(Extras(assignees=extras.assignees))
        self._give(Extras(reviewers=extras.reviewers))

    def _given_at_once(self, extras: Extras) -> bool:
        """In one call; whether that settles it."""
        labels: list[str] = [*extras.labels]
        assignees: list[NamedUser | str] = [*extras.assignees]
        what = " and ".join(word for word in ("labels", "assignees") if getattr(extras, word))
        error = self._failure(
            f"set the {what} of the pull request",
            lambda: self._issue.edit(labels=labels or NotSet, assignees=assignees or NotSet),
        )
        if isinstance(error, Unacceptable) and len(extras.names) > 1:
            return False
        self._settle(extras, error)
        return True

    def _give(self, extras: Extras) -> None:
        """All of one kind in one call; one by one where GitHub does not take them together."""
        if not extras.names:
            return
        error = self._failure(_doing(extras), lambda: self._put(extras))
        if isinstance(error, Unacceptable) and len(extras.names) > 1:
            for each in extras.each():
                self._give(each)
        else:
            self._settle(extras, error)

    def _put(self, extras: Extras) -> None:
        if extras.labels:
            self._issue.add_to_labels(*extras.labels)
        elif extras.assignees:
            self._issue.add_to_assignees(*extras.assignees)
        else:
            people = [name for name in extras.reviewers if "/" not in name]
            teams = [name.partition("/")[2] for name in extras.reviewers if "/" in name]
            self._pull.create_review_request(people or NotSet, teams or NotSet)

    def _settle(self, extras: Extras, error: FluxUpgradeError | None) -> None:
        if error is not None:
            self.warnings.append(f"{error.message} ({error.hint})")
            (self.refused if isinstance(error, ForbiddenByForge) else self.missing).extend(extras.names)
            return
        # Whoever cannot be assigned is left out without a word: https://docs.github.com/rest/issues/assignees.
        there = {assignee.login.lower() for assignee in self._issue.assignees} if extras.assignees else set()
        for login in [each for each in extras.assignees if each.lower() not in there]:
            self.warnings.append(f"GitHub did not assign {login} (check the login, and that it has access)")
            self.refused += Extras(assignees=(login,)).names


def _doing(extras: Extras) -> str:
    if extras.labels:
        return f"add the label {', '.join(extras.labels)}"
    if extras.assignees:
        return f"assign {', '.join(extras.assignees)}"
    return f"ask {', '.join(extras.reviewers)} for a review"
