"""The real API server of a cluster that the robot upgrades, compared with the robot's double after each change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cluster.test_stored_versions import CRDS
from real_flux.control_plane import ControlPlane, Object, documents
from real_flux.followed import CLIS
from real_flux.matrix import reason
from real_flux.programs import FLUX
from robot.cluster import SmallServer
from robot.installations import rendered
from robot.releases import Flux
from small_api_server import RefusedError


@dataclass
class JourneyServer:
    plane: ControlPlane
    double: SmallServer = field(default_factory=SmallServer)
    _names: dict[tuple[str, str], set[str]] = field(default_factory=dict)  # Group and kind → names of objects

    def install(self, flux: Flux) -> None:
        refused = self.plane.install(manifest(flux))
        if refused:
            raise RefusedError(", ".join(f"{name}: {answer.message}" for name, answer in refused.items()))
        self.double.install(flux)
        self.check()

    def migrate(self, cli: str = "") -> None:
        """Run the real CLI. The newest does what the flux-operator does, and is used if no text names one."""
        self.plane.flux("migrate", version=CLIS[cli] if cli else FLUX)
        self.double.migrate()
        self.check()

    def faults(self, resource: Mapping[str, Any]) -> Iterator[str]:
        answer = self.plane.apply(dict(resource))
        if not answer.is_taken:
            yield f"{resource['apiVersion']} {resource['kind']}: {reason(answer)}"
        yield from self.double.faults(resource)
        self._remember(resource)

    def create(self, resource: Object) -> None:
        """Create an object that no repository has, as kubectl does."""
        answer = self.plane.create(resource)
        assert answer.is_taken, answer
        self._remember(resource)

    def check(self) -> None:
        """Require the stored versions that the double expects, and that every object can be read."""
        crds = self.plane.get(CRDS)["items"]
        stored = {crd["metadata"]["name"]: set(crd["status"]["storedVersions"]) for crd in crds}
        assert stored == self.double.small.stored
        for crd in crds:
            names = {item["metadata"]["name"] for item in self.plane.get(objects_path(crd))["items"]}
            missing = self._names.get((crd["spec"]["group"], crd["spec"]["names"]["kind"]), set()) - names
            assert not missing, crd["metadata"]["name"]

    def _remember(self, resource: Mapping[str, Any]) -> None:
        group = resource["apiVersion"].partition("/")[0]
        self._names.setdefault((group, resource["kind"]), set()).add(resource["metadata"]["name"])


def storage_version(crd: Object) -> str:
    (version,) = (entry["name"] for entry in crd["spec"]["versions"] if entry["storage"])
    return str(version)


def objects_path(crd: Object) -> str:
    """Return the path of all objects, in the version that the API server stores."""
    return f"apis/{crd['spec']['group']}/{storage_version(crd)}/{crd['spec']['names']['plural']}"


@cache
def manifest(flux: Flux) -> list[Object]:
    """Return the objects of a release."""
    return list(documents(rendered(flux)))
