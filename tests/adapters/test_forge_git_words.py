"""URLs, push options, server messages and commit trailers of the Git forge are parsed and written correctly."""

from __future__ import annotations

import pytest

from flux_upgrade.adapters.git import pull_requests_by_push, push_answer, remotes
from flux_upgrade.adapters.git.pull_requests_by_push import Memory, MergeRequest
from flux_upgrade.model import markers
from flux_upgrade.model.errors import (
    FluxUpgradeError,
    ForbiddenByForge,
    ForgeUnavailable,
    Overtaken,
    RepositoryUnfit,
    UsageError,
)
from flux_upgrade.model.forge import Extras, NewCommit
from flux_upgrade.model.versions import Version

URL = "https://git.example/fleet/infra.git"


@pytest.mark.parametrize(
    ("url", "name", "web", "shown"),
    [
        (
            "https://github.com/fleet/infra.git",
            "fleet/infra",
            "https://github.com/fleet/infra",
            "https://github.com/fleet/infra",
        ),
        (
            "https://github.com/fleet/infra/",
            "fleet/infra",
            "https://github.com/fleet/infra",
            "https://github.com/fleet/infra",
        ),
        (
            "git@github.com:fleet/infra.git",
            "fleet/infra",
            "https://github.com/fleet/infra",
            "ssh://github.com/fleet/infra",
        ),
        ("github.com:/fleet/infra", "fleet/infra", "https://github.com/fleet/infra", "ssh://github.com/fleet/infra"),
        (
            "ssh://git@github.com:2222/fleet/infra.git",
            "fleet/infra",
            "https://github.com/fleet/infra",
            "ssh://github.com:2222/fleet/infra",
        ),
        (
            "git+ssh://git@Git.Example/fleet/infra",
            "fleet/infra",
            "https://git.example/fleet/infra",
            "ssh://git.example/fleet/infra",
        ),
        (
            "https://ann:hunter2@gitlab.com/a/b/c.git?private_token=hunter2",
            "a/b/c",
            "https://gitlab.com/a/b/c",
            "https://gitlab.com/a/b/c",
        ),
        ("http://127.0.0.1:8080/a%20b/c.git", "a b/c", "http://127.0.0.1:8080/a%20b/c", "http://127.0.0.1:8080/a b/c"),
        (
            "git@[2001:db8::1]:fleet/infra.git",
            "fleet/infra",
            "https://[2001:db8::1]/fleet/infra",
            "ssh://[2001:db8::1]/fleet/infra",
        ),
        (
            "https://[2001:db8::1]:8443/fleet/infra",
            "fleet/infra",
            "https://[2001:db8::1]:8443/fleet/infra",
            "https://[2001:db8::1]:8443/fleet/infra",
        ),
        ("/srv/git/infra.git", "git/infra.git", "", "/srv/git/infra.git"),
        ("file:///srv/git/infra.git", "git/infra", "", "srv/git/infra"),
    ],
)
def test_reads_addresses(url: str, name: str, web: str, shown: str) -> None:
    assert remotes.repository_of(url) == name
    assert remotes.web_url(url) == web
    assert remotes.masked(url) == shown


@pytest.mark.parametrize("url", ["https://[::1/x", "https://host:port/x", "https://ann:hunter2@host:99999/x"])
def test_an_address_that_is_none_is_an_error_without_it(url: str) -> None:
    assert remotes.masked(url) == "the remote"
    with pytest.raises(UsageError) as caught:
        remotes.parse(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "environment", "flavour"),
    [
        ("https://github.com/a/b", {}, "github"),
        ("git@github.com:a/b.git", {}, "github"),
        ("ssh://git@ssh.github.com:443/a/b.git", {}, "github"),
        ("https://acme.ghe.com/a/b", {}, "github"),
        ("https://git.acme.example/a/b", {"GITHUB_SERVER_URL": "https://git.acme.example"}, "github"),
        ("git@git.acme.example:a/b", {"GITHUB_SERVER_URL": "https://git.acme.example"}, "github"),
        (
            "https://git.acme.example/a/b",
            {"GITHUB_SERVER_URL": "https://git.acme.example", "GITEA_ACTIONS": "true"},
            "gitea",
        ),
        (
            "https://git.acme.example/a/b",
            {"GITHUB_SERVER_URL": "https://git.acme.example", "GITEA_ACTIONS": "true", "FORGEJO_ACTIONS": "true"},
            "forgejo",
        ),
        ("https://gitlab.com/a/b", {}, "gitlab"),
        ("git@gitlab.acme.example:a/b.git", {"GITHUB_SERVER_URL": "https://github.com"}, "gitlab"),
        ("https://git.acme.example/a/b", {"CI_SERVER_HOST": "git.acme.example"}, "gitlab"),
        ("https://codeberg.org/a/b", {}, "forgejo"),
        ("https://forgejo.acme.example/a/b", {}, "forgejo"),
        ("https://gitea.com/a/b", {}, "gitea"),
        ("https://git.acme.example/gitlab/github.com", {}, "git"),
        ("https://github.com.evil.example/a/b", {}, "git"),
        ("/srv/github.com/b.git", {"CI_SERVER_HOST": "", "GITHUB_SERVER_URL": ""}, "git"),
    ],
)
def test_knows_a_forge_by_its_host(url: str, environment: dict[str, str], flavour: str) -> None:
    assert remotes.flavour_of(url, environment) == flavour


