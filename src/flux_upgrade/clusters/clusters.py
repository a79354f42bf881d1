"""Which pins are of one cluster: they are upgraded together, and ought to agree.

The folder that Flux reconciles a cluster from identifies it: that of a vendored manifest, or the path that
a pin or a Kustomization states. Everything in that folder, or in one that its Kustomizations lead to,
belongs to that cluster.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.model.text import is_below, repository_path
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.pin import Pin, Role
from flux_upgrade.pins.registry import ALSO, PIN_KINDS
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import is_variable

COPIES = frozenset({"kustomize-remote-base", "terraform", "eksctl", "commands"})
"""Kinds that begin or restore a cluster that other files keep running: they stand anywhere."""
ANYWHERE = COPIES | {ALSO}
"""Kinds that follow a cluster from any directory: what they write is not what runs there."""
TOOLS = "flux-cli"  # The name of a set of CLI pins that is of no single cluster
WORKFLOWS = ".github/workflows/"  # The folder of GitHub's workflows, which not every token may change
_HIDDEN = re.compile(r"(?:^|/)\.[^/].*")
_FILE = "gotk-components.yaml"
_NAMESPACE = "flux-system"  # Also how `flux bootstrap` and the flux-operator name the source that is this repository
_BOOTSTRAP = "gotk-sync.yaml"
OF_CLUSTERS = (Role.INSTALLS, Role.OPERATOR)  # Roles of what a cluster moves together


class Member(NamedTuple):
    """A vendored manifest or a pin, and where it stands in the repository."""

    pin: Pin
    path: str  # Relative to the repository's root

    @property
    def place(self) -> str:
        """Path, and line where there is one."""
        return self.pin.place(self.path)


class Cluster(NamedTuple):
    name: str  # For people: a folder, or who the file says that the cluster is
    path: str  # Where a manifest of `flux bootstrap` would be: branches are named after it
    members: tuple[Member, ...]
    """Vendored manifests first, then pins by kind, then those of the flux-operator, and of the CLI last."""
    served: tuple[str, ...] = ()  # Names of the clusters that a set of CLI pins serves, where it is of no single one

    @property
    def is_tools(self) -> bool:
        """Whether it is CLI pins alone, which stand behind all others."""
        return self.members[0].pin.role is Role.CLI


class _FluxKustomization(NamedTuple):
    """A Kustomization of Flux's that reconciles a folder of this repository."""

    path: str  # Its own file; relative to the repository's root
    target: str  # `spec.path`, cleaned; empty for the root
    is_remote: bool  # Whether `spec.kubeConfig` leads to another cluster than the one that reconciles it

    @property
    def is_of_itself(self) -> bool:
        """Whether it reconciles the folder that it stands in."""
        return is_below(posixpath.dirname(self.path), self.target)


class _Key(NamedTuple):
    folder: str  # `.` for the root
    owner: str = ""  # Who the file says that the cluster is, where the folder does not tell

    @property
    def home(self) -> str:
        return "" if self.folder == "." else self.folder

    @property
    def name(self) -> str:
        """For people; clusters may have the same."""
        return self.owner or ("root" if self.folder == "." else self.folder)


def clusters_of(members: Iterable[Member], tree: Snapshot | None) -> tuple[Cluster, ...]:
    """Every cluster, in the order of its first member.

    ``tree``: the whole repository: if there is more than vendored manifests, what Flux reconciles is read.
    """
    return tuple(_ClusterAssignment(tuple(members), tree).clusters())


