"""The objects that a ResourceSet of the flux-operator makes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from flux_upgrade.clusters.graph.flux_objects import inputs_of, resources_of

_INPUT = re.compile(r"<<-?\s*inputs\.([\w.]+)\s*-?>>")
_TEMPLATE = "<<"


def templated(data: Mapping[str, Any]) -> Iterator[Any]:
    """The objects of a ResourceSet, for each of its inputs; those in which something is left to be put in, too."""
    resources = resources_of(data)
    for values in inputs_of(data) if resources else ():
        for each in resources:
            yield _put_in(each, values)


def _put_in(data: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(data, str) and _TEMPLATE in data:
        return _INPUT.sub(lambda match: str(values.get(match[1], match[0])), data)
    if isinstance(data, dict):
        return {key: _put_in(each, values) for key, each in data.items()}
    return [_put_in(each, values) for each in data] if isinstance(data, list) else data