def test_a_token_is_bound_to_its_origin() -> None:
    url = "https://bot@git.example:8443/a/b.git"
    settings = remotes.RemoteAccess(url, "git", "secret").settings(url)
    assert settings[1] == ("http.https://git.example:8443/.extraHeader", "Authorization: Basic Ym90OnNlY3JldA==")
    assert ("http.https://git.example:8443/.followRedirects", "false") in settings


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example\\@git.example/a/b.git",
        "https://DOMAIN\\me@git.example/a/b.git",
        "https://a@evil.example@git.example/a/b.git",
        "https://git.example /a/b.git",
        "https://git.ex\tample/a/b.git",
        "https://git.example/a\n/b.git",
        "https://git%2eexample/a/b.git",
    ],
)
def test_no_token_for_an_address_that_can_be_read_in_two_ways(url: str) -> None:
    with pytest.raises(UsageError, match="the remote's URL has") as caught:
        remotes.RemoteAccess(url, "git", "secret").settings(url)
    assert "git.example" not in caught.value.message


@pytest.mark.parametrize(
    ("url", "server", "is_at"),
    [
        ("https://git.example/a/b.git", "https://git.example", True),
        ("https://GIT.example/a/b.git", "http://git.example:3000", True),
        ("http://git.example:3000/a/b.git", "http://git.example:3000", True),
        ("http://git.example/a/b.git", "https://git.example", False),
        ("https://git.example.evil.example/a/b.git", "https://git.example", False),
        ("https://git.example./a/b.git", "https://git.example", False),
        ("/srv/git/a/b.git", "https://git.example", False),
    ],
)
def test_a_runners_token_is_for_its_own_server(url: str, server: str, is_at: bool) -> None:  # noqa: FBT001  (what is expected)
    assert remotes.is_at(url, server) is is_at


@pytest.mark.parametrize("flavour", ["gitlab", "gitea", "forgejo", "git"])
def test_every_option_is_one_line_that_fits_the_protocol(flavour: str) -> None:
    asked = MergeRequest("main", "topic", "a\nb\r\n" + "é" * 300, "line\r\n" * 30_000 + "\0", extras=Extras(("a\nb",)))
    for option in pull_requests_by_push.options(flavour, asked):
        assert not set("\n\r\0") & set(option)
        assert len(option.encode()) < 65_516


def test_what_is_not_asked_for_stays_as_it_is() -> None:
    asked = MergeRequest("main", "topic")
    assert pull_requests_by_push.options("gitlab", asked) == (
        "merge_request.create",
        "merge_request.target=main",
        "merge_request.remove_source_branch",
    )
    assert pull_requests_by_push.options("gitea", asked) == ("topic=topic", "force-push=true")
    assert pull_requests_by_push.options("git", asked) == ()


def test_names_what_a_push_cannot_ask_for() -> None:
    every = Extras(("a",), ("b",), ("c",), auto_merge=True)
    assert pull_requests_by_push.ignored("git", every)[0].startswith("labels, assignees, reviewers, auto-merge: ")
    assert pull_requests_by_push.ignored("gitlab", every)[0].startswith("reviewers: ")
    assert pull_requests_by_push.ignored("gitlab", Extras()) == ()


