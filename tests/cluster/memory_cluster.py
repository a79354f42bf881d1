"""The port Cluster over a mapping, and one that ends at any call."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.model.kubernetes_objects import Kind, KubernetesApi, Object, ObjectReference, reference


class MemoryCluster:
    """Holds objects; nothing in it ever changes by itself."""

    def __init__(self, *objects: Object, version: str = "v1.34.1") -> None:
        self.objects = {reference(each): each for each in objects}
        self.kubernetes = version
        self.applied: list[tuple[ObjectReference, str]] = []

    @property
    def name(self) -> str:
        return "memory"

    def version(self) -> str:
        return self.kubernetes

    def get(self, what: ObjectReference) -> Object | None:
        return self.objects.get(what)

    def list(self, kind: Kind, namespace: str = "") -> tuple[Object, ...]:
        return tuple(
            each for what, each in self.objects.items() if what.kind == kind and namespace in ("", what.namespace)
        )

    def apply(self, wanted: Object, manager: str) -> Object | None:
        self.applied.append((reference(wanted), manager))
        self.objects[reference(wanted)] = wanted
        return wanted

    def changes(self, what: ObjectReference, since: str, seconds: float) -> Iterator[Object | None]:
        del what, since, seconds
        yield from ()

    def close(self) -> None:
        pass


class Killed(BaseException):
    """The process ends here."""


class Passing:
    """Another cluster, as it is."""

    def __init__(self, cluster: KubernetesApi) -> None:
        self.cluster = cluster

    @property
    def name(self) -> str:
        return self.cluster.name

    def version(self) -> str:
        return self.cluster.version()

    def get(self, what: ObjectReference) -> Object | None:
        return self.cluster.get(what)

    def list(self, kind: Kind, namespace: str = "") -> tuple[Object, ...]:
        return self.cluster.list(kind, namespace)

    def apply(self, wanted: Object, manager: str) -> Object | None:
        return self.cluster.apply(wanted, manager)

    def changes(self, what: ObjectReference, since: str, seconds: float) -> Iterator[Object | None]:
        return self.cluster.changes(what, since, seconds)

    def close(self) -> None:
        self.cluster.close()


class Dying(Passing):
    """A cluster whose user is killed at its ``at``-th write: before it is sent, or before its answer comes."""

    def __init__(self, cluster: KubernetesApi, at: int, *, is_sent: bool) -> None:
        super().__init__(cluster)
        self._left = at
        self._is_sent = is_sent

    def apply(self, wanted: Object, manager: str) -> Object | None:
        self._left -= 1
        if self._left == 0:
            if self._is_sent:
                self.cluster.apply(wanted, manager)
            raise Killed
        return self.cluster.apply(wanted, manager)


class Polled(Passing):
    """A cluster that offers no watch."""

    def changes(self, what: ObjectReference, since: str, seconds: float) -> Iterator[Object | None]:
        del what, since, seconds
        yield from ()
