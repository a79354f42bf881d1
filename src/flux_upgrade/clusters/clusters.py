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
from functools import cached_property

from flux_upgrade.clusters.flux_kustomizations import FluxKustomization, flux_kustomizations
from flux_upgrade.model.files import Tree
from flux_upgrade.model.text import is_below
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.pin import Pin, Role
from flux_upgrade.pins.registry import PIN_KINDS

COPIES = frozenset({"kustomize-remote-base", "terraform", "eksctl"})
"""Kinds that begin or restore a cluster that other files keep running: they stand anywhere."""
TOOLS = "flux-cli"
"""The name of a set of CLI pins that is of no single cluster."""
WORKFLOWS = ".github/workflows/"
"""The folder of GitHub's workflows, which not every token may change."""
_NAMESPACE = "flux-system"
_HIDDEN = re.compile(r"(?:^|/)\.[^/].*")
_FILE = "gotk-components.yaml"
_OF = "\0"
"""Between a folder and an owner: no path has it."""
OF_CLUSTERS = (Role.INSTALLS, Role.OPERATOR)
"""Roles of what a cluster moves together."""


class Member(NamedTuple):
    """A vendored manifest or a pin, and where it stands in the repository."""

    pin: Pin
    path: str
    """Relative to the repository's root."""

    @property
    def place(self) -> str:
        """Path, and line where there is one."""
        return self.pin.place(self.path)


class Cluster(NamedTuple):
    """What belongs together."""

    name: str
    """For people: a folder, or who the file says that the cluster is."""
    path: str
    """Where a manifest of ``flux bootstrap`` would be: branches are named after it."""
    members: tuple[Member, ...]
    """Vendored manifests first, then pins by kind, then those of the flux-operator, and of the CLI last."""
    served: tuple[str, ...] = ()
    """Names of the clusters that a set of CLI pins serves, where it is of no single one."""

    @property
    def is_tools(self) -> bool:
        """Whether it is CLI pins alone, which stand behind all others."""
        return self.members[0].pin.role is Role.CLI


def clusters_of(members: Iterable[Member], tree: Tree | None) -> tuple[Cluster, ...]:
    """Every cluster, in the order of its first member.

    ``tree``: the whole repository: if there is more than vendored manifests, what Flux reconciles is read.
    """
    return tuple(_ClusterAssignment(tuple(members), tree).clusters())


