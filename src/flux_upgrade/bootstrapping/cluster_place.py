"""The cluster itself as the place for Secrets: read at once, applied in their turn."""

from __future__ import annotations

from base64 import b64decode

from flux_upgrade.cluster_objects import SECRET, Object, Reference, part
from flux_upgrade.hosting import Secret
from flux_upgrade.ports import Cluster


class ClusterPlace:
    """The protocol ``places.Place``. What is put is kept until ``handed_over`` is asked for it.

    Flux's namespace has to be there first, so that Secrets are applied with the components.
    """

    is_readable = True
    is_cluster = True

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._put: tuple[Secret, ...] = ()

    @property
    def where(self) -> str:
        """See the protocol."""
        return f"the cluster '{self._cluster.name}'"

    @property
    def handed_over(self) -> tuple[Secret, ...]:
        """What is to be applied."""
        return self._put

    def present(self, name: str, namespace: str) -> Secret | None:
        """See the protocol."""
        there = self._cluster.get(Reference(SECRET, namespace, name))
        return None if there is None else _secret(there, name, namespace)

    def has(self, name: str, namespace: str) -> bool:
        """See the protocol."""
        return self.present(name, namespace) is not None

    def put(self, handed_over: tuple[Secret, ...]) -> None:
        """See the protocol."""
        self._put = handed_over


def _secret(there: Object, name: str, namespace: str) -> Secret:
    data = {key: _text(value) for key, value in part(there, "data").items()}
    return Secret(name, namespace, data, str(there.get("type", "Opaque")))


def _text(value: object) -> str:
    """Of base64; what is no text is nothing that we would have put there."""
    try:
        return b64decode(str(value), validate=True).decode()
    except ValueError:
        return ""