class _ClusterAssignment:
    def __init__(self, members: tuple[Member, ...], tree: Snapshot | None) -> None:
        self._members = members
        self._kustomizations: Sequence[_FluxKustomization] = ()
        self._syncs = frozenset[str]()  # Directories with a gotk-sync.yaml
        if tree is not None and not all(member.pin.is_manifest for member in members):
            self._kustomizations = _flux_kustomizations(tree)
            self._syncs = frozenset(posixpath.dirname(path) for path in tree.named((f"/{_BOOTSTRAP}",)))
        self._claims: dict[tuple[str, str | None], set[tuple[str, str]]] = {}
        """Kind and stated folder → who states it."""
        for member in filter(_installs, members):
            pin = member.pin
            if not pin.is_manifest:
                who = posixpath.dirname(member.path), pin.owner
                self._claims.setdefault((pin.kind, pin.folder), set()).add(who)
        self._roots = dict.fromkeys(self._stated_roots())

    def clusters(self) -> Iterator[Cluster]:
        sets: dict[_Key, list[Member]] = {}
        tools: dict[tuple[_Key, ...], list[Member]] = {}
        moved_together = [each for each in self._members if each.pin.role in OF_CLUSTERS]
        for member in sorted(moved_together, key=_rank):
            key = self._key(member)
            if member.pin.is_manifest and key in sets:
                # Two manifests beside each other are two installations, with two namespaces.
                key = _Key(key.folder, member.path)
            sets.setdefault(key, []).append(member)
        installing = [key for key, found in sets.items() if any(map(_installs, found))]
        for member in self._members:
            if member.pin.role is Role.CLI:
                served = _served(member, installing)
                # Not every token may change a workflow, and the cluster does not wait for one that may.
                if len(served) == 1 and not member.path.startswith(WORKFLOWS):
                    sets[served[0]].append(member)
                else:
                    tools.setdefault(served, []).append(member)
        alike = Counter([key.name for key in sets])
        names = {key: key.name if alike[key.name] == 1 else " ".join(filter(None, key)) for key in sets}
        order = {id(member): at for at, member in enumerate(self._members)}
        first = {key: min([order[id(member)] for member in found]) for key, found in sets.items()}
        for key in sorted(sets, key=first.__getitem__):
            found = sets[key]
            path = posixpath.join(key.home, key.owner, _NAMESPACE, _FILE)
            yield Cluster(names[key], found[0].path if found[0].pin.is_manifest else path, tuple(found))
        for served, found in tools.items():
            scope = posixpath.commonpath([_scope(member.path) or "." for member in found]).strip(".")
            path = posixpath.join(scope, TOOLS)
            yield Cluster(TOOLS, path, tuple(found), tuple(names[key] for key in served))

    def _stated_roots(self) -> Iterator[str]:
        for member in filter(_installs, self._members):
            folder = self._home(member.path) if member.pin.is_manifest else self._stated(member)
            if folder is not None:
                yield folder
        for each in self._kustomizations:
            # A folder of another cluster, or one from which a Kustomization reconciles itself.
            if each.target if each.is_remote else each.is_of_itself:
                yield each.target

    def _home(self, path: str) -> str:
        """The folder of a vendored manifest's cluster: what gotk-sync.yaml beside it says, else the usual."""
        folder = posixpath.dirname(path)
        beside = [each for each in self._kustomizations if posixpath.dirname(each.path) == folder]
        stated = {each.target for each in beside if each.is_of_itself}
        if len(stated) == 1:
            return stated.pop()
        above, _, last = folder.rpartition("/")
        return above if last == _NAMESPACE else folder

    def _key(self, member: Member) -> _Key:
        found = member.pin
        if found.is_manifest:
            return _Key(self._home(member.path) or ".")
        folder = posixpath.dirname(member.path)
        stated = self._stated(member)
        if stated is not None:
            return _Key(stated or ".")
        is_copy = found.kind in ANYWHERE
        if found.owner and not is_copy:
            return _Key(folder, found.owner)
        root = self._deepest(folder)
        if root is None:
            root = self._by_kustomization(folder)
        # The config file is about this repository, whatever its pattern captures.
        is_free = is_copy and (found.is_movable or found.kind == ALSO) and found.folder is None
        if root is None and is_free and folder in self._syncs:
            root = self._home(member.path)  # The sync of a cluster may be unreadable
            self._roots[root] = None
        if root is None and (found.role is Role.OPERATOR or is_free):
            root = self._nearest_single_root(folder)
        if root is None and found.owner:
            return _Key(folder, found.owner)
        if root is None:
            root = folder
            self._roots[root] = None
        return _Key(root or ".")

    def _stated(self, member: Member) -> str | None:
        """The folder that a pin states, where it can be one of this repository.

        A cluster is bootstrapped once, and the root holds one: several that say the same mean as many
        repositories.
        """
        pin = member.pin
        # What the config file says of a cluster is about this repository.
        is_disputed = _installs(member) and pin.kind != ALSO and len(self._claims[pin.kind, pin.folder]) > 1
        return None if is_disputed and (pin.kind in COPIES or not pin.folder) else pin.folder

    def _deepest(self, folder: str) -> str | None:
        while folder not in self._roots:
            if not folder:
                return None
            folder = posixpath.dirname(folder)
        return folder

    def _by_kustomization(self, folder: str) -> str | None:
        """The one cluster whose Kustomizations lead to the folder."""
        targets = {
            self._deepest(posixpath.dirname(each.path))
            for each in self._kustomizations
            if each.target and not each.is_remote and is_below(folder, each.target)
        }
        return targets.pop() if len(targets) == 1 else None

    def _nearest_single_root(self, folder: str) -> str | None:
        """The cluster in the nearest folder above that has any; None where it has several."""
        while True:
            nearby = [root for root in self._roots if is_below(root, folder)]
            if nearby or not folder:
                return nearby[0] if len(nearby) == 1 else None
            folder = posixpath.dirname(folder)


