"""The steps that a kustomization stands for, in the order in which kustomize takes them.

kustomize api/internal/target/kusttarget_configplugin.go has the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from flux_upgrade.kustomize import patches
from flux_upgrade.kustomize.errors import CannotBuild, CannotTell
from flux_upgrade.kustomize.items import Items, Step, StepResult
from flux_upgrade.kustomize.kustomization import MOST_ENTRIES, Kustomization, Location, PatchText
from flux_upgrade.kustomize.replacements import NAME, FieldReplacement, looked_up
from flux_upgrade.kustomize.selectors import Selector
from flux_upgrade.kustomize.transformers import Images, Marks, affixed, in_namespace, scaled
from flux_upgrade.manifests.nodes import SequenceNode, compose, construct
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import decoded
from flux_upgrade.model.values import NamedTuple

_NOT_EVALUATED = ("transformers", "validators", "configurations", "openapi", "generators", "helmCharts")
"""What these do is not worked out here."""


class FaultyEntry(NamedTuple):
    location: Location
    what: str
    fault: CannotBuild | CannotTell


Steps = Iterator[Step | FaultyEntry]
_Read = Callable[[Kustomization, Location, Any, int], Iterator[Step]]


def steps(of: Kustomization) -> Steps:
    """All but ``variables``."""
    yield from _each(of, "patchesStrategicMerge", "patch", _strategic)
    yield from _each(of, "patches", "patch", _patch)
    yield from _renaming(of)
    yield from _each(of, "patchesJson6902", "JSON patch", _json)
    yield from _each(of, "replicas", "replicas", _replicas)
    yield from _each(of, "images", "image", _image)
    yield from _each(of, "imageTags", "image", _image)
    yield from _each(of, "replacements", "replacement", _replacements)
    for name in _NOT_EVALUATED:
        if of.data.get(name):
            yield FaultyEntry(of.location(name), name, CannotTell(f"what {name} do is known to kustomize only"))


def variables(of: Kustomization) -> Steps:
    """They are looked up once everything else is done."""
    yield from _each(of, "vars", "var", _variable)


def _each(of: Kustomization, name: str, what: str, read: _Read) -> Steps:
    try:
        items = list(of.items(name))
    except CannotBuild as error:
        yield FaultyEntry(of.location(name), name, error)
        return
    if len(items) > MOST_ENTRIES:
        yield FaultyEntry(items[MOST_ENTRIES][0], what, CannotTell(f"{name} has more than {MOST_ENTRIES} entries"))
        return
    for index, (location, item) in enumerate(items):
        try:
            yield from read(of, location, item, index)
        except (CannotBuild, CannotTell) as error:
            yield FaultyEntry(location, what, error)
        except Unreadable as error:
            yield FaultyEntry(location, what, CannotTell(error.message))


def _strategic(of: Kustomization, location: Location, item: Any, index: int) -> Iterator[Step]:
    text = _string(item, "the patch")
    is_patch = "\n" in text or ": " in text
    yield from patches.read(
        of.inline(location, text, "patchesStrategicMerge", index) if is_patch else of.file(text), None
    )


def _patch(of: Kustomization, location: Location, item: Any, index: int) -> Iterator[Step]:
    text, target = _text(of, location, item, "patches", index)
    options = _mapping(item.get("options") or {})
    names = frozenset(name for name, value in options.items() if value is True)
    yield from patches.read(text, target, names)


def _json(of: Kustomization, location: Location, item: Any, index: int) -> Iterator[Step]:
    text, target = _text(of, location, item, "patchesJson6902", index)
    if target is None or not target.fields["name"]:
        raise CannotBuild("a JSON patch needs a target with a name")
    yield from patches.read(text, target, is_json=True)


def _text(of: Kustomization, location: Location, item: Any, name: str, index: int) -> tuple[PatchText, Selector | None]:
    fields = _mapping(item)
    target = None if fields.get("target") is None else Selector.read(fields["target"])
    inline, path = (_string(fields.get(key) or "", key) for key in ("patch", "path"))
    if bool(inline.strip()) == bool(path):
        raise CannotBuild("it needs either patch or path")
    return of.file(path) if path else of.inline(location, inline, name, index, "patch"), target


def _renaming(of: Kustomization) -> Iterator[Step]:
    data = of.data
    prefix, suffix = (str(data.get(name) or "") for name in ("namePrefix", "nameSuffix"))
    if data.get("namespace"):
        namespace = str(data["namespace"])
        yield _unreported(of, "namespace", f"namespace {namespace}", partial(in_namespace, namespace))
    if prefix:
        yield _unreported(of, "namePrefix", f"prefix {prefix}", partial(affixed, prefix, ""))
    if suffix:
        yield _unreported(of, "nameSuffix", f"suffix {suffix}", partial(affixed, "", suffix))
    labels = data.get("labels")
    for index, item in enumerate(labels if isinstance(labels, list) else ()):
        if isinstance(item, dict) and isinstance(item.get("pairs"), dict):
            on_pods, selects = (bool(item.get(f"include{what}")) for what in ("Templates", "Selectors"))
            marks = Marks("labels", item["pairs"], on_pods, selects)
            yield Step(of.location("labels", index), "labels", marks.apply, is_reported=False)
    for name, field in (("commonLabels", "labels"), ("commonAnnotations", "annotations")):
        pairs = data.get(name)
        if isinstance(pairs, dict):
            marks = Marks(field, pairs, in_templates=True, in_selectors=field == "labels")
            yield _unreported(of, name, field, marks.apply)


def _unreported(of: Kustomization, name: str, what: str, apply: Callable[[Items], StepResult]) -> Step:
    return Step(of.location(name), what, apply, is_reported=False)


def _replicas(_: Kustomization, location: Location, item: Any, __: int) -> Iterator[Step]:
    fields = _mapping(item)
    name = _string(fields.get("name"), "its name")
    yield Step(location, f"replicas of {name}", partial(scaled, name, fields.get("count", 0)))


def _image(_: Kustomization, location: Location, item: Any, __: int) -> Iterator[Step]:
    fields = _mapping(item)
    keys = ("name", "newName", "newTag", "digest", "tagSuffix")
    images = Images(*(_string(fields.get(key) or "", key) for key in keys))
    yield Step(location, f"image {images.name}", images.apply, follows_tag=images.follows_tag)


def _replacements(of: Kustomization, location: Location, item: Any, _: int) -> Iterator[Step]:
    fields = _mapping(item)
    if "path" not in fields:
        yield _replacement(location, fields)
        return
    path = _string(fields["path"], "path")
    node = compose(decoded(of.read(path)))
    for each in node.value if isinstance(node, SequenceNode) else (node,):
        yield _replacement(Location(of.joined(path), each.start_mark.line + 1), _mapping(construct(each)))


def _replacement(location: Location, item: dict[str, Any]) -> Step:
    source, targets, value = (item.get(key) for key in ("source", "targets", "sourceValue"))
    is_sourced = isinstance(source, dict) or value is not None
    if not is_sourced or not isinstance(targets, list) or not all(isinstance(each, dict) for each in targets):
        raise CannotBuild("it needs a source and targets")
    replacement = FieldReplacement(source or {}, targets, None if value is None else str(value))
    return Step(location, str(replacement), replacement.apply)


def _variable(_: Kustomization, location: Location, item: Any, __: int) -> Iterator[Step]:
    fields = _mapping(item)
    path = str(_mapping(fields.get("fieldref") or {}).get("fieldPath") or NAME)
    apply = partial(looked_up, _mapping(fields.get("objref")), path)
    yield Step(location, f"var {fields.get('name')}", apply)


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CannotBuild("it is not a mapping")
    return value


def _string(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise CannotBuild(f"{name} is not text")
    return value
