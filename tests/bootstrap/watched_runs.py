"""Runs on a stand-in cluster: what they write there, and being killed while they are answered."""

from __future__ import annotations

import queue
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from cluster_stand_in.api import AGENT
from cluster_stand_in.server import ApiServer

Victims = queue.SimpleQueue[subprocess.Popen[str]]


def writes(server: ApiServer) -> list[str]:
    """All of them that are not the controllers'."""
    return [f"{each.method} {each.path}" for each in server.writes() if each.user_agent != AGENT]


@contextmanager
def killing_at(server: ApiServer, what: str) -> Iterator[Victims]:
    """The process that is put in is killed when it writes an object whose address has ``/what``."""
    victims: Victims = queue.SimpleQueue()

    def kill(method: str, path: str) -> None:
        # What the controllers write are statuses.
        if method == "PATCH" and f"/{what}" in path and not path.endswith("/status"):
            victims.get(timeout=10).kill()

    server.faults.append(kill)
    try:
        yield victims
    finally:
        server.faults.remove(kill)
