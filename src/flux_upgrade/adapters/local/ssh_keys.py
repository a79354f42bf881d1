"""SSH keys: made, and read from the user's own files.

OpenSSH's format: openssh-portable ``PROTOCOL.key``, and RFC 4253, section 6.6, for public keys.
"""

from __future__ import annotations

import base64
import os
import re
import struct

from flux_upgrade.adapters.local.files import read_regular
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.hosting import KeyPair
from flux_upgrade.model.text import one_line

_MAGIC = b"openssh-key-v1\0"
_KIND = b"ssh-ed25519"
_ONE = struct.pack(">I", 1)  # how many keys there are
_BLOCK = 8
_WIDTH = 70
_BEGIN, _END = "-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----"
_OPENSSH = re.compile(f"{_BEGIN}\\s+([A-Za-z0-9+/=\\s]+){_END}")
_PEM = re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----")
_MAX_FILE = 64 * 1024
_USABLE = ("ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521")
"""Kinds of keys that source-controller can use: a hardware key needs a finger."""


def generate() -> KeyPair:
    """A new ed25519 key without a passphrase, in OpenSSH's format, which ssh and source-controller read."""
    from nacl.signing import SigningKey

    key = SigningKey.generate()
    public = bytes(key.verify_key)
    blob = _string(_KIND) + _string(public)
    check = os.urandom(4)
    private = check + check + blob + _string(bytes(key) + public) + _string(b"")
    padding = bytes(range(1, -len(private) % _BLOCK + 1))
    head = _MAGIC + _string(b"none") + _string(b"none") + _string(b"") + _ONE
    text = base64.b64encode(head + _string(blob) + _string(private + padding)).decode()
    lines = (text[start : start + _WIDTH] for start in range(0, len(text), _WIDTH))
    return KeyPair("\n".join([_BEGIN, *lines, _END, ""]), _line(_KIND, blob))


def read(path: str, passphrase: str = "") -> KeyPair:
    """The key of a file: as it is, with its public part. Raises UsageError.

    The passphrase of a key in OpenSSH's format is not tried: Flux needs it, and nothing here does.
    """
    try:
        text = read_regular(path, _MAX_FILE).decode("ascii")
    except OSError as error:
        raise UsageError(
            f"the private key {one_line(path)} could not be read: {error.strerror}",
            hint="check --private-key-file, and its permissions",
        ) from error
    except UnicodeDecodeError:
        raise _no_key(path) from None
    if (found := _OPENSSH.search(text)) is not None:
        public, is_encrypted = _public_of(found[1], path, passphrase)
        return KeyPair(text, public, passphrase if is_encrypted else "")
    if _PEM.search(text) is None:
        raise _no_key(path)
    return _of_pem(text, path, passphrase)


def _public_of(encoded: str, path: str, passphrase: str) -> tuple[str, bool]:
    try:
        raw = base64.b64decode("".join(encoded.split()), validate=True)
        if not raw.startswith(_MAGIC):
            raise _no_key(path)
        cipher, rest = _taken(raw[len(_MAGIC) :])
        _, rest = _taken(rest)  # what makes a key of the passphrase
        _, rest = _taken(rest)  # and its settings
        if not rest.startswith(_ONE):
            raise _no_key(path)
        blob, rest = _taken(rest[len(_ONE) :])
        _taken(rest)
        kind, _ = _taken(blob)
        line = _line(kind, blob)
    except (ValueError, struct.error):
        raise _no_key(path) from None
    if kind.decode("ascii", "replace") not in _USABLE:
        raise UsageError(
            f"the private key {one_line(path)} has a type that Flux does not support:"
            f" {one_line(kind.decode('ascii', 'replace'))}",
            hint=f"use one of {', '.join(_USABLE)}",
        )
    if cipher != b"none" and not passphrase:
        raise _encrypted(path)
    return line, cipher != b"none"


def _taken(raw: bytes) -> tuple[bytes, bytes]:
    """The string (RFC 4251, section 5) that ``raw`` begins with, and the rest.

    Raises ValueError, struct.error.
    """
    (size,) = struct.unpack_from(">I", raw)
    if len(raw) < 4 + size:
        raise ValueError("cut off")
    return raw[4 : 4 + size], raw[4 + size :]


def _of_pem(text: str, path: str, passphrase: str) -> KeyPair:
    """By ``cryptography``, should it be here: PEM's formats are many, and may be encrypted."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization as pem
    except ImportError:
        raise UsageError(
            f"the private key {one_line(path)} has PEM format, which needs the Python package `cryptography`",
            hint=f"convert it with `ssh-keygen -p -f {one_line(path)}`, or run `pip install cryptography`",
        ) from None
    try:
        key = pem.load_pem_private_key(text.encode(), passphrase.encode() or None)
        public = key.public_key().public_bytes(pem.Encoding.OpenSSH, pem.PublicFormat.OpenSSH)
    except TypeError:  # a passphrase is missing, or given for nothing
        if not passphrase:
            raise _encrypted(path) from None
        return _of_pem(text, path, "")
    except (ValueError, UnsupportedAlgorithm):
        raise UsageError(
            f"the private key {one_line(path)} is not readable: it is damaged, its type is unknown,"
            " or the passphrase is wrong",
            hint=f"check it with `ssh-keygen -y -f {one_line(path)}`",
        ) from None
    return KeyPair(text, public.decode("ascii"), passphrase)


def _encrypted(path: str) -> UsageError:
    return UsageError(
        f"the private key {one_line(path)} is encrypted, and no passphrase is set",
        hint="set the passphrase in GIT_PASSWORD, or use a key without one",
    )


def _no_key(path: str) -> UsageError:
    return UsageError(
        f"{one_line(path)} is not a private SSH key",
        hint="set --private-key-file to a private key, for example from `ssh-keygen -t ed25519`",
    )


def _string(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


def _line(kind: bytes, blob: bytes) -> str:
    return f"{kind.decode('ascii')} {base64.b64encode(blob).decode()}"
