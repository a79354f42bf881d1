"""The provider and its host follow from the remote, and each token goes to its own server only."""

from __future__ import annotations

import base64

import pytest

from flux_upgrade.adapters.git import remotes
from flux_upgrade.bootstrap.request import BootstrapRequest, clusters_of
from flux_upgrade.commands.wiring_servers import at_host, known_of, servers_of
from flux_upgrade.config.environment import Environment, GitHub, environment_of
from flux_upgrade.model.errors import UsageError
from parsed_options import bootstrap_command

ON_A_LAPTOP = {"HOME": "/home/me", "GITHUB_TOKEN": "hush"}
AT_AN_ENTERPRISE = {
    **ON_A_LAPTOP,
    "GITHUB_SERVER_URL": "https://ghes.example.com:8443",
    "GITHUB_API_URL": "https://ghes.example.com:8443/api/v3",
}
CLONE = "https://github.com/o/r.git"


def remote_facts(url: str, **env: str) -> dict[str, str]:
    return dict(known_of(environment_of(env), url))


def in_clone(
    *words: str, env: dict[str, str] | None = None, clone: str = CLONE
) -> tuple[Environment, BootstrapRequest]:
    """Environment and request of a run in a clone."""
    variables = ON_A_LAPTOP if env is None else env
    environment, asked = environment_of(variables), bootstrap_command(*words, env=variables).request
    of_remote = known_of(environment, clone)
    (only,) = clusters_of(asked, None, of_remote, servers_of(environment))
    return at_host(environment, asked, only.options)


def given_to_the_cluster(asked: BootstrapRequest) -> str:
    """What a cluster could be given: never that, but what says so has to know of it."""
    return asked.credentials.secrets.own.get("github", "")


@pytest.mark.parametrize(
    ("words", "env", "clone"),
    [
        ((), ON_A_LAPTOP, CLONE),
        ((), ON_A_LAPTOP, "ssh://git@ssh.github.com:443/o/r.git"),
        (("--hostname=GitHub.com",), ON_A_LAPTOP, CLONE),
        (("--provider=github", "--hostname=ghes.example.com", "--repository=o/r"), ON_A_LAPTOP, CLONE),
        ((), AT_AN_ENTERPRISE, "https://ghes.example.com:8443/o/r.git"),
        ((), AT_AN_ENTERPRISE, "git@ghes.example.com:o/r.git"),
        (("--hostname=GHES.example.com", "--repository=o/r"), AT_AN_ENTERPRISE, CLONE),
    ],
)
def test_the_token_of_the_environment_goes_to_its_server(
    words: tuple[str, ...], env: dict[str, str], clone: str
) -> None:
    environment, asked = in_clone(*words, env=env, clone=clone)
    assert environment.tokens.repository == given_to_the_cluster(asked) == "hush"


@pytest.mark.parametrize(
    ("words", "env", "clone"),
    [
        (("--hostname=github.example.com", "--repository=o/r"), ON_A_LAPTOP, CLONE),
        (("--provider=github", "--repository=o/r"), ON_A_LAPTOP, "https://git.example.com/o/r.git"),
        (("--provider=github",), ON_A_LAPTOP, "https://acme.ghe.com/o/r.git"),
        ((), AT_AN_ENTERPRISE, CLONE),
        (("--hostname=ghes.example.com:9443", "--repository=o/r"), AT_AN_ENTERPRISE, CLONE),
    ],
)
def test_it_goes_to_no_other_by_itself(words: tuple[str, ...], env: dict[str, str], clone: str) -> None:
    environment, asked = in_clone(*words, env=env, clone=clone)
    assert environment.tokens.repository == given_to_the_cluster(asked) == ""


def test_a_token_for_another_server_is_not_sent_to_githubs_releases() -> None:
    words = ("--provider=github", "--hostname=ghes.example.com", "--repository=o/r")
    assert in_clone(*words)[0].tokens.releases == ""
    assert in_clone("--hostname=github.example.com", "--repository=o/r")[0].tokens.releases == "hush"
    assert in_clone(*words, env={**ON_A_LAPTOP, "FLUX_UPGRADE_RELEASE_TOKEN": "own"})[0].tokens.releases == "own"


