"""Which CRDs of a release the API server would refuse, because of what ran in the cluster before.

The API server remembers each version in which it ever stored objects of a CRD, in
``status.storedVersions``, and refuses a CRD that lacks one of them
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/).
It stores in one version per CRD at a time, so that the rest follows from the releases which ran.
`flux migrate` rewrites all objects in the version that is stored now, and makes it forget the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby
from operator import itemgetter

from flux_upgrade.impact.impact import PastRelease, Refused, Stored
from flux_upgrade.manifests.crds import Crd, crds_of
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version, is_tag

_KIND = b"CustomResourceDefinition"
_NAME = re.compile(
    rb"apiVersion: apiextensions\.k8s\.io/v1(?:beta1)?\nkind: CustomResourceDefinition\nmetadata:\n"
    rb"(?:  (?!name:).*\n)*  name: ([a-z0-9.-]+)\n"
)
_END = re.compile(rb"^ {0,3}[^ \n-]", re.MULTILINE)
"""What follows the list of versions: ``status`` in old releases, a comment."""
_FIELD = re.compile(rb"\n    (name|served|storage): ([a-z0-9]+)(?=\n)")
_FIELDS = [b"name", b"served", b"storage"]
_LABEL = re.compile(rb"app\.kubernetes\.io/version: ['\"]?(v[0-9A-Za-z.+-]+)")
_HEADER = re.compile(rb"^# Flux [Vv]ersion:[ \t]*(v[0-9A-Za-z.+-]+)", re.MULTILINE)
_FIRST_CLI = (2, 7)
"""`flux migrate` came with Flux 2.7.0. It asks the cluster for its CRDs (those labelled
``app.kubernetes.io/part-of: flux``) and goes by what they say, whatever release they are of."""
_Held = dict[tuple[str, str], PastRelease]  # CRD and version → the release that stored it first; in the order of time


class Definition(NamedTuple):
    storage: str  # the version that objects are stored in
    versions: frozenset[str]  # all names in `spec.versions`, served or not


class InstalledCrds(NamedTuple):
    tag: Version  # as most of its labels have it, else its header; empty where they name no release
    crds: Mapping[str, Definition]  # by name


@lru_cache(maxsize=64)  # equal manifests are many
def installed_crds(content: bytes) -> InstalledCrds | None:
    """None for what installs no CRDs, or never could: a stub, a merge that was not resolved."""
    is_merging = any(marker in content for marker in (b"\n<<<<<<< ", b"\n>>>>>>> "))
    crds = None if is_merging else _plain(content)
    if crds is None:
        crds = dict(_parsed(content))
    if not crds:
        return None
    return InstalledCrds(release_of(content), crds)


def release_of(content: bytes) -> Version:
    """The release that a manifest says it is; empty where it says none.

    Bots raise headers and images, and leave the labels that came with the CRDs.
    """
    labels = Counter(filter(is_tag, map(bytes.decode, _LABEL.findall(content))))
    if labels:
        return Version(labels.most_common(1)[0][0])
    header = _HEADER.search(content)
    return Version.parse(header[1].decode() if header else "") or NO_VERSION


def _plain(content: bytes) -> dict[str, Definition] | None:
    """The CRDs of a file in Flux's own form; None where any of them may be in another one."""
    found: dict[str, Definition] = {}
    for document in content.split(b"\n---\n"):
        if _KIND not in document:
            continue
        name, definition = _NAME.match(document), _definition(document)
        if name is None or definition is None or document.count(_KIND) > 1:
            return None
        found[name[1].decode()] = definition
    return found


def _definition(document: bytes) -> Definition | None:
    entries = (b"\n" + document.partition(b"\n  versions:\n")[2]).split(b"\n  - ")
    end = _END.search(entries[-1], 1)
    if end is not None:
        entries[-1] = entries[-1][: end.start()]
    versions, storage = [], []
    for entry in entries[1:]:
        fields = sorted(_FIELD.findall(b"\n    %b\n" % entry))
        if [name for name, _ in fields] != _FIELDS:
            return None
        name = fields[0][1].decode()
        versions.append(name)
        if fields[2][1] == b"true":
            storage.append(name)
    return Definition(storage[0], frozenset(versions)) if len(storage) == 1 else None


def _parsed(content: bytes) -> Iterator[tuple[str, Definition]]:
    try:
        documents = parse(content).documents
    except Unreadable:
        return
    for document in documents:
        try:
            for name, crd in crds_of([document]).items():
                yield name, Definition(crd.storage, frozenset(each.name for each in crd.versions))
        except (Unreadable, LookupError, TypeError, AttributeError):
            continue  # no object, or a CRD that no API server would take


class PastState(NamedTuple):
    """An installation in an earlier commit."""

    installed: InstalledCrds
    since: str  # RFC 3339, UTC: when it was committed; empty where that is unknown
    is_aside: bool = False  # As `FileRevision.is_aside`


class Target(NamedTuple):
    """The CRDs afterwards."""

    versions: Mapping[str, frozenset[str]]  # Name of a CRD → the names in its `spec.versions`
    kind: Callable[[str], str]  # Name of a CRD → its kind; few are asked for


def target_of(crds: Iterable[Crd]) -> Target:
    by_name = {crd.name: crd for crd in crds}
    versions = {name: frozenset(each.name for each in crd.versions) for name, crd in by_name.items()}
    return Target(versions, lambda name: by_name[name].kind)


