"""Fields that a newer version of an API has under another name, or no more: what becomes of them.

Found by comparing the CRDs of all releases (see the conformance tests, which fail for a field
without a row). Each row says where Flux, or Kubernetes, says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from flux_upgrade.impact.migrate.field_edits import as_item, without
from flux_upgrade.impact.migrate.patch_lists import merged
from flux_upgrade.impact.migrate.schema import Path
from flux_upgrade.model.text import TextEdit
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.yaml_places import Object

_KUSTOMIZE_1_0 = "https://github.com/fluxcd/kustomize-controller/blob/v1.0.0-rc.1/CHANGELOG.md"
_SOURCE_1_0 = "https://github.com/fluxcd/source-controller/blob/v1.0.0-rc.1/CHANGELOG.md"
_SOURCE_1_3 = "https://github.com/fluxcd/source-controller/blob/v1.3.0/CHANGELOG.md"
_FLUX_2_3 = "https://fluxcd.io/blog/2024/05/flux-v2.3.0/"
_NOT_IMPLEMENTED = "https://github.com/fluxcd/flux2/pull/2092"
_STATUS_IN_GIT = "https://github.com/fluxcd/kustomize-controller/issues/453"
_ALPHA = "https://v2-0.docs.fluxcd.io/flux/components/image/imageupdateautomations/"
_ANY = -1  # in a path: any index of a list

Edit = Callable[[Object, Path], Iterable[TextEdit]]


class Rule(NamedTuple):
    kinds: tuple[str, ...]  # empty: any
    path: Path
    instead: str  # what to do, a sentence without markup
    source: str
    edit: Edit | None = None  # None: only a person can. Raises Unsafe.
    done: str = ""  # what was done, a sentence as well

    def covers(self, kind: str, path: Path) -> bool:
        field = tuple(_ANY if isinstance(step, int) else step for step in path[: len(self.path)])
        return field == self.path and (not self.kinds or kind in self.kinds)


class Template(NamedTuple):
    """A text that a controller reads in another way from some version of an API on."""

    kind: str
    path: Path
    pattern: re.Pattern[str]
    since: str  # the version of the API that came with the controller that does
    detail: str  # what is wrong, a sentence without markup
    instead: str  # what to do, a sentence as well
    source: str


def _values_files(each: Object, path: Path) -> Iterable[TextEdit]:
    return as_item(each, path, "valuesFiles")


def _patches(each: Object, path: Path) -> Iterable[TextEdit]:
    return merged(each, *path[:-1])


def _gone(kinds: tuple[str, ...], path: Path, why: str, source: str) -> Rule:
    """A field that means nothing to the controllers of any release that serves the new version."""
    name = _name(path)
    instead, done = f"Remove {name}: {why}.", f"{name} was removed: {why}."
    return Rule(kinds, path, instead, source, lambda each, path: (without(each, *path),), done)


def _renamed(kind: str, path: Path, new: str, source: str, edit: Edit) -> Rule:
    name, beside = _name(path), _name((*path[:-1], new))
    return Rule((kind,), path, f"Set it in {beside}.", source, edit, f"{name} was replaced by {beside}.")


def _name(path: Path) -> str:
    return ".".join(str(step) for step in path if step != _ANY)


_RENDERED = ("spec", "postRenderers", _ANY, "kustomize")
_LISTS = ("patchesStrategicMerge", "patchesJson6902")

RULES = (
    _renamed("HelmRelease", ("spec", "chart", "spec", "valuesFile"), "valuesFiles", _FLUX_2_3, _values_files),
    _renamed("HelmChart", ("spec", "valuesFile"), "valuesFiles", _SOURCE_1_3, _values_files),
    *(_renamed("HelmRelease", (*_RENDERED, name), "patches", _FLUX_2_3, _patches) for name in _LISTS),
    *(_renamed("Kustomization", ("spec", name), "patches", _KUSTOMIZE_1_0, _patches) for name in _LISTS),
    _gone(("Kustomization",), ("spec", "validation"), "the API server validates whatever Flux applies", _KUSTOMIZE_1_0),
    _gone(("GitRepository",), ("spec", "gitImplementation"), "go-git is the only one", _SOURCE_1_0),
    _gone(
        ("GitRepository", "Bucket", "HelmChart"), ("spec", "accessFrom"), "it was never implemented", _NOT_IMPLEMENTED
    ),
    _gone((), ("status",), "it is written only in the cluster", _STATUS_IN_GIT),
    Rule(
        ("ImageUpdateAutomation",),
        ("spec", "checkout"),
        "Say spec.sourceRef, with kind GitRepository, for spec.checkout.gitRepositoryRef, "
        "and spec.git.checkout.ref.branch for spec.checkout.branch.",
        _ALPHA,
    ),
    Rule(
        ("ImageUpdateAutomation",),
        ("spec", "commit"),
        "Use spec.git.commit for spec.commit, in it author.name and author.email for authorName and authorEmail.",
        _ALPHA,
    ),
    Rule(("ImageUpdateAutomation",), ("spec", "push"), "Use spec.git.push for spec.push.", _ALPHA),
)

TEMPLATES = (
    Template(
        "ImageUpdateAutomation",
        ("spec", "git", "commit", "messageTemplate"),
        re.compile(r"\{\{(?:(?!\{\{)[^}])*\.(?:Updated\b|Changed\.ImageResult\b)"),
        "v1",
        "spec.git.commit.messageTemplate uses .Updated or .Changed.ImageResult: "
        "since Flux 2.7 that is an error, and the automation stalls.",
        "Use .Changed.Changes, .Changed.Objects or .Changed.FileChanges.",
        "https://fluxcd.io/blog/2025/09/flux-v2.7.0/",
    ),
)


def rule_of(kind: str, path: Path) -> Rule | None:
    return next((each for each in RULES if each.covers(kind, path)), None)
