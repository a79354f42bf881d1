"""Who sends to notification-controller, and what a release lets in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.breaks.row import Found
from flux_upgrade.kinds.formats.yaml_places import Step, Value, is_variable
from flux_upgrade.resources.flux_file import FluxObject

_RECEIVERS = "9292"
_SERVICE = re.compile(
    r"https?://notification-controller\.([a-z0-9-]+)(?:\.svc[a-z0-9.-]*)?\.?(?::([0-9]+))?(?=/|$)"
)


def google_registry(receiver: FluxObject) -> Iterator[Found]:
    """Receivers of Google's registry."""
    value = receiver.at("spec", "type")
    if value is not None and value.text == "gcr":
        yield Found(value.line)


def far_events(release: FluxObject) -> Iterator[Found]:
    """HelmReleases of another namespace whose values have events sent to notification-controller."""
    if "notification-controller." not in release.document.text:
        return
    where = release.text_at("spec", "targetNamespace") or release.namespace
    if not where or is_variable(where):
        return
    for value in _texts(release, ("spec", "values")):
        match = _SERVICE.match(value.text)
        if match and match[1] != where and match[2] != _RECEIVERS:
            yield Found(value.line)


def _texts(release: FluxObject, path: tuple[Step, ...]) -> Iterator[Value]:
    """Every scalar in what stands at a path."""
    value = release.at(*path)
    if value is not None:
        yield value
    for step in (*release.keys(*path), *range(release.count(*path))):
        yield from _texts(release, (*path, step))
