"""Credentials are found in Docker's config.json and its helpers as Docker finds them, and no error shows one."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest

from flux_upgrade.adapters.oci.registry_credentials import (
    DockerConfig,
    FirstOf,
    ForgivingCredentials,
    GivenCredentials,
    RegistryCredential,
)
from flux_upgrade.model.errors import UsageError

SECRET = "right-horse"
HUB = "https://index.docker.io/v1/"


def auth(username: str = "me", password: str = SECRET) -> dict[str, str]:
    return {"auth": b64encode(f"{username}:{password}".encode()).decode()}


@pytest.fixture
def helpers(tmp_path: Path) -> Path:
    """A folder for helpers; each writes what it is asked to ``asked``."""
    (folder := tmp_path / "bin").mkdir()
    return folder


def helper(folder: Path, name: str, answer: str, status: int = 0, before: str = "") -> None:
    file = folder / f"docker-credential-{name}"
    asked = folder / "asked"
    file.write_text(
        f'#!/bin/sh\n[ "$1" = get ] || exit 9\n/bin/cat >> {asked}\necho >> {asked}\n{before}\n'
        f"echo '{answer}'\nexit {status}\n"
    )
    file.chmod(0o755)


def config(tmp_path: Path, content: object, path: str = "", environment: dict[str, str] | None = None) -> DockerConfig:
    file = tmp_path / "config.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return DockerConfig(str(file), path, environment or {}, timeout=2)


def found(source: DockerConfig, host: str = "ghcr.io", path: str = "org/app") -> RegistryCredential:
    credential = source.credential(host, path)
    assert credential is not None
    assert SECRET not in repr(credential)
    return credential


@pytest.mark.parametrize(
    ("key", "host"),
    [
        ("ghcr.io", "ghcr.io"),
        ("GHCR.io", "ghcr.io"),
        ("https://ghcr.io", "ghcr.io"),
        ("https://ghcr.io/", "ghcr.io"),
        ("https://ghcr.io/v2/", "ghcr.io"),
        ("ghcr.io/v1/", "ghcr.io"),
        ("http://127.0.0.1:5000", "127.0.0.1:5000"),
        ("ghcr.io/org", "ghcr.io"),
        ("ghcr.io/org/app", "ghcr.io"),
        (HUB, "registry-1.docker.io"),
        (HUB, "docker.io"),
        ("docker.io", "index.docker.io"),
    ],
)
def test_keys_as_they_are_written(tmp_path: Path, key: str, host: str) -> None:
    credential = found(config(tmp_path, {"auths": {key: auth()}}), host)
    assert (credential.username, credential.password) == ("me", SECRET)
    assert credential.source == f"auths['{key}'] of {tmp_path / 'config.json'}"


@pytest.mark.parametrize(
    "key",
    ["ghcr.io:443", "example.com", "ghcr.io/org/ap", "ghcr.io/org/app/more", "hcr.io", "", "ghcr.io.example.com", "org"],
)  # fmt: skip
def test_keys_of_something_else(tmp_path: Path, key: str) -> None:
    assert config(tmp_path, {"auths": {key: auth()}}).credential("ghcr.io", "org/app") is None


def test_the_longest_key_counts(tmp_path: Path) -> None:
    keys = ["https://ghcr.io", "ghcr.io/org/app", "ghcr.io", "ghcr.io/org"]
    source = config(tmp_path, {"auths": {key: auth(key.replace(":", "")) for key in keys}})
    users = [found(source, path=path).username for path in ("org/app", "org/app/x", "org/other", "other")]
    assert users == ["ghcr.io/org/app", "ghcr.io/org/app", "ghcr.io/org", "ghcr.io"]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (auth("me", "a:b"), ("me", "a:b", "")),
        (auth("me", f"{SECRET}\0"), ("me", SECRET, "")),
        ({"username": "me", "password": SECRET}, ("me", SECRET, "")),
        ({"identitytoken": SECRET}, ("", "", SECRET)),
        ({**auth("me", ""), "identitytoken": SECRET}, ("me", "", SECRET)),
    ],
)
def test_what_an_entry_holds(tmp_path: Path, entry: object, expected: tuple[str, str, str]) -> None:
    credential = found(config(tmp_path, {"auths": {"ghcr.io": entry}}))
    assert (credential.username, credential.password, credential.identity_token) == expected


@pytest.mark.parametrize(
    "content", [{}, {"auths": {}}, {"auths": None}, {"auths": {"ghcr.io": {}}}, {"credsStore": ""}]
)
def test_a_file_without_credentials(tmp_path: Path, content: object) -> None:
    assert config(tmp_path, content).credential("ghcr.io", "org/app") is None


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.json")
    assert DockerConfig(missing, "", {}).credential("ghcr.io", "org/app") is None
    with pytest.raises(UsageError, match=r"none\.json does not exist"):
        DockerConfig(missing, "", {}, required=True).credential("ghcr.io", "org/app")


def test_the_folder_with_the_file(tmp_path: Path) -> None:
    config(tmp_path, {"auths": {"ghcr.io": auth()}})
    assert found(DockerConfig(str(tmp_path), "", {}, required=True)).source.endswith("config.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not a JSON object"),
        ("[]", "is not a JSON object"),
        ("{" * 100_000, "is not a JSON object"),
        ({"auths": []}, ""),
        ({"auths": [1]}, "auths of the Docker config file"),
        ({"auths": {"ghcr.io": SECRET}}, "auths['ghcr.io'] of the Docker config file"),
        ({"auths": {"ghcr.io": {"auth": SECRET}}}, "auths['ghcr.io'].auth of the Docker config file"),
        ({"auths": {"ghcr.io": {"auth": b64encode(SECRET.encode()).decode()}}}, "is not the base64"),
        ({"auths": {"ghcr.io": {"auth": "/w=="}}}, "is not the base64"),
        ({"credHelpers": {"ghcr.io": "../x"}}, "credHelpers['ghcr.io'] of the Docker config file"),
        ({"credHelpers": {"ghcr.io": 7}}, "has no credential helper"),
        ({"credsStore": "a/b"}, "credsStore of the Docker config file"),
        ({"credsStore": "none"}, "needs docker-credential-none, which is not on PATH"),
    ],
)
def test_what_is_broken_is_named_without_the_secret(tmp_path: Path, content: object, message: str) -> None:
    source = config(tmp_path, content, "/nowhere:relative")
    if not message:
        assert source.credential("ghcr.io", "org/app") is None
        return
    with pytest.raises(UsageError) as caught:
        source.credential("ghcr.io", "org/app")
    assert message in caught.value.message
    assert str(tmp_path / "config.json") in caught.value.message
    assert caught.value.message.isprintable()
    assert SECRET not in caught.value.message + caught.value.hint


def test_a_helper_of_the_host(tmp_path: Path, helpers: Path) -> None:
    helper(helpers, "ours", json.dumps({"ServerURL": "ghcr.io", "Username": "me", "Secret": SECRET}))
    content = {"credHelpers": {"ghcr.io": "ours"}, "credsStore": "none", "auths": {"ghcr.io": auth("other")}}
    credential = found(config(tmp_path, content, f"relative:/nowhere:{helpers}"))
    assert (credential.username, credential.password) == ("me", SECRET)
    assert credential.source.startswith("credHelpers['ghcr.io'] of ")
    assert (helpers / "asked").read_text() == "ghcr.io\n"


def test_a_helper_for_all_hosts(tmp_path: Path, helpers: Path) -> None:
    helper(helpers, "all", json.dumps({"Username": "<token>", "Secret": SECRET}))
    content = {"credsStore": "all", "auths": {"ghcr.io": {}, "example.com": auth("by file")}}
    source = config(tmp_path, content, str(helpers))
    credential = found(source)
    assert (credential.username, credential.password, credential.identity_token) == ("", "", SECRET)
    assert credential.basic == ""
    assert found(source, "registry-1.docker.io").identity_token == SECRET
    assert found(source, "example.com").username == "by file"
    assert (helpers / "asked").read_text() == f"ghcr.io\n{HUB}\n"


def test_a_helper_that_knows_of_nothing(tmp_path: Path, helpers: Path) -> None:
    helper(helpers, "all", "credentials not found in native keychain", 1)
    helper(helpers, "empty", '{"Username": "", "Secret": ""}')
    for name in ("all", "empty"):
        assert config(tmp_path, {"credsStore": name}, str(helpers)).credential("ghcr.io", "x") is None


@pytest.mark.parametrize(
    ("answer", "status", "before", "message"),
    [
        (SECRET, 1, "", "which exited with code 1"),
        (SECRET, 0, "", "whose output is not a JSON object"),
        ("[]", 0, "", "whose output is not a JSON object"),
        ("", 0, "exec /bin/sleep 30", "did not finish within 0.2 s"),
    ],
)
def test_a_helper_that_fails(  # noqa: PLR0913, PLR0917  (a table)
    tmp_path: Path, helpers: Path, answer: str, status: int, before: str, message: str
) -> None:
    helper(helpers, "bad", answer, status, before)
    config(tmp_path, {"credHelpers": {"ghcr.io": "bad"}})
    source = DockerConfig(str(tmp_path / "config.json"), str(helpers), {}, timeout=0.2 if before else 5)
    with pytest.raises(UsageError, match="docker-credential-bad") as caught:
        source.credential("ghcr.io", "org/app")
    assert message in caught.value.message
    assert "credHelpers['ghcr.io']" in caught.value.message
    assert SECRET not in caught.value.message + caught.value.hint


def test_a_helper_in_a_relative_folder_is_not_run(
    tmp_path: Path, helpers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper(helpers, "all", json.dumps({"Username": "me", "Secret": SECRET}))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="not on PATH"):
        config(tmp_path, {"credsStore": "all"}, "bin:.").credential("ghcr.io", "org/app")


def test_a_helper_that_is_no_program(tmp_path: Path, helpers: Path) -> None:
    (helpers / "docker-credential-bad").write_bytes(b"\x7fELF")
    (helpers / "docker-credential-bad").chmod(0o755)
    with pytest.raises(UsageError, match="failed to start: "):
        config(tmp_path, {"credsStore": "bad"}, str(helpers)).credential("ghcr.io", "org/app")


def test_a_helper_sees_the_environment_that_it_is_given(
    tmp_path: Path, helpers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_MACHINE", SECRET)
    helper(helpers, "all", "", before='printf \'{"Username": "%s", "Secret": "%s"}\' "$GIVEN" "x$OF_THE_MACHINE"')
    source = config(tmp_path, {"credsStore": "all"}, str(helpers), {"GIVEN": "me"})
    credential = found(source)
    assert (credential.username, credential.password) == ("me", "x")


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    source = DockerConfig(str(tmp_path / "config.json"), "", {}, required=True)
    config(tmp_path, {"auths": {"ghcr.io": auth()}})
    assert found(source).username == "me"


def test_what_is_given_is_for_one_host(tmp_path: Path) -> None:
    file = config(tmp_path, {"auths": {"ghcr.io": auth("by file"), HUB: auth("by file")}})
    given = GivenCredentials("docker.io", "me", SECRET)
    sources = FirstOf(given, file)
    hub, other = sources.credential("registry-1.docker.io", "x"), sources.credential("ghcr.io", "x")
    assert hub is not None and other is not None
    assert (hub.username, other.username) == ("me", "by file")
    assert (hub.source, SECRET in repr(given) + repr(hub)) == ("--username and --password-stdin", False)
    assert GivenCredentials("ghcr.io", "me", SECRET).credential("ghcr.io:443", "x") is None


def test_a_broken_file_may_be_forgiven(tmp_path: Path) -> None:
    for content, username in (("{", None), ({"auths": {"ghcr.io": auth()}}, "me")):
        credential = ForgivingCredentials(config(tmp_path, content)).credential("ghcr.io", "org/app")
        assert (None if credential is None else credential.username) == username


@pytest.mark.parametrize(("username", "password"), [("", "x"), ("x", ""), ("a:b", "x"), ("a", "x\n"), ("a\n", "x")])
def test_what_cannot_be_given(username: str, password: str) -> None:
    with pytest.raises(UsageError, match="the credentials from --username and --password-stdin are not valid"):
        GivenCredentials("ghcr.io", username, password)
