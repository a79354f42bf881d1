"""The vendored manifests of a repository, and its pins, each by themselves."""

from collections.abc import Iterator

from flux_upgrade.model.errors import Unreadable
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.discover import discover, looked_at, pin_hints
from flux_upgrade.pins.gotk_components.pin import InstallationFinder, may_be
from flux_upgrade.pins.pin import Pin
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.pins.registry import PIN_KINDS, may_take
from flux_upgrade.snapshot.file import File
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


def pins_anywhere(context: PinContext) -> list[Pin]:
    """Find every pin, kind by kind, in vendored manifests, too."""
    files: dict[str, list[File]] = {kind.name: [] for kind in PIN_KINDS}
    marked = set[str]()
    for file in filter(None, map(context.tree.at, filter(may_take, context.tree.named(("",))))):
        hints = pin_hints(file.path, file.content)
        for name, is_marked in hints.kinds if hints is not None else ():
            files[name].append(file)
            marked |= {name} if is_marked else set()
    kinds = [kind for kind in PIN_KINDS if kind.name in marked]
    return [pin for kind in kinds for pin in kind.module.find(files[kind.name], context)]
