"""Requests to an API server: each answered, tried again, or an error in our words.

All that is sent can be sent twice: it reads, or applies server-side.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from flux_upgrade.edges.kubernetes import trouble
from flux_upgrade.edges.plain import one_line
from flux_upgrade.errors import ClusterUnavailable
from flux_upgrade.ports import Timing
from flux_upgrade.values import NamedTuple

CONNECT_TIMEOUT, READ_TIMEOUT = 10.0, 30.0
"""Seconds."""
_GRACE = 2.0
"""Seconds that a server is given beyond those that it was asked to answer for."""
_WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each further try: a control plane of one machine restarts in that time."""
_MISSING = 404


class Response(Protocol):
    """What the client hands over of an answer: urllib3's own."""

    data: bytes

    def stream(self, amt: int | None, *, decode_content: bool) -> Iterator[bytes]:
        """The body as it comes."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...


class Client(Protocol):
    """As much of ``kubernetes.dynamic.DynamicClient`` as is used: the border to what is not typed."""

    def request(self, method: str, path: str, body: object = None, **params: Any) -> Response:
        """Raises DynamicApiError for a refusal, and urllib3's HTTPError without an answer."""
        ...


class Ask(NamedTuple):
    """A request."""

    path: str
    """Quoted, with a leading slash."""
    doing: str
    """What it is for, in an error's words: ``read Namespace flux-system``."""
    query: tuple[tuple[str, str], ...] = ()
    body: Mapping[str, Any] | None = None
    """What is applied; None: it reads."""
    is_secret: bool = False
    """The body is shown nowhere."""


class Requests:
    """Sends requests to one cluster."""

    def __init__(self, client: Client, cluster: str, timing: Timing) -> None:
        self._client = client
        self.cluster = cluster
        self._timing = timing

    def ask(self, ask: Ask) -> Any:
        """The answer's JSON; None: there is no such thing (404). Raises ClusterUnavailable."""
        for wait in _WAITS:
            try:
                return self._once(ask)
            except _PassingTrouble:
                self._timing.sleep(wait * (0.5 + self._timing.jitter() / 2))
        try:
            return self._once(ask)
        except _PassingTrouble as error:
            raise error.told from error.__cause__

    def _once(self, ask: Ask) -> Any:
        from kubernetes.dynamic.exceptions import DynamicApiError
        from urllib3.exceptions import HTTPError

        try:
            response = self._send(ask, READ_TIMEOUT)
            content = response.data
        except DynamicApiError as error:
            return self._refused(ask, error)
        except HTTPError as error:
            raise _PassingTrouble(trouble.unreachable(self.cluster, error)) from error
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise ClusterUnavailable(
                f"what answers at the address of '{one_line(self.cluster)}' is no Kubernetes API",
                hint="check the server's address in the kubeconfig, and what stands between",
            ) from None

    def _refused(self, ask: Ask, error: Any) -> None:
        """None for what is not there; else raises."""
        if not error.status:  # the client has no status where TLS failed
            raise trouble.unreachable(self.cluster, error) from error
        if error.status == _MISSING:
            return
        told = trouble.refused(
            self.cluster, ask.doing, error.status, error.body or b"", is_secret=ask.is_secret
        )
        # Without its cause where the body is a secret: the client's error repeats what the server said.
        raise (_PassingTrouble(told) if trouble.is_passing(error.status) else told) from None

    def lines(self, ask: Ask, seconds: float) -> Iterator[Any]:
        """The JSON of each line of an answer, as they come, for ``seconds``; ends where anything fails."""
        from kubernetes.dynamic.exceptions import DynamicApiError
        from urllib3.exceptions import HTTPError

        rest = b""
        try:
            response = self._send(ask, seconds + _GRACE)
        except (DynamicApiError, HTTPError):
            return
        try:
            for chunk in response.stream(None, decode_content=False):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from map(json.loads, filter(None, lines))
        except (HTTPError, ValueError):
            return
        finally:
            response.close()

    def _send(self, ask: Ask, read_timeout: float) -> Response:
        applied: dict[str, Any] = {}
        if ask.body is not None:
            applied = {"body": ask.body, "content_type": "application/apply-patch+yaml"}
        return self._client.request(
            "get" if ask.body is None else "patch",
            ask.path,
            query_params=list(ask.query),
            serialize=False,
            _request_timeout=(CONNECT_TIMEOUT, read_timeout),
            **applied,
        )


class _PassingTrouble(Exception):
    """What may be over in a moment. Never leaves this module."""

    def __init__(self, told: ClusterUnavailable) -> None:
        super().__init__(told.message)
        self.told = told
