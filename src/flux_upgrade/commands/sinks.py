"""Which sink the options ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.config.environment import Environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.commands.sink import Sink
    from flux_upgrade.planning.proposal import RunDetails


@contextmanager
def sink_of(
    options: UpgradeOptions,
    environment: Environment,
    warn: Callable[[str], None],
    details: RunDetails | None = None,
    *,
    previews: bool = False,
) -> Iterator[Sink]:
    """What it opened is closed at the end.

    ``warn`` is given what a person should know before anything is written. ``details``: of a run of the
    Action. ``previews``: nothing will be applied.
    """
    with ExitStack() as stack:
        if options.artifact is not None:
            from flux_upgrade.commands.artifact_sinks import artifact_sink

            yield artifact_sink(options, environment, warn, details, stack, previews=previews)
            return
        from flux_upgrade.commands.read import read_inventory

        read = partial(read_inventory, options, environment)
        if options.pull_request or details is not None:
            from flux_upgrade.commands.pull_request_sink import PullRequestSink

            yield PullRequestSink(options, environment, warn, details, stack, read)
        else:
            from flux_upgrade.commands.tree_sink import TreeSink

            yield TreeSink(options, environment, warn, read)
