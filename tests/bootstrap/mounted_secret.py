"""Git with nothing but the content of a Secret, as kubelet mounts it for source-controller."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from flux_upgrade.model.kubernetes_objects import parse
from git_servers import PERSON
from real_parts import require_program


def secret_of(file: Path) -> dict[str, str]:
    """The data of the only Secret in a file."""
    (secret,) = parse(file.read_text())
    return secret.string_data


def mounted(data: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment of a Git that has these files, written into ``folder``, and no others."""
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


def git_error(environment: Mapping[str, str], *arguments: str | Path) -> str:
    """What Git writes to its standard error; empty if it succeeds."""
    command = [require_program("git"), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  (ours)
    return done.stderr or "it fails" if done.returncode else ""


def made_key(path: Path, passphrase: str = "") -> Path:
    """A key by ssh-keygen; its public part is beside it, with ``.pub``."""
    command = [require_program("ssh-keygen"), "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path)]
    subprocess.run(command, check=True)  # noqa: S603  (ours)
    return path
