from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from adapters.loopback import Loopback
from adapters.registries import own_certificate, run_registry
from flux_upgrade.adapters.http.cache import EtagCache
from flux_upgrade.adapters.http.client import Client, Credential
from flux_upgrade.adapters.http.egress import Egress
from flux_upgrade.model.timing import Timing

NOW = 1_700_000_000.0


@dataclass
class Clock:
    """A clock that only sleeping moves."""

    now: float = NOW
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    @property
    def timing(self) -> Timing:
        return Timing(now=lambda: self.now, sleep=self.sleep, jitter=lambda: 0.5)


class Clients:
    """Makes clients, and closes them."""

    def __init__(self, stack: ExitStack, clock: Clock) -> None:
        self._stack = stack
        self._clock = clock

    def __call__(
        self,
        credential: Credential | None = None,
        etags: Path | None = None,
        ca_file: str | None = None,
        timeout: float = 5.0,
        egress: Egress | None = None,
    ) -> Client:
        client = Client(
            self._clock.timing,
            credential=credential,
            etags=EtagCache(None if etags is None else str(etags)),
            ca_file=ca_file,
            timeout=timeout,
            egress=egress,
        )
        self._stack.callback(client.close)
        return client


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is never asked through a proxy of the machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture
def clients(stack: ExitStack, clock: Clock) -> Clients:
    return Clients(stack, clock)


@pytest.fixture
def server(stack: ExitStack) -> Loopback:
    return stack.enter_context(Loopback())


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """The address of a real registry, empty."""
    yield from run_registry(tmp_path)


@pytest.fixture
def locked_registry(tmp_path: Path) -> Iterator[str]:
    """The same, which wants a password."""
    # It makes up a user of its own where the file is not there.
    yield from run_registry(tmp_path, f"auth: {{htpasswd: {{realm: here, path: {tmp_path / 'htpasswd'}}}}}\n")


@pytest.fixture
def tls(tmp_path: Path, stack: ExitStack) -> tuple[Loopback, str]:
    """A server with a certificate that only itself vouches for, and the file that holds it."""
    return own_authority(tmp_path, stack)


def own_authority(folder: Path, stack: ExitStack) -> tuple[Loopback, str]:
    """The same, with files in ``folder``."""
    certificate, key = own_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return stack.enter_context(Loopback(tls=context)), str(certificate)
