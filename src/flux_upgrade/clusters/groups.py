"""Which installations share a pull request, and what their branches are called."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator

from flux_upgrade.clusters.clusters import Cluster, Member, clusters_of
from flux_upgrade.config.config import Config, Group, slug
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import is_tag
from flux_upgrade.pins.formats.ranges import allows
from flux_upgrade.pins.pin import Pin, PinState, Role
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.snapshot.snapshot import Snapshot

ROOT = "root"
_USUAL = re.compile(r"(?:(.+)/)?flux-system/gotk-components\.yaml")  # Where `flux bootstrap` puts its manifest
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]*(?:/[a-z0-9][a-z0-9_-]*)*")
_HASHED = re.compile(r".*-[0-9a-f]{6,}")
_ARTIFACT = re.compile(r".*\.oci-[0-9a-f]{6}")
_LONGEST = 100  # Characters; Git keeps each part of a branch's name as a file or folder


class UpdateGroup(NamedTuple):
    """Clusters that share their pull requests: those of a group, or one by itself."""

    name: str  # For people: the group's name, or the folder of the one cluster
    slug: str  # A part of the branches' names: unique, and the same whatever other installations come or go
    group: Group
    clusters: tuple[Cluster, ...]  # At least one, in the order of the tree

    @property
    def members(self) -> tuple[Member, ...]:
        return tuple(member for cluster in self.clusters for member in cluster.members)


def assign(pins: Iterable[Pin], prefix: str, config: Config, tree: Snapshot | None = None) -> tuple[UpdateGroup, ...]:
    """The update groups of all that is changed and not ignored, in the order of their first members.

    ``prefix``: of the paths in the repository, ``deploy/``; empty where they are the same. ``tree``: see
    ``clusters_of``.
    """
    taken = {slug(group.name) for group in config.groups}
    members = [Member(each, prefix + each.path) for each in pins if each.role is not Role.REPORTED]
    clusters = clusters_of([each for each in members if not config.is_ignored(each.path)], tree)
    update_groups: dict[str, UpdateGroup] = {}
    for whole in clusters:
        for group, cluster in _by_group(whole, config):
            path = cluster.path
            name, short = (group.name, slug(group.name)) if group.name else (_name(path), _slug(path, taken))
            before = update_groups[short].clusters if short in update_groups else ()
            update_groups[short] = UpdateGroup(name, short, group, (*before, cluster))
    return tuple(update_groups.values())


def of_artifact(update_group: UpdateGroup, repository: str) -> UpdateGroup:
    """The update group, as far as it is about an artifact: with its own branches, pull requests and issues.

    ``repository``: of the artifact, ``ghcr.io/org/flux-manifests``. What else pins Flux in the same
    folder, and other artifacts, are seen to by other runs.
    """
    return update_group._replace(slug=f"{update_group.slug}{_suffix(repository)}")


def is_seen_to(slug: str, repository: str) -> bool:
    """Whether an update group is one of a run about an artifact; ``repository`` empty: of any other run."""
    return slug.endswith(_suffix(repository)) if repository else _ARTIFACT.fullmatch(slug) is None


def _suffix(repository: str) -> str:
    return f".oci-{hashlib.sha256(repository.encode()).hexdigest()[:6]}"


def _by_group(cluster: Cluster, config: Config) -> Iterator[tuple[Group, Cluster]]:
    """A cluster is of the group of its first member that has one; who is named by another leaves it."""
    groups = [config.group_of(member.path) for member in cluster.members]
    main = next(filter(None, groups), config.default)
    split: dict[str, tuple[Group, list[Member]]] = {main.name: (main, [])}
    for member, group in zip(cluster.members, groups, strict=True):
        own = group or main
        split.setdefault(own.name, (own, []))[1].append(member)
    for group, members in split.values():
        path = cluster.path if group is main else members[0].path
        if members:
            yield group, cluster._replace(members=tuple(members), path=path)


def branch_name(prefix: str, slug: str, bump_kind: str) -> str:
    """``flux-upgrade/clusters.staging/minor``. ``prefix`` ends as it is to end, with a slash or without."""
    return f"{prefix}{slug}/{bump_kind}"


def slug_of(path: str) -> str:
    """Of the installation at ``path``, should it be in no group."""
    return _slug(path)


def _name(path: str) -> str:
    """The folder, without the one that every installation has; a file of another name as it is."""
    folder, _, file = path.rpartition("/")
    if file != "gotk-components.yaml":
        return path
    return f"/{folder}".removesuffix("/flux-system").lstrip("/") or ROOT


def _slug(path: str, taken: Collection[str] = ()) -> str:
    """The folder with dots for slashes where that tells which file is meant; else with a hash as well.

    In lower case throughout: file systems that ignore case hold branches, too.
    """
    usual = _USUAL.fullmatch(path)
    folder = usual[1] or ROOT if usual else ""
    plain = folder.replace("/", ".")
    is_unambiguous = _PLAIN.fullmatch(folder) is not None and (folder != ROOT or path.startswith("flux-system/"))
    is_free = plain not in taken and _HASHED.fullmatch(plain) is None and not plain.endswith(".lock")
    if is_unambiguous and is_free and len(plain) <= _LONGEST:
        return plain
    readable = ".".join(filter(None, map(slug, _name(path).split("/"))))[:_LONGEST].strip(".-")
    digest = hashlib.sha256(path.encode(errors="surrogateescape")).hexdigest()
    lengths = [length for length in (6, 12, 64) if f"{readable}-{digest[:length]}" not in taken]
    return f"{readable or ROOT}-{digest[: lengths[0]]}"


def drift_of(cluster: Cluster) -> dict[str, list[Member]]:
    """Release → the pins at it, oldest first; empty where the pins of the cluster agree.

    A range agrees with every release that it admits.
    """
    if len(cluster.members) == 1:
        return {}
    pinned = [each for each in cluster.members if each.pin.role is Role.INSTALLS and is_tag(each.pin.version)]
    if len({each.pin.version for each in pinned}) <= 1:
        return {}
    places: dict[str, list[Member]] = {}
    for member in sorted(pinned, key=lambda each: each.pin.version):
        places.setdefault(member.pin.version, []).append(member)
    exact = [
        version
        for version, members in places.items()
        if not all(member.pin.state is PinState.RANGE for member in members)
    ]
    if len(exact) == 1 and all(agrees(member.pin, exact[0]) for each in places.values() for member in each):
        return {}
    return places


def agrees(pin: Pin, version: str) -> bool:
    """Whether it comes to a release, or is a range that admits it."""
    return pin.version == version or (pin.state is PinState.RANGE and allows(pin.raw, version))


def is_chosen(update_group: UpdateGroup, config: Config, branch: str) -> bool:
    """Whether a run that is about one ``branch`` acts on the update group; ``branch`` empty: on all of them."""
    return not branch or branch in branches_of(update_group, config)


def branches_of(update_group: UpdateGroup, config: Config) -> tuple[str, ...]:
    """The names of an update group's branches, one for each kind of bump."""
    return tuple(branch_name(config.branch_prefix, update_group.slug, bump_kind) for bump_kind in BumpKind)
