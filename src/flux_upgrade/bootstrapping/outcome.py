"""What a whole bootstrap ends with: values for the report."""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.bootstrapping.proposed import Bootstrap
from flux_upgrade.bootstrapping.publishing import Published
from flux_upgrade.errors import FluxUpgradeError
from flux_upgrade.values import NamedTuple


class Ran(NamedTuple):
    """One run. What it did not come to is empty."""

    proposal: Bootstrap
    is_dry: bool = False
    """Nothing was written: all else is what would have been."""
    repository: str = ""
    """``owner/name``, or the remote's address; empty where the local checkout alone was written."""
    url: str = ""
    """Of the repository, for a browser."""
    is_created: bool = False
    """The run created the repository."""
    checkout: str = ""
    """The folder that was written, where it is the local checkout."""
    is_pushed: bool = False
    """Files went straight to the branch."""
    commit: str = ""
    """Oid of the commit with them."""
    published: Published | None = None
    secret_files: tuple[str, ...] = ()
    """Paths of the files with Secrets, on the machine of the run: for the log alone."""
    ready: Mapping[str, str] = {}
    """Name of a cluster that is ready → the revision that it has."""
    artifact: str = ""
    """``HOST/REPOSITORY:TAG`` with its immutable tag."""
    digest: str = ""
    is_promoted: bool = False
    """The tag of the artifact was moved."""
    warnings: tuple[str, ...] = ()
    error: FluxUpgradeError | None = None
    """What ended the run after it had done some of it."""
    calls: int = 0
    """To the repository's server."""

    @property
    def errors(self) -> tuple[FluxUpgradeError, ...]:
        """Everything that the run ends red for."""
        step = self.published.error if self.published is not None else None
        return tuple(each for each in (step, self.error) if each is not None)

    @property
    def is_under_way(self) -> bool:
        """Whether the files are where a person can go on from, or would be."""
        return self.is_pushed or not self.errors
