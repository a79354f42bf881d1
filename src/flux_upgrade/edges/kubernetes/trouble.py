"""What went wrong with a cluster, in our own words. Pure.

Source: kubernetes/apimachinery, ``pkg/apis/meta/v1/types.go``, Status: what an API server answers a
request with that it refuses.
"""

from __future__ import annotations

import json

from flux_upgrade.edges.plain import one_line
from flux_upgrade.errors import ClusterUnavailable

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