@pytest.mark.parametrize(
    ("host", "github"),
    [
        ("ghes.example.com:8443", GitHub("https://ghes.example.com:8443", "https://ghes.example.com:8443/api/v3", "https://ghes.example.com:8443/api/graphql")),
        ("https://ghes.example.com/", GitHub("https://ghes.example.com", "https://ghes.example.com/api/v3", "https://ghes.example.com/api/graphql")),
        ("Acme.ghe.com", GitHub("https://acme.ghe.com", "https://api.acme.ghe.com", "https://api.acme.ghe.com/graphql")),
        ("github.com", GitHub()),
    ],
)  # fmt: skip
def test_a_github_has_its_apis_where_its_kind_has_them(host: str, github: GitHub) -> None:
    assert in_clone("--provider=github", f"--hostname={host}", "--repository=o/r")[0].github == github


@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        ("ssh://git@gitlab.corp:2222/g/fleet.git", {"hostname": "gitlab.corp", "ssh-hostname": "gitlab.corp:2222"}),
        ("https://gitlab.corp:8443/g/fleet.git", {"hostname": "gitlab.corp:8443", "ssh-hostname": "gitlab.corp"}),
        ("https://ghes.corp:8443/g/fleet.git", {"provider": "github", "hostname": "ghes.corp:8443"}),
        ("git@ghes.corp:g/fleet.git", {"provider": "github", "hostname": "ghes.corp"}),
        ("git@bitbucket.org:g/fleet.git", {"provider": "git", "url": "ssh://git@bitbucket.org/g/fleet.git"}),
        ("https://jane:hush@git.corp/g/fleet.git", {"provider": "git", "url": "https://git.corp/g/fleet.git"}),
    ],
)
def test_what_a_remote_tells(remote: str, expected: dict[str, str]) -> None:
    found = remote_facts(remote, GITHUB_SERVER_URL="https://ghes.corp")
    assert (found["owner"], found["repository"]) == ("g", "fleet")
    assert found.items() >= expected.items()
    assert "hush" not in str(found)


@pytest.mark.parametrize(
    ("url", "spelled"),
    [
        ("git@git.corp:a/b c#1.git", "ssh://git@git.corp/a/b%20c%231.git"),
        ("git.corp:~me/a", "ssh://git.corp/~me/a"),
        ("git@[::1]:a.git", "ssh://git@[::1]/a.git"),
        ("ssh://git:hush@git.corp:2222/a%20b.git", "ssh://git@git.corp:2222/a%20b.git"),
        ("git+ssh://git@git.corp/a", "ssh://git@git.corp/a"),
        ("http://hush@git.corp:81/a/", "http://git.corp:81/a/"),
        ("/srv/git/a.git", "/srv/git/a.git"),
    ],
)
def test_an_address_is_written_as_a_url_without_credentials(url: str, spelled: str) -> None:
    assert remotes.spelled(url) == spelled


def test_the_servers_that_the_environment_names() -> None:
    env = {"CI_SERVER_HOST": "Git.corp", "GITHUB_SERVER_URL": "https://forge.corp", "GITEA_ACTIONS": "true"}
    assert servers_of(environment_of(env)) == {"forge.corp": "gitea", "git.corp": "gitlab"}
    assert servers_of(environment_of({})) == {"github.com": "github"}


def header(remote: remotes.RemoteAccess) -> str:
    return dict(remote.settings(remote.url))["http.https://git.corp/.extraHeader"].removeprefix("Authorization: ")


def test_a_token_is_sent_as_the_server_wants_it() -> None:
    url = "https://git.corp/a.git"
    jane = header(remotes.RemoteAccess(url, "git", "hush", user="jane"))
    assert base64.b64decode(jane.removeprefix("Basic ")) == b"jane:hush"
    assert base64.b64decode(header(remotes.RemoteAccess(url, "git", "hush")).removeprefix("Basic ")) == b"oauth2:hush"
    assert header(remotes.RemoteAccess(url, "git", "hush", is_bearer=True)) == "Bearer hush"


def test_a_token_is_not_for_ssh() -> None:
    assert remotes.RemoteAccess("", "git").settings("ssh://git@git.corp/a.git") == ()
    with pytest.raises(UsageError, match="uses ssh"):
        remotes.RemoteAccess("", "git", "hush").settings("ssh://git@git.corp/a.git")
