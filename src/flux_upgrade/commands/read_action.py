"""The environment of a step of a job → what is to be done."""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.action import inputs
from flux_upgrade.action.runner import Runner
from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.cli.options import BootstrapCommand, Invocation, OutputOptions, UpgradeOptions
from flux_upgrade.cli.parse import parse_command
from flux_upgrade.model.oci import SCHEME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.ports import Timing


def read_invocation(env: Mapping[str, str], where: Runner, tokens: inputs.Secrets, timing: Timing | None) -> Invocation:
    """Raises UsageError for inputs that cannot be."""
    argv = inputs.arguments(env)
    inputs.check(env, where, has_checkout=_has_checkout(where, argv[1]))
    given = {
        "GITHUB_TOKEN": tokens.token,
        "FLUX_UPGRADE_RELEASE_TOKEN": tokens.release_token,
        "FLUX_UPGRADE_REGISTRY_PASSWORD": tokens.registry_password,
    }
    found = parse_command(argv, {**env, **given}, timing)
    options = found.options
    if isinstance(options, UpgradeOptions):
        # The summary is the overview; the log has the rest.
        options = options._replace(output=OutputOptions(details=True))
    if isinstance(options, (UpgradeOptions, BootstrapCommand)) and not options.repository:
        options = options._replace(repository=where.repository)
    return found._replace(options=options)


def _has_checkout(where: Runner, path: str) -> bool:
    """Whether ``path`` is in a checkout in the workspace, also once links are followed."""
    if not where.workspace:
        return False
    place = find(inputs.inside(where.workspace, "." if path.startswith(SCHEME) else path))
    workspace = find(where.workspace)
    inputs.inside(f"{workspace.root}/{workspace.prefix}".rstrip("/"), f"{place.root}/{place.prefix}")
    return place.is_checkout
