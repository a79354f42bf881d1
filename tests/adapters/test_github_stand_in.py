"""The stand-in for GitHub follows GitHub's published API descriptions, with a test for each known rule."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from github_stand_in import Rule, StandIn
from github_stand_in.model import Status
from github_stand_in.refusals import MAX_BODY, Refused
from github_stand_in.rules import RULES

from stand_in.asking import Api, asking, fleet
from stand_in.checked import checked

NONE = "0" * 40
shown: set[str] = set()
F = TypeVar("F", bound=Callable[..., object])


def shows(name: str) -> Callable[[F], F]:
    """Marks the test of a rule of ``github_stand_in.rules``."""
    shown.add(name)
    return lambda test: test


def status_and_message(response: Any) -> tuple[int, str]:
    """Status and message; of the first error, where the message is only a heading."""
    body = response.json()
    errors = body.get("errors") or [{}]
    return response.status_code, errors[0].get("message") or body["message"]


def refused(answer: dict[str, Any]) -> tuple[str, str]:
    """Type and message of GraphQL's first error."""
    return answer["errors"][0]["type"], answer["errors"][0]["message"]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[StandIn]:
    with checked(tmp_path) as hub:
        yield hub


@pytest.fixture
def api(hub: StandIn) -> Iterator[Api]:
    fleet(hub)
    with asking(hub) as api:
        yield api


def test_every_rule_has_a_test() -> None:
    assert shown == {fact.name for fact in RULES}


@shows("empty-repository")
def test_an_empty_repository_has_no_git_endpoints(hub: StandIn) -> None:
    hub.create_repository("acme/fleet")
    with asking(hub) as api:
        assert status_and_message(api.post("/git/blobs", {"content": ""})) == (409, "Git Repository is empty.")
        assert api.post("/git/trees", {"tree": []}).status_code == 409
        assert api.get("/git/ref/heads/main").status_code == 409
        query = '{ repository(owner: "acme", name: "fleet") { isEmpty defaultBranchRef { name } } }'
        repository = {"isEmpty": True, "defaultBranchRef": None}
        assert api.query(query) == {"data": {"repository": repository}}


@shows("existing-ref")
def test_a_ref_is_not_created_twice(api: Api) -> None:
    sha = api.branch("up/date")
    again = api.post("/git/refs", {"ref": "refs/heads/up/date", "sha": sha})
    assert status_and_message(again) == (422, "Reference already exists")


@shows("ref-in-the-way")
@pytest.mark.parametrize("name", ["up", "up/date/now"])
def test_a_ref_leaves_no_room_below_it(api: Api, name: str) -> None:
    sha = api.branch("up/date")
    again = api.post("/git/refs", {"ref": f"refs/heads/{name}", "sha": sha})
    assert status_and_message(again) == (422, "Reference update failed")


