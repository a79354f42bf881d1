"""SSH keys are generated as OpenSSH reads them, and keys in every format of OpenSSH and OpenSSL are read."""

from __future__ import annotations

import base64
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import flux_upgrade
from flux_upgrade.adapters.local.ssh_keys import generate, read
from flux_upgrade.bootstrap.known_hosts import fingerprint
from flux_upgrade.model.errors import UsageError
from real_parts import require_program


def keygen(*arguments: str | Path) -> str:
    done = subprocess.run(  # noqa: S603  (ours)
        [require_program("ssh-keygen"), *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_ssh_reads_what_is_generated(tmp_path: Path) -> None:
    key = generate()
    file = written(tmp_path / "key", key.private)
    assert keygen("-y", "-P", "", "-f", file) == key.public
    assert keygen("-l", "-f", file).split()[:2] == ["256", fingerprint(key.public)]
    assert generate().public != key.public
    assert key.private not in repr(key)


def test_ssh_keygen_rewrites_a_generated_key(tmp_path: Path) -> None:
    """ssh-keygen checks all of the private part before it encrypts it."""
    key = generate()
    file = written(tmp_path / "key", key.private)
    keygen("-p", "-P", "", "-N", "a passphrase", "-f", file)
    keygen("-p", "-P", "a passphrase", "-N", "", "-f", file)
    assert read(str(file)).public == key.public


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        (("ed25519",), "OpenSSH"),
        (("rsa", "-b", "2048"), "OpenSSH"),
        (("rsa", "-b", "2048"), "PEM"),
        (("rsa", "-b", "2048"), "PKCS8"),
        (("ecdsa", "-b", "384"), "OpenSSH"),
        (("ecdsa", "-b", "521"), "PEM"),
        (("ecdsa", "-b", "256"), "PKCS8"),
    ],
)
@pytest.mark.parametrize("passphrase", ["", "päss phrase"])
def test_reads_keys_of_every_kind(tmp_path: Path, kind: tuple[str, ...], form: str, passphrase: str) -> None:
    file = tmp_path / "key"
    keygen("-q", "-t", *kind, "-N", passphrase, "-C", "ann@laptop", "-f", file)
    if form != "OpenSSH":
        keygen("-p", "-q", "-P", passphrase, "-N", passphrase, "-m", form, "-f", file)
    public = " ".join((tmp_path / "key.pub").read_text().split()[:2])
    key = read(str(file), passphrase)
    assert (key.private, key.public, key.passphrase) == (file.read_text(), public, passphrase)
    if passphrase:
        with pytest.raises(UsageError, match="is encrypted"):
            read(str(file))
    else:
        assert read(str(file), "of something else").passphrase == ""


def test_a_wrong_passphrase_of_a_pem_key(tmp_path: Path) -> None:
    file = tmp_path / "key"
    keygen("-q", "-t", "ecdsa", "-m", "PEM", "-N", "right", "-f", file)
    with pytest.raises(UsageError, match="passphrase is wrong") as raised:
        read(str(file), "wrong-passphrase")
    assert "wrong-passphrase" not in f"{raised.value}{raised.value.hint}"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"ssh-ed25519 AAAA",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\nA\n-----END OPENSSH PRIVATE KEY-----\n",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ],
)
def test_what_is_no_key(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="is not a private SSH key"):
        read(str(file))


@pytest.mark.parametrize("kept", range(0, 310, 31))
def test_a_key_that_is_cut_off(tmp_path: Path, kept: int) -> None:
    lines = generate().private.splitlines()
    cut = "".join(lines[1:-1])[: kept // 4 * 4]
    file = written(tmp_path / "key", "\n".join([lines[0], cut, lines[-1]]))
    with pytest.raises(UsageError):
        read(str(file))


def test_a_damaged_pem_key(tmp_path: Path) -> None:
    file = written(tmp_path / "key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    with pytest.raises(UsageError, match="damaged"):
        read(str(file))


def test_a_hardware_key(tmp_path: Path) -> None:
    key = generate()
    kind = b"sk-ssh-ed25519@openssh.com"
    blob = struct.pack(">I", len(kind)) + kind
    none = struct.pack(">I", 4) + b"none"
    raw = b"openssh-key-v1\0" + none + none + bytes(4) + struct.pack(">II", 1, len(blob)) + blob + bytes(4)
    lines = key.private.splitlines()
    file = written(tmp_path / "key", "\n".join([lines[0], base64.b64encode(raw).decode(), lines[-1]]))
    with pytest.raises(UsageError, match="does not support: sk-ssh-ed25519@openssh"):
        read(str(file))


@pytest.mark.parametrize("what", ["missing", "folder"])
def test_what_cannot_be_read(tmp_path: Path, what: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="could not be read"):
        read(str(tmp_path / what))


def test_pem_without_cryptography(tmp_path: Path) -> None:
    """As in the image, which does without it."""
    file = tmp_path / "key"
    keygen("-q", "-t", "ecdsa", "-m", "PEM", "-N", "", "-f", file)
    program = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from flux_upgrade.adapters.local.ssh_keys import read\n"
        "from flux_upgrade.model.errors import UsageError\n"
        "try: read(sys.argv[1])\n"
        "except UsageError as error: print(error.hint)"
    )
    command = [sys.executable, "-c", program, str(file)]
    source = {"PYTHONPATH": str(Path(flux_upgrade.__file__).parent.parent)}
    done = subprocess.run(command, env=source, capture_output=True, text=True, check=True)  # noqa: S603  (ours)
    assert f"`ssh-keygen -p -f {file}`" in done.stdout
    keygen("-p", "-P", "", "-N", "", "-f", file)
    assert read(str(file)).public.startswith("ecdsa-sha2-nistp256 ")
