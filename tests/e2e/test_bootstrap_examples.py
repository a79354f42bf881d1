"""The examples with ``mode: bootstrap`` work as GitHub runs their jobs, on the stand-in for GitHub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from github_stand_in import Repository, Token

from e2e.bootstraps import ACTION, NAME, Site, assert_fits, bodies, everything_in_git, handed_over, opened, pushed
from e2e.example_jobs import ROOT, app_permissions, given, permissions
from e2e.fleet import WHERE, everything, git, image_of
from e2e.runner import Result
from error_names import require_error
from flux_upgrade.model.errors import UsageError
from process_arguments import seen_arguments

FROM_TEMPLATE, NEW = "bootstrap-from-template.yml", "bootstrap-new-repository.yml"
INFRA, INPUTS = "octo-org/infra", {"name": "infra", "path": "clusters/production", "team": "platform"}
SECRET = "FLUX_SYSTEM_SECRET"
WRITES = [
    "POST /orgs/octo-org/repos",
    f"PUT /orgs/octo-org/teams/platform/repos/{INFRA}",
    f"PUT /repos/{INFRA}/actions/secrets/{SECRET}",
    f"POST /repos/{INFRA}/keys",
    pushed(INFRA),
]
"""All that becomes of a new repository, in this order."""
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + f"{'Zm9v' * 16}\n" * 2 + "-----END RSA PRIVATE KEY-----\n"
HANDED_OVER: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "a-token": (
        "token-auth=true",
        {"FLUX_UPGRADE_SYNC_TOKEN": "github_pat_forFluxAndNobodyElse"},
        {"username": "git", "password": "github_pat_forFluxAndNobodyElse"},
    ),
    "an-app": (
        "app-id=7 app-installation-id=8",
        {"FLUX_UPGRADE_APP_PRIVATE_KEY": PEM},
        {"githubAppID": "7", "githubAppInstallationID": "8", "githubAppPrivateKey": PEM},
    ),
}
"""Flags, environment, and what the Secret then holds."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """The action in a process."""
    with opened(tmp_path) as found:
        yield found


# From a template


@pytest.fixture
def generated(site: Site) -> Repository:
    """A repository that was made from a template, as GitHub copies its files."""
    workflow = (ROOT / "examples" / FROM_TEMPLATE).read_bytes()
    files = {"README.md": b"Fleet\n", ".github/workflows/bootstrap.yml": workflow}
    site.job = site.hub.token("actions", permissions(FROM_TEMPLATE))
    return site.hub.create_repository(NAME, files)


def event(name: str = "push", *, created: bool = False, is_template: bool = False) -> Mapping[str, Any]:
    payload = {"created": created, "repository": {"is_template": is_template}}
    return {"github": {"event_name": name, "event": payload}}


def test_the_first_push_of_a_generated_repository_opens_a_pull_request(site: Site, generated: Repository) -> None:
    inputs = given(FROM_TEMPLATE, "push", event(created=True))
    assert inputs is not None
    first = site.run(inputs, event="push", checkout=NAME)
    assert (first.exit_code, first.outputs["outcome"]) == (0, "opened"), first.log
    (pull,) = generated.pulls.values()
    files = generated.files(pull.head)
    manifest = files["clusters/production/flux-system/gotk-components.yaml"]
    assert b"image-automation-controller" in manifest
    assert files.items() > generated.files().items()

    by_hand = given(FROM_TEMPLATE, "workflow_dispatch", event("workflow_dispatch"))
    assert by_hand == inputs
    again = site.run(by_hand, event="workflow_dispatch")
    assert (again.exit_code, again.outputs["outcome"], site.written()) == (0, "none", [])

    generated.people.merge(pull.number)
    merged = site.run(inputs, event="push")
    assert (merged.exit_code, merged.outputs["outcome"], site.written()) == (0, "none", [])


@pytest.mark.parametrize(
    "context",
    [event(created=True, is_template=True), event(), event("workflow_dispatch", is_template=True)],
    ids=["the-template-itself", "a-later-push", "the-template-by-hand"],
)
def test_no_other_push_runs_the_job(context: Mapping[str, Any]) -> None:
    assert given(FROM_TEMPLATE, "push", context) is None


# A new repository


def of_the_app(site: Site) -> Token:
    """As actions/create-github-app-token makes it."""
    return site.hub.token("app", app_permissions(NEW))


def press(site: Site, token: Token, more: Mapping[str, str] | None = None) -> Result:
    """“Run workflow”, in the management repository. ``more``: inputs that the example does not give."""
    contexts = {
        "github": {"repository_owner": "octo-org"},
        "inputs": INPUTS,
        "steps": {"app": {"outputs": {"token": token.value}}},
    }
    inputs = given(NEW, "workflow_dispatch", contexts)
    assert inputs is not None
    return site.run({**inputs, **(more or {})})


def assert_as_it_should_be(repository: Repository, folder: Path) -> None:
    """One repository, one key, one Secret that fits it, one commit."""
    settings = repository.settings
    assert (settings.is_private, settings.description) == (True, "The state of a cluster, kept by Flux")
    assert repository.team_permissions == {"platform": "maintain"}
    (key,) = repository.deploy_keys
    assert key.title == "flux-system-main-flux-system-./clusters/production"
    assert key.read_only
    assert list(repository.actions.secrets) == [SECRET]
    data = handed_over(repository.actions.secrets[SECRET])
    assert_fits(data, key, folder)
    assert set(data) == {"identity", "identity.pub", "known_hosts"}
    system = "clusters/production/flux-system"
    assert sorted(repository.files()) == [
        ".github/workflows/flux-upgrade.yaml",
        f"{system}/gotk-components.yaml",
        f"{system}/gotk-sync.yaml",
        f"{system}/kustomization.yaml",
    ]
    assert git("--git-dir", str(repository.git), "rev-list", "--count", "--all") == "1\n"
    assert repository.pulls == {}


@WHERE
def test_a_new_repository_has_all_it_needs(where: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with opened(tmp_path, image_of(where, request)) as site:
        site.hub.add_organization("octo-org")
        token = of_the_app(site)
        first = press(site, token)
        assert (first.exit_code, first.outputs["outcome"]) == (0, "updated"), first.log
        assert site.written() == WRITES
        repository = site.repository(INFRA)
        assert_as_it_should_be(repository, tmp_path)
        known_hosts = handed_over(repository.actions.secrets[SECRET])["known_hosts"]
        assert known_hosts.splitlines() == [f"127.0.0.1 {key}" for key in site.hub.host_keys]
        workflow = repository.files()[".github/workflows/flux-upgrade.yaml"]
        assert f"uses: {ACTION}\n".encode() in workflow
        assert first.annotations == ()
        assert SECRET in first.summary

        head, secrets = repository.head(), dict(repository.actions.secrets)
        again = press(site, token)
        assert (again.exit_code, again.outputs["outcome"], site.written()) == (0, "none", []), again.log
        assert (repository.head(), repository.actions.secrets) == (head, secrets)
        assert_as_it_should_be(repository, tmp_path)


@pytest.mark.parametrize("is_there", [False, True], ids=["new", "there"])
def test_a_dry_run_looks_and_writes_nothing(site: Site, *, is_there: bool) -> None:
    site.hub.add_organization("octo-org")
    if is_there:
        site.hub.create_repository(INFRA, {"README.md": b"Fleet\n"})
    done = press(site, of_the_app(site), {"dry-run": "true"})
    assert (done.exit_code, done.outputs["outcome"], site.written()) == (0, "held", []), done.log
    assert "would be " in done.log
    assert (INFRA in site.hub.repositories) is is_there


def test_the_new_repository_keeps_itself_current(site: Site) -> None:
    site.hub.add_organization("octo-org")
    press(site, of_the_app(site))
    job = site.hub.token("actions", permissions("scheduled.yaml"))
    done = site.run({}, event="schedule", checkout=INFRA, token=job, env={"GITHUB_REPOSITORY": INFRA})
    assert (done.exit_code, done.outputs["outcome"]) == (0, "none"), done.log
    assert done.outputs["current-version"] == "v2.9.4"


def test_host_keys_that_a_server_does_not_publish_come_from_a_file(site: Site) -> None:
    site.hub.host_keys = ()
    repository = site.hub.create_repository(NAME, {"README.md": b"Fleet\n"})
    token = of_the_app(site)
    lacking = site.bootstrap({"actions-secret": "FLUX"}, token=token)
    require_error(UsageError, lacking.exit_code, lacking.log)
    assert site.written() == []
    assert "input `known-hosts`" in lacking.annotations[0].message

    line = "127.0.0.1 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGdpdGh1YidzIHN0YW5kLWluLCBlZDI1NTE5ICE"
    (site.workspace / "known_hosts").write_text(f"{line}\nother.example {line.partition(' ')[2]}\n")
    done = site.bootstrap({"actions-secret": "FLUX", "known-hosts": "known_hosts"}, token=token)
    assert done.exit_code == 0, done.log
    assert handed_over(repository.actions.secrets["FLUX"])["known_hosts"] == f"{line}\n"


def test_nothing_secret_is_left_anywhere(site: Site) -> None:
    site.hub.add_organization("octo-org")
    token = of_the_app(site)
    with seen_arguments() as seen:
        done = press(site, token)
    assert done.exit_code == 0, done.log
    private = bodies(handed_over(site.repository(INFRA).actions.secrets[SECRET])["identity"])
    assert len(private) > 2
    assert_shown_nowhere(site, done, seen, (*private, token.value))


@pytest.mark.parametrize("auth", HANDED_OVER)
def test_what_is_handed_over_is_shown_nowhere_else(site: Site, auth: str) -> None:
    flags, env, expected = HANDED_OVER[auth]
    repository = site.hub.create_repository(NAME, {"README.md": b"Fleet\n"})
    repository.add_environment("production")
    token = site.hub.token("app", {**app_permissions(NEW), "environments": "write"})
    inputs = {"actions-secret": "flux", "actions-environment": "production", "flags": flags}
    with seen_arguments() as seen:
        done = site.bootstrap(inputs, token=token, env=env)
    assert (done.exit_code, done.outputs["outcome"]) == (0, "opened"), done.log
    assert handed_over(repository.environments["production"].secrets["FLUX"]) == expected
    assert (repository.actions.secrets, repository.deploy_keys) == ({}, [])
    (secret,) = env.values()
    assert_shown_nowhere(site, done, seen, (*bodies(secret), secret, token.value))


def assert_shown_nowhere(site: Site, done: Result, seen: set[bytes], secrets: Iterable[str]) -> None:
    """In nothing that anybody could look at. ``seen``: the arguments of processes."""
    arguments = b"\n".join(seen).decode("utf-8", "replace")
    assert "git-dir" in arguments
    bodies = [pull.body for each in site.hub.repositories.values() for pull in each.pulls.values()]
    places = {
        "what the step left": everything(done),
        "Git": "".join(everything_in_git(each) for each in site.hub.repositories.values()),
        "pull requests": "\n".join(bodies),
        "the workspace": "".join(each.read_text() for each in site.workspace.rglob("*") if each.is_file()),
        "the arguments of processes": arguments,
    }
    for place, text in places.items():
        for secret in secrets:
            assert secret not in text, place