class _ClusterAssignment:
    def __init__(self, members: tuple[Member, ...], tree: Tree | None) -> None:
        self._members = members
        self._kustomizations: Sequence[FluxKustomization] = ()
        if tree is not None and not all(member.pin.is_manifest for member in members):
            self._kustomizations = flux_kustomizations(tree)
        self._roots: dict[str, None] = {}
        self._sets: dict[str, list[Member]] = {}

    def clusters(self) -> Iterator[Cluster]:
        tools: dict[tuple[str, ...], list[Member]] = {}
        self._roots = dict.fromkeys(self._stated_roots())
        for member in sorted(self._of_clusters(), key=_rank):
            key = self._key(member)
            if member.pin.is_manifest and key in self._sets:
                # Two manifests beside each other are two installations, with two namespaces.
                key = f"{key}{_OF}{member.path}"
            self._sets.setdefault(key, []).append(member)
        for member in self._members:
            if member.pin.role is Role.CLI:
                served = self._served(member)
                # Not every token may change a workflow, and the cluster does not wait for one that may.
                if len(served) == 1 and not member.path.startswith(WORKFLOWS):
                    self._sets[served[0]].append(member)
                else:
                    tools.setdefault(served, []).append(member)
        order = {id(member): at for at, member in enumerate(self._members)}
        for key, found in sorted(self._sets.items(), key=lambda each: min(order[id(m)] for m in each[1])):
            yield Cluster(self._name(key), _named_after(key, found), tuple(found))
        for served, found in tools.items():
            scope = posixpath.commonpath([_scope(member.path) or "." for member in found]).strip(".")
            path = posixpath.join(scope, TOOLS)
            yield Cluster(TOOLS, path, tuple(found), tuple(map(self._name, served)))

    def _name(self, key: str) -> str:
        """For people; two clusters never have the same."""
        is_unique = self._names[_name(key)] == 1
        return _name(key) if is_unique else " ".join(filter(None, key.split(_OF)))

    @cached_property
    def _names(self) -> Counter[str]:
        return Counter(map(_name, self._sets))

    def _installing(self) -> Iterator[Member]:
        return filter(_installs, self._members)

    def _of_clusters(self) -> Iterator[Member]:
        return (member for member in self._members if member.pin.role in OF_CLUSTERS)

    def _stated_roots(self) -> Iterator[str]:
        for member in self._installing():
            if member.pin.is_manifest:
                yield self._home(member.path)
            elif (folder := self._stated(member, member.pin)) is not None:
                yield folder
        for each in self._kustomizations:
            # A folder of another cluster, or one from which a Kustomization reconciles itself.
            if each.target if each.is_remote else is_below(posixpath.dirname(each.path), each.target):
                yield each.target

    def _home(self, path: str) -> str:
        """The folder of a vendored manifest's cluster: what gotk-sync.yaml beside it says, else the usual."""
        folder = posixpath.dirname(path)
        beside = [each.target for each in self._kustomizations if posixpath.dirname(each.path) == folder]
        stated = [target for target in beside if is_below(folder, target)]
        if len(set(stated)) == 1:
            return stated[0]
        above, _, last = folder.rpartition("/")
        return above if last == _NAMESPACE else folder

    def _key(self, member: Member) -> str:
        found = member.pin
        if found.is_manifest:
            return self._home(member.path) or "."
        folder = posixpath.dirname(member.path)
        stated = self._stated(member, found)
        if stated is not None:
            return stated or "."
        is_copy = found.kind in COPIES
        if found.owner and not is_copy:
            return f"{folder}{_OF}{found.owner}"
        root = self._deepest(folder)
        if root is None:
            root = self._by_kustomization(folder)
        is_free = is_copy and found.is_movable and found.folder is None
        if root is None and (found.role is Role.OPERATOR or is_free):
            root = self._nearest_single_root(folder)
        if root is None and found.owner:
            return f"{folder}{_OF}{found.owner}"
        if root is None:
            root = folder
            self._roots[root] = None
        return root or "."

    @cached_property
    def _claims(self) -> dict[tuple[str, str | None], set[tuple[str, str]]]:
        """Kind and stated folder → who states it."""
        claims: dict[tuple[str, str | None], set[tuple[str, str]]] = {}
        for path, found in ((each.path, each.pin) for each in self._installing()):
            if not found.is_manifest:
                who = posixpath.dirname(path), found.owner
                claims.setdefault((found.kind, found.folder), set()).add(who)
        return claims

    def _stated(self, member: Member, pin: Pin) -> str | None:
        """The folder that the pin states, where it can be one of this repository.

        A cluster is bootstrapped once, and the root holds one: several that say the same mean as many
        repositories.
        """
        is_disputed = len(self._claims[pin.kind, pin.folder]) > 1 if _installs(member) else False
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

    def _served(self, member: Member) -> tuple[str, ...]:
        """Keys of the clusters that a CLI pin is for: those below it, else the one above, else all."""
        scope = _scope(member.path)
        folders = {key: _folder(key) for key, found in self._sets.items() if any(map(_installs, found))}
        below = tuple(key for key, folder in folders.items() if is_below(folder, scope))
        above = [key for key, folder in folders.items() if is_below(scope, folder)]
        if below:
            return below
        return (max(above, key=lambda key: len(folders[key])),) if above else tuple(folders)


def _rank(member: Member) -> tuple[bool, bool, int]:
    """Who speaks for a cluster: its manifest, then what runs it, then what began it; see ``PIN_KINDS``."""
    found = member.pin
    if found.is_manifest:
        return False, False, 0
    is_late = found.kind in COPIES or found.role is Role.OPERATOR
    return True, is_late, [style.name for style in PIN_KINDS].index(found.kind)


def _installs(member: Member) -> bool:
    return member.pin.role is Role.INSTALLS


def _scope(path: str) -> str:
    """The folder that a tool's file is for: ``.github/workflows`` and the like are for the one above."""
    return _HIDDEN.sub("", posixpath.dirname(path)).rstrip("/")


def _folder(key: str) -> str:
    return "" if key == "." else key.partition(_OF)[0]


def _name(key: str) -> str:
    folder, _, owner = key.partition(_OF)
    return owner or ("root" if folder == "." else folder)


def _named_after(key: str, members: Sequence[Member]) -> str:
    first = members[0]
    if first.pin.is_manifest:
        return first.path
    folder, _, owner = key.partition(_OF)
    return posixpath.join("" if folder == "." else folder, owner, _NAMESPACE, _FILE)
