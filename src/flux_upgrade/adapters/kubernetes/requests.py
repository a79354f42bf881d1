"""Requests to an API server: each answered, tried again, or an error in our words.

All that is sent can be sent twice: it reads, or applies server-side.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from flux_upgrade.model.errors import ClusterUnavailable
from flux_upgrade.model.ports import Timing
from flux_upgrade.model.text import one_line
from flux_upgrade.model.values import NamedTuple

_LONGEST = 500
_UNKNOWN, _FORBIDDEN = 401, 403
_PASSING = (409, 429, 500, 502, 503, 504)
"""Statuses that say nothing about the request itself; all that we send can be sent again.

Conflicts (409) are forced, so that one is a race, or an object that is being deleted.
"""


def is_passing(status: int) -> bool:
    """Whether the same request may be answered a moment later. ``status``: 0 without an answer."""
    return status in _PASSING


def unreachable(cluster: str, error: Exception) -> ClusterUnavailable:
    """No answer came. The client's own messages name whole requests; ours has the last cause alone."""
    cause: BaseException = error
    while (below := cause.__cause__ or cause.__context__) is not None:
        cause = below
    words = str(cause).partition("\n")[0] or type(cause).__name__
    why = cause.strerror if isinstance(cause, OSError) and cause.strerror else words
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        hint = "check certificate-authority-data of the context's cluster in the kubeconfig"
        return ClusterUnavailable(
            f"the certificate of the cluster '{one_line(cluster)}' is not trusted", hint=hint
        )
    return ClusterUnavailable(
        f"the cluster '{one_line(cluster)}' cannot be reached: {one_line(why)}",
        hint="check the context, the VPN and the network: kubectl --context must reach it from here",
    )


def refused(
    cluster: str, doing: str, status: int, body: bytes, *, is_secret: bool = False
) -> ClusterUnavailable:
    """An answer that is no success. ``doing``: ``read Namespace flux-system``.

    ``is_secret``: the request had secrets in it, so that what the cluster says of it is not repeated.
    """
    told = "" if is_secret else _message(body)
    because = f": {one_line(told, _LONGEST)}" if told else ""
    message = f"the cluster '{one_line(cluster)}' does not {one_line(doing)} ({status}{because})"
    hint = "see what the message says; the same run can be started again"
    if status == _UNKNOWN:
        hint = "the kubeconfig's credentials are missing, wrong or expired: log in again"
    elif status == _FORBIDDEN:
        hint = "bootstrap needs the rights of cluster-admin, as flux bootstrap does"
    elif is_passing(status):
        hint = "the cluster's API is busy with that, overloaded or starting; run it again a little later"
    return ClusterUnavailable(message, hint=hint)


def _message(body: bytes) -> str:
    """The message of a Status; empty where it is none."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    told = answer.get("message") if isinstance(answer, dict) else None
    return told if isinstance(told, str) else ""


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
            raise _PassingTrouble(unreachable(self.cluster, error)) from error
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
            raise unreachable(self.cluster, error) from error
        if error.status == _MISSING:
            return
        told = refused(self.cluster, ask.doing, error.status, error.body or b"", is_secret=ask.is_secret)
        # Without its cause where the body is a secret: the client's error repeats what the server said.
        raise (_PassingTrouble(told) if is_passing(error.status) else told) from None

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
