"""The values of a HelmRelease, wherever they are: in the object, in ConfigMaps and Secrets, in files of its chart.

helm-controller docs/spec/v2/helmreleases.md, "Values": `spec.values` goes before `valuesFrom`, a later one of these
before an earlier one, and all of them before `valuesFiles`, which are merged in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.config_maps import ABSENT, TEMPLATE, ConfigMaps, Held, Wanted
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import joined
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object, Step, Value, dotted, is_variable

_MOST_ROOTS = 100  # Kustomizations that apply the same HelmRelease
_MOST_VALUES = 20  # Items of `valuesFrom`, and of `valuesFiles`, that are looked at: the last ones
TOO_MANY = "which are too many to read"
_ITSELF = ("spec", "values")


class Stated(NamedTuple):
    """A value, and where it stands."""

    file: File
    value: Value
    field: str  # `spec.distribution.version`


class ValuesSource(NamedTuple):
    """A mapping with values of a chart, or a value for one place in them."""

    file: File
    object: Object
    path: tuple[Step, ...] = ()
    holder: str = ""  # What it is written in, if that is a ConfigMap or a Secret: `ConfigMap flux-values`
    target: str = ""  # The place that the value is for: `instance.distribution.version`
    hidden: int = 0  # How many steps of the path are not shown

    def stated(self, *keys: Step) -> Stated | None:
        """The scalar below ``keys`` of the mapping."""
        if self.target and self.target != dotted(keys):
            return None
        path = self.path if self.target else (*self.path, *keys)
        value = self.object.at(*path)
        field = ", ".join(filter(None, (self.holder, dotted(path[self.hidden :]))))
        return Stated(self.file, value, field) if value is not None else None


class Unread(NamedTuple):
    """Values that cannot be looked at."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}, {self.reason}"

    def stated(self, *keys: Step) -> Stated | None:
        """None, as far as anybody knows."""
        del keys
        return None


Layer = ValuesSource | Unread


def layers(file: File, each: Object, config_maps: ConfigMaps, below: str) -> Iterator[tuple[Layer, ...]]:
    """The values of a HelmRelease, what goes before the others first; once for each build that applies it.

    ``below``: the place in the values that is asked about, `instance.distribution`. What is only for others is
    left out.
    """
    roots: list[str | None] = [*config_maps.kustomize.roots(file.path)[:_MOST_ROOTS]]
    own = ValuesSource(file, each, _ITSELF)
    files = tuple(_of_chart(each, config_maps.tree))
    seen: dict[tuple[int | str, ...], tuple[Layer, ...]] = {}  # With the layers: their objects keep their ids
    for root in roots or [None]:
        layered = (own, *_of_references(file, each, config_maps, root, below), *files)
        # By what they are: to compare texts would take longer, the longer they are.
        places = tuple(id(one.object) if isinstance(one, ValuesSource) else str(one) for one in layered)
        if places not in seen:
            seen[places] = layered
            yield layered


def local_chart(each: Object) -> str | None:
    """The directory of a HelmRelease's chart in a Git repository; None if it comes from elsewhere."""
    spec = ("spec", "chart", "spec")
    if each.text_at("kind") != "HelmRelease" or each.text_at(*spec, "sourceRef", "kind") != "GitRepository":
        return None
    return joined("", each.text_at(*spec, "chart"))


def values_file(tree: Snapshot, path: str) -> Layer:
    file = tree.at(path)
    if file is None:
        return Unread(path, ABSENT)
    if len(file.objects) == 1 and isinstance(file.objects[0], Object):
        return ValuesSource(file, file.objects[0])
    is_template = is_variable(file.content.decode(errors="replace"))
    return Unread(path, TEMPLATE if is_template else "which is not one document of YAML")


def _of_references(file: File, each: Object, config_maps: ConfigMaps, root: str | None, below: str) -> Iterator[Layer]:
    count = each.count("spec", "valuesFrom")
    for index in range(count - 1, max(count - _MOST_VALUES, 0) - 1, -1):
        own = ("spec", "valuesFrom", index)
        kind, name, key, target = (each.text_at(*own, key) for key in ("kind", "name", "valuesKey", "targetPath"))
        if target and not (f"{target}.".startswith(f"{below}.") or f"{below}.".startswith(f"{target}.")):
            continue
        wanted = Wanted(kind, each.text_at("metadata", "namespace"), name, key or "values.yaml")
        held = config_maps.at(file.path, wanted, root)
        layer = _layer(held, f"{kind} {name}", wanted.key, target)
        is_whole = target and not target.startswith(f"{below}.")
        yield Unread(f"{kind} {name}", f"whose text is put at {target}") if is_whole else layer
    if count > _MOST_VALUES:
        yield Unread(f"the values before the last {_MOST_VALUES}", TOO_MANY)


def _layer(held: Held, called: str, key: str, target: str) -> Layer:
    if target and held.holder is not None and held.file is not None:
        field = "data" if held.holder.has("data", key) else "stringData"
        return ValuesSource(held.file, held.holder, (field, key), called, target)
    if target:
        return Unread(called, held.reason or f"whose text is put at {target}")
    if held.file is None or held.values is None:
        return Unread(called, held.reason)
    return ValuesSource(held.file, held.values, holder=called if held.holder else "")


def _of_chart(each: Object, tree: Snapshot) -> Iterator[Layer]:
    """Its files of values: of a chart in this repository, or those that its package has."""
    spec = ("spec", "chart", "spec")
    named = [value.text for value in each.scalars(*spec, "valuesFiles")]
    directory = local_chart(each)
    is_here = directory is not None and tree.content(f"{directory}/Chart.yaml".lstrip("/")) is not None
    if not is_here:
        source = " ".join(each.text_at(*spec, "sourceRef", key) for key in ("kind", "name"))
        # Of the charts that Flux and the flux-operator publish, values.yaml is the only one.
        yield from (Unread(name, f"which is in {source}") for name in _last(named) if name != "values.yaml")
        return
    paths = [joined("", name) for name in _last(named)] if named else [f"{directory}/values.yaml".lstrip("/")]
    may_be_missing = each.text_at(*spec, "ignoreMissingValuesFiles") == "true" or not named
    for path in paths:
        found = values_file(tree, path)
        if isinstance(found, ValuesSource):
            yield found
        elif found.reason != ABSENT or not may_be_missing:
            yield found._replace(name=path or "a file of values")
    if len(named) > _MOST_VALUES:
        yield Unread(f"the files before the last {_MOST_VALUES}", TOO_MANY)


def _last(names: Sequence[str]) -> Sequence[str]:
    """The last ones, from the last on."""
    return names[: -_MOST_VALUES - 1 : -1]
