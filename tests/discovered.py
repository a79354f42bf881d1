"""The vendored manifests of a repository, and its pins, each by themselves."""

from collections.abc import Iterator

from flux_upgrade.model.errors import Unreadable
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.discover import discover, looked_at
from flux_upgrade.pins.gotk_components.pin import InstallationFinder, may_be
from flux_upgrade.pins.pin import Pin
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.snapshot.snapshot import Snapshot


def manifests_in(tree: Snapshot, regenerator: Regenerator) -> Iterator[Pin]:
    """Yield every vendored manifest, in the order of the paths."""
    manifests = InstallationFinder(regenerator)
    for path in tree.candidates():
        try:
            pin = manifests.at(path, tree.read(path))
        except Unreadable as error:
            pin = manifests.unread(path, error)
        if pin is not None:
            yield pin


def pins_in(context: PinContext) -> list[Pin]:
    """Find every pin in the files that cannot be vendored manifests, kind by kind."""
    tree = context.tree
    paths = [path for path in looked_at(tree) if not may_be(path, tree.content(path) or b"")]
    return [*discover(context, paths)]
