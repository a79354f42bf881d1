"""Files that speak of Flux's APIs, by the clusters that read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from flux_upgrade.pins.registry import TERRAFORM_FILES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.api_uses.flux_file import FluxFile
    from flux_upgrade.impact.readership import OtherClusters


class SearchedFiles:
    """Files that speak of Flux's APIs, in their order, so that those of a cluster are found without all others.

    ``others``: of any cluster; the folders of clusters count.
    """

    def __init__(self, files: Sequence[FluxFile], others: OtherClusters) -> None:
        self._files = {file.path: (index, file) for index, file in enumerate(files)}
        self._by_owner: dict[str, list[str]] = {}
        for path in self._files:
            self._by_owner.setdefault(others.owner(path), []).append(path)

    def of(self, others: OtherClusters, *, is_all: bool = False) -> list[FluxFile]:
        """What a cluster reads; if that is unknown, all but what is another cluster's alone.

        ``is_all``: with what no cluster reads.
        """
        if others.files is None:
            return self._in_order(path for folder in others.around for path in self._by_owner.get(folder, ()))
        paths = (self._files.keys() & others.files) | self._by_terraform
        return self._in_order(paths) + (self.unread(others) if is_all else [])

    def unread(self, others: OtherClusters) -> list[FluxFile]:
        """What no cluster reads; nothing where that is not known of each of them."""
        if others.read_by_any is None:
            return []
        return self._in_order(self._files.keys() - others.read_by_any - self._by_terraform)

    @cached_property
    def _by_terraform(self) -> frozenset[str]:
        """What Terraform may apply to any cluster."""
        return frozenset(path for path in self._files if path.endswith(TERRAFORM_FILES))

    def _in_order(self, paths: Iterable[str]) -> list[FluxFile]:
        return [file for _, file in sorted((self._files[path] for path in paths), key=lambda pair: pair[0])]
