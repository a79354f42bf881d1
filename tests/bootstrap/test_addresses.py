"""``spec.url`` is what Flux's command line and go-git-providers make of the flags for each provider."""

from __future__ import annotations

from typing import Any

import pytest

from bootstrap.bootstraps import options
from flux_upgrade.bootstrap.addresses import host_of, url_of
from flux_upgrade.bootstrap.options import Auth, Provider
from flux_upgrade.model.errors import UsageError

GITHUB, GITLAB, GITEA = Provider.GITHUB, Provider.GITLAB, Provider.GITEA
BITBUCKET, GIT = Provider.BITBUCKET_SERVER, Provider.GIT


@pytest.mark.parametrize(
    ("provider", "given", "ssh", "token"),
    [
        (GITHUB, {}, "ssh://git@github.com/example/fleet", "https://github.com/example/fleet.git"),
        (GITEA, {}, "ssh://git@gitea.com/example/fleet", "https://gitea.com/example/fleet.git"),
        (GITLAB, {"repository": "a/b/fleet"}, "ssh://git@gitlab.com/example/a/b/fleet", "https://gitlab.com/example/a/b/fleet.git"),
        (GITLAB, {"repository": "a/fleet", "personal": True}, "ssh://git@gitlab.com/example/fleet", "https://gitlab.com/example/fleet.git"),
        (GITHUB, {"hostname": "ghe.example.com"}, "ssh://git@ghe.example.com/example/fleet", "https://ghe.example.com/example/fleet.git"),
        (GITEA, {"hostname": "git.example.com:3000", "ssh_hostname": "ssh.example.com:222"}, "ssh://git@ssh.example.com:222/example/fleet", "https://git.example.com:3000/example/fleet.git"),
        (GITLAB, {"hostname": "http://git.example.com"}, "ssh://git@git.example.com/example/fleet", "http://git.example.com/example/fleet.git"),
        (GITLAB, {"hostname": "https://example.com/gitlab/", "ssh_hostname": "ssh.example.com"}, "ssh://git@ssh.example.com/gitlab/example/fleet", "https://example.com/gitlab/example/fleet.git"),
        (BITBUCKET, {"hostname": "git.example.com", "ssh_hostname": "git.example.com:7999", "owner": "plat", "repository": "Fleet"}, "ssh://git@git.example.com:7999/PLAT/fleet", "https://git.example.com/scm/PLAT/fleet.git"),
        (BITBUCKET, {"hostname": "git.example.com", "owner": "me", "personal": True}, "ssh://git@git.example.com/~me/fleet", "https://git.example.com/scm/~me/fleet.git"),
    ],
)  # fmt: skip
def test_a_provider_has_its_own_addresses(provider: Provider, given: dict[str, Any], ssh: str, token: str) -> None:
    assert url_of(options(provider=provider, **given)) == ssh
    assert url_of(options(provider=provider, auth=Auth.TOKEN, **given)) == token


@pytest.mark.parametrize(
    ("url", "given", "ssh", "token"),
    [
        ("ssh://git@example.com/o/r", {}, "ssh://git@example.com/o/r", "https://example.com/o/r"),
        ("ssh://git@example.com:7999/o/r.git", {}, "ssh://git@example.com:7999/o/r.git", "https://example.com/o/r.git"),
        ("https://example.com:8443/o/r.git", {}, "ssh://git@example.com:8443/o/r.git", "https://example.com:8443/o/r.git"),
        ("https://me@example.com/o/r", {}, "ssh://me@example.com/o/r", "https://example.com/o/r"),
        ("ssh://git@example.com/o/r", {"username": "a b@c"}, "ssh://a%20b%40c@example.com/o/r", "https://example.com/o/r"),
        ("https://example.com/o/r", {"ssh_hostname": "ssh.example.com:2222"}, "ssh://git@ssh.example.com:2222/o/r", "https://example.com/o/r"),
        ("https://example.com/o/my project/r", {}, "ssh://git@example.com/o/my%20project/r", "https://example.com/o/my%20project/r"),
        ("https://example.com/a%2Fb/ü", {}, "ssh://git@example.com/a/b/%C3%BC", "https://example.com/a/b/%C3%BC"),
        ("http://example.com:80/o/r", {"allow_insecure_http": True}, "ssh://git@example.com:80/o/r", "http://example.com:80/o/r"),
        ("ssh://git@[::1]:22/r", {}, "ssh://git@[::1]:22/r", "https://[::1]/r"),
        ("ssh://KEYID@git-codecommit.eu-west-1.amazonaws.com/v1/repos/r", {}, "ssh://KEYID@git-codecommit.eu-west-1.amazonaws.com/v1/repos/r", "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/r"),
    ],
)  # fmt: skip
def test_an_address_that_was_given_is_fitted_to_the_access(
    url: str, given: dict[str, Any], ssh: str, token: str
) -> None:
    assert url_of(options(provider=GIT, url=url, **given)) == ssh
    assert url_of(options(provider=GIT, url=url, auth=Auth.TOKEN, **given)) == token


def test_a_github_app_clones_by_https() -> None:
    assert url_of(options(auth=Auth.APP)) == "https://github.com/example/fleet.git"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"owner": "", "repository": ""}, ["--owner is missing", "--repository is missing"]),
        ({"owner": "a b"}, ["--owner 'a b'"]),
        ({"hostname": "git example"}, ["--hostname 'git example'"]),
        ({"ssh_hostname": "ssh://x/y"}, ["--ssh-hostname"]),
        ({"provider": BITBUCKET}, ["bitbucket-server needs --hostname"]),
        ({"provider": BITBUCKET, "hostname": "h", "repository": "a/b"}, ["neither --owner nor --repository has groups"]),
        ({"provider": GIT}, ["--url is missing"]),
        ({"provider": GIT, "url": "git@example.com:o/r"}, ["write ssh://"]),
        ({"provider": GIT, "url": "ftp://example.com/r"}, ["--url is not an address"]),
        ({"provider": GIT, "url": "https://example.com/r#x"}, ["--url is not an address"]),
        ({"provider": GIT, "url": "https://example.com/%zz"}, ["write it as %25"]),
        ({"provider": GIT, "url": "http://example.com/r"}, ["--allow-insecure-http"]),
        ({"provider": GIT, "url": "https://example.com/r", "auth": Auth.APP}, ["use --owner and --repository"]),
        ({"provider": GIT, "url": "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/r"}, ["ssh:// --url"]),
        ({"provider": GIT, "url": "ssh://git@git-codecommit.eu-west-1.amazonaws.com/r"}, ["ID of the SSH key"]),
    ],
)  # fmt: skip
def test_what_makes_no_address_is_refused(given: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(UsageError) as raised:
        url_of(options(**given))
    assert all(each in raised.value.message for each in words)


@pytest.mark.parametrize(
    "url", ["https://me:hunter2@example.com/r", "me:hunter2@example.com/r", "https://me:hunter2@example.com/r#x"]
)
def test_a_password_in_an_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        url_of(options(provider=GIT, url=url))
    assert "hunter2" not in f"{raised.value} {raised.value.hint}"


def test_the_host_has_no_scheme() -> None:
    assert host_of(options()) == "github.com"
    assert host_of(options(hostname="https://ghe.example.com/")) == "ghe.example.com"
