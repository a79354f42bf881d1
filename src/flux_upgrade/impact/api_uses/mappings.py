"""What a mapping means: a resource, a reference to one, a selector, an operation of a JSON patch.

Recognized by its own keys and by the keys that lead to it; there is no list of kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flux_upgrade.impact.api_uses.flux_file import UsePlace
from flux_upgrade.impact.api_uses.mentions import ApiGroups, Subject, is_version
from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode
from flux_upgrade.model.patterns import fits
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.yaml_places import Step, is_variable

Path = tuple[Step, ...]
Entries = Mapping[str, Node]

_SELECTORS = frozenset({"target", "select", "source"})
"""kustomize api/types/patch.go and replacement.go, and the same in Flux's own CRDs."""
_SCHEMATIC = frozenset({"managedFields", "x-kubernetes-group-version-kind"})
"""What the API server or a schema says of versions."""
_METRICS = "CustomResourceStateMetrics"
"""A configuration of kube-state-metrics, in a file, in a text, or in `customResourceState.config` of its chart:
https://github.com/kubernetes/kube-state-metrics/blob/main/docs/metrics/extend/customresourcestate-metrics.md"""
_ANY = "*"  # Any version or kind
_STABLE = tuple(f"v{number}" for number in range(1, 10))

_NO_KIND = "its kind is not known"


class NamedVersion(NamedTuple):
    node: ScalarNode
    group: str  # empty where it is more than one name, and each mention in it counts
    version: str
    place: UsePlace
    who: Subject
    why: str = ""
    is_object: bool = False  # whether the mapping is the resource that has this version


class NodeContext(NamedTuple):
    """Where a node is in its document, and what an object there is."""

    path: Path  # from the document of the file on, through texts
    role: UsePlace | None  # What an object there is; TEXT, METRIC: all that is in it; None: its own keys say it
    target: Subject  # what is patched there, where the keys beside it say that

    @property
    def is_item(self) -> bool:
        return bool(self.path) and isinstance(self.path[-1], int)


def role_of(path: Path) -> UsePlace | None:
    """What is at a path by itself: a patch of kustomize's, or a resource of a ResourceSet.

    kustomize api/types/kustomization.go; the same fields are in Flux's Kustomization and HelmRelease and in
    the FluxInstance of flux-operator, whose ResourceSet has ``resourcesTemplate``.
    """
    match path:
        case (*_, "patches" | "patchesJson6902", int(), "patch") | (*_, "patchesStrategicMerge", int()):
            return UsePlace.PATCH
        case (*_, "customResourceState", "config"):
            return UsePlace.METRIC
        case (*_, "resourcesTemplate"):
            return UsePlace.EMBEDDED
        case (*_, str(key)) if key in _SCHEMATIC:
            return UsePlace.TEXT
    return None


def role_in(entries: Entries, context: NodeContext) -> UsePlace | None:
    """Return the role of all nodes in a mapping; None: their own keys decide."""
    if context.role is UsePlace.METRIC or text(entries, "kind") == _METRICS:
        return UsePlace.METRIC
    is_text = context.role is UsePlace.TEXT or text(entries, "kind") == "CustomResourceDefinition"
    return UsePlace.TEXT if is_text else None


def named_versions(entries: Entries, context: NodeContext, groups: ApiGroups) -> Iterator[NamedVersion]:
    if context.role is UsePlace.METRIC:
        yield from _metric(entries, context, groups)
        return
    yield from _resource(entries, context, groups)
    yield from _pair(entries, context, groups)
    yield from _operation(entries, context, groups)


