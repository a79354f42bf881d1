"""Access that is arranged for one cluster, and what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bootstrap.registered_keys import RegisteredKeys
from flux_upgrade.adapters.local.secret_file import SecretFile
from flux_upgrade.adapters.local.ssh_keys import generate
from flux_upgrade.bootstrap.access import Access, AccessInputs, AccessPorts, carry_out
from flux_upgrade.bootstrap.access_plan import plan_access
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider
from flux_upgrade.bootstrap.secrets import SecretPlace
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.hosting import DeployKey
from flux_upgrade.model.kubernetes_objects import parse

TITLE = "flux-system-main-flux-system-./clusters/staging"
INSTALL = InstallOptions("v2.9.4", image_pull_secret="pull")
URL = "ssh://git@github.com/fleet/infra"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nb25l\n-----END RSA PRIVATE KEY-----\n"
"""What looks like the key of a GitHub App."""
OTHERS = (
    DeployKey("ci", "ssh-ed25519 AAAAci", is_read_only=False, id=90),
    DeployKey("flux-system-main-flux-system-./clusters/production", "ssh-ed25519 AAAAother", id=91),
)


def options(**more: Any) -> BootstrapOptions:
    plain = BootstrapOptions(Provider.GITHUB, Auth.SSH, INSTALL, url=URL, path="clusters/staging")
    return plain._replace(**more)


def file_at(folder: Path) -> SecretFile:
    (folder / "own").mkdir(mode=0o700, exist_ok=True)
    return SecretFile(str(folder / "own" / "secret.yaml"))


def arrange(
    github: RegisteredKeys | None, place: SecretPlace | None, given: AccessInputs | None = None, **more: Any
) -> Access:
    ports = AccessPorts(github, place, generate)
    return carry_out(plan_access(options(**more), given or AccessInputs(), ports), ports)


def handed_over(github: RegisteredKeys, place: SecretPlace) -> dict[str, str]:
    """What is in the source Secret now, by whatever way it is read."""
    if place.is_readable:
        there = place.present("flux-system", "flux-system")
        assert there is not None
        return there.string_data
    return parse(github.secrets["FLUX", "staging"])[0].string_data


def ours(github: RegisteredKeys) -> list[DeployKey]:
    """The keys of our title; keys of others are never touched."""
    assert [key for key in github.keys if key in OTHERS] in ([], list(OTHERS))
    return [key for key in github.keys if key.title == TITLE]
