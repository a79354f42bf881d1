"""The options of each command, as ``cli.parse`` makes them of its flags."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from flux_upgrade.config.environment import Environment
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.bootstrap.request import BootstrapRequest
    from flux_upgrade.planning.plan import UpgradeRequest


class RenderOptions(NamedTuple):
    release_source: str  # `github`, a folder, or an http(s) or oci address
    install: InstallOptions


class InspectOptions(NamedTuple):
    path: str
    artifact: Address | None  # The artifact that was named instead of a path; `path` is the working folder then
    release_source: str
    json: bool
    graph: bool = False


class OutputOptions(NamedTuple):
    details: bool = False
    diff: bool = False
    is_quiet: bool = False
    is_verbose: bool = False
    color: str = "auto"  # `auto`, `always` or `never`
    may_page: bool = True


class UpgradeOptions(NamedTuple):
    """Of ``upgrade``, and of ``plan``, which is an upgrade that writes nothing."""

    path: str
    artifact: Address | None
    release_source: str
    config: str  # A file that has to be there; empty: the usual one, should it be there
    governing: Mapping[str, object]  # Keys of the config file that were given as flags, as they were given
    request: UpgradeRequest
    repository: str  # `owner/name` or an address; empty: the checkout's remote says it
    pull_request: bool
    promote: str  # `tag` or `pull-request`; empty: what the tree says
    json: bool = False
    output: OutputOptions = OutputOptions()

    @property
    def address(self) -> Address:
        """``artifact``, in a run about one."""
        assert self.artifact is not None  # noqa: S101 the caller has seen to it
        return self.artifact


class ReportForm(StrEnum):
    """In which format ``check`` prints what it found."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"  # Text, and annotations


class ApiUsesOptions(NamedTuple):
    """Of ``check``, and of ``migrate``."""

    path: str
    release_source: str
    to: str
    running: tuple[str, ...]  # Releases that clusters run today; empty: those that the repository installs
    governing: Mapping[str, object]
    form: ReportForm
    is_dry: bool
    annotates: bool
    """Whether GitHub Actions reads what is printed, and shows findings on the lines that they are about."""


class RollbackOptions(NamedTuple):
    artifact: Address
    to: str  # A tag or a digest; empty: what there was before
    is_dry: bool
    accepts_breaks: bool = False  # Move the tag although the API server may reject the older CRDs


class FleetOptions(NamedTuple):
    reports: tuple[str, ...]  # Files and directories
    repositories: tuple[str, ...]  # `owner/name`, whose workflows uploaded a report
    repositories_file: str  # With further ones; empty: none
    artifact: str  # Name of what they uploaded
    expected: tuple[str, ...]  # Repositories that must have a report
    max_age: int  # Days
    html: str  # File to write; empty: none
    json: bool


class BootstrapCommand(NamedTuple):
    checkout: str
    config: str
    release_source: str
    request: BootstrapRequest
    repository: str = ""
    """``owner/name`` on the GitHub that the environment names; empty: the checkout's remote says it."""


Options = (
    RenderOptions
    | InspectOptions
    | UpgradeOptions
    | ApiUsesOptions
    | RollbackOptions
    | BootstrapCommand
    | FleetOptions
    | str
)
"""Text: the path, of ``config check``; empty: the usual one; or the shell, of ``completion``."""


class Invocation(NamedTuple):
    command: str
    options: Options | None  # None: of `action`, which has inputs instead
    environment: Environment
    secrets: tuple[str, ...] = ()  # Values of flags that are to be masked wherever something is printed

    def __repr__(self) -> str:
        return f"Invocation({self.command})"
