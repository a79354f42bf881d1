"""The stand-in creates repositories and keys by GitHub's API description, with a test for each known rule."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from github_stand_in import StandIn, Token
from github_stand_in.rules_hosting import RULES
from nacl.public import PublicKey, SealedBox

from git_servers import git
from stand_in.asking import Api, asking, fleet
from stand_in.checked import checked

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPxN0Yr5BBcY2Tn6tIWHdGQ7q4LCrhGW5n2Rm0xAtTQd"
WORKFLOW = ".github/workflows/flux.yaml"
IMPROPER = "Bad request - validation failed due to an improperly encrypted secret"
shown: set[str] = set()
F = TypeVar("F", bound=Callable[..., object])


def shows(name: str) -> Callable[[F], F]:
    """Marks the test of a rule of ``github_stand_in.rules_hosting``."""
    shown.add(name)
    return lambda test: test


def status_and_message(response: Any) -> tuple[int, str]:
    """Status and message; of the first error, where the message is only a heading."""
    body = response.json()
    errors = body.get("errors") or [{}]
    return response.status_code, errors[0].get("message") or body["message"]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[StandIn]:
    with checked(tmp_path) as hub:
        fleet(hub)
        yield hub


@pytest.fixture
def api(hub: StandIn) -> Iterator[Api]:
    with asking(hub, hub.token("classic")) as api:
        yield api


def test_every_rule_has_a_test() -> None:
    assert shown == {fact.name for fact in RULES}


@shows("creating-needs-administration")
def test_who_may_create(hub: StandIn, api: Api) -> None:
    def answer(token: Token | None, **fields: object) -> tuple[int, str]:
        response = api.holding(token).ask("POST", "//orgs/acme/repos", {"name": "new", **fields})
        return (201, "") if response.status_code == 201 else status_and_message(response)

    admin = {"administration": "write"}
    assert answer(None) == (401, "Requires authentication")
    assert answer(hub.token("actions", admin)) == (403, "Resource not accessible by integration")
    assert answer(hub.token("app")) == (403, "Resource not accessible by integration")
    one = hub.token("fine-grained", admin, repositories=("acme/fleet",))
    assert answer(one) == (403, "Resource not accessible by personal access token")
    assert answer(hub.token("classic", scopes=("public_repo",)), private=True) == (404, "Not Found")
    assert answer(hub.token("classic", scopes=("public_repo",)), name="public") == (201, "")
    assert answer(hub.token("fine-grained", admin), name="third") == (201, "")
    assert answer(hub.token("app", admin), private=True) == (201, "")
    assert hub.repositories["acme/new"].settings.is_private
    assert hub.repositories["acme/new"].is_empty


@shows("name-taken")
def test_a_name_is_taken_once(api: Api) -> None:
    taken = (422, "name already exists on this account")
    assert status_and_message(api.ask("POST", "//orgs/acme/repos", {"name": "Fleet"})) == taken
    assert status_and_message(api.ask("POST", "//orgs/acme/repos", {})) == (422, "Validation Failed")
    assert api.ask("POST", "//orgs/acme/repos", {"name": "a fleet"}).json()["full_name"] == "acme/a-fleet"


@shows("members-may-not-create")
def test_members_may_be_kept_from_creating(hub: StandIn, api: Api) -> None:
    hub.organizations["acme"].members_may_create = False
    refusal = "You need admin access to the organization before adding a repository to it."
    assert status_and_message(api.ask("POST", "//orgs/acme/repos", {"name": "new"})) == (403, refusal)


@shows("a-person-is-no-organization")
def test_people_create_for_themselves(hub: StandIn, api: Api) -> None:
    assert status_and_message(api.ask("POST", "//orgs/alice/repos", {"name": "new"})) == (404, "Not Found")
    made = api.ask("POST", "//user/repos", {"name": "new", "private": True, "auto_init": True}).json()
    assert (made["full_name"], made["owner"]["type"], made["visibility"]) == ("alice/new", "User", "private")
    assert hub.repositories["alice/new"].files() == {"README.md": b"# new\n"}
    app = api.holding(hub.token("app", {"administration": "write"}))
    assert status_and_message(app.ask("POST", "//user/repos", {"name": "x"})) == (
        403,
        "Resource not accessible by integration",
    )
    kinds = [api.get(f"//users/{login}").json()["type"] for login in ("acme", "alice")]
    assert kinds == ["Organization", "User"]
    assert api.get("//users/nobody").status_code == 404


def pushed(hub: StandIn, token: Token, folder: Path, *branches: str, path: str = "a") -> str:
    """Push a first commit to some branches of a repository. What git says, if it is refused."""
    url = f"{hub.url.replace('://', f'://x:{token.value}@')}/acme/new.git"
    folder.mkdir()
    git("init", "--quiet", folder)
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("on: push\n")
    git("add", ".", at=folder)
    git("commit", "--quiet", "-m", "Begin", at=folder)
    try:
        git("push", url, *(f"HEAD:refs/heads/{branch}" for branch in branches), at=folder)
    except AssertionError as error:
        return str(error)
    return ""


@shows("first-branch")
@pytest.mark.parametrize(("branches", "default"), [(("main",), "main"), (("b", "a"), "a"), (("a", "main"), "main")])
def test_an_empty_repository_begins_with_a_push(
    hub: StandIn, api: Api, tmp_path: Path, branches: tuple[str, ...], default: str
) -> None:
    api.ask("POST", "//orgs/acme/repos", {"name": "new", "private": True})
    here = Api(hub, api.token, api.session, "acme/new")
    assert status_and_message(here.get("/git/ref/heads/main")) == (409, "Git Repository is empty.")
    assert pushed(hub, hub.token("classic"), tmp_path / "work", *branches) == ""
    assert here.get("").json()["default_branch"] == default
    assert here.get(f"/git/ref/heads/{default}").status_code == 200
    assert git("ls-remote", "--symref", hub.repositories["acme/new"].git, "HEAD").startswith(
        f"ref: refs/heads/{default}\t"
    )


@shows("pushed-workflows")
@pytest.mark.parametrize(
    ("kind", "more", "why"),
    [
        ("actions", {}, "a GitHub App to create or update workflow `{}` without `workflows` permission"),
        ("app", {}, "a GitHub App to create or update workflow `{}` without `workflows` permission"),
        ("classic", {}, "a Personal Access Token to create or update workflow `{}` without `workflow` scope"),
        ("classic", {"scopes": ("repo", "workflow")}, ""),
        ("app", {"permissions": {"contents": "write", "workflows": "write"}}, ""),
    ],
)
def test_a_push_with_a_workflow(hub: StandIn, tmp_path: Path, kind: str, more: dict[str, Any], why: str) -> None:
    new = hub.create_repository("acme/new")
    answer = pushed(hub, hub.token(kind, **more), tmp_path / "work", "main", path=WORKFLOW)
    if why:
        assert f"[remote rejected] HEAD -> main (refusing to allow {why.format(WORKFLOW)})" in answer
    else:
        assert answer == ""
    assert new.is_empty is bool(why)


def test_a_push_with_a_workflow_that_is_there_already(hub: StandIn, tmp_path: Path) -> None:
    new = hub.create_repository("acme/new", {WORKFLOW: b"on: push\n"})
    assert pushed(hub, hub.token(), tmp_path / "work", "other", path=WORKFLOW) == ""
    url = f"{hub.url.replace('://', f'://x:{hub.token().value}@')}/acme/new.git"
    git("push", "--quiet", url, ":other", at=tmp_path / "work")
    assert new.store.refs("refs/heads/").keys() == {"refs/heads/main"}


@shows("renamed")
def test_a_former_name_redirects(hub: StandIn, api: Api) -> None:
    hub.rename("acme/fleet", "clusters")
    found = api.get("")
    assert [answer.status_code for answer in found.history] == [301]
    assert found.json()["full_name"] == "acme/clusters"
    answer = api.session.post(
        f"{hub.api_url}/repos/acme/fleet/keys",
        json={"title": "t", "key": KEY},
        headers={"Authorization": f"Bearer {api.token.value if api.token else ''}"},
        allow_redirects=False,
        timeout=10,
    )
    assert answer.status_code == 307
    hub.create_repository("acme/fleet")
    assert api.get("").json()["full_name"] == "acme/fleet"


@shows("key-in-use")
def test_a_key_is_used_once(hub: StandIn, api: Api) -> None:
    made = api.post("/keys", {"title": "t", "key": f"{KEY} alice@laptop", "read_only": True})
    assert made.status_code == 201
    assert (made.json()["key"], made.json()["read_only"]) == (KEY, True)
    hub.create_repository("acme/other")
    for name in ("acme/fleet", "acme/other"):
        again = Api(hub, api.token, api.session, name).post("/keys", {"title": "u", "key": KEY})
        assert status_and_message(again) == (422, "key is already in use")
    assert status_and_message(api.post("/keys", {"key": "ssh-rot13 AAAA"}))[1].startswith("key is invalid")
    assert [key["id"] for key in api.get("/keys").json()] == [made.json()["id"]]
    assert api.ask("DELETE", f"/keys/{made.json()['id']}").status_code == 204
    assert api.ask("DELETE", f"/keys/{made.json()['id']}").status_code == 404
    assert api.get("/keys").json() == []


@shows("deploy-keys-disabled")
def test_deploy_keys_may_be_forbidden(hub: StandIn, api: Api) -> None:
    hub.repositories["acme/fleet"].settings.deploy_keys = False
    refusal = (422, "Deploy keys are disabled for this repository")
    assert status_and_message(api.post("/keys", {"title": "t", "key": KEY})) == refusal


@shows("keys-are-for-admins")
def test_keys_are_not_for_readers(hub: StandIn, api: Api) -> None:
    bob = api.holding(hub.token("classic", login="bob"))
    assert status_and_message(bob.get("/keys")) == (403, "Must have admin rights to Repository.")
    assert api.holding(None).get("/keys").status_code == 401
    assert api.holding(hub.token()).get("/keys").status_code == 403
    assert api.holding(hub.token("app", {"administration": "read"})).get("/keys").status_code == 200


def sealed(place: Any, text: str) -> dict[str, str]:
    """What a client sends."""
    box = SealedBox(PublicKey(base64.b64decode(place["key"])))
    return {"key_id": place["key_id"], "encrypted_value": base64.b64encode(box.encrypt(text.encode())).decode()}


@shows("sealed")
def test_secrets_are_opened_with_the_places_own_key(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    repository.add_environment("production")
    key = api.get("/actions/secrets/public-key").json()
    other = api.get("/environments/production/secrets/public-key").json()
    statuses = [api.ask("PUT", "/actions/secrets/token", sealed(key, text)).status_code for text in ("one", "two")]
    assert statuses == [201, 204]
    assert repository.actions.secrets == {"TOKEN": "two"}
    for wrong in (
        sealed(other, "x"),
        {**sealed(key, "x"), "key_id": "1"},
        {"key_id": key["key_id"], "encrypted_value": "eA=="},
    ):
        assert status_and_message(api.ask("PUT", "/actions/secrets/TOKEN", wrong)) == (422, IMPROPER)
    assert api.ask("PUT", "/environments/production/secrets/TOKEN", sealed(other, "x")).status_code == 201
    assert repository.environments["production"].secrets == {"TOKEN": "x"}
    assert status_and_message(api.ask("PUT", "/actions/secrets/GITHUB_X", sealed(key, "x"))) == (
        422,
        "Validation Failed",
    )
    assert api.ask("PUT", "/actions/secrets/BIG", sealed(key, "x" * 48 * 1024)).status_code == 201
    large = api.ask("PUT", "/actions/secrets/BIG", sealed(key, "x" * (48 * 1024 + 1)))
    assert status_and_message(large) == (422, "secret is too large")
    assert api.holding(hub.token()).get("/actions/secrets/public-key").status_code == 200
    refused = api.holding(hub.token()).ask("PUT", "/actions/secrets/TOKEN", sealed(key, "x"))
    assert status_and_message(refused) == (403, "Resource not accessible by integration")


@shows("no-environment")
def test_a_secret_makes_no_environment(api: Api) -> None:
    assert api.get("/environments/production/secrets/public-key").status_code == 404


@shows("team-access")
def test_a_team_is_given_access(hub: StandIn, api: Api) -> None:
    def give(team: str, permission: str) -> int:
        body = {"permission": permission}
        return api.ask("PUT", f"//orgs/acme/teams/{team}/repos/acme/fleet", body).status_code

    given = [give("platform", "push"), give("platform", "maintain"), give("none", "push"), give("platform", "x")]
    assert given == [204, 204, 404, 422]
    assert hub.repositories["acme/fleet"].team_permissions == {"platform": "maintain"}


@shows("scopes-are-told")
def test_only_a_classic_token_gets_its_scopes_in_a_header(hub: StandIn, api: Api) -> None:
    api = api.holding(hub.token("classic", scopes=("repo", "workflow")))
    assert api.get("").headers["X-OAuth-Scopes"] == "repo, workflow"
    for kind in ("actions", "app", "fine-grained"):
        assert "X-OAuth-Scopes" not in api.holding(hub.token(kind)).get("").headers


@shows("host-keys")
def test_host_keys_are_sent_to_everyone(hub: StandIn, api: Api) -> None:
    anybody = api.holding(None)
    assert anybody.get("//meta").json()["ssh_keys"] == list(hub.host_keys)
    hub.host_keys = ()
    assert "ssh_keys" not in anybody.get("//meta").json()
