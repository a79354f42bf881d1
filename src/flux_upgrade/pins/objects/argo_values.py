"""The values that an Application of Argo CD gives a chart, what goes before the others first.

argo-cd.readthedocs.io, "Helm" (value precedence): parameters, then `valuesObject` instead of `values`, then
`valueFiles`, of which a later one goes before an earlier one. `$name/…` is in the source with that `ref`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from flux_upgrade.pins.objects.release_values import Stated, values_file
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import joined
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object, Step, documents, dotted, objects_of

_MOST = 20  # Files of values, and parameters, that are looked at: the last ones


def stated(file: File, each: Object, source: tuple[Step, ...], tree: Snapshot, *keys: str) -> Stated | None:
    """What decides a value of the chart; None if no place in this repository does.

    ``source``: the path in ``each`` to the source with the chart.
    """
    helm = (*source, "helm")
    for entry in _last(each, *helm, "parameters"):
        value = each.at(*entry, "value")
        if value is not None and each.text_at(*entry, "name") == dotted(keys):
            return Stated(file, value, f"helm.parameters, {dotted(keys)}")
    value = each.at(*helm, "valuesObject", *keys)
    if value is not None:
        return Stated(file, value, dotted(("helm", "valuesObject", *keys)))
    passage = each.passage_at(*helm, "values")
    for document in documents(passage) if passage else ():
        for inner in objects_of(document):
            value = inner.at(*keys) if isinstance(inner, Object) else None
            if value is not None:
                return Stated(file, value, f"helm.values, {dotted(keys)}")
    for entry in _last(each, *helm, "valueFiles"):
        # Relative to the root of the repository; of a chart from elsewhere, the file is no file of this one.
        name, directory = each.text_at(*entry), each.text_at(*source, "path")
        of_chart = joined("", posixpath.join(directory, name)) if directory else ""
        path = joined("", name.partition("/")[2]) if name.startswith("$") else of_chart
        found = values_file(tree, path).stated(*keys)
        if found is not None:
            return found._replace(field=f"helm.valueFiles, {dotted(keys)}")
    return None


def _last(each: Object, *path: Step) -> Iterator[tuple[Step, ...]]:
    count = each.count(*path)
    return ((*path, index) for index in range(count - 1, max(count - _MOST, 0) - 1, -1))
