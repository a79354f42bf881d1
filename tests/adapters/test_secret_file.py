"""Secrets are written to a file that only its owner can read, and never into a repository."""

from __future__ import annotations

import os
import resource
import threading
from pathlib import Path

import pytest

from flux_upgrade.adapters.local.secret_file import SecretFile
from flux_upgrade.model.errors import UsageError, WriteFailed
from flux_upgrade.model.hosting import Secret
from git_servers import git, give_away

SECRET = Secret("flux-system", "flux-system", {"password": "pässword\n🔑: 'x' \"y\""})
PULL = Secret("pull", "flux-system", {".dockerconfigjson": "{}"}, "kubernetes.io/dockerconfigjson")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    return folder


def test_only_its_owner_reads_it(own: Path) -> None:
    before = os.umask(0)
    try:
        SecretFile(str(own / "secret.yaml")).put((SECRET,))
    finally:
        os.umask(before)
    assert (own / "secret.yaml").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in own.iterdir()] == ["secret.yaml"]


def test_the_mode_is_right_from_the_first_byte(own: Path) -> None:
    """A reader that opened the folder earlier finds no moment in which it could open the file."""
    seen: set[int] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            for path in own.iterdir():
                try:
                    seen.add(path.stat().st_mode & 0o777)
                except FileNotFoundError:
                    continue

    thread = threading.Thread(target=look)
    thread.start()
    before = os.umask(0)
    try:
        for _ in range(50):
            SecretFile(str(own / "secret.yaml")).put((SECRET,))
    finally:
        os.umask(before)
        done.set()
        thread.join()
    assert seen == {0o600}


def test_reads_again_what_it_wrote(own: Path) -> None:
    file = SecretFile(str(own / "secret.yaml"))
    assert file.present("flux-system", "flux-system") is None
    file.put((SECRET, PULL))
    assert file.present("flux-system", "flux-system") == SECRET
    assert file.present("pull", "flux-system") == PULL
    assert file.present("pull", "other") is None
    other = SECRET._replace(string_data={"password": "2"})
    file.put((other,))
    assert (file.present("flux-system", "flux-system"), file.present("pull", "flux-system")) == (other, PULL)


@pytest.mark.parametrize(
    "text",
    [
        "key: [",
        "a: 1\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\nstringData: {a: b}\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\nstringData: {a: ENC}\nsops: {mac: x}\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b, labels: {}}\nstringData: {a: b}\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\nstringData: {a: 1}\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\nstringData: hush\n",
        "---\n---\n",
        "hush: \xff",
    ],
)
def test_what_is_something_else_is_not_overwritten(own: Path, text: str) -> None:
    path = own / "secret.yaml"
    path.write_bytes(text.encode("latin-1"))
    path.chmod(0o600)
    file = SecretFile(str(path))
    with pytest.raises(UsageError, match="not a manifest of Secrets") as raised:
        file.present("a", "b")
    assert "hush" not in str(raised.value)
    with pytest.raises(UsageError, match="not a manifest of Secrets"):
        file.put((SECRET,))
    assert path.read_bytes() == text.encode("latin-1")


def test_no_place_in_a_repository(own: Path, tmp_path: Path) -> None:
    git("init", "--quiet", tmp_path / "checkout")
    git("init", "--quiet", "--bare", tmp_path / "bare.git")
    (tmp_path / "checkout" / "deep" / "er").mkdir(parents=True)
    (own / "link").symlink_to(tmp_path / "checkout" / "deep")
    (own / "file.yaml").symlink_to(tmp_path / "checkout" / "secret.yaml")
    (tmp_path / "worktree").mkdir()
    (tmp_path / "worktree" / ".git").write_text("gitdir: elsewhere\n")
    (tmp_path / "plain").mkdir()
    for path in (
        tmp_path / "checkout" / "secret.yaml",
        tmp_path / "checkout" / ".git" / "secret.yaml",
        own / "link" / "er" / "secret.yaml",
        own / ".." / "checkout" / "secret.yaml",
        own / "file.yaml",
        tmp_path / "bare.git" / "secret.yaml",
        tmp_path / "worktree" / "secret.yaml",
    ):
        with pytest.raises(UsageError, match="is in the Git repository"):
            SecretFile(str(path))
    with pytest.raises(UsageError, match="is in the working directory"):
        SecretFile(str(tmp_path / "plain" / "secret.yaml"), (str(tmp_path / "plain"),))
    SecretFile(str(tmp_path / "plain" / "secret.yaml"), (str(tmp_path / "pla"),))


def test_no_place_that_others_have_a_hand_in(own: Path) -> None:
    path = own / "secret.yaml"
    own.chmod(0o777)
    with pytest.raises(UsageError, match="every user can write to"):
        SecretFile(str(path))
    own.chmod(0o1777)
    SecretFile(str(path)).put((SECRET,))
    path.chmod(0o640)
    with pytest.raises(UsageError, match="other users can read or write"):
        SecretFile(str(path))


def test_no_file_of_another_user(own: Path) -> None:
    path = own / "secret.yaml"
    path.touch(mode=0o600)
    give_away(path)
    with pytest.raises(UsageError, match="belongs to another user"):
        SecretFile(str(path))


@pytest.mark.parametrize(
    ("name", "why"), [("folder", "is not a file"), ("missing/x", "does not exist"), ("pipe", "is not a file")]
)
def test_what_is_no_file(own: Path, name: str, why: str) -> None:
    (own / "folder").mkdir()
    os.mkfifo(own / "pipe")
    with pytest.raises(UsageError, match=why):
        SecretFile(str(own / name))


def test_a_failure_leaves_what_was_there(own: Path) -> None:
    file = SecretFile(str(own / "secret.yaml"))
    file.put((SECRET,))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(WriteFailed, match="could not be written: File too large"):
            file.put((PULL,))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert file.present("flux-system", "flux-system") == SECRET
    assert [path.name for path in own.iterdir()] == ["secret.yaml"]


def test_a_folder_that_goes_away_in_between(own: Path) -> None:
    file = SecretFile(str(own / "secret.yaml"))
    own.rmdir()
    with pytest.raises(WriteFailed, match="could not be written") as raised:
        file.put((SECRET,))
    assert "ssword" not in str(raised.value)
