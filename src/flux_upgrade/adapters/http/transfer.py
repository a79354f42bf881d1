"""The body of an answer, on its way from the network into memory or into a file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import requests

_CHUNK = 16 * 1024
_MAX_TRANSFER = 300.0  # seconds: one body may not drip in for ever


class Sink(Protocol):
    """Where a long body goes, piece by piece."""

    def restart(self) -> None:
        """Forget what was written: the body comes again from its beginning."""

    def write(self, chunk: bytes) -> None:
        """Take the next piece."""


class TooLong(Exception):
    """There is more of it than is taken."""


def read(
    answer: requests.Response,
    now: Callable[[], float],
    limit: int,
    *,
    verbatim: bool,
    into: Sink | None = None,
) -> bytes:
    """The body, or nothing where it went ``into`` a sink.

    Raises TooLong for more than ``limit`` bytes, and what requests and urllib3 raise for a body that
    breaks off; ``now`` is the clock, in seconds.
    """
    deadline = now() + _MAX_TRANSFER
    body, length = bytearray(), 0
    if into is not None:
        into.restart()
    for chunk in answer.raw.stream(_CHUNK, decode_content=not verbatim):
        length += len(chunk)
        if length > limit:
            raise TooLong
        if into is None:
            body += chunk
        else:
            into.write(chunk)
        if now() > deadline:
            raise TimeoutError
    declared = answer.headers.get("content-length", "")
    has_body = answer.request.method != "HEAD"
    if has_body and declared.isdigit() and answer.raw.tell() < int(declared):
        raise ConnectionResetError  # requests over urllib3 1.26 does not notice
    return bytes(body)


def drain(answer: requests.Response) -> None:
    """Read a body that is of no use, so that its connection can be used again; not all of a long one."""
    import urllib3

    with suppress(OSError, urllib3.exceptions.HTTPError):
        answer.raw.read(_CHUNK)