def _resource(entries: Entries, context: NodeContext, groups: ApiGroups) -> Iterator[NamedVersion]:
    # Ansible's modules for Kubernetes have `api_version`.
    node = entries.get("apiVersion", entries.get("api_version"))
    if not isinstance(node, ScalarNode):
        return
    named = groups.named(node.value)
    is_whole = context.role is not None or "metadata" in entries or "spec" in entries
    who = _subject_of(entries, is_whole=is_whole)
    place = context.role or (UsePlace.EMBEDDED if is_whole else UsePlace.REFERENCE)
    if named is not None:
        why = _why(context, place, who, named[1])
        yield NamedVersion(node, *named, place, who, why, is_object=is_whole and not is_list(entries))
    elif is_variable(node.value):
        yield NamedVersion(node, "", "", UsePlace.TEMPLATE, who, "a template sets it")


def _pair(entries: Entries, context: NodeContext, groups: ApiGroups) -> Iterator[NamedVersion]:
    """``group`` and ``version``, which may be patterns where they select."""
    group, node = text(entries, "group"), entries.get("version")
    if group not in groups.names or not isinstance(node, ScalarNode):
        return
    # A pattern that takes stable versions, too, does not hang on one that goes.
    if not is_version(node.value) and any(fits(node.value, version) for version in ("", *_STABLE)):
        return
    # fieldspec.go of kustomize's configurations and `reject` of its replacements are in lists.
    is_selector = not context.path or context.is_item or context.path[-1] in _SELECTORS
    place, who = UsePlace.TARGET if is_selector else UsePlace.REFERENCE, _subject_of(entries, is_whole=False)
    yield NamedVersion(node, group, node.value, place, who, _why(context, place, who, node.value))


def _metric(entries: Entries, context: NodeContext, groups: ApiGroups) -> Iterator[NamedVersion]:
    """Yield the `groupVersionKind` of a metric, if it has a version."""
    group, node = text(entries, "group"), entries.get("version")
    if group in groups.names and isinstance(node, ScalarNode) and node.value != _ANY:
        who = Subject(text(entries, "kind").replace(_ANY, ""))
        why = _why(context, UsePlace.METRIC, who, node.value)
        yield NamedVersion(node, group, node.value, UsePlace.METRIC, who, why)


def _operation(entries: Entries, context: NodeContext, groups: ApiGroups) -> Iterator[NamedVersion]:
    """One of a JSON patch (RFC 6902) that sets an ``apiVersion``."""
    path, node = text(entries, "path"), entries.get("value")
    named = groups.named(node.value) if isinstance(node, ScalarNode) else None
    if isinstance(node, ScalarNode) and named and "op" in entries and path.endswith("/apiVersion"):
        is_own = path == "/apiVersion"
        who, place = (context.target, UsePlace.PATCH) if is_own else (Subject(), UsePlace.REFERENCE)
        yield NamedVersion(node, *named, place, who, "" if who.kind else _NO_KIND)


def _why(context: NodeContext, place: UsePlace, who: Subject, version: str) -> str:
    """Why the version must not be changed, whatever the spelling."""
    if not is_version(version):
        return "a variable sets it" if is_variable(version) else "it is a pattern"
    # https://fluxcd.io/flux/components/helm/helmreleases/#post-renderers
    if place in (UsePlace.PATCH, UsePlace.TARGET) and "postRenderers" in context.path:
        return "it applies to a chart's output, which has the chart's API version"
    return "" if who.kind or place is UsePlace.TARGET else _NO_KIND


def is_list(entries: Entries) -> bool:
    return text(entries, "kind").endswith("List") and isinstance(entries.get("items"), SequenceNode)


def selected(entries: Entries) -> Subject:
    return _subject_of(entries_of(entries.get("target")), is_whole=False)


def _subject_of(entries: Entries, *, is_whole: bool) -> Subject:
    named = entries_of(entries.get("metadata")) if is_whole else entries
    return Subject(text(entries, "kind"), text(named, "name"), text(named, "namespace"))


def text(entries: Entries, key: str) -> str:
    """A scalar's text; empty where there is none."""
    node = entries.get(key)
    return node.value if isinstance(node, ScalarNode) else ""


def entries_of(node: Node | None) -> Entries:
    """The keys of a mapping with their values; empty for any other node."""
    return {key.value: value for key, value in node.value} if isinstance(node, MappingNode) else {}
