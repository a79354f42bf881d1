"""Which hosts of those that the tree names a run may ask: none, or what flags, config and credentials allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NoReturn

from flux_upgrade.cli.options import InspectOptions, UpgradeOptions
from flux_upgrade.commands.wiring import build_chart_credentials
from flux_upgrade.config.config import PATH, Config
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import HostNotAllowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.adapters.http.egress import Egress


def no_hosts() -> NoReturn:
    """For ``check`` and ``migrate``, which run for the pull requests of forks. Raises HostNotAllowed."""
    raise HostNotAllowed(
        "`check` and `migrate` contact no host that the repository names",
        hint="set the release that the cluster runs with --from",
    )


def build_egress(
    environment: Environment, options: InspectOptions | UpgradeOptions, config: Callable[[], Config]
) -> Egress:
    """Public hosts, those that the command line names, and those that are allowed."""
    from flux_upgrade.adapters.http.egress import Egress

    @cache
    def patterns() -> tuple[str, ...]:
        allowed = environment.allow_hosts or config().allow_hosts
        return (*allowed, *_named(options))

    def hint(host: str) -> str:
        if not environment.allow_hosts and "allow-hosts" in config().withheld.keys:
            return (
                f"add {host} to --allow-hosts, or add --trust-config if you trust allow-hosts in {PATH}: "
                f"{config().withheld.why}"
            )
        return f"add {host} to --allow-hosts, or to allow-hosts in {PATH}"

    return Egress(patterns, build_chart_credentials(environment).names, hint)


def _named(options: InspectOptions | UpgradeOptions) -> tuple[str, ...]:
    """The hosts of the command line: who typed them may ask them."""
    registry = ""
    if isinstance(options, UpgradeOptions) and "flags" in options.governing:
        registry = _flags(options.governing).get("registry", "")
    places = [options.release_source.partition("://")[2], registry, options.artifact.host if options.artifact else ""]
    return tuple(filter(None, (each.partition("/")[0].rpartition("@")[2] for each in places)))


def _flags(governing: Mapping[str, object]) -> Mapping[str, str]:
    from flux_upgrade.config.reader import load

    return load("", "", None, {"flags": governing["flags"]}).default.governance.flags
