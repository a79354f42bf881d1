"""The objects of a cluster, with resource versions and a history to watch."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from cluster_stand_in import kinds, merging
from cluster_stand_in.kinds import Kind

Object = dict[str, Any]
ESTABLISHING = 0.05
"""Seconds until a CRD's kind is served."""
INITIALIZING = 0.05
"""Seconds from then on in which it answers 429, as a real API server does."""


class Refusal(Exception):
    """What the API answers instead."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


@dataclass(frozen=True)
class Key:
    """What tells an object apart."""

    kind: Kind
    namespace: str
    name: str


@dataclass(frozen=True)
class Event:
    """A change of an object."""

    version: int
    type: str
    key: Key
    object: Object


@dataclass
class _Stored:
    object: Object
    applied: dict[str, Object] = field(default_factory=dict)
    """Field manager → what it applied last."""


class Store:
    """All access is one at a time; ``changed`` is notified after every write."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._objects: dict[Key, _Stored] = {}
        self._versions = itertools.count(1)
        self.version = 0
        self._history: list[Event] = []
        self._oldest = 0
        self._kinds = list(kinds.BUILT_IN)
        self._young: dict[Kind, float] = {}
        self._establishing: list[threading.Timer] = []
        self._closed = False

    def close(self) -> None:
        """End what goes on by itself: the watches, and kinds that are being established."""
        with self.changed:
            self._closed = True
            self.changed.notify_all()
        for each in self._establishing:
            each.cancel()
            each.join()

    def kinds(self) -> tuple[Kind, ...]:
        """All that are served now."""
        return tuple(self._kinds)

    def refuse_young(self, kind: Kind) -> None:
        """A kind that has just been established cannot be asked for yet."""
        if time.monotonic() - self._young.get(kind, 0.0) < INITIALIZING:
            raise Refusal(429, "TooManyRequests", "storage is (re)initializing")

    def get(self, key: Key) -> Object | None:
        """None: there is no such object."""
        with self.changed:
            found = self._objects.get(key)
            return deepcopy(found.object) if found else None

    def list(self, kind: Kind, namespace: str) -> list[Object]:
        """Of one namespace; empty: of all."""
        with self.changed:
            found = [(key, stored) for key, stored in self._objects.items() if key.kind == kind]
            return [deepcopy(each.object) for key, each in found if namespace in ("", key.namespace)]

    def apply(self, key: Key, wanted: Object, manager: str) -> Object:
        """Server-side apply, conflicts forced."""
        wanted = {name: value for name, value in deepcopy(wanted).items() if name != "status"}

        def change(stored: _Stored) -> Object:
            others = [each for name, each in stored.applied.items() if name != manager]
            result = merging.apply(stored.object, stored.applied.get(manager, {}), wanted, others)
            stored.applied[manager] = wanted
            result["metadata"]["managedFields"] = [
                {"manager": each, "operation": "Apply"} for each in sorted(stored.applied)
            ]
            return result

        return self._write(key, change)

    def patch(self, key: Key, patch: Object) -> Object:
        """A merge patch; of an object that is there."""
        if key not in self._objects:
            raise Refusal(404, "NotFound", f'{key.kind.plural} "{key.name}" not found')
        return self._write(key, lambda stored: merging.merge(stored.object, patch))

    def create(self, key: Key, wanted: Object) -> Object:
        """An object that is not there yet."""
        if key in self._objects:
            raise Refusal(409, "AlreadyExists", f'{key.kind.plural} "{key.name}" already exists')
        return self._write(key, lambda _: deepcopy(wanted))

    def delete(self, key: Key) -> Object:
        """The object as it was; a kind goes with its CRD."""
        with self.changed:
            found = self._objects.pop(key, None)
            if found is None:
                raise Refusal(404, "NotFound", f'{key.kind.plural} "{key.name}" not found')
            self._record("DELETED", key, found.object)
            if key.kind.plural == kinds.CRDS:
                gone = kinds.of_crd(found.object)
                self._kinds = [each for each in self._kinds if each != gone]
            return found.object

    def _write(self, key: Key, change: Callable[[_Stored], Object]) -> Object:
        with self.changed:
            namespace = Key(self._kind("Namespace"), "", key.namespace)
            if key.namespace and namespace not in self._objects:
                raise Refusal(404, "NotFound", f'namespaces "{key.namespace}" not found')
            stored = self._objects.get(key)
            is_new = stored is None
            stored = stored or _Stored({})
            before, after = stored.object, change(stored)
            metadata = after.setdefault("metadata", {})
            if is_new:
                created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                metadata |= {"uid": f"uid-{self.version + 1}", "creationTimestamp": created, "generation": 1}
            elif _content(before) != _content(after):
                metadata["generation"] = before["metadata"]["generation"] + 1
            if before != after:
                stored.object = after
                self._objects[key] = stored
                self._record("ADDED" if is_new else "MODIFIED", key, after)
            if is_new and key.kind.plural == kinds.CRDS:
                timer = threading.Timer(ESTABLISHING, self._establish, [key])
                self._establishing.append(timer)
                timer.start()
            return deepcopy(stored.object)

    def _record(self, event: str, key: Key, obj: Object) -> None:
        self.version = next(self._versions)
        obj["metadata"]["resourceVersion"] = str(self.version)
        self._history.append(Event(self.version, event, key, deepcopy(obj)))
        self.changed.notify_all()

    def _kind(self, name: str) -> Kind:
        return next(each for each in self._kinds if each.name == name)

    def _establish(self, key: Key) -> None:
        condition = {"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "message": ""}
        with self.changed:
            crd = self.patch(key, {"status": {"conditions": [condition]}})
            self._kinds.append(kinds.of_crd(crd))
            self._young[kinds.of_crd(crd)] = time.monotonic()

    def forget_history(self) -> None:
        """From now on, a watch from before is 410 Gone."""
        with self.changed:
            self._history.clear()
            self._oldest = self.version + 1

    def events(self, kind: Kind, since: int, is_wanted: Callable[[Event], bool], seconds: float) -> Iterator[Event]:
        """What happened after the version ``since``, and what happens for ``seconds``."""
        until = time.monotonic() + seconds
        while True:
            with self.changed:
                if self._closed:
                    return
                if since < self._oldest:
                    raise Refusal(410, "Expired", f"too old resource version: {since} ({self._oldest})")
                found = [each for each in self._history if each.version > since and each.key.kind == kind]
                if not found and not self.changed.wait(max(0.0, until - time.monotonic())):
                    return
            for each in found:
                since = each.version
                if is_wanted(each):
                    yield each
            if time.monotonic() >= until:
                return


def _content(obj: Object) -> Object:
    """What a change of makes another generation."""
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}