@shows("ruleset-bypass")
def test_a_ruleset_reports_whom_it_binds(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    repository.settings.rules = (Rule("NON_FAST_FORWARD", "up", bypass=("alice",)),)
    query = """{ repository(owner: "acme", name: "fleet") { ref(qualifiedName: "up") {
      rules(first: 5) { nodes { type repositoryRuleset { databaseId } } } } } }"""
    first, second = api.branch("up"), api.commit({"a.yaml": "again\n"})
    for kind, answer, status in (("actions", "never", 422), ("classic", "always", 200)):
        asked = api.holding(hub.token(kind))
        (rule,) = asked.query(query)["data"]["repository"]["ref"]["rules"]["nodes"]
        ruleset = asked.get(f"/rulesets/{rule['repositoryRuleset']['databaseId']}").json()
        assert ruleset["current_user_can_bypass"] == answer
        moved = asked.patch("/git/refs/heads/up", {"sha": second, "force": True})
        assert moved.status_code == status
    assert first != repository.head("up") == second
    assert api.get("/rulesets/1").status_code == 404


@shows("fast-forward")
def test_a_ref_moves_backwards_only_by_force(api: Api) -> None:
    api.branch("up/date")
    other = api.commit({"a.yaml": "other\n"})
    move = {"sha": other}
    assert status_and_message(api.patch("/git/refs/heads/up/date", move)) == (422, "Update is not a fast forward")
    assert api.patch("/git/refs/heads/up/date", {**move, "force": True}).status_code == 200
    assert api.get("/git/ref/heads/up/date").json()["object"]["sha"] == other
    assert status_and_message(api.patch("/git/refs/heads/none", move)) == (422, "Reference does not exist")


@shows("compare-and-swap")
def test_refs_are_moved_all_or_none(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    first, second = api.branch("first"), api.branch("second", {"b.yaml": "b\n"})
    new = api.commit({"a.yaml": "newer\n"})
    force = {"afterOid": new, "force": True}
    stale = [
        {"name": "refs/heads/first", "beforeOid": first, **force},
        {"name": "refs/heads/second", "beforeOid": first, **force},
    ]
    answer = api.mutate("updateRefs", repositoryId=repository.node_id, refUpdates=stale)
    assert answer["data"] == {"updateRefs": None}
    assert refused(answer)[0] == "UNPROCESSABLE"
    assert (repository.head("first"), repository.head("second")) == (first, second)
    stale[1]["beforeOid"] = second
    stale.append({"name": "refs/heads/third", "beforeOid": NONE, "afterOid": new})
    assert "errors" not in api.mutate("updateRefs", repositoryId=repository.node_id, refUpdates=stale)
    assert [repository.head(name) for name in ("first", "second", "third")] == [new] * 3
    gone = [{"name": "refs/heads/third", "beforeOid": new, "afterOid": NONE}]
    assert "errors" not in api.mutate("updateRefs", repositoryId=repository.node_id, refUpdates=gone)
    assert repository.head("third") == ""


@shows("existing-pull-request")
def test_a_pull_request_is_not_opened_twice(api: Api) -> None:
    api.branch("up")
    assert api.open_pull("up").status_code == 201
    assert status_and_message(api.open_pull("up")) == (422, "A pull request already exists for acme:up.")


@shows("no-commits")
def test_a_branch_without_commits_has_no_pull_request(hub: StandIn, api: Api) -> None:
    hub.repositories["acme/fleet"].people.force_push("same", hub.repositories["acme/fleet"].head())
    assert status_and_message(api.open_pull("same")) == (422, "No commits between main and same")
    assert api.open_pull("none").json()["errors"] == [{"resource": "PullRequest", "field": "head", "code": "invalid"}]


@shows("head-filter")
def test_the_head_filter_needs_the_owner(api: Api) -> None:
    for name in ("one", "two"):
        api.branch(name)
        api.open_pull(name)

    def listed(query: str) -> list[str]:
        return [pull["head"]["ref"] for pull in api.get(f"/pulls?{query}").json()]

    assert listed("head=acme:one") == ["one"]
    assert listed("head=one") == ["two", "one"]
    assert listed("head=mallory:one") == []
    api.patch("/pulls/1", {"state": "closed"})
    assert listed("state=all&head=acme:one") == ["one"]
    assert listed("state=open&base=main") == ["two"]


@shows("stale-base-sha")
def test_the_sha_of_the_base_is_an_old_one(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    before = repository.head()
    api.branch("up")
    api.open_pull("up")
    after = repository.people.advance_base()
    assert after != before
    assert api.get("/pulls/1").json()["base"]["sha"] == before
    repository.people.push("up", {"c.yaml": b"c\n"})
    assert api.get("/pulls/1").json()["base"]["sha"] == after


@shows("mergeable-later")
def test_conflicts_are_known_later(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    api.branch("up")
    assert api.open_pull("up").json()["mergeable"] is None
    assert api.get("/pulls/1").json()["mergeable"] is True
    repository.people.push("", {"a.yaml": b"a third\n"})
    query = '{ repository(owner: "acme", name: "fleet") { pullRequest(number: 1) { mergeable } } }'
    assert api.query(query)["data"]["repository"]["pullRequest"] == {"mergeable": "CONFLICTING"}
    repository.settings.knows_mergeable = False
    assert api.query(query)["data"]["repository"]["pullRequest"] == {"mergeable": "UNKNOWN"}


@shows("etag-of-token")
def test_an_etag_is_worth_something_to_its_token_only(hub: StandIn, api: Api) -> None:
    first = api.get("/pulls")
    kept, used = first.headers["ETag"], first.headers["x-ratelimit-used"]
    again = api.get("/pulls", If_None_Match=kept)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["x-ratelimit-used"] == used
    assert api.holding(hub.token()).get("/pulls", If_None_Match=kept).status_code == 200
    api.branch("up")
    api.open_pull("up")
    assert api.get("/pulls", If_None_Match=kept).status_code == 200


READ_ONLY = {"contents": "read", "pull-requests": "read"}
WRITES = (
    ("POST", "/git/blobs", {"content": "x"}),
    ("POST", "/git/refs", {"ref": "refs/heads/x", "sha": NONE}),
    ("POST", "/pulls", {"title": "x", "head": "up", "base": "main"}),
    ("PATCH", "/pulls/1", {"title": "x"}),
    ("POST", "/issues", {"title": "x"}),
    ("POST", "/issues/1/labels", {"labels": ["x"]}),
    ("POST", f"/statuses/{NONE}", {"state": "success"}),
)


@shows("permission-missing")
@pytest.mark.parametrize(("method", "path", "body"), WRITES, ids=[path for _, path, _ in WRITES])
def test_what_a_token_may_not_is_refused(hub: StandIn, api: Api, method: str, path: str, body: object) -> None:
    api.branch("up")
    api.open_pull("up")
    words = {"actions": "integration", "app": "integration", "fine-grained": "personal access token"}
    for kind, who in words.items():
        answer = api.holding(hub.token(kind, READ_ONLY)).ask(method, path, body)
        assert status_and_message(answer) == (403, f"Resource not accessible by {who}")
    assert api.holding(hub.token("classic", scopes=())).ask(method, path, body).status_code == 404
    assert status_and_message(Api(hub, None, api.session).ask(method, path, body))[0] == 401


def test_graphql_reports_a_missing_permission_with_status_200(hub: StandIn, api: Api) -> None:
    hub.repositories["acme/fleet"].settings.is_private = True
    poor = api.holding(hub.token("actions", {"contents": "read"}))
    query = """{ repository(owner: "acme", name: "fleet") {
      defaultBranchRef { name } issues(first: 1) { totalCount } } }"""
    answer = poor.query(query)
    assert refused(answer) == ("FORBIDDEN", "Resource not accessible by integration")
    assert answer["errors"][0]["path"] == ["repository", "issues"]
    assert answer["data"] == {"repository": None}, "a field that must not be null takes its parent along"
    found = poor.query('{ repository(owner: "acme", name: "fleet") { defaultBranchRef { name } } }')
    assert found["data"]["repository"]["defaultBranchRef"] == {"name": "main"}


@shows("actions-may-open")
def test_a_setting_keeps_github_token_from_opening_pull_requests(hub: StandIn, api: Api) -> None:
    hub.repositories["acme/fleet"].settings.actions_may_open = False
    api.branch("up")
    words = "GitHub Actions is not permitted to create or approve pull requests."
    assert status_and_message(api.open_pull("up")) == (403, words)
    assert api.holding(hub.token("app")).open_pull("up").status_code == 201


WORKFLOW = ".github/workflows/flux.yaml"


@shows("workflow-files")
def test_a_workflow_file_needs_a_permission_of_its_own(hub: StandIn, api: Api) -> None:
    entry = {"path": WORKFLOW, "mode": "100644", "type": "blob", "content": "on: push\n"}
    tree = {"tree": [entry]}
    forbidden = (403, "Resource not accessible by integration")
    permissions = {"contents": "write", "workflows": "write"}
    assert status_and_message(api.post("/git/trees", tree)) == forbidden
    assert status_and_message(api.holding(hub.token("actions", permissions)).post("/git/trees", tree)) == forbidden
    assert api.holding(hub.token("app", permissions)).post("/git/trees", tree).status_code == 201
    personal = api.holding(hub.token("classic", scopes=("repo",)))
    words = f"refusing to allow a Personal Access Token to create or update workflow `{WORKFLOW}`"
    assert status_and_message(personal.post("/git/trees", tree)) == (403, f"{words} without `workflow` scope")
    hub.repositories["acme/fleet"].people.push("", {WORKFLOW: b"on: push\n"})
    assert api.post("/git/trees", tree).status_code == 201, "what a branch has already is nothing new"


@shows("saml")
def test_single_sign_on_wants_to_authorize_personal_tokens(hub: StandIn, api: Api) -> None:
    hub.repositories["acme/fleet"].settings.requires_sso = True
    words = (
        "Resource protected by organization SAML enforcement. You must grant your Personal Access"
        " token access to this organization."
    )
    answer = api.holding(hub.token("classic")).get("")
    assert status_and_message(answer) == (403, words)
    assert answer.headers["X-GitHub-SSO"].startswith("required; url=")
    query = '{ repository(owner: "acme", name: "fleet") { id } }'
    assert refused(api.holding(hub.token("classic")).query(query)) == ("FORBIDDEN", words)
    assert api.holding(hub.token("classic", is_sso_authorized=True)).get("").status_code == 200
    assert api.get("").status_code == 200


@shows("bad-credentials")
def test_an_unknown_token_is_refused_even_where_none_is_needed(hub: StandIn, api: Api) -> None:
    assert Api(hub, None, api.session).get("/releases").status_code == 200
    token = hub.token("classic")
    hub.revoke(token)
    assert status_and_message(api.holding(token).get("/releases")) == (401, "Bad credentials")
    assert api.holding(token).query("{ viewer { login } }")["message"] == "Bad credentials"


@shows("private-repository")
def test_a_private_repository_is_not_there_for_strangers(hub: StandIn, api: Api) -> None:
    hub.repositories["acme/fleet"].settings.is_private = True
    stranger = api.holding(hub.token("fine-grained", repositories=("acme/other",)))
    assert status_and_message(stranger.get("")) == (404, "Not Found")
    assert status_and_message(Api(hub, None, api.session).get("/pulls")) == (404, "Not Found")
    query = '{ repository(owner: "acme", name: "fleet") { id } }'
    words = "Could not resolve to a Repository with the name 'acme/fleet'."
    answer = stranger.query(query)
    assert (refused(answer), answer["data"]) == (("NOT_FOUND", words), {"repository": None})
    assert api.get("").json()["private"] is True


@shows("no-drafts")
def test_drafts_are_not_everywhere(hub: StandIn, api: Api) -> None:
    hub.repositories["acme/fleet"].settings.drafts = False
    api.branch("up")
    words = "Draft pull requests are not supported in this repository."
    assert status_and_message(api.open_pull("up", draft=True)) == (422, words)
    assert api.get("/pulls").json() == []


@shows("long-body")
def test_a_body_has_a_longest_length(api: Api) -> None:
    api.branch("up")
    words = f"body is too long (maximum is {MAX_BODY} characters)"
    assert status_and_message(api.open_pull("up", body="ü" * (MAX_BODY + 1))) == (422, words)
    assert api.open_pull("up", body="ü" * MAX_BODY).status_code == 201
    changed = api.patch("/pulls/1", {"body": "x" * (MAX_BODY + 1), "state": "closed"})
    assert status_and_message(changed) == (422, words)
    assert api.get("/pulls/1").json()["state"] == "open"


@shows("archived")
def test_an_archived_repository_is_read_only(hub: StandIn, api: Api) -> None:
    hub.repositories["acme/fleet"].settings.is_archived = True
    words = "Repository was archived so is read-only."
    assert status_and_message(api.post("/git/blobs", {"content": "x"})) == (403, words)
    assert api.get("/pulls").status_code == 200
    update = {"name": "refs/heads/x", "afterOid": NONE}
    answer = api.mutate("updateRefs", repositoryId="R_1000", refUpdates=[update])
    assert refused(answer) == ("FORBIDDEN", words)


RULED = (
    ("CREATION", "Cannot create ref due to creations being restricted."),
    ("REQUIRED_SIGNATURES", "Commits must have verified signatures."),
)


@shows("ruleset")
@pytest.mark.parametrize(("kind", "words"), RULED, ids=[kind for kind, _ in RULED])
def test_a_push_against_the_rules_is_refused(hub: StandIn, api: Api, kind: str, words: str) -> None:
    hub.repositories["acme/fleet"].settings.rules = (Rule(kind, "up*"),)
    personal = api.holding(hub.token("classic"))
    ref = {"ref": "refs/heads/up", "sha": personal.commit({"a.yaml": "a\n"})}
    status, message = status_and_message(personal.post("/git/refs", ref))
    assert (status, message.split("\n\n")) == (422, ["Repository rule violations found", words, ""])
    assert personal.post("/git/refs", {**ref, "ref": "refs/heads/other"}).status_code == 201
    query = '{ repository(owner: "acme", name: "fleet") { ref(qualifiedName: "other") { rules(first: 5) { nodes { type } } } } }'
    assert api.query(query)["data"]["repository"]["ref"]["rules"] == {"nodes": []}


@shows("branch-patterns")
@pytest.mark.parametrize(
    ("pattern", "covers"),
    [("~ALL", True), ("up/*", False), ("up/**", False), ("up/**/*", True), ("up/*/now", True), ("**/n?w", True)],
)
def test_no_wildcard_of_a_rule_matches_a_slash(hub: StandIn, api: Api, pattern: str, *, covers: bool) -> None:
    hub.repositories["acme/fleet"].settings.rules = (Rule("CREATION", pattern),)
    ref = {"ref": "refs/heads/up/date/now", "sha": hub.repositories["acme/fleet"].head()}
    assert api.post("/git/refs", ref).status_code == (422 if covers else 201)
    query = """{ repository(owner: "acme", name: "fleet") { rulesets(first: 5) {
      nodes { target enforcement conditions { refName { include exclude } } rules(first: 5) { nodes { type } } } } } }"""
    (found,) = api.query(query)["data"]["repository"]["rulesets"]["nodes"]
    include = [pattern if pattern == "~ALL" else f"refs/heads/{pattern}"]
    assert found["conditions"] == {"refName": {"include": include, "exclude": []}}
    assert (found["target"], found["enforcement"], found["rules"]["nodes"]) == (
        "BRANCH",
        "ACTIVE",
        [{"type": "CREATION"}],
    )


def test_rules_of_both_kinds_are_reported(hub: StandIn, api: Api) -> None:
    signed = "REQUIRED_SIGNATURES"
    hub.repositories["acme/fleet"].settings.rules = (Rule(signed, "main", is_classic=True), Rule("UPDATE"))
    query = """{ repository(owner: "acme", name: "fleet") { defaultBranchRef {
      rules(first: 5) { nodes { type } } refUpdateRule { requiresSignatures }
      branchProtectionRule { requiresCommitSignatures } } } }"""
    assert api.query(query)["data"]["repository"]["defaultBranchRef"] == {
        "rules": {"nodes": [{"type": "UPDATE"}]},
        "refUpdateRule": {"requiresSignatures": True},
        "branchProtectionRule": {"requiresCommitSignatures": True},
    }


PEOPLE = {"name": "A", "email": "a@example.com", "date": "2026-01-02T03:04:05Z"}
SIGNERS = (
    ("actions", None, "github-actions[bot]", "GitHub"),
    ("app", None, "acme-upgrades[bot]", "GitHub"),
    ("app", PEOPLE, "A", "A"),
    ("classic", None, "alice", "alice"),
    ("fine-grained", None, "alice", "alice"),
)


@shows("signed-by-github")
@pytest.mark.parametrize("case", SIGNERS, ids=[f"{kind} {committer}" for kind, _, _, committer in SIGNERS])
def test_github_signs_what_bots_commit_in_their_own_name(
    hub: StandIn, api: Api, case: tuple[str, dict[str, str] | None, str, str]
) -> None:
    kind, person, author, committer = case
    head = api.get("/git/ref/heads/main").json()["object"]["sha"]
    tree = api.get(f"/git/commits/{head}").json()["tree"]["sha"]
    commit = {"message": "x", "tree": tree, "parents": [head]}
    commit |= {} if person is None else {"author": person}
    made = api.holding(hub.token(kind)).post("/git/commits", commit).json()
    assert (made["author"]["name"], made["committer"]["name"]) == (author, committer)
    assert made["verification"]["verified"] is (committer == "GitHub")
    assert api.get(f"/git/commits/{made['sha']}").json()["verification"] == made["verification"]


@shows("deleted-branch")
def test_without_its_branch_a_pull_request_is_closed_for_good(hub: StandIn, api: Api) -> None:
    sha = api.branch("up")
    api.open_pull("up")
    hub.repositories["acme/fleet"].people.delete_branch("up")
    found = api.get("/pulls/1").json()
    assert (found["state"], found["merged"], found["head"]["sha"]) == ("closed", False, sha)
    words = "state cannot be changed. The up branch has been deleted."
    assert status_and_message(api.patch("/pulls/1", {"state": "open"})) == (422, words)


@shows("update-branch")
def test_update_branch_merges_the_base_and_signs_that(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    sha = api.branch("up/date")
    api.open_pull("up/date")
    base = repository.people.advance_base()
    made = repository.people.update_branch(1)
    shown = api.get(f"/compare/main...{made}").json()
    assert (shown["status"], shown["ahead_by"], shown["merge_base_commit"]["sha"]) == ("ahead", 2, base)
    assert [each["sha"] for each in shown["commits"]] == [sha, made]
    merge = shown["commits"][-1]
    assert [each["sha"] for each in merge["parents"]] == [sha, base]
    assert (merge["commit"]["committer"]["email"], merge["commit"]["verification"]["verified"]) == (
        "noreply@github.com",
        True,
    )
    assert [each["filename"] for each in shown["files"]] == ["a.yaml"]
    assert repository.pulls[1].head_sha == made


@shows("revert-branch")
@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_revert_is_a_pull_request_on_a_branch_that_github_names(hub: StandIn, api: Api, method: str) -> None:
    repository = hub.repositories["acme/fleet"]
    before = repository.files()
    api.branch("up/date")
    api.open_pull("up/date")
    pull = f"PR_{repository.id}_1"
    assert refused(api.mutate("revertPullRequest", pullRequestId=pull))[0] == "UNPROCESSABLE"
    repository.people.merge(1, method)
    repository.people.advance_base()
    assert "errors" not in api.mutate("revertPullRequest", pullRequestId=pull, draft=True, body="It fails.")
    made = repository.pulls[2]
    assert (made.head, made.base, made.is_draft) == ("revert-1-up/date", "main", True)
    assert (made.title, made.body) == (f'Revert "{repository.pulls[1].title}"', "It fails.")
    assert repository.files(made.head) == {**before, "README.md": repository.files()["README.md"]}
    assert refused(api.mutate("revertPullRequest", pullRequestId=pull))[0] == "UNPROCESSABLE"


@shows("up-to-date")
@pytest.mark.parametrize("is_classic", [True, False])
def test_a_strict_rule_wants_branches_that_are_up_to_date(hub: StandIn, api: Api, *, is_classic: bool) -> None:
    query = """{ repository(owner: "acme", name: "fleet") {
      pullRequest(number: 1) { mergeStateStatus }
    } }"""

    def state() -> str:
        return str(api.query(query)["data"]["repository"]["pullRequest"]["mergeStateStatus"])

    repository = hub.repositories["acme/fleet"]
    api.branch("up/date")
    api.open_pull("up/date", draft=True)
    repository.settings.rules = (Rule("REQUIRED_STATUS_CHECKS", "main", is_classic=is_classic, is_strict=True),)
    repository.settings.required_contexts = ("ci",)
    states = [state()]
    repository.people.mark_ready(1)
    states.append(state())
    repository.people.advance_base()
    states.append(state())
    api.post(f"/statuses/{repository.head('up/date')}", {"state": "success", "context": "ci"})
    states.append(state())
    with pytest.raises(Refused):
        repository.people.merge(1)
    made = repository.people.update_branch(1)
    api.post(f"/statuses/{made}", {"state": "success", "context": "ci"})
    states.append(state())
    assert states == ["DRAFT", "BLOCKED", "BLOCKED", "BEHIND", "CLEAN"]
    repository.people.merge(1)


@shows("closed-by-a-bot")
def test_the_timeline_reports_who_closed_something(hub: StandIn, api: Api) -> None:
    api.branch("up")
    api.open_pull("up")
    people = hub.repositories["acme/fleet"].people
    query = """{ repository(owner: "acme", name: "fleet") { pullRequest(number: 1) {
      timelineItems(last: 1, itemTypes: [CLOSED_EVENT]) { nodes { ... on ClosedEvent { actor { __typename login } } } }
    } } }"""

    def nodes() -> object:
        return api.query(query)["data"]["repository"]["pullRequest"]["timelineItems"]["nodes"]

    assert nodes() == []
    api.patch("/pulls/1", {"state": "closed"})
    assert nodes() == [{"actor": {"__typename": "Bot", "login": "github-actions"}}]
    people.reopen(1)
    people.close(1)
    assert nodes() == [{"actor": {"__typename": "User", "login": "alice"}}]


@shows("enterprise-version")
def test_an_enterprise_server_reports_its_version(hub: StandIn, api: Api) -> None:
    assert "x-github-enterprise-version" not in api.get("").headers
    hub.enterprise_version = "3.17.0"
    assert api.get("").headers["x-github-enterprise-version"] == "3.17.0"


@shows("rewritten-branch")
def test_a_closed_pull_request_whose_branch_was_rewritten_stays_closed(hub: StandIn, api: Api) -> None:
    people = hub.repositories["acme/fleet"].people
    sha = api.branch("up")
    api.open_pull("up")
    people.close(1)
    people.force_push("up", api.commit({"a.yaml": "other\n"}))
    words = "state cannot be changed. The up branch was force-pushed or recreated."
    assert status_and_message(api.patch("/pulls/1", {"state": "open"})) == (422, words)
    people.force_push("up", sha)
    assert api.patch("/pulls/1", {"state": "open"}).json()["state"] == "open"


@shows("ready-needs-contents")
def test_marking_as_ready_needs_contents_too(hub: StandIn, api: Api) -> None:
    api.branch("up")
    node = api.open_pull("up", draft=True).json()["node_id"]
    poor = api.holding(hub.token("actions", {"pull-requests": "write", "contents": "read"}))
    words = ("FORBIDDEN", "Resource not accessible by integration")
    assert refused(poor.mutate("markPullRequestReadyForReview", pullRequestId=node)) == words
    assert api.get("/pulls/1").json()["draft"] is True
    assert "errors" not in api.mutate("markPullRequestReadyForReview", pullRequestId=node)
    assert api.get("/pulls/1").json()["draft"] is False
    assert "errors" not in api.mutate("convertPullRequestToDraft", pullRequestId=node)
    assert api.get("/pulls/1").json()["draft"] is True


@shows("auto-merge")
def test_auto_merge_needs_the_setting_and_something_to_wait_for(hub: StandIn, api: Api) -> None:
    settings = hub.repositories["acme/fleet"].settings
    api.branch("up")
    node = api.open_pull("up").json()["node_id"]

    def asked() -> dict[str, Any]:
        return api.mutate("enablePullRequestAutoMerge", pullRequestId=node, mergeMethod="SQUASH")

    assert refused(asked()) == ("UNPROCESSABLE", "Auto merge is not allowed for this repository")
    settings.auto_merge = True
    assert refused(asked()) == ("UNPROCESSABLE", "Pull request Pull request is in clean status")
    settings.required_contexts = ("proof",)
    assert "errors" not in asked()
    assert api.get("/pulls/1").json()["auto_merge"]["merge_method"] == "squash"


@shows("no-auto-merge-of-drafts")
def test_a_draft_has_no_auto_merge(hub: StandIn, api: Api) -> None:
    settings = hub.repositories["acme/fleet"].settings
    settings.auto_merge, settings.required_contexts = True, ("proof",)
    api.branch("up")
    node = api.open_pull("up").json()["node_id"]

    def enabled_by() -> Any:
        field = "autoMergeRequest { enabledBy { login } }"
        query = f'{{ repository(owner: "acme", name: "fleet") {{ pullRequests(first: 1) {{ nodes {{ {field} }} }} }} }}'
        (found,) = api.query(query)["data"]["repository"]["pullRequests"]["nodes"]
        return found["autoMergeRequest"]

    assert "errors" not in api.mutate("enablePullRequestAutoMerge", pullRequestId=node)
    assert enabled_by() == {"enabledBy": {"login": "github-actions"}}
    assert "errors" not in api.mutate("convertPullRequestToDraft", pullRequestId=node)
    assert enabled_by() is None
    assert refused(api.mutate("enablePullRequestAutoMerge", pullRequestId=node))[0] == "UNPROCESSABLE"
    assert refused(api.mutate("disablePullRequestAutoMerge", pullRequestId=node))[0] == "UNPROCESSABLE"
    assert "errors" not in api.mutate("markPullRequestReadyForReview", pullRequestId=node)
    assert "errors" not in api.mutate("enablePullRequestAutoMerge", pullRequestId=node)
    assert "errors" not in api.mutate("disablePullRequestAutoMerge", pullRequestId=node)
    assert enabled_by() is None


@shows("merge-queue")
@pytest.mark.parametrize("leaves", ["push", "close", "draft", "button"])
def test_what_changes_leaves_the_merge_queue(hub: StandIn, api: Api, leaves: str) -> None:
    people = hub.repositories["acme/fleet"].people
    api.branch("up")
    node = api.open_pull("up").json()["node_id"]

    def is_queued() -> Any:
        query = '{ repository(owner: "acme", name: "fleet") { pullRequest(number: 1) { isInMergeQueue } } }'
        return api.query(query)["data"]["repository"]["pullRequest"]["isInMergeQueue"]

    people.queue(1)
    people.edit(1, body="Another one")
    assert is_queued()
    if leaves == "push":
        people.push("up", {"more": b"more"})
    elif leaves == "close":
        people.close(1)
    elif leaves == "draft":
        assert "errors" not in api.mutate("convertPullRequestToDraft", pullRequestId=node)
    else:
        people.unqueue(1)
    assert not is_queued()


@shows("pagination")
def test_connections_have_pages(api: Api) -> None:
    for number in range(5):
        api.post("/issues", {"title": f"issue {number}"})
    begin = '{ repository(owner: "acme", name: "fleet") { issues'
    fields = "{ totalCount nodes { number } pageInfo { hasNextPage endCursor } } } }"
    assert "must provide a `first` or `last`" in refused(api.query(f"{begin}{fields}"))[1]
    assert "exceeds the limit of 100" in refused(api.query(f"{begin}(first: 101){fields}"))[1]
    page = api.query(f"{begin}(first: 2){fields}")["data"]["repository"]["issues"]
    assert (page["totalCount"], [each["number"] for each in page["nodes"]]) == (5, [1, 2])
    after = f'(first: 9, after: "{page["pageInfo"]["endCursor"]}")'
    rest = api.query(f"{begin}{after}{fields}")["data"]["repository"]["issues"]
    assert [each["number"] for each in rest["nodes"]] == [3, 4, 5]
    assert rest["pageInfo"]["hasNextPage"] is False
    newest = "(last: 1, orderBy: {field: CREATED_AT, direction: ASC})"
    assert api.query(f"{begin}{newest}{fields}")["data"]["repository"]["issues"]["nodes"] == [{"number": 5}]


@shows("installation-is-no-user")
def test_bots_are_no_users(hub: StandIn, api: Api) -> None:
    assert api.get("//user").status_code == 403
    assert api.holding(hub.token("classic")).get("//user").json()["login"] == "alice"
    assert api.query("{ viewer { login } }") == {"data": {"viewer": {"login": "github-actions[bot]"}}}


@shows("rate-limit")
def test_a_limit_that_is_used_up_says_until_when(hub: StandIn, api: Api) -> None:
    assert api.get("//rate_limit").json()["rate"]["used"] == 0
    api.get("/pulls")
    assert api.get("//rate_limit").json()["rate"]["used"] == 1
    assert api.token is not None
    hub.exhaust(api.token)
    refusal = api.get("/pulls")
    assert status_and_message(refusal)[0] == 403
    assert "rate limit exceeded" in status_and_message(refusal)[1]
    assert refusal.headers["x-ratelimit-remaining"] == "0"
    assert refused(api.query("{ viewer { login } }"))[0] == "RATE_LIMITED"
    hub.clock.advance(seconds=int(refusal.headers["x-ratelimit-reset"]) - hub.clock.epoch)
    assert api.get("/pulls").status_code == 200


@shows("reviewers")
def test_only_collaborators_are_asked_for_a_review(api: Api) -> None:
    api.branch("up")
    api.open_pull("up")
    path = "/pulls/1/requested_reviewers"
    good = api.post(path, {"reviewers": ["alice"], "team_reviewers": ["platform"]}).json()
    assert [each["login"] for each in good["requested_reviewers"]] == ["alice"]
    assert [each["slug"] for each in good["requested_teams"]] == ["platform"]
    assert status_and_message(api.post(path, {"reviewers": ["nobody"]}))[0] == 422
    own = status_and_message(api.post(path, {"reviewers": ["github-actions[bot]"]}))
    assert own == (422, "Review cannot be requested from pull request author.")


@shows("crlf")
def test_browsers_end_lines_with_crlf(hub: StandIn, api: Api) -> None:
    api.branch("up")
    api.open_pull("up", body="one\n- [ ] <!-- box --> tick me\n")
    people = hub.repositories["acme/fleet"].people
    people.tick(1, "tick me")
    assert api.get("/pulls/1").json()["body"] == "one\n- [x] <!-- box --> tick me\n"
    people.edit(1, title="Mine", body="one\ntwo\r\n")
    found = api.get("/pulls/1").json()
    assert (found["title"], found["body"]) == ("Mine", "one\r\ntwo\r\n")


@shows("commits-of-forks")
def test_a_repository_serves_commits_of_its_forks(hub: StandIn, api: Api) -> None:
    fork = hub.repositories["acme/fleet"].people.open_from_fork("main", {"a.yaml": b"forked\n"}, "Mine").head_sha
    assert base64.b64decode(api.get(f"/contents/a.yaml?ref={fork}").json()["content"]) == b"forked\n"
    compared = api.get(f"/compare/{fork}...main").json()
    assert (compared["status"], compared["behind_by"]) == ("behind", 1)
    assert api.get(f"/compare/{compared['merge_base_commit']['sha']}...main").json()["behind_by"] == 0


@shows("large-content")
def test_content_is_given_up_to_a_megabyte(hub: StandIn, api: Api) -> None:
    hub.repositories["acme/fleet"].people.push("main", {"large": b"#" * 1_000_001, "d/less": b"#" * 1_000_000})
    assert api.get("/contents/d/less").json()["size"] == 1_000_000
    refusal = api.get("/contents/large")
    assert (refusal.status_code, refusal.json()["errors"][0]["code"]) == (403, "too_large")
    assert [each["path"] for each in api.get("/contents/d").json()] == ["d/b.yaml", "d/less"]
    assert status_and_message(api.get("/contents/none")) == (404, "Not Found")
    assert status_and_message(api.get("/contents/large?ref=none")) == (404, "No commit found for the ref none")


# What else clients rely on


def test_what_the_api_makes_are_git_objects(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    blob = api.post("/git/blobs", {"content": base64.b64encode(b"\0\1").decode(), "encoding": "base64"}).json()
    head = repository.head()
    entries = [
        {"path": "bin/tool", "mode": "100755", "type": "blob", "sha": blob["sha"]},
        {"path": "d/b.yaml", "mode": "100644", "type": "blob", "sha": None},
        {"path": "a.yaml", "mode": "100644", "type": "blob", "content": "ü\r\n"},
    ]
    base = api.get(f"/git/commits/{head}").json()["tree"]["sha"]
    tree = api.post("/git/trees", {"base_tree": base, "tree": entries}).json()
    assert {entry["path"]: entry["type"] for entry in tree["tree"]} == {"a.yaml": "blob", "bin": "tree"}
    commit = {"message": "No line end", "tree": tree["sha"], "parents": [head]}
    made = api.post("/git/commits", commit).json()
    api.post("/git/refs", {"ref": "refs/heads/up/date", "sha": made["sha"]})
    assert repository.files("up/date") == {"a.yaml": "ü\r\n".encode(), "bin/tool": b"\0\1"}
    assert repository.store.git("log", "-1", "--format=%B", "up/date") == b"No line end\n"
    repository.store.git("fsck", "--strict")
    assert api.ask("DELETE", "/git/refs/heads/up/date").status_code == 204
    assert repository.head("up/date") == ""


def test_bad_objects_are_refused(api: Api) -> None:
    entry = {"path": "a", "mode": "100644", "type": "blob", "sha": NONE}
    assert api.post("/git/trees", {"tree": [entry]}).status_code == 422
    assert api.post("/git/trees", {"base_tree": NONE, "tree": [entry]}).status_code == 404
    assert api.post("/git/commits", {"message": "x", "tree": NONE}).status_code == 422
    ref = {"ref": "refs/heads/x", "sha": NONE}
    assert status_and_message(api.post("/git/refs", ref)) == (422, "Object does not exist")
    assert api.get(f"/git/commits/{NONE}").status_code == 404
    assert api.post(f"/statuses/{NONE}", {"state": "success"}).status_code == 422


def at_main(api: Api, expression: str) -> object:
    query = """query($expression: String!) {
      repository(owner: "acme", name: "fleet") { object(expression: $expression) { oid } } }"""
    found = api.query(query, expression=expression)["data"]["repository"]["object"]
    return found and found["oid"]


def test_one_query_looks_at_everything(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    base = repository.head()
    sha = api.branch("up")
    api.open_pull("up", draft=True, body="text")
    api.patch("/issues/1", {"labels": ["flux", "minor"], "assignees": ["alice"]})
    status = {"state": "failure", "context": "proof", "description": "d", "target_url": "https://example.com"}
    api.post(f"/statuses/{sha}", status)
    api.post(f"/statuses/{sha}", {**status, "state": "success"})
    api.post("/issues", {"title": "An issue", "body": "b", "labels": ["pending"]})
    answer = api.query(
        """query($owner: String!, $name: String!, $head: String!) {
          repository(owner: $owner, name: $name) {
            nameWithOwner url isArchived isEmpty isFork
            defaultBranchRef { name prefix target { __typename oid ... on Commit {
              message messageHeadline tree { oid } parents(first: 1) { totalCount }
              there: file(path: "d/b.yaml") { oid mode type }
              gone: file(path: "none") { oid }
              history(first: 5, path: "d/b.yaml") { nodes { messageHeadline } }
            } } }
            object(expression: "main:d/b.yaml") { ... on Blob { text byteSize } }
            pullRequests(headRefName: $head, states: [OPEN], first: 10,
                         orderBy: {field: CREATED_AT, direction: DESC}) { nodes {
              number state isDraft isCrossRepository title body baseRefName headRefName headRefOid
              author { login } createdAt closedAt mergedAt labels(first: 9) { nodes { name } }
              commits(last: 1) { nodes { commit { oid parents(first: 2) { nodes { oid } }
                status { state context(name: "proof") { state } contexts { context } }
                signature { isValid } } } }
            } }
            issues(labels: ["pending"], states: [OPEN], first: 5) { nodes { number title body } }
          }
          viewer { login } rateLimit { cost remaining }
        }""",
        owner="acme",
        name="fleet",
        head="up",
    )
    assert "errors" not in answer
    found = answer["data"]["repository"]
    assert (found["nameWithOwner"], found["url"]) == ("acme/fleet", f"{hub.url}/acme/fleet")
    commit = found["defaultBranchRef"]["target"]
    assert (commit["__typename"], commit["oid"], commit["gone"]) == ("Commit", repository.head(), None)
    assert (commit["there"]["mode"], commit["there"]["type"]) == (0o100644, "blob")
    assert commit["history"] == {"nodes": [{"messageHeadline": "Begin"}]}
    assert found["object"] == {"text": "two\n", "byteSize": 4}
    assert at_main(api, "main") == repository.head()
    assert repository.people.advance_base() == at_main(api, "main") == at_main(api, "HEAD")
    assert at_main(api, sha) == sha
    assert at_main(api, "main:none") is at_main(api, "none") is None
    (pull,) = found["pullRequests"]["nodes"]
    assert (pull["number"], pull["isDraft"], pull["isCrossRepository"]) == (1, True, False)
    assert (pull["headRefOid"], pull["author"]) == (sha, {"login": "github-actions"})
    assert pull["labels"] == {"nodes": [{"name": "flux"}, {"name": "minor"}]}
    (of_pull,) = pull["commits"]["nodes"]
    assert of_pull["commit"] == {
        "oid": sha,
        "parents": {"nodes": [{"oid": base}]},
        "status": {"state": "SUCCESS", "context": {"state": "SUCCESS"}, "contexts": [{"context": "proof"}]},
        "signature": {"isValid": True},
    }
    assert found["issues"]["nodes"] == [{"number": 2, "title": "An issue", "body": "b"}]


def test_a_query_that_the_schema_does_not_know_is_refused(hub: StandIn) -> None:
    fleet(hub)
    hub.observers.clear()
    with asking(hub) as api:
        answer = api.query("{ viewer { shoeSize } }")
        assert "shoeSize" in answer["errors"][0]["message"]
        assert "data" not in answer
        assert "Syntax Error" in api.query("{")["errors"][0]["message"]


def test_a_pull_request_is_edited_and_closed_in_one_call(hub: StandIn, api: Api) -> None:
    api.branch("up")
    api.open_pull("up")
    hub.clock.advance(days=1)
    found = api.patch("/pulls/1", {"title": "T", "body": "B", "state": "closed"}).json()
    assert (found["title"], found["body"], found["state"]) == ("T", "B", "closed")
    assert found["closed_at"] == hub.clock.text
    assert api.patch("/pulls/1", {"state": "open"}).json()["closed_at"] is None


@shows("assignees")
def test_labels_and_assignees_are_put_on_and_off(api: Api) -> None:
    api.branch("up")
    api.open_pull("up")
    assert [each["name"] for each in api.post("/issues/1/labels", {"labels": ["a/b", "c"]}).json()] == ["a/b", "c"]
    assert [each["name"] for each in api.ask("DELETE", "/issues/1/labels/a%2Fb").json()] == ["c"]
    assert status_and_message(api.ask("DELETE", "/issues/1/labels/a%2Fb")) == (404, "Label does not exist")
    silent = api.post("/issues/1/assignees", {"assignees": ["alice", "nobody"]}).json()
    assert [each["login"] for each in silent["assignees"]] == ["alice"]
    assert api.patch("/issues/1", {"assignees": ["nobody"], "labels": ["d"]}).status_code == 422
    found = api.patch("/issues/1", {"assignees": ["bob"], "labels": ["d"]}).json()
    assert [each["login"] for each in found["assignees"]] == ["bob"]
    assert [each["name"] for each in found["labels"]] == ["d"]


def test_issues_are_opened_found_and_closed(hub: StandIn, api: Api) -> None:
    api.post("/issues", {"title": "one", "labels": ["pending"]})
    api.post("/issues", {"title": "two"})
    assert [each["number"] for each in api.get("/issues?labels=pending").json()] == [1]
    assert api.patch("/issues/1", {"state": "closed", "body": "done"}).json()["state"] == "closed"
    assert [each["number"] for each in api.get("/issues").json()] == [2]
    assert api.get("/issues/9").status_code == 404
    hub.repositories["acme/fleet"].settings.has_issues = False
    assert api.post("/issues", {"title": "three"}).status_code == 410


def test_statuses_of_another_kind_are_refused(hub: StandIn, api: Api) -> None:
    sha = hub.repositories["acme/fleet"].head()
    assert api.post(f"/statuses/{sha}", {"state": "good"}).status_code == 422
    assert api.post(f"/statuses/{sha}", {"state": "error", "description": "x" * 141}).status_code == 422
    made: list[Status] = hub.repositories["acme/fleet"].statuses
    assert made == []


def test_a_repository_that_is_not_there_is_not_found(api: Api) -> None:
    assert status_and_message(api.get("//repos/acme/none/pulls")) == (404, "Not Found")


def test_both_shapes_of_addresses_are_served(hub: StandIn, api: Api) -> None:
    whole = api.session.get(f"{hub.url}/repos/acme/fleet", timeout=10).json()
    assert whole["url"] == f"{hub.url}/repos/acme/fleet"
    assert api.get("").json()["url"] == f"{hub.api_url}/repos/acme/fleet"
