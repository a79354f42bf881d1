"""A key that is made, registered and handed over; then a clone with nothing but the Secret's content."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bootstrap.arranged import arrange, file_at, ours
from bootstrap.registered_keys import RegisteredKeys
from flux_upgrade.adapters.local.ssh_keys import read
from flux_upgrade.bootstrap.access import AccessInputs
from flux_upgrade.model.hosting import DeployKey
from flux_upgrade.model.kubernetes_objects import parse
from git_servers import PERSON, Bare, SshHost, git
from process_arguments import seen_arguments
from real_parts import require_program


class Server(RegisteredKeys):
    """Keys that are registered with it open a real SSH server."""

    def __init__(self, ssh: SshHost, repository: Path) -> None:
        super().__init__(published=ssh.host_keys())
        self._ssh = ssh
        self.url = ssh.url(repository)

    def add_deploy_key(self, key: DeployKey) -> DeployKey:
        registered = super().add_deploy_key(key)
        self._ssh.allow(key.public)
        return registered

    def remove_deploy_key(self, key: DeployKey) -> None:
        super().remove_deploy_key(key)
        self._ssh.forget(key.public)


@pytest.fixture(scope="module")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    with SshHost(tmp_path_factory.mktemp("server") / "ssh") as running:
        yield running


@pytest.fixture
def server(ssh: SshHost, tmp_path: Path) -> Server:
    bare = Bare.make(tmp_path / "infra.git")
    person = tmp_path / "person"
    git("init", "--quiet", "--initial-branch=main", person)
    git("commit", "--quiet", "--allow-empty", "-m", "First", at=person)
    git("push", "--quiet", bare.folder, "main", at=person)
    return Server(ssh, bare.folder)


def secret_of(file: Path) -> dict[str, str]:
    (secret,) = parse(file.read_text())
    return secret.string_data


def unpacked(data: dict[str, str], folder: Path) -> dict[str, str]:
    """The environment of a Git that has these files alone; as kubelet mounts a Secret."""
    folder.mkdir()
    for name, value in data.items():
        (folder / name).write_text(value)
        (folder / name).chmod(0o600)
    (folder / "askpass").write_text(f"#!/bin/sh\ncat '{folder}/password'\n")
    (folder / "askpass").chmod(0o700)
    command = (
        f"ssh -F none -i {folder}/identity -o IdentitiesOnly=yes -o IdentityAgent=none"
        f" -o StrictHostKeyChecking=yes -o UserKnownHostsFile={folder}/known_hosts"
        " -o GlobalKnownHostsFile=/dev/null"
    )
    asking = {"SSH_ASKPASS": str(folder / "askpass"), "SSH_ASKPASS_REQUIRE": "force"}
    return {**PERSON, **asking, "GIT_SSH_COMMAND": command}


def run(environment: dict[str, str], *arguments: str | Path) -> str:
    """What Git says on its standard error; empty where it succeeds."""
    command = [require_program("git"), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  (ours)
    return done.stderr or "it fails" if done.returncode else ""


def test_the_clone_works_with_what_the_secret_holds(server: Server, tmp_path: Path) -> None:
    place = file_at(tmp_path)
    with seen_arguments() as seen:
        done = arrange(server, place, url=server.url)
        data = secret_of(Path(place.where))
        environment = unpacked(data, tmp_path / "mounted")
        assert run(environment, "clone", "--quiet", server.url, tmp_path / "clone") == ""
    assert git("log", "--format=%s", at=tmp_path / "clone") == "First"
    assert data["known_hosts"].count("\n") == 2
    assert done.is_registered
    secret = data["identity"].splitlines()[1:-1]
    assert any(b"clone" in line for line in seen)
    assert not [line for line in seen if any(part.encode() in line for part in secret)]
    refused = run(environment, "-C", tmp_path / "clone", "push", "--quiet", "origin", "HEAD:refs/heads/other")
    assert "read only" in refused


@pytest.mark.parametrize("kind", ["ssh-ed25519", "ecdsa-sha2-nistp256"])
def test_the_server_may_show_a_key_of_any_kind(server: Server, tmp_path: Path, kind: str) -> None:
    arrange(server, file_at(tmp_path), url=server.url)
    environment = unpacked(secret_of(tmp_path / "own" / "secret.yaml"), tmp_path / "mounted")
    environment["GIT_SSH_COMMAND"] += f" -o HostKeyAlgorithms={kind}"
    assert run(environment, "clone", "--quiet", server.url, tmp_path / "clone") == ""


def test_another_server_is_not_believed(server: Server, tmp_path: Path) -> None:
    server.published = (read(str(_made(tmp_path))).public,)
    arrange(server, file_at(tmp_path), url=server.url)
    environment = unpacked(secret_of(tmp_path / "own" / "secret.yaml"), tmp_path / "mounted")
    assert "Host key verification failed" in run(environment, "clone", server.url, tmp_path / "clone")


def test_a_rotated_key(server: Server, tmp_path: Path) -> None:
    place = file_at(tmp_path)
    arrange(server, place, url=server.url)
    old = unpacked(secret_of(Path(place.where)), tmp_path / "old")
    assert run(old, "clone", "--quiet", server.url, tmp_path / "before") == ""
    arrange(server, place, AccessInputs(rotate=True), url=server.url)
    new = unpacked(secret_of(Path(place.where)), tmp_path / "new")
    assert "Permission denied" in run(old, "clone", server.url, tmp_path / "never")
    assert run(new, "clone", "--quiet", server.url, tmp_path / "after") == ""
    assert len(ours(server)) == 1


@pytest.mark.parametrize("passphrase", ["", "open sesame"])
def test_the_users_own_key(server: Server, tmp_path: Path, passphrase: str) -> None:
    key = read(str(_made(tmp_path, passphrase)), passphrase)
    arrange(server, file_at(tmp_path), AccessInputs(key=key), url=server.url)
    environment = unpacked(secret_of(tmp_path / "own" / "secret.yaml"), tmp_path / "mounted")
    assert run(environment, "clone", "--quiet", server.url, tmp_path / "clone") == ""


def _made(folder: Path, passphrase: str = "") -> Path:
    """A key by ssh-keygen."""
    path = folder / "users"
    command = [require_program("ssh-keygen"), "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path)]
    subprocess.run(command, check=True)  # noqa: S603  (ours)
    return path
