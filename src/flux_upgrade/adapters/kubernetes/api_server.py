"""Requests to an API server: each is answered, tried again, or an error in our words.

All that is sent can be sent twice: it reads, or applies server-side.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from flux_upgrade.model.errors import ClusterUnavailable
from flux_upgrade.model.text import one_line
from flux_upgrade.model.timing import Timing
from flux_upgrade.model.values import NamedTuple

_LONGEST = 500
_UNKNOWN, _FORBIDDEN = 401, 403
_PASSING = (409, 429, 500, 502, 503, 504)
"""Statuses that say nothing about the request itself; all that we send can be sent again.

Conflicts (409) are forced, so that one is a race, or an object that is being deleted.
"""


def unreachable(cluster: str, error: Exception) -> ClusterUnavailable:
    """No answer came. The client's own messages name whole requests; ours has the last cause alone."""
    cause: BaseException = error
    while (below := cause.__cause__ or cause.__context__) is not None:
        cause = below
    words = str(cause).partition("\n")[0] or type(cause).__name__
    why = cause.strerror if isinstance(cause, OSError) and cause.strerror else words
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        hint = "check certificate-authority-data of the context's cluster in the kubeconfig"
        return ClusterUnavailable(f"the certificate of the cluster '{one_line(cluster)}' is not trusted", hint=hint)
    return ClusterUnavailable(
        f"the cluster '{one_line(cluster)}' is unreachable: {one_line(why)}",
        hint="check the context, the VPN and the network with `kubectl --context`",
    )


def refused(cluster: str, doing: str, status: int, body: bytes, *, is_secret: bool = False) -> ClusterUnavailable:
    """An answer that is no success. ``doing``: ``read Namespace flux-system``.

    ``is_secret``: the request had secrets in it, so that what the cluster says of it is not repeated.
    """
    try:
        reason = "" if is_secret else json.loads(body)["message"]
    except (ValueError, RecursionError, LookupError, TypeError):
        reason = ""  # it is no Status
    reason = reason if isinstance(reason, str) else ""
    because = f": {one_line(reason, _LONGEST)}" if reason else ""
    message = f"the cluster '{one_line(cluster)}' does not {one_line(doing)} ({status}{because})"
    hint = "check the message, then run the same command again"
    if status == _UNKNOWN:
        hint = "log in again: the kubeconfig's credentials are missing, wrong or expired"
    elif status == _FORBIDDEN:
        hint = "use credentials with cluster-admin rights, as for `flux bootstrap`"
    elif status in _PASSING:
        hint = "run the command again later: the cluster's API is busy or starting"
    return ClusterUnavailable(message, hint=hint)


CONNECT_TIMEOUT, READ_TIMEOUT = 10.0, 30.0  # seconds
_GRACE = 2.0  # seconds that a server is given beyond those that it was asked to answer for
_WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each further try: a control plane of one machine restarts in that time."""
_MISSING = 404


class ApiRequest(NamedTuple):
    path: str  # quoted, with a leading slash
    doing: str  # what it is for, in an error's words: `read Namespace flux-system`
    query: tuple[tuple[str, str], ...] = ()
    body: Mapping[str, Any] | None = None  # what is applied; None: it reads
    is_secret: bool = False  # the body is shown nowhere


class ApiServer:
    """Sends requests to one cluster. ``client``: ``kubernetes.dynamic.DynamicClient``, which has no types."""

    def __init__(self, client: Any, cluster: str, timing: Timing) -> None:
        self._client = client
        self.cluster = cluster
        self._timing = timing

    def ask(self, request: ApiRequest) -> Any:
        """The answer's JSON; None: there is no such thing (404). Raises ClusterUnavailable."""
        waits = iter(_WAITS)
        while True:
            try:
                return self._once(request)
            except _PassingFailure as error:
                if (wait := next(waits, None)) is None:
                    raise error.error from error.__cause__
                self._timing.sleep(wait * (0.5 + self._timing.jitter() / 2))

    def _once(self, request: ApiRequest) -> Any:
        from kubernetes.dynamic.exceptions import DynamicApiError
        from urllib3.exceptions import HTTPError

        try:
            response = self._send(request, READ_TIMEOUT)
            content = response.data
        except DynamicApiError as error:
            return self._refused(request, error)
        except HTTPError as error:
            raise _PassingFailure(unreachable(self.cluster, error)) from error
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise self.nonsense() from None

    def _refused(self, request: ApiRequest, error: Any) -> None:
        """None for what is not there; else raises."""
        if not error.status:  # the client has no status where TLS failed
            raise unreachable(self.cluster, error) from error
        if error.status == _MISSING:
            return
        refusal = refused(self.cluster, request.doing, error.status, error.body or b"", is_secret=request.is_secret)
        # Without its cause where the body is a secret: the client's error repeats what the server said.
        raise (_PassingFailure(refusal) if error.status in _PASSING else refusal) from None

    def nonsense(self) -> ClusterUnavailable:
        """The error for an answer that no API server gives."""
        return ClusterUnavailable(
            f"the server of '{one_line(self.cluster)}' is not a Kubernetes API",
            hint="check the server's URL in the kubeconfig and any proxy in between",
        )

    def lines(self, request: ApiRequest, seconds: float) -> Iterator[Any]:
        """The JSON of each line of an answer, as they come, for ``seconds``; ends where anything fails."""
        from kubernetes.dynamic.exceptions import DynamicApiError
        from urllib3.exceptions import HTTPError

        rest = b""
        try:
            response = self._send(request, seconds + _GRACE)
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

    def _send(self, request: ApiRequest, read_timeout: float) -> Any:
        applied: dict[str, Any] = {}
        if request.body is not None:
            applied = {"body": request.body, "content_type": "application/apply-patch+yaml"}
        return self._client.request(
            "get" if request.body is None else "patch",
            request.path,
            query_params=list(request.query),
            serialize=False,
            _request_timeout=(CONNECT_TIMEOUT, read_timeout),
            **applied,
        )


class _PassingFailure(Exception):
    """What may be over in a moment. Never leaves this module."""

    def __init__(self, error: ClusterUnavailable) -> None:
        super().__init__(error.message)
        self.error = error
