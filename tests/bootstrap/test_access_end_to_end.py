"""With nothing but the Secret that was handed over, Git clones over SSH from a server that it verifies, and cannot push."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootstrap.arranged import arrange, file_at, ours
from bootstrap.mounted_secret import git_error, made_key, mounted, secret_of
from bootstrap.registered_keys import RegisteredKeys
from flux_upgrade.adapters.local.ssh_keys import read
from flux_upgrade.bootstrap.access import AccessInputs
from flux_upgrade.model.hosting import DeployKey
from git_servers import Bare, SshHost, git
from process_arguments import seen_arguments


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


@pytest.fixture
def server(ssh: SshHost, tmp_path: Path) -> Server:
    bare = Bare.make(tmp_path / "infra.git")
    person = tmp_path / "person"
    git("init", "--quiet", "--initial-branch=main", person)
    git("commit", "--quiet", "--allow-empty", "-m", "First", at=person)
    git("push", "--quiet", bare.folder, "main", at=person)
    return Server(ssh, bare.folder)


def test_the_clone_works_with_what_the_secret_holds(server: Server, tmp_path: Path) -> None:
    place = file_at(tmp_path)
    with seen_arguments() as seen:
        done = arrange(server, place, url=server.url)
        data = secret_of(Path(place.where))
        environment = mounted(data, tmp_path / "mounted")
        assert git_error(environment, "clone", "--quiet", server.url, tmp_path / "clone") == ""
    assert git("log", "--format=%s", at=tmp_path / "clone") == "First"
    assert data["known_hosts"].count("\n") == 2
    assert done.is_registered
    secret = data["identity"].splitlines()[1:-1]
    assert any(b"clone" in line for line in seen)
    assert not [line for line in seen if any(part.encode() in line for part in secret)]
    refused = git_error(environment, "-C", tmp_path / "clone", "push", "--quiet", "origin", "HEAD:refs/heads/other")
    assert "read only" in refused


@pytest.mark.parametrize("kind", ["ssh-ed25519", "ecdsa-sha2-nistp256"])
def test_the_server_may_show_a_key_of_any_kind(server: Server, tmp_path: Path, kind: str) -> None:
    arrange(server, file_at(tmp_path), url=server.url)
    environment = mounted(secret_of(tmp_path / "own" / "secret.yaml"), tmp_path / "mounted")
    environment["GIT_SSH_COMMAND"] += f" -o HostKeyAlgorithms={kind}"
    assert git_error(environment, "clone", "--quiet", server.url, tmp_path / "clone") == ""


def test_another_server_is_not_believed(server: Server, tmp_path: Path) -> None:
    server.published = (read(str(made_key(tmp_path / "users"))).public,)
    arrange(server, file_at(tmp_path), url=server.url)
    environment = mounted(secret_of(tmp_path / "own" / "secret.yaml"), tmp_path / "mounted")
    assert "Host key verification failed" in git_error(environment, "clone", server.url, tmp_path / "clone")


def test_a_rotated_key(server: Server, tmp_path: Path) -> None:
    place = file_at(tmp_path)
    arrange(server, place, url=server.url)
    old = mounted(secret_of(Path(place.where)), tmp_path / "old")
    assert git_error(old, "clone", "--quiet", server.url, tmp_path / "before") == ""
    arrange(server, place, AccessInputs(rotate=True), url=server.url)
    new = mounted(secret_of(Path(place.where)), tmp_path / "new")
    assert "Permission denied" in git_error(old, "clone", server.url, tmp_path / "never")
    assert git_error(new, "clone", "--quiet", server.url, tmp_path / "after") == ""
    assert len(ours(server)) == 1


@pytest.mark.parametrize("passphrase", ["", "open sesame"])
def test_the_users_own_key(server: Server, tmp_path: Path, passphrase: str) -> None:
    key = read(str(made_key(tmp_path / "users", passphrase)), passphrase)
    arrange(server, file_at(tmp_path), AccessInputs(key=key), url=server.url)
    environment = mounted(secret_of(tmp_path / "own" / "secret.yaml"), tmp_path / "mounted")
    assert git_error(environment, "clone", "--quiet", server.url, tmp_path / "clone") == ""