@pytest.mark.parametrize(
    ("out", "err", "error", "message"),
    [
        ("!\ta:b\t[rejected] (stale info)\n", "", Overtaken, "stale info"),
        ("!\ta:b\t[remote rejected] (cannot lock ref 'x': is at 1 but expected 2)\n", "", Overtaken, "cannot lock"),
        ("!\ta:b\t[remote rejected] (reference already exists)\n", "", Overtaken, "already exists"),
        ("!\ta:b\t[remote rejected] (request `force-push` push option)\n", "", Overtaken, "force-push"),
        ("!\ta:b\t[remote rejected] (new commit is same with old commit)\n", "", Overtaken, "is same"),
        ("!\ta:b\t[rejected] (atomic push failed)\n!\ta:c\t[rejected] (stale info)\n", "", Overtaken, "stale info"),
        (
            "!\ta:b\t[remote rejected] (protected branch hook declined)\n",
            "remote: GitLab: not allowed",
            ForbiddenByForge,
            "GitLab: not allowed",
        ),
        (
            "!\ta:b\t[remote rejected] (pre-receive hook declined)\n",
            "remote: failed to update ref",
            ForbiddenByForge,
            "hook",
        ),
        ("", "fatal: the receiving end does not support push options", ForbiddenByForge, "push options"),
        (
            "",
            "remote: HTTP Basic: Access denied\nfatal: Authentication failed for 'https://git.example/fleet/infra.git/'",
            ForbiddenByForge,
            "Authentication failed",
        ),
        ("", f"fatal: unable to access '{URL}/': The requested URL returned error: 403", ForbiddenByForge, "403"),
        (
            "",
            "git@host: Permission denied (publickey).\nfatal: Could not read from remote repository.",
            ForbiddenByForge,
            "publickey",
        ),
        ("", f"fatal: repository '{URL}/' not found", RepositoryUnfit, "not found"),
        (
            "",
            "fatal: unable to access 'https://git.example/': Could not resolve host: git.example",
            ForgeUnavailable,
            "Could not resolve host",
        ),
        ("", "ssh: connect to host git.example port 22: Connection refused", ForgeUnavailable, "Connection refused"),
        ("", 'Timeout: the command "env git" did not complete in 600 secs.', ForgeUnavailable, "did not complete"),
        (
            "",
            "fatal: unable to access 'https://ann:hunter2@git.example/': SSL certificate problem",
            ForgeUnavailable,
            "//git.example",
        ),
        ("", "", ForgeUnavailable, "without a message"),
    ],
)
def test_puts_what_git_says_into_our_words(out: str, err: str, error: type[FluxUpgradeError], message: str) -> None:
    refused = push_answer.refused(out, err, URL)
    assert type(refused) is error
    assert message in refused.message
    assert "hunter2" not in refused.message
    assert "\n" not in refused.message
    assert refused.hint


@pytest.mark.parametrize(
    ("lines", "number", "link"),
    [
        (
            ["View merge request for x:", "  https://git.example/fleet/infra/-/merge_requests/7"],
            7,
            "https://git.example/fleet/infra/-/merge_requests/7",
        ),
        (
            ["Visit the existing pull request:", "  https://git.example/fleet/infra/pulls/8 merges into main"],
            8,
            "https://git.example/fleet/infra/pulls/8",
        ),
        (
            ["To create a merge request for x, visit:", "  https://git.example/a/-/merge_requests/new?x=y"],
            0,
            "https://git.example/a/-/merge_requests/new?x=y",
        ),
        (["https://git.example/docs", "https://git.example/a/pull/3"], 3, "https://git.example/a/pull/3"),
        (["https://evil.example/a/pull/3"], 0, ""),
        (["https://git.example@evil.example/a/pull/3"], 0, ""),
        (["https://evil.example\\@git.example/a/pull/3"], 0, ""),
        (["javascript:alert(1)", "file://git.example/a/pull/3"], 0, ""),
        (["https://git.example/a/pull/3\x1b[31m"], 0, "https://git.example/a/pull/3\\x1b[31m"),
        (["https://[git.example/a/pull/3"], 0, ""),
        ([], 0, ""),
    ],
)
def test_finds_the_merge_request_in_what_the_server_says(lines: list[str], number: int, link: str) -> None:
    answer = push_answer.parsed_answer("", "".join(f"remote: {line}        \n" for line in lines), URL)
    assert (answer.number, answer.url) == (number, link)


def test_a_commit_remembers_what_a_server_does_not_tell() -> None:
    memory = Memory('A "title" --> <!--', is_draft=True, state="<!-- flux-upgrade {} -->", statuses={"proof": "x"})
    message = pull_requests_by_push.written("Title\n\nText\n\nFlux-Upgrade-Target: v2.9.4", memory)
    assert pull_requests_by_push.read(markers.sealed(message, "tree")) == memory
    assert (
        pull_requests_by_push.without(markers.sealed(message, "tree"))
        == "Title\n\nText\n\nFlux-Upgrade-Target: v2.9.4\n"
    )
    again = pull_requests_by_push.written(markers.sealed(message, "tree"), Memory("Title"))
    assert pull_requests_by_push.read(again) == Memory("Title")


@pytest.mark.parametrize(
    "trailer", ["", "x", "[]", "7", '{"title": 7}', '{"statuses": [1]}', '{"statuses": {"a": 1}}', '{"draft": "yes"}']
)
def test_a_malformed_trailer_is_ignored(trailer: str) -> None:
    assert pull_requests_by_push.read(f"Title\n\nFlux-Upgrade-Pull: {trailer}\n") in (None, Memory())


def test_the_state_follows_a_new_commit() -> None:
    state = pull_requests_by_push.comment_of(
        markers.block("", markers.MarkerState("a", "patch", Version("v2.9.3"), approval="2.9"))
    )
    commit = NewCommit("T\n\nFlux-Upgrade-Target: v2.9.4", "", "", {"a.yaml": ("100644", b"")})
    known = markers.state_of(pull_requests_by_push.updated(state, commit) + "\n")
    assert known is not None
    assert (known.target, known.approval, known.paths) == ("v2.9.4", "2.9", (markers.digest_of("a.yaml"),))
    assert pull_requests_by_push.updated("", commit) == ""