def _rank(member: Member) -> tuple[bool, bool, int]:
    """Who speaks for a cluster: its manifest, then what runs it, then what began it; see ``PIN_KINDS``."""
    found = member.pin
    if found.is_manifest:
        return False, False, 0
    is_late = found.kind in ANYWHERE or found.role is Role.OPERATOR
    return True, is_late, [style.name for style in PIN_KINDS].index(found.kind)


def _installs(member: Member) -> bool:
    return member.pin.role is Role.INSTALLS


def _scope(path: str) -> str:
    """The folder that a tool's file is for: ``.github/workflows`` and the like are for the one above."""
    return _HIDDEN.sub("", posixpath.dirname(path)).rstrip("/")


def _served(member: Member, installing: Sequence[_Key]) -> tuple[_Key, ...]:
    """The clusters that a CLI pin is for: those below it, else the one above, else all."""
    scope = _scope(member.path)
    below = tuple(key for key in installing if is_below(key.home, scope))
    above = [key for key in installing if is_below(scope, key.home)]
    if below:
        return below
    return (max(above, key=lambda key: len(key.home)),) if above else tuple(installing)


def _flux_kustomizations(tree: Snapshot) -> tuple[_FluxKustomization, ...]:
    """In the order of the files. A path that is a variable, or of another source, is left out."""
    found = [
        (each.text_at("spec", "sourceRef", "name"), _FluxKustomization(file.path, repository_path(target), is_remote))
        for file, each in tree.flux_kustomizations
        for target, is_remote in [(each.text_at("spec", "path"), each.has("spec", "kubeConfig"))]
        # The layout of an OCIRepository or a Bucket is its publisher's.
        if each.text_at("spec", "sourceRef", "kind") == "GitRepository" and not is_variable(target)
    ]
    # `flux bootstrap` wrote it, or it reconciles itself: then its source can only be this repository.
    ours = {
        source
        for source, sync in found
        if posixpath.basename(sync.path) == _BOOTSTRAP or (sync.target and sync.is_of_itself)
    }
    # Other repositories are laid out by others, and many Kustomizations take such a one from its root.
    return tuple(sync for source, sync in found if sync.target or source in ours | {_NAMESPACE})
