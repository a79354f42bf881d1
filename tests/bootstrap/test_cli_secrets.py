"""``--secret-file`` holds credentials that work, and neither the output nor Git nor a process list shows them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import written_release

from bootstrap.cli_runs import SYNC, Laptop, clone_with, files_of
from bootstrap.mounted_secret import git_error, made_key, mounted, secret_of
from flux_upgrade.model.errors import UsageError
from git_servers import Bare, SshHost, git
from process_arguments import seen_arguments

PATH = "--path=clusters/staging"
TOKEN = "sync-token-7c31-of-the-cluster"
APP_KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "c2VjcmV0LXBhcnQtb2YtdGhlLWFwcC0xMjM0\n" * 3
    + "-----END RSA PRIVATE KEY-----\n"
)


@pytest.fixture
def bare(tmp_path: Path) -> Bare:
    bare = Bare.make(tmp_path / "infra.git")
    git("push", "--quiet", bare.folder, "main", at=clone_with(tmp_path / "ann"))
    return bare


@pytest.fixture
def known_hosts(ssh: SshHost, tmp_path: Path) -> Path:
    path = tmp_path / "known_hosts"
    path.write_text("".join(f"[127.0.0.1]:{ssh.port} {key}\n" for key in ssh.host_keys()))
    return path


def test_a_clone_with_what_the_file_holds(
    laptop: Laptop, ssh: SshHost, bare: Bare, secret: Path, known_hosts: Path
) -> None:
    tmp_path, url = bare.folder.parent, ssh.url(bare.folder)
    flags = (
        "--provider=git",
        f"--url={url}",
        PATH,
        "--push",
        f"--secret-file={secret}",
        f"--known-hosts={known_hosts}",
    )
    env = {"GIT_SSH_COMMAND": ssh.command("writer")}
    clone = clone_with(tmp_path / "fleet")
    with seen_arguments() as seen:
        process = laptop.process(clone, *flags, "--json", env=env)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    data = secret_of(secret)
    private = data["identity"].splitlines()[1:-1]
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    said = out + err + "".join(content.decode() for content in files_of(clone).values()) + bare.content(f"main:{SYNC}")
    assert any(b"flux_upgrade" in line for line in seen)
    for line in private:
        assert line not in said
        assert not [each for each in seen if line.encode() in each]
        assert not [path for path in bare.folder.rglob("*") if path.is_file() and line.encode() in path.read_bytes()]
    assert data["identity.pub"].strip() in out

    environment = mounted(data, tmp_path / "mounted")
    assert "Permission denied" in git_error(environment, "clone", url, tmp_path / "early")
    ssh.allow(data["identity.pub"].strip())
    assert git_error(environment, "clone", "--quiet", url, tmp_path / "clone") == ""
    assert (tmp_path / "clone" / SYNC).exists()
    assert "read only" in git_error(environment, "-C", tmp_path / "clone", "push", "origin", "HEAD:refs/heads/x")

    before = secret.read_bytes()
    again = laptop.bootstrap(clone, *flags, "--json", env=env).well()
    assert (again.value["outcome"], secret.read_bytes()) == ("none", before)
    rotated = laptop.bootstrap(clone, *flags, "--rotate-key", "--json", env=env).well()
    assert rotated.cluster["access"]["public-key"] != " ".join(data["identity.pub"].split()[:2])
    assert secret.read_bytes() != before


def test_a_server_that_shows_another_key_is_not_believed(
    laptop: Laptop, ssh: SshHost, bare: Bare, secret: Path, tmp_path: Path
) -> None:
    """The file of known hosts has the right name and the wrong key."""
    wrong = tmp_path / "wrong"
    key = made_key(tmp_path / "key")
    wrong.write_text(f"[127.0.0.1]:{ssh.port} {key.with_suffix('.pub').read_text()}")
    url = ssh.url(bare.folder)
    env = {"GIT_SSH_COMMAND": ssh.command("writer")}
    laptop.bootstrap(
        tmp_path / "ann",
        "--provider=git",
        f"--url={url}",
        PATH,
        "--push",
        f"--secret-file={secret}",
        f"--known-hosts={wrong}",
        env=env,
    ).well()
    data = secret_of(secret)
    ssh.allow(data["identity.pub"].strip())
    assert "Host key verification failed" in git_error(
        mounted(data, tmp_path / "mounted"), "clone", url, tmp_path / "clone"
    )


NO_HOSTS = {
    "absent": None,
    "of-another-host": "git.example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPxN0Yr5BBcY2Tn6tIWHdGQ7q4LCrhGW5n2Rm0xAtTQd\n",
    "no-key": "hello\n",
}


@pytest.mark.parametrize("case", NO_HOSTS)
def test_host_keys_that_are_not_known(laptop: Laptop, ssh: SshHost, bare: Bare, secret: Path, case: str) -> None:
    """Said before anything is pushed, and before a key is made."""
    tmp_path = bare.folder.parent
    before, text = bare.refs(), NO_HOSTS[case]
    (tmp_path / "hosts").write_text(text or "")
    given = [] if text is None else [f"--known-hosts={tmp_path / 'hosts'}"]
    env = {"GIT_SSH_COMMAND": ssh.command("writer")}
    laptop.bootstrap(
        tmp_path / "ann",
        "--provider=git",
        f"--url={ssh.url(bare.folder)}",
        PATH,
        "--push",
        f"--secret-file={secret}",
        *given,
        env=env,
    ).refused(UsageError, "known-hosts")
    assert bare.refs() == before and not secret.exists()


def test_the_users_own_key(laptop: Laptop, checkout: Path, secret: Path, known_hosts: Path, tmp_path: Path) -> None:
    key = made_key(tmp_path / "key")
    known_hosts.write_text("gitlab.example.com " + known_hosts.read_text().partition(" ")[2])
    laptop.bootstrap(
        checkout, "--provider=gitlab", "--hostname=gitlab.example.com", "--repository=octo/fleet", PATH,
        f"--private-key-file={key}", f"--secret-file={secret}", f"--known-hosts={known_hosts}",
    ).well()  # fmt: skip
    assert secret_of(secret)["identity"].strip() == key.read_text().strip()


@pytest.mark.parametrize("where", ["inside", "other-repository", "missing-folder", "no-file", "open-to-all"])
def test_places_that_are_no_place_for_a_secret(laptop: Laptop, checkout: Path, tmp_path: Path, where: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "open.yaml").write_text("")
    (tmp_path / "open.yaml").chmod(0o644)
    paths = {
        "inside": checkout / "secret.yaml",
        "other-repository": clone_with(tmp_path / "other") / "secret.yaml",
        "missing-folder": tmp_path / "none" / "secret.yaml",
        "no-file": tmp_path / "folder",
        "open-to-all": tmp_path / "open.yaml",
    }
    env = {"FLUX_UPGRADE_SYNC_TOKEN": TOKEN}
    done = laptop.bootstrap(checkout, PATH, "--token-auth", f"--secret-file={paths[where]}", env=env)
    done.refused(UsageError, {"missing-folder": "mkdir", "open-to-all": "chmod 600"}.get(where, "--secret-file"))
    assert TOKEN not in done.out + done.err
    assert list(files_of(checkout)) == ["README.md"]


def test_a_token_for_flux(laptop: Laptop, checkout: Path, secret: Path) -> None:
    env = {"FLUX_UPGRADE_SYNC_TOKEN": TOKEN, "GITHUB_TOKEN": ""}
    flags = (PATH, "--token-auth", f"--secret-file={secret}", "--json")
    done = laptop.bootstrap(checkout, *flags, env=env).well()
    assert secret_of(secret)["password"] == TOKEN
    assert done.cluster["access"] == {
        "auth": "token", "secret": "flux-system/flux-system", "place": "file",
        "deploy-key": None, "public-key": None, "registered": False,
    }  # fmt: skip
    assert TOKEN not in done.out + done.err + str(files_of(checkout))
    assert "url: https://github.com/octo/fleet.git" in (checkout / SYNC).read_text()
    laptop.bootstrap(checkout, *flags, env={"FLUX_UPGRADE_SYNC_TOKEN": "another-token-55"}).well()
    assert secret_of(secret)["password"] == "another-token-55"


def test_a_token_that_is_missing(laptop: Laptop, checkout: Path, secret: Path) -> None:
    laptop.bootstrap(checkout, PATH, "--token-auth", f"--secret-file={secret}").refused(
        UsageError, "FLUX_UPGRADE_SYNC_TOKEN"
    )
    assert list(files_of(checkout)) == ["README.md"] and not secret.exists()


def test_a_dry_run_makes_no_file(laptop: Laptop, checkout: Path, secret: Path) -> None:
    env = {"FLUX_UPGRADE_SYNC_TOKEN": TOKEN}
    done = laptop.bootstrap(checkout, PATH, "--token-auth", f"--secret-file={secret}", "--dry-run", env=env).well()
    assert TOKEN not in done.out
    assert f"Secret: would be in {secret}" in done.out
    assert not list(secret.parent.iterdir())


def test_no_key_is_made_where_it_has_nowhere_to_go(laptop: Laptop, checkout: Path) -> None:
    done = laptop.bootstrap(checkout, PATH, "--json").well()
    assert done.cluster["access"]["place"] == "nowhere"
    assert done.cluster["access"]["public-key"] is None
    assert "ssh-keygen" in "".join(done.cluster["left-to-do"])


APP = ("--app-id=12345", "--app-installation-id=678")


def test_a_github_app(laptop: Laptop, checkout: Path, secret: Path, tmp_path: Path) -> None:
    (tmp_path / "app.pem").write_text(APP_KEY)
    flags = (PATH, *APP, f"--app-private-key={tmp_path / 'app.pem'}", f"--secret-file={secret}")
    with seen_arguments() as seen:
        process = laptop.process(checkout, *flags, "--version=v2.6.4")
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    data = secret_of(secret)
    assert data == {"githubAppID": "12345", "githubAppInstallationID": "678", "githubAppPrivateKey": APP_KEY}
    sync = (checkout / SYNC).read_text()
    assert "  provider: github\n" in sync and "url: https://github.com/octo/fleet.git" in sync
    line = APP_KEY.splitlines()[1]
    assert line not in out + err + str(files_of(checkout))
    assert not [each for each in seen if line.encode() in each]


def test_a_github_app_whose_key_is_in_the_environment(laptop: Laptop, checkout: Path, secret: Path) -> None:
    env = {"FLUX_UPGRADE_APP_PRIVATE_KEY": APP_KEY}
    done = laptop.bootstrap(checkout, PATH, *APP, f"--secret-file={secret}", "--version=v2.9.4", env=env).well()
    assert secret_of(secret)["githubAppPrivateKey"].strip() == APP_KEY.strip()
    assert APP_KEY.splitlines()[1] not in done.out + done.err


APP_REFUSED = {
    "too-old": ((*APP, "--version=v2.3.0"), "2.5"),
    "another-provider": ((*APP, "--provider=gitlab"), "--app-id"),
    "with-a-token": ((*APP, "--token-auth"), "cannot be combined"),
    "no-key": ((*APP, "--secret-file=../own/secret.yaml"), "--app-private-key"),
    "no-installation": (("--app-id=1", "--secret-file=../own/secret.yaml"), "--app-installation-id"),
    "no-number": (("--app-id=mine",), "not a number"),
    "key-without-an-app": (("--app-private-key=x.pem",), "--app-id"),
}


@pytest.mark.parametrize("case", APP_REFUSED)
def test_a_github_app_that_cannot_be(laptop: Laptop, checkout: Path, case: str) -> None:
    flags, message = APP_REFUSED[case]
    laptop.bootstrap(checkout, PATH, *flags).refused(UsageError, message)
    assert list(files_of(checkout)) == ["README.md"]


def test_an_older_flux_that_is_there_has_no_github_app(checkout: Path, tmp_path: Path) -> None:
    """The version that counts is that of the repository."""
    laptop = Laptop(written_release.write_source(tmp_path / "releases", ("v2.4.0", "v2.9.4")))
    laptop.bootstrap(checkout, PATH, "--version=v2.4.0").well()
    before = files_of(checkout)
    laptop.bootstrap(checkout, PATH, *APP).refused(UsageError, "v2.4.0", "GitHub App")
    assert files_of(checkout) == before
    done = laptop.bootstrap(checkout, PATH, *APP, "--version=v2.9.4", "--json").well()
    assert {"version", "url"} <= {each["flag"] for each in done.cluster["differences"]}
    assert "  provider: github\n" in (checkout / SYNC).read_text()
