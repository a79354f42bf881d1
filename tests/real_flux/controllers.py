"""Flux's real controllers, beside a control plane.

They run as processes of this machine, as nobody's pods. So the tests say nothing of what a kubelet does with the
Deployments: images, probes, resources, the rights of the service accounts, network policies.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
import urllib.error
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from cluster_stand_in.controllers import Artifact, Controllers

from adapters.loopback import closed_port
from real_flux.control_plane import ControlPlane
from real_flux.programs import program

_CRDS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NEEDED = ("gitrepositories.source.toolkit.fluxcd.io", "kustomizations.kustomize.toolkit.fluxcd.io")


@contextmanager
def running(plane: ControlPlane, folder: Path, gates: str = "") -> Iterator[None]:
    """source-controller and kustomize-controller from when their CRDs are established, and a kubelet's answers.

    ``gates``: feature gates of kustomize-controller.
    """
    stop = threading.Event()
    thread = threading.Thread(target=_run, args=(plane, folder, gates, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _run(plane: ControlPlane, folder: Path, gates: str, stop: threading.Event) -> None:
    kubelet = Controllers(plane.server.api, lambda *_: Artifact(""))
    with ExitStack() as stack:
        is_running = False
        while not stop.wait(0.1):
            with suppress(urllib.error.URLError, OSError, AssertionError):  # the server ends first, or is busy
                kubelet.roll_out()
                if not is_running and _are_established(plane):
                    _start(plane, folder, gates, stack)
                    is_running = True


def _are_established(plane: ControlPlane) -> bool:
    found = {
        each["metadata"]["name"]
        for each in plane.server.api.items(_CRDS)
        for condition in each.get("status", {}).get("conditions") or []
        if (condition["type"], condition["status"]) == ("Established", "True")
    }
    return found.issuperset(_NEEDED)


def _start(plane: ControlPlane, folder: Path, gates: str, stack: ExitStack) -> None:
    storage = f"127.0.0.1:{closed_port()}"
    own = (f"--storage-path={folder}", f"--storage-addr={storage}", f"--storage-adv-addr={storage}")
    for name, more in (
        ("source-controller", own),
        ("kustomize-controller", ("--requeue-dependency=1s", f"--feature-gates={gates}")),
    ):
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),  # noqa: TID251  (where git is)
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "KUBECONFIG": str(plane.server.kubeconfig),
            "RUNTIME_NAMESPACE": "flux-system",
        }
        addresses = ("--metrics-addr=0", f"--health-addr=127.0.0.1:{closed_port()}", "--events-addr=")
        command = [str(program(name)), "--watch-all-namespaces", "--log-level=info", *addresses, *more]
        log = stack.enter_context((folder / f"{name}.log").open("wb"))
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)  # noqa: S603  (ours)
        stack.callback(_end, process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    until = time.monotonic() + 10
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    process.kill()
    process.wait()
