"""API servers to test on: the stand-in, and a real kube-apiserver with etcd where there are both."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from cluster_stand_in.api import Api
from cluster_stand_in.server import TOKEN, ApiServer, write_kubeconfig

from adapters.loopback import closed_port


@dataclass(frozen=True)
class Server:
    kubeconfig: Path
    api: Api
    stand_in: ApiServer | None = None
    """None: it is a real one."""


@contextmanager
def stand_in(folder: Path) -> Iterator[Server]:
    with ApiServer().running() as server:
        kubeconfig = write_kubeconfig(folder / "kubeconfig", server.url)
        yield Server(kubeconfig, Api(server.url, TOKEN), server)


def real_programs() -> tuple[str, str] | None:
    """kube-apiserver and etcd, from KUBEBUILDER_ASSETS or PATH."""
    assets = os.environ.get("KUBEBUILDER_ASSETS", "")  # noqa: TID251  (where envtest keeps them)
    path = os.pathsep.join(filter(None, (assets, os.environ.get("PATH", ""))))  # noqa: TID251  (as above)
    found = tuple(shutil.which(name, path=path) for name in ("kube-apiserver", "etcd"))
    return (found[0], found[1]) if found[0] and found[1] else None


@contextmanager
def real(folder: Path) -> Iterator[Server]:
    """A control plane without controllers, on loopback; skipped where there is none, in CI too."""
    programs = real_programs()
    if programs is None:
        # Not real_parts.missing: they take half an hour to build, which `make test-flux` does.
        pytest.skip("neither KUBEBUILDER_ASSETS nor PATH has kube-apiserver and etcd: `make test-flux` builds them")
    apiserver, etcd = programs
    peers, clients, secure = closed_port(), closed_port(), closed_port()
    store = f"http://127.0.0.1:{clients}"
    with _process(
        folder / "etcd.log",
        etcd,
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={store}",
        f"--advertise-client-urls={store}",
        f"--listen-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-cluster=default=http://127.0.0.1:{peers}",
        "--unsafe-no-fsync",
    ):
        key, tokens = folder / "sa.key", folder / "tokens.csv"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)  # noqa: S603, S607
        tokens.write_text(f'{TOKEN},admin,admin,"system:masters"\n')
        with _process(
            folder / "apiserver.log",
            apiserver,
            f"--etcd-servers={store}",
            "--bind-address=127.0.0.1",
            f"--secure-port={secure}",
            f"--cert-dir={folder}",
            f"--token-auth-file={tokens}",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount",
            "--authorization-mode=RBAC",
        ):
            authority = str(folder / "apiserver.crt")
            api = Api(f"https://127.0.0.1:{secure}", TOKEN, authority)
            _wait_until_ready(api, folder / "apiserver.log")
            kubeconfig = write_kubeconfig(folder / "kubeconfig", api.url, context="real", authority=authority)
            yield Server(kubeconfig, api)


def _wait_until_ready(api: Api, log: Path) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until:
        # AssertionError: it answers, and not yet with success.
        with suppress(urllib.error.URLError, OSError, AssertionError):
            if api.ask("GET", "api/v1/namespaces/default") is not None:
                return
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-3000:])


@contextmanager
def _process(log: Path, *command: str) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)  # noqa: S603  (real parts)
        try:
            yield
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
