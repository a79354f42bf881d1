"""What a bootstrap was asked for: the arguments of one run, and the value of one cluster."""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.bootstrap.flag_table import FLAGS
from flux_upgrade.bootstrap.options import BootstrapOptions, Provider
from flux_upgrade.config.config import FlagValue
from flux_upgrade.config.environment import BootstrapSecrets
from flux_upgrade.model.values import NamedTuple

_SHORTEST_SECRET = 4
"""Characters: what is shorter is in many a word."""


class BootstrapRequest(NamedTuple):
    """The arguments of one run; what is not of Flux is ours."""

    flags: Mapping[str, FlagValue] = {}
    """Flux's name → value, not read yet; those of ``--flags`` among them."""
    provider: str = ""
    """Empty: from the config file, the flags or the checkout's remote."""
    source: str = ""
    cluster: str = ""
    """Of the config file's; empty: all of them."""
    create_repository: bool = False
    description: str = ""
    add_workflow: bool = False
    secret_file: str = ""
    actions_secret: str = ""
    actions_environment: str = ""
    known_hosts: str = ""
    """A file; empty: the host's own API tells them, if it has one."""
    rotate_key: bool = False
    app_private_key: str = ""
    """A file; empty: ``secrets`` may have it."""
    kubeconfig: str = ""
    """A file, or several as in ``$KUBECONFIG``; empty: no cluster is touched."""
    context: str = ""
    timeout: int = 300
    """Seconds to wait for the cluster."""
    push: bool = False
    pull_request: bool = False
    password_stdin: bool = False
    json: bool = False
    dry_run: bool = False
    secrets: BootstrapSecrets = BootstrapSecrets()

    def __repr__(self) -> str:
        """Without what may hold a secret."""
        return f"BootstrapRequest({', '.join(self.flags)})"

    @property
    def hands_over(self) -> bool:
        """Whether the credentials for the cluster have somewhere to go; else none are made."""
        return bool(self.secret_file or self.actions_secret or self.kubeconfig)

    def secret_values(self) -> tuple[str, ...]:
        """What among the flags is to be masked wherever something is printed."""
        found = [str(value) for name, value in self.flags.items() if name in FLAGS and FLAGS[name].is_secret]
        passwords = (each.partition(":")[2] for each in found)
        return tuple(filter(None, [*found, *(each for each in passwords if len(each) >= _SHORTEST_SECRET)]))

    @property
    def names_github(self) -> bool:
        """Whether the command itself says which server is a GitHub, and so whose the token is."""
        return self.provider == Provider.GITHUB and bool(self.flags.get("hostname"))


class BootstrapCluster(NamedTuple):
    """One cluster that is set up."""

    name: str
    """In the config file; empty where there is one alone."""
    options: BootstrapOptions
    configured: tuple[str, ...] | None = None
    """Words of a command line that say it again, beside the config file; None: there is none."""
