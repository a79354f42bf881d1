"""What GitHub does that no schema tells, as the stand-in does it too: each with where it is said.

Where GitHub's documentation is silent, the source is an answer of GitHub's that somebody published.
"""

from __future__ import annotations

from dataclasses import dataclass

_DOCS = "https://docs.github.com/"


@dataclass(frozen=True)
class Fact:
    """One thing to know. A test of the same name shows it."""

    name: str
    source: str
    what: str


RULES = (
    Fact(
        "empty-repository",
        f"{_DOCS}rest/git/blobs#create-a-blob",
        "Git's endpoints answer 409 for a repository that nobody has pushed to.",
    ),
    Fact(
        "commits-of-forks",
        f"{_DOCS}actions/security-for-github-actions/security-guides/security-hardening-for-github-actions",
        "A repository serves the commits of its forks, too, by their ids. A comparison shows that they are on no"
        " branch of it.",
    ),
    Fact(
        "large-content",
        "https://github.com/octokit/octokit.net/issues/3029",
        "The content of a file is given up to a megabyte: 403, with the code `too_large`.",
    ),
    Fact(
        "existing-ref",
        f"{_DOCS}rest/git/refs#create-a-reference",
        "A ref that exists is not created again: 422, “Reference already exists”.",
    ),
    Fact(
        "ref-in-the-way",
        "https://github.com/microsoft/vscode-remote-repositories-github/issues/122",
        "Below the name of a ref there can be no other: 422, “Reference update failed”.",
    ),
    Fact(
        "ruleset-bypass",
        f"{_DOCS}rest/repos/rules#get-a-repository-ruleset",
        "GraphQL's rules of a ref are those of everybody; the REST API says of a ruleset whether it binds who asks.",
    ),
    Fact(
        "fast-forward",
        f"{_DOCS}rest/git/refs#update-a-reference",
        "Without force, a ref moves to a descendant only: 422, “Update is not a fast forward”.",
    ),
    Fact(
        "compare-and-swap",
        f"{_DOCS}graphql/reference/input-objects#refupdate",
        "updateRefs moves all refs or none; beforeOid says where each must be, forty zeroes that it must not"
        " exist. The error's words are not documented.",
    ),
    Fact(
        "existing-pull-request",
        "https://github.com/Financial-Times/nori/issues/65",
        "One open pull request for each head and base: 422, “A pull request already exists for acme:branch.”",
    ),
    Fact(
        "no-commits",
        "https://github.com/tgymnich/fork-sync/issues/112",
        "A branch without commits of its own: 422, “No commits between main and branch”.",
    ),
    Fact(
        "head-filter",
        "https://github.com/PyGithub/PyGithub/issues/1566",
        "The head filter is user:branch; a branch's name alone filters nothing.",
    ),
    Fact(
        "stale-base-sha",
        "https://github.com/github/docs/issues/431",
        "base.sha is where the base was when the pull request was opened or pushed to, not where it is.",
    ),
    Fact(
        "mergeable-later",
        f"{_DOCS}rest/pulls/pulls#get-a-pull-request",
        "Whether a pull request can be merged is found out in the background: null (UNKNOWN) until then.",
    ),
    Fact(
        "etag-of-token",
        "https://github.com/github/docs/issues/34689",
        "An ETag is worth something to the same token only; 304 does not count against the limit.",
    ),
    Fact(
        "permission-missing",
        f"{_DOCS}rest/using-the-rest-api/troubleshooting-the-rest-api#resource-not-accessible",
        "403, “Resource not accessible by integration” (or “by personal access token”); GraphQL says it"
        " with status 200 and type FORBIDDEN.",
    ),
    Fact(
        "actions-may-open",
        f"{_DOCS}actions/security-for-github-actions/security-guides/automatic-token-authentication",
        "A setting of the repository keeps GITHUB_TOKEN from opening pull requests: 403, “GitHub Actions is"
        " not permitted to create or approve pull requests.”",
    ),
    Fact(
        "workflow-files",
        "https://github.com/vercel/next.js/pull/94596",
        "A workflow file that no branch has so needs a permission of its own, which GITHUB_TOKEN never has:"
        " the REST API says “Resource not accessible by integration”, a push “refusing to allow a GitHub App"
        " to create or update workflow”.",
    ),
    Fact(
        "saml",
        f"{_DOCS}authentication/authenticating-with-saml-single-sign-on",
        "A personal token that the organization's single sign-on did not authorize: 403, “Resource protected"
        " by organization SAML enforcement”.",
    ),
    Fact(
        "bad-credentials",
        f"{_DOCS}rest/authentication/authenticating-to-the-rest-api#failed-login-limit",
        "401, “Bad credentials”, for a token that is not known, even where none is needed.",
    ),
    Fact(
        "private-repository",
        f"{_DOCS}rest/using-the-rest-api/troubleshooting-the-rest-api#404-not-found-for-an-existing-resource",
        "What a token must not know of is 404; GraphQL: “Could not resolve to a Repository”, NOT_FOUND.",
    ),
    Fact(
        "no-drafts",
        "https://github.com/SWE-agent/SWE-agent/issues/179",
        "422, “Draft pull requests are not supported in this repository.”, where the plan has none.",
    ),
    Fact(
        "long-body",
        "https://github.com/renovatebot/renovate/issues/2032",
        "A body longer than 65,536 characters: 422, “body is too long (maximum is 65536 characters)”.",
    ),
    Fact(
        "archived",
        f"{_DOCS}repositories/archiving-a-github-repository/archiving-repositories",
        "403, “Repository was archived so is read-only.”, for every write.",
    ),
    Fact(
        "ruleset",
        f"{_DOCS}repositories/configuring-branches-and-merges-in-your-repository/managing-rulesets",
        "A push that breaks a rule: 422, “Repository rule violations found”, and which.",
    ),
    Fact(
        "branch-patterns",
        f"{_DOCS}repositories/configuring-branches-and-merges-in-your-repository/managing-rulesets/"
        "creating-rulesets-for-a-repository#using-fnmatch-syntax",
        "In the patterns of rules, no wildcard matches a slash but that of a directory, **/.",
    ),
    Fact(
        "signed-by-github",
        f"{_DOCS}authentication/managing-commit-signature-verification/about-commit-signature-verification",
        "A commit made by an app's token without author and committer is signed; a personal token's is not.",
    ),
    Fact(
        "update-branch",
        f"{_DOCS}pull-requests/collaborating-with-pull-requests/proposing-changes-to-your-work-with-pull-requests/"
        "keeping-your-pull-request-in-sync-with-the-base-branch",
        "“Update branch” merges the base into the head: the head is the first parent, GitHub the committer, and"
        " the commit is signed by GitHub.",
    ),
    Fact(
        "revert-branch",
        "https://github.com/cli/cli/pull/14294",
        "revertPullRequest makes the branch revert-1-branch, of the number and the head of what it reverts. What it"
        " says where that branch exists, or the revert conflicts, is not documented.",
    ),
    Fact(
        "up-to-date",
        f"{_DOCS}repositories/configuring-branches-and-merges-in-your-repository/managing-protected-branches/"
        "about-protected-branches#require-status-checks-before-merging",
        "Required checks may be strict: a branch that lacks a commit of its base cannot be merged. Its"
        " mergeStateStatus is BEHIND, unless something else is missing: then it is BLOCKED, and a draft's is DRAFT.",
    ),
    Fact(
        "closed-by-a-bot",
        "https://github.com/actions/stale#readme",
        "What closes something with GITHUB_TOKEN, or as another app, is a Bot in the timeline; a person is a User.",
    ),
    Fact(
        "enterprise-version",
        "https://github.com/renovatebot/renovate/blob/main/lib/modules/platform/github/index.ts",
        "GitHub Enterprise Server says its version in a header of each answer of its APIs.",
    ),
    Fact(
        "rewritten-branch",
        "https://github.com/isaacs/github/issues/361",
        "A closed pull request whose branch was rewritten since cannot be opened again: 422, “was force-pushed"
        " or recreated”.",
    ),
    Fact(
        "deleted-branch",
        "https://github.com/pytorch/pytorch/pull/114423",
        "Deleting a branch closes its pull requests, which then cannot be opened again: 422, “state cannot be"
        " changed. The branch branch has been deleted.”",
    ),
    Fact(
        "ready-needs-contents",
        "https://github.com/cli/cli/discussions/6924",
        "markPullRequestReadyForReview needs contents: write beside pull-requests: write.",
    ),
    Fact(
        "auto-merge",
        "https://github.com/peter-evans/enable-pull-request-automerge/issues/343",
        "Auto-merge is refused where the repository does not allow it, and where nothing is to be waited for.",
    ),
    Fact(
        "merge-queue",
        f"{_DOCS}pull-requests/collaborating-with-pull-requests/incorporating-changes-from-a-pull-request/"
        "merging-a-pull-request-with-a-merge-queue",
        "A pull request leaves the merge queue where its head moves, it is closed, or it becomes a draft.",
    ),
    Fact(
        "no-auto-merge-of-drafts",
        "https://github.com/reitermarkus/automerge/issues/1525",
        "Auto-merge is turned off for a draft, and cannot be turned on. To turn it off where it is off is refused.",
    ),
    Fact(
        "pagination",
        f"{_DOCS}graphql/guides/using-pagination-in-the-graphql-api",
        "A GraphQL connection needs first or last, at most 100.",
    ),
    Fact(
        "installation-is-no-user",
        f"{_DOCS}rest/users/users#get-the-authenticated-user",
        "GET /user is 403 for GITHUB_TOKEN and the tokens of apps.",
    ),
    Fact(
        "rate-limit",
        f"{_DOCS}rest/using-the-rest-api/rate-limits-for-the-rest-api",
        "A used-up limit: 403, x-ratelimit-remaining 0 and x-ratelimit-reset; asking for it costs nothing.",
    ),
    Fact(
        "reviewers",
        f"{_DOCS}rest/pulls/review-requests#request-reviewers-for-a-pull-request",
        "422 for reviewers who are no collaborators, and for the author: one of them, and nobody is asked.",
    ),
    Fact(
        "assignees",
        f"{_DOCS}rest/issues/assignees#add-assignees-to-an-issue",
        "Whoever cannot be assigned is left out without a word by the endpoint for assignees; one that changes an"
        " issue answers 422 and changes nothing.",
    ),
    Fact(
        "crlf",
        "https://github.com/actions/runner/issues/1462",
        "What a person edits in the browser comes back with CRLF.",
    ),
)
