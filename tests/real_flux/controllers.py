"""Flux's real controllers, beside a control plane.

They run as processes of this machine, as nobody's pods. So the tests say nothing of what a kubelet does with the
Deployments: images, probes, resources, the rights of the service accounts, network policies.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import threading
import time
import urllib.error
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cluster_stand_in.controllers import Artifact, Controllers

from adapters.loopback import closed_port
from real_flux.control_plane import ControlPlane
from real_flux.programs import CONTROLLERS, program

_DEPLOYMENTS = "apis/apps/v1/namespaces/flux-system/deployments"
_BACK_OFF = 0.5  # Seconds until a controller that ended is started again, as a kubelet does
SYNC = ("source-controller", "kustomize-controller")
ALL = tuple(CONTROLLERS)


@dataclass(frozen=True)
class Running:
    _pods: Mapping[str, _Pod]

    @property
    def unready(self) -> list[str]:
        """The controllers that fail a kubelet's readiness probe."""
        return [name for name, pod in self._pods.items() if not pod.is_ready]

    @property
    def restarts(self) -> dict[str, int]:
        """Names of controllers that ended by themselves → how often."""
        return {name: pod.starts - 1 for name, pod in self._pods.items() if pod.starts > 1}


@contextmanager
def running(plane: ControlPlane, folder: Path, gates: str = "", names: Sequence[str] = SYNC) -> Iterator[Running]:
    """Each controller of ``names`` for as long as there is its Deployment, and a kubelet's answers.

    ``gates``: feature gates of kustomize-controller.
    """
    stop = threading.Event()
    pods = {name: _Pod(plane, folder, name, gates) for name in names}
    thread = threading.Thread(target=_run, args=(plane, pods, stop), daemon=True)
    thread.start()
    try:
        yield Running(pods)
    finally:
        stop.set()
        thread.join()


def _run(plane: ControlPlane, pods: dict[str, _Pod], stop: threading.Event) -> None:
    kubelet = Controllers(plane.server.api, lambda *_: Artifact(""))
    try:
        while not stop.wait(0.1):
            with suppress(urllib.error.URLError, OSError, AssertionError):  # the server ends first, or is busy
                kubelet.roll_out()
                wanted = {each["metadata"]["name"] for each in plane.server.api.items(_DEPLOYMENTS)}
                for name, pod in pods.items():
                    pod.start() if name in wanted else pod.end()
    finally:
        for pod in pods.values():
            pod.end()


@dataclass
class _Pod:
    plane: ControlPlane
    folder: Path
    name: str
    gates: str
    starts: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _started: float = 0.0
    _health: str = ""  # Address for a kubelet's probes
    _storage: str = field(default_factory=lambda: f"127.0.0.1:{closed_port()}")

    def start(self) -> None:
        """It runs; one that ended is started again: a controller ends if a CRD that it needs is not there yet."""
        if self._process is not None and self._process.poll() is None:
            return
        if time.monotonic() < self._started + _BACK_OFF:
            return
        self._started = time.monotonic()
        self.starts += 1
        self._health = _address()
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),  # noqa: TID251  (where git is)
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "KUBECONFIG": str(self.plane.server.kubeconfig),
            "RUNTIME_NAMESPACE": "flux-system",
        }
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(self._command(), env=environment, stdout=log, stderr=subprocess.STDOUT)  # noqa: S603  (ours)

    @property
    def is_ready(self) -> bool:
        if self._process is None:
            return False
        connection = http.client.HTTPConnection(self._health, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def end(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._process.kill()
        self._process.wait()
        self._process = None

    def _command(self) -> list[str]:
        events = f"--events-addr={_address() if self.name == 'notification-controller' else ''}"
        addresses = ("--metrics-addr=0", f"--health-addr={self._health}", events)
        return [str(program(self.name)), "--watch-all-namespaces", "--log-level=info", *addresses, *self._own()]

    def _own(self) -> tuple[str, ...]:
        """Flags of this controller alone."""
        storage = self.folder / self.name
        storage.mkdir(exist_ok=True)
        path = f"--storage-path={storage}"
        match self.name:
            case "source-controller":
                return path, f"--storage-addr={self._storage}", f"--storage-adv-addr={self._storage}"
            case "kustomize-controller":
                return "--requeue-dependency=1s", f"--feature-gates={self.gates}"
            case "notification-controller":
                return (f"--receiverAddr={_address()}",)
            case "image-reflector-controller":
                return (path,)
            case _:
                return ()


def _address() -> str:
    return f"127.0.0.1:{closed_port()}"
