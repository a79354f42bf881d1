"""As ``rules``, of what creates and opens repositories."""

from __future__ import annotations

from github_stand_in.rules import Fact

_DOCS = "https://docs.github.com/"

RULES = (
    Fact(
        "creating-needs-administration",
        f"{_DOCS}rest/authentication/permissions-required-for-fine-grained-personal-access-tokens",
        "A repository is created by who has Administration: write for all repositories; a classic token needs"
        " repo and is told 404 without. No workflow can give that to GITHUB_TOKEN.",
    ),
    Fact(
        "name-taken",
        "https://github.com/zmrlft/GreenWall/issues/72",
        "422, “Repository creation failed.”, with “name already exists on this account” in its errors.",
    ),
    Fact(
        "members-may-not-create",
        "https://github.com/quickfeed/quickfeed/issues/111",
        "403, “You need admin access to the organization before adding a repository to it.”",
    ),
    Fact(
        "a-person-is-no-organization",
        f"{_DOCS}rest/repos/repos#create-an-organization-repository",
        "POST /orgs/{org}/repos is 404 for a person's account; POST /user/repos creates for whom the token acts"
        " for, which is nobody for an installation.",
    ),
    Fact(
        "first-branch",
        "https://github.com/datalad/datalad/issues/4997",
        "Of what is pushed first, the branch of the default name becomes the default branch, else the first"
        " by the alphabet.",
    ),
    Fact(
        "renamed",
        f"{_DOCS}rest/using-the-rest-api/best-practices-for-using-the-rest-api#follow-redirects",
        "A former name redirects to the repository's number: reads with 301, writes with 307.",
    ),
    Fact(
        "key-in-use",
        "https://github.com/jcabi/jcabi-github/issues/608",
        "No key is a deploy key twice, here or elsewhere: 422, “key is already in use”.",
    ),
    Fact(
        "deploy-keys-disabled",
        "https://github.com/vitodeploy/vito/issues/949",
        "Organizations forbid deploy keys: 422, “Deploy keys are disabled for this repository”.",
    ),
    Fact(
        "keys-are-for-admins",
        "https://github.com/octokit/octokit.net/issues/1812",
        "Who is no admin of the repository is told 403, “Must have admin rights to Repository.”, be it public or not.",
    ),
    Fact(
        "sealed",
        "https://github.com/integrations/terraform-provider-github/issues/2315",
        "What was not sealed with the place's own key: 422, “validation failed due to an improperly encrypted"
        " secret”. 201 for a new secret, 204 for one that was there.",
    ),
    Fact(
        "no-environment",
        "https://github.com/pulumi/pulumi-github/issues/248",
        "The public key of an environment that is not there is 404: a secret does not make one.",
    ),
    Fact(
        "team-access",
        f"{_DOCS}rest/teams/teams#add-or-update-team-repository-permissions",
        "204, as often as it is asked; 404 for a team that the token does not see.",
    ),
    Fact(
        "scopes-are-told",
        f"{_DOCS}apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps",
        "X-OAuth-Scopes in every answer to a classic token, and to no other one.",
    ),
    Fact(
        "host-keys",
        f"{_DOCS}rest/meta/meta#get-github-meta-information",
        "GET /meta tells everybody the SSH host keys of github.com; Enterprise Server tells none.",
    ),
    Fact(
        "pushed-workflows",
        "https://github.com/repo-sync/github-sync/issues/23",
        "A push with a workflow file that no branch has so is rejected, branch by branch: “refusing to allow a"
        " GitHub App to create or update workflow `…` without `workflows` permission”.",
    ),
)
