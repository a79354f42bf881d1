"""``known_hosts`` of a Secret has the keys of one server, and no others, as OpenSSH reads the file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from flux_upgrade.bootstrap.known_hosts import Host, fingerprint, host_of, known_hosts
from flux_upgrade.model.errors import UsageError
from real_parts import require_program

ED = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIRXDLWxVNgdlxfRe2nAU0NzxPZs4pjRVyTZ3mdx0Z4K"
RSA = "ssh-rsa AAAAB3NzaC1yc2E="
GITHUB = Host("github.com")


@pytest.mark.parametrize(
    ("url", "entry"),
    [
        ("ssh://git@github.com/fleet/infra", "github.com"),
        ("ssh://GitHub.com/fleet/infra", "github.com"),
        ("ssh://git@git.example.com:22/infra.git", "git.example.com"),
        ("ssh://git@git.example.com:7999/proj/infra.git", "[git.example.com]:7999"),
        ("ssh://git@[2001:DB8::1]:2222/infra.git", "[2001:db8::1]:2222"),
        ("ssh://APKA@git-codecommit.eu-west-1.amazonaws.com/v1/repos/a", "git-codecommit.eu-west-1.amazonaws.com"),
    ],
)
def test_the_host_of_an_address(url: str, entry: str) -> None:
    assert host_of(url).entry == entry


@pytest.mark.parametrize("url", ["https://github.com/fleet/infra", "git@github.com:fleet/infra", "", "ssh://"])
def test_an_address_without_ssh(url: str) -> None:
    with pytest.raises(UsageError, match="not an SSH address"):
        host_of(url)


def test_all_kinds_of_keys_that_the_provider_publishes() -> None:
    assert known_hosts(GITHUB, None, (ED, RSA)) == f"github.com {ED}\ngithub.com {RSA}\n"


@pytest.mark.parametrize(
    ("host", "given", "lines"),
    [
        (GITHUB, f"github.com {ED} a comment\n\n# {RSA}\ngithub.com {RSA}", f"github.com {ED}\ngithub.com {RSA}\n"),
        (GITHUB, f"gitlab.com {RSA}\nGitHub.com,140.82.112.3 {ED}\n", f"github.com {ED}\n"),
        (GITHUB, f"*.com {ED}\n", f"github.com {ED}\n"),
        (GITHUB, f"git?ub.com {ED}\n*.com,!github.com {RSA}\n", f"github.com {ED}\n"),
        (GITHUB, f"github.com {ED}\ngithub.com {ED} twice\n", f"github.com {ED}\n"),
        (GITHUB, f"github.com {ED}\n@revoked * {RSA}\n", f"github.com {ED}\n@revoked github.com {RSA}\n"),
        (GITHUB, f"@cert-authority *.com {ED}\n", f"@cert-authority github.com {ED}\n"),
        (Host("git.lan", "2222"), f"git.lan {RSA}\n[git.lan]:2222 {ED}\n", f"[git.lan]:2222 {ED}\n"),
        (Host("git.lan"), f"[git.lan]:2222 {RSA}\ngit.lan {ED}\n", f"git.lan {ED}\n"),
    ],
)
def test_a_file_of_the_users_is_filtered(host: Host, given: str, lines: str) -> None:
    assert known_hosts(host, given, (RSA,)) == lines


@pytest.mark.parametrize("host", [GITHUB, Host("git.lan", "2222")])
def test_hashed_names(tmp_path: Path, host: Host) -> None:
    """Hashed by ssh-keygen itself."""
    file = tmp_path / "known_hosts"
    file.write_text(f"gitlab.com {RSA}\n{host.entry} {ED}\n")
    subprocess.run([require_program("ssh-keygen"), "-q", "-H", "-f", file], check=True, capture_output=True)  # noqa: S603  (ours)
    assert host.name not in file.read_text()
    assert known_hosts(host, file.read_text(), ()) == f"{host.entry} {ED}\n"


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        f"gitlab.com {ED}",
        f"@revoked github.com {ED}",
        "github.com",
        "github.com ssh-ed25519",
        "github.com 1024 35 1234",
        f"|1|AAAA {ED}",
        f"|1|!|! {ED}",
        f"|1|AAAA|AAAA|AAAA {ED}",
        f"github.com.evil.example {ED}",
        f"githubxcom {ED}",
    ],
)
def test_no_key_is_one_clear_error(given: str | None) -> None:
    with pytest.raises(UsageError, match=r" github\.com( are unknown)?$") as raised:
        known_hosts(GITHUB, given, ())
    assert "`ssh-keyscan github.com > known_hosts`" in raised.value.hint
    assert "fingerprints" in raised.value.hint
    with pytest.raises(UsageError) as raised:
        known_hosts(Host("git.lan", "2222"), given, ())
    assert "ssh-keyscan -p 2222 git.lan" in raised.value.hint


def test_fingerprints_are_those_of_ssh_keygen(tmp_path: Path) -> None:
    file = tmp_path / "key.pub"
    file.write_text(f"{ED}\n")
    command = [require_program("ssh-keygen"), "-l", "-f", str(file)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  (ours)
    assert done.stdout.split()[1] == fingerprint(ED) == fingerprint(f"{ED} ann@laptop")
    for broken in ("", "ssh-ed25519", "ssh-ed25519 ?"):
        with pytest.raises(ValueError, match="no public key"):
            fingerprint(broken)
