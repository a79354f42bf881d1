"""What a GitRepository comes to, looked up in the real repository with the Secret's own credentials."""

from __future__ import annotations

import subprocess
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cluster_stand_in.api import Object
from cluster_stand_in.controllers import Artifact, Unreachable


@dataclass(frozen=True)
class GitSources:
    """As source-controller: a strict known_hosts, and nothing of the machine's own credentials.

    ``environment``: PATH and what else Git needs to be found; ``urls``: an address as the repository has
    it → where it is on this machine.
    """

    environment: Mapping[str, str]
    urls: Mapping[str, str]

    def look(self, source: Object, secret: Object | None) -> Artifact:
        """Fetch the branch. Raises Unreachable."""
        spec = source["spec"]
        url = spec["url"]
        for stated, here in self.urls.items():
            url = url.replace(stated, here)
        data = {name: b64decode(value).decode() for name, value in ((secret or {}).get("data") or {}).items()}
        with TemporaryDirectory(prefix="source-") as folder:
            environment = {**self.environment, **_credentials(data, Path(folder))}
            branch, clone = spec["ref"]["branch"], f"{folder}/clone"
            _git(environment, "clone", "--quiet", "--bare", "--depth=1", f"--branch={branch}", url, clone)
            head = _git(environment, f"--git-dir={clone}", "rev-parse", "HEAD").strip()
            trees = _git(environment, f"--git-dir={clone}", "ls-tree", "-r", "-d", "--name-only", "HEAD")
        return Artifact(f"{branch}@sha1:{head}", frozenset(trees.splitlines()))


def _credentials(data: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Keys of a Secret, as Git's environment. Source: fluxcd.io, GitRepositories, Secret reference."""
    if "identity" in data:
        key, hosts = folder / "identity", folder / "known_hosts"
        for path, text in ((key, data["identity"]), (hosts, data["known_hosts"])):
            path.touch(mode=0o600)
            path.write_text(text)
        options = (
            f"-i {key} -o UserKnownHostsFile={hosts} -o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=/dev/null"
        )
        return {"GIT_SSH_COMMAND": f"ssh -F none -o IdentitiesOnly=yes {options}"}
    if "bearerToken" in data:
        return _header(f"Bearer {data['bearerToken']}")
    if "password" in data:
        pair = f"{data['username']}:{data['password']}"
        return _header(f"Basic {b64encode(pair.encode()).decode()}")
    return {}


def _header(authorization: str) -> dict[str, str]:
    """By the environment: nobody reads it in the list of processes."""
    setting = ("http.extraHeader", f"Authorization: {authorization}")
    return {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": setting[0], "GIT_CONFIG_VALUE_0": setting[1]}


def _git(environment: Mapping[str, str], *arguments: str) -> str:
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(
        ["git", *arguments], env={**environment, **quiet}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Unreachable(f"failed to checkout and determine revision: {' '.join(done.stderr.split())}")
    return done.stdout