def stored(
    revisions: FileRevisions,
    present: bytes,
    target: Iterable[Crd],
    migrated: Collection[str] = (),
    current: Version = NO_VERSION,
) -> Stored:
    """Return what the API server would refuse of the CRDs of a ``target``, by the history of a vendored manifest.

    ``migrated``, ``current``: as ``stored_after`` takes them.
    """
    now = installed_crds(present)
    return Stored() if now is None else stored_after(past_of(revisions), now, target_of(target), migrated, current)


class Past(NamedTuple):
    states: Iterable[PastState | Unknown] = ()
    """Oldest first; read once, and only if a version goes. Unknown: the reason that others may have been then."""

    missing: Unknown | None = None  # The reason that there may be older ones; None: there are none


def past_of(revisions: FileRevisions) -> Past:
    """Return the states of a vendored manifest in its history."""
    contents = ((installed_crds(each.content), each) for each in revisions.versions)
    states = (PastState(crds, each.date, each.is_aside) for crds, each in contents if crds is not None)
    return Past(chain(states, filter(None, (revisions.gap,))), revisions.missing)


def past_of_parts(histories: Sequence[FileRevisions]) -> Past:
    """Return the states of an installation in several files: at each date, the CRDs of all files together."""
    missing = next((each.missing for each in histories if each.missing), None)
    commits = [(each.date, index, each) for index, file in enumerate(histories) for each in file.versions]
    latest: dict[int, InstalledCrds] = {}
    states: list[PastState] = []
    for date, group in groupby(sorted(commits, key=itemgetter(0, 1)), key=itemgetter(0)):
        by_commit: dict[str, dict[int, FileRevision]] = {}  # A rebase gives many commits the same second
        for _, index, revision in group:
            by_commit.setdefault(revision.commit, {})[index] = revision
        for revisions in by_commit.values():
            changed = {index: installed_crds(each.content) for index, each in revisions.items()}
            latest |= {index: crds or InstalledCrds(NO_VERSION, {}) for index, crds in changed.items()}
            tag = next((crds.tag for crds in changed.values() if crds is not None), NO_VERSION)
            every = {name: crd for known in latest.values() for name, crd in known.crds.items()}
            is_aside = not date or any(each.is_aside for each in revisions.values())
            states.append(PastState(InstalledCrds(tag, every), date, is_aside))
    gaps = filter(None, (history.gap for history in histories))
    return Past(chain((state for state in states if state.installed.crds), gaps), missing)


def stored_after(
    past: Past, now: InstalledCrds, target: Target, migrated: Collection[str] = (), current: Version = NO_VERSION
) -> Stored:
    """Return what the API server would refuse of the CRDs of a ``target``.

    ``migrated``: tags of the releases at which `flux migrate` ran, as confirmed; at each, before it was left.
    ``current``: the release that ``now`` was proved to be of; empty: what its labels say.
    """
    # Of CRDs that are there before and after: versions that only the present one has.
    both = now.crds.keys() & target.versions.keys()
    dropped = {name: now.crds[name].versions - target.versions[name] for name in both}
    if not any(dropped.values()):
        return Stored()  # the cluster took the present CRDs, and so holds nothing that they lack
    current = current or now.tag
    held, unknown = _held(past, _ran(current, "", now), migrated, current)
    every = tuple(
        Refused(name, target.kind(name), version, ran)
        for (name, version), ran in held.items()
        if version in dropped.get(name, ())
    )
    after = tuple(each for each in every if each.version == now.crds[each.crd].storage)
    is_known = len(every) == sum(map(len, dropped.values())) or current in migrated
    return refusals(every, after, migrated, current)._replace(unknown=None if is_known else unknown)


def refusals(
    every: tuple[Refused, ...], after: tuple[Refused, ...], migrated: Collection[str], current: Version
) -> Stored:
    """What the history says, and whether `flux migrate` ran since. ``after``: those that it cannot help."""
    refused, said = (after, every) if current in migrated else (every, ())
    return Stored(refused, after, cli_for(current) if refused else "", None, said)


def _ran(tag: Version, since: str, found: InstalledCrds) -> PastRelease:
    storage = [(name, found.crds[name].storage) for name in sorted(found.crds)]
    return PastRelease(tag, since, tuple(storage))


def _held(past: Past, now: PastRelease, migrated: Collection[str], current: Version) -> tuple[_Held, Unknown | None]:
    """Return what was stored and not migrated since, were it not for the current release, and why more may be.

    Flux removes a CRD that is no longer in the manifest, with its objects: what was stored is gone. After `flux
    migrate`, nothing counts that ran before, known or not: each later release adds only what it stores itself.
    """
    held: _Held = {}
    unknown = past.missing
    left = {tag for tag in migrated if tag != current}
    for state in past.states:
        if isinstance(state, Unknown):
            unknown = unknown or state
            continue
        ran = _ran(state.installed.tag, state.since, state.installed)
        if not state.is_aside:
            held = {} if ran.tag in left else _without_removed(held, ran)
            unknown = None if ran.tag in left else unknown
            left.discard(ran.tag)
        for key in ran.storage:
            held.setdefault(key, ran)
    held = _without_removed(held, now)
    for key in now.storage:
        held.setdefault(key, now)
    return held, unknown


def _without_removed(held: _Held, ran: PastRelease) -> _Held:
    names = {name for name, _ in ran.storage}
    return {key: first for key, first in held.items() if key[0] in names}


def cli_for(tag: Version) -> str:
    """The minor of the CLI to run `flux migrate` with at a release: within one minor of the controllers."""
    minor = tag.numbers[:2] if is_tag(tag) else _FIRST_CLI
    return ".".join(map(str, max(minor, _FIRST_CLI)))
