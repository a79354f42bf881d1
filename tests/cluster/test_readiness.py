"""An object's status says whether it is ready, and why not."""

from __future__ import annotations

from typing import Any

import pytest

from flux_upgrade.bootstrap.cluster.wait import Awaited, ReadinessState, judge, plain
from flux_upgrade.model.kubernetes_objects import CRD, DEPLOYMENT, KUSTOMIZATION, SOURCES, Kind, ObjectReference

GIT = Kind(SOURCES, "GitRepository")
OCI = Kind(SOURCES, "OCIRepository")
AT = "main@sha1:1"


def conditions(**stated: str) -> list[dict[str, str]]:
    """``Ready="True: message"``."""
    pairs = {name: text.partition(": ") for name, text in stated.items()}
    return [{"type": name, "status": status, "message": message} for name, (status, _, message) in pairs.items()]


def seen(status: dict[str, Any], generation: int = 2, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"generation": generation}, "spec": spec, "status": {"observedGeneration": 2, **status}}


READY = {"conditions": conditions(Ready="True: ok")}
ROLLED = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
CASES = [
    pytest.param(GIT, None, ReadinessState.WAITING, "does not exist yet", id="missing"),
    pytest.param(GIT, {"metadata": {"generation": 1}}, ReadinessState.WAITING, "is not reconciled yet", id="no-status"),
    pytest.param(GIT, seen(READY, 3), ReadinessState.WAITING, "is not reconciled yet", id="earlier-generation"),
    pytest.param(GIT, seen({**READY, "artifact": {"revision": AT}}), ReadinessState.READY, "is ready", id="git"),
    pytest.param(OCI, seen({**READY, "artifact": {"revision": AT}}), ReadinessState.READY, "is ready", id="oci"),
    pytest.param(
        GIT,
        seen({**READY, "artifact": {"revision": "x"}}),
        ReadinessState.WAITING,
        f"is at x, not at {AT}",
        id="revision",
    ),
    pytest.param(GIT, seen(READY), ReadinessState.WAITING, f"is at no revision, not at {AT}", id="no-artifact"),
    pytest.param(
        GIT,
        seen({"conditions": conditions(Ready="False: no  way\n")}),
        ReadinessState.WAITING,
        "is not ready: no way",
        id="not-ready",
    ),
    pytest.param(
        GIT, seen({"conditions": conditions(Ready="Unknown")}), ReadinessState.WAITING, "is not ready", id="unknown"
    ),
    pytest.param(
        GIT,
        seen({"conditions": conditions(Ready="False", Stalled="True: bad URL")}),
        ReadinessState.FAILED,
        "is stalled: bad URL",
        id="stalled",
    ),
    pytest.param(GIT, seen(READY, suspend=True), ReadinessState.FAILED, "is suspended", id="suspended"),
    pytest.param(
        KUSTOMIZATION,
        seen({**READY, "lastAttemptedRevision": AT, "lastAppliedRevision": AT}),
        ReadinessState.READY,
        "is ready",
        id="applied",
    ),
    pytest.param(
        KUSTOMIZATION,
        seen({**READY, "lastAttemptedRevision": AT, "lastAppliedRevision": "x"}),
        ReadinessState.WAITING,
        f"is at x, not at {AT}",
        id="attempted",
    ),
    pytest.param(
        CRD,
        {"status": {"conditions": conditions(Established="True")}},
        ReadinessState.READY,
        "is ready",
        id="established",
    ),
    pytest.param(CRD, {}, ReadinessState.WAITING, "is not established", id="not-established"),
    pytest.param(DEPLOYMENT, seen(ROLLED, replicas=2), ReadinessState.READY, "is ready", id="rolled-out"),
    pytest.param(DEPLOYMENT, seen({}, replicas=0), ReadinessState.READY, "is ready", id="scaled-to-nothing"),
    pytest.param(DEPLOYMENT, seen({}), ReadinessState.WAITING, "0 of 1 replicas are updated", id="not-updated"),
    pytest.param(
        DEPLOYMENT,
        seen({**ROLLED, "replicas": 3}, replicas=2),
        ReadinessState.WAITING,
        "1 old replicas are still running",
        id="old",
    ),
    pytest.param(
        DEPLOYMENT,
        seen({**ROLLED, "availableReplicas": 1}, replicas=2),
        ReadinessState.WAITING,
        "1 of 2 replicas are available",
        id="unavailable",
    ),
]


@pytest.mark.parametrize(("kind", "obj", "state", "words"), CASES)
def test_how_it_stands_with_an_object(
    kind: Kind, obj: dict[str, Any] | None, state: ReadinessState, words: str
) -> None:
    awaited = Awaited(ObjectReference(kind, "flux-system", "x"), AT)
    assert judge(awaited, obj) == (state, words)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (None, ""),
        (" two\n lines\t", "two lines"),
        ("https://user:pass@host/x and ssh://git@host", "https://host/x and ssh://host"),
        ("\x1b[31mred\u202e", "\ufffd[31mred\ufffd"),
        ("x" * 400, "x" * 299 + "…"),
    ],
)
def test_what_a_cluster_says_is_one_line_without_credentials(text: str | None, shown: str) -> None:
    assert plain(text) == shown
