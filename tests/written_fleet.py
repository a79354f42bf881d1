"""A fleet that was written for the tests: 30 repositories with 120 clusters, as the reports of their runs tell.

Always the same. Every state of the page is in it, with more that is usual than what is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

NOW = datetime(2026, 8, 20, 9, 30, tzinfo=UTC)
RELEASES = {
    "v2.6.4": "2025-07-08T11:02:00Z",
    "v2.7.5": "2025-11-20T10:45:00Z",
    "v2.8.7": "2026-05-12T09:12:00Z",
    "v2.8.8": "2026-06-04T13:31:00Z",
    "v2.9.3": "2026-07-21T08:40:00Z",
    "v2.9.4": "2026-08-06T10:05:00Z",
}
TEAMS = ("shop", "search", "payments", "data", "edge", "mobile", "identity", "media", "ads", "internal")
KINDS = ("fleet", "clusters", "gitops")
NAMES = (
    *("staging", "production"),
    *("dev", "staging", "production-eu", "production-us"),
    *("test", "staging", "production-1", "production-2", "production-3", "dr"),
)
"""Of the clusters of a repository: two, four or six, four on average."""
_SIZES = ((0, 2), (2, 6), (6, 12))
ADDED: dict[str, Any] = {
    "bump": "patch",
    "action": "hold",
    "target": None,
    "approved": None,
    "waits-for": [],
    "reason": "up-to-date",
    "detail": None,
    "remedy": None,
    "since": None,
    "until": None,
    "impact": None,
}


def moment(days: float) -> str:
    """Days before ``NOW``."""
    return (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def decision(**fields: Any) -> dict[str, Any]:
    return {**ADDED, **{name.replace("_", "-"): value for name, value in fields.items()}}


def upgrade(target: str, bump: str, *, approved: bool, waits_for: tuple[str, ...] = ()) -> dict[str, Any]:
    return decision(bump=bump, action="upgrade", target=target, approved=approved, reason=None, waits_for=[*waits_for])


def hold(reason: str, bump: str, detail: str, **fields: Any) -> dict[str, Any]:
    return decision(bump=bump, target="v2.9.4", reason=reason, detail=detail, remedy="Follow the hint.", **fields)


def installation(cluster: str, current: str | None, *decisions: Mapping[str, Any], group: str = "") -> dict[str, Any]:
    return {
        "path": f"{cluster}/flux-system/gotk-components.yaml",
        "kind": "gotk-components",
        "line": None,
        "cluster": cluster,
        "current": current,
        "broken-today": [],
        "decisions": [*decisions] or [decision()],
        "update-group": group or cluster.replace("/", "-"),
    }


def pull(repository: str, number: int, group: str, bump: str, days: float, **fields: Any) -> dict[str, Any]:
    """``days``: how long it has been open."""
    return {
        "update-group": group,
        "bump": bump,
        "branch": f"flux-upgrade/{group}/{bump}",
        "action": "unchanged",
        "number": number,
        "url": f"https://github.com/{repository}/pull/{number}",
        "is-issue": False,
        "created-at": moment(days),
        "action-required": False,
        "target": "v2.9.4",
        "pending": False,
        "reason": None,
        "detail": None,
        "error": None,
        "warnings": [],
        **{name.replace("_", "-"): value for name, value in fields.items()},
    }


def report(repository: str, installations: list[dict[str, Any]], days: float = 0.2, **fields: Any) -> dict[str, Any]:
    """``days``: its age."""
    return {
        "schema-version": 2,
        "created-at": moment(days),
        "run-url": f"https://github.com/{repository}/actions/runs/4711",
        "outcome": "none",
        "dry-run": False,
        "repository": repository,
        "repository-url": f"https://github.com/{repository}",
        "base": "main",
        "calls": 1,
        "releases": RELEASES,
        "drift": [],
        "installations": installations,
        "migrations": [],
        "pull-requests": [],
        "failures": [],
        "steps": [],
        **{name.replace("_", "-"): value for name, value in fields.items()},
    }


def clusters_of(number: int) -> tuple[str, ...]:
    begin, end = _SIZES[number % 3]
    return tuple(f"clusters/{name}" for name in NAMES[begin:end])


def fleet() -> Iterator[tuple[str, dict[str, Any] | bytes]]:
    """File name and report of each repository; and bytes of one more, which are broken off."""
    for number in range(30):
        name = f"{TEAMS[number % 10]}-{KINDS[number // 10]}"
        repository, clusters = f"octo-org/{name}", clusters_of(number)
        yield f"{name}/flux-upgrade-report.json", _report(number, repository, clusters)
    yield "vault-fleet/flux-upgrade-report.json", json.dumps(report("octo-org/vault-fleet", [])).encode()[:-50]


def _report(number: int, repository: str, clusters: tuple[str, ...]) -> dict[str, Any]:  # noqa: C901, PLR0911 a table
    current = [installation(each, "v2.9.4") for each in clusters]
    minor = [installation(each, "v2.8.8", upgrade("v2.9.4", "minor", approved=False), group="all") for each in clusters]
    match number:
        case 3:
            return report(
                repository,
                current,
                outcome="failed",
                failures=[
                    {
                        "slug": "forbidden",
                        "message": f"GitHub refused to open the pull request in {repository}: Resource not accessible by integration",
                        "remedy": "Give the app 'Pull requests: read and write'.",
                    }
                ],
            )
        case 12:
            return report(repository, [installation(each, "v2.9.3") for each in clusters], days=19)
        case 1 | 14:
            opened = pull(repository, 80 + number, "all", "minor", 14 + number, pending=True)
            return report(repository, minor, pull_requests=[opened])
        case 9:
            opened = pull(repository, 31, "all", "minor", 13, pending=True)
            return report(repository, [*minor[:2], *current[2:]], pull_requests=[opened])
        case 5:
            migrating = [
                installation(each, "v2.7.5", upgrade("v2.8.8", "minor", approved=True), group="all")
                for each in clusters
            ]
            opened = pull(repository, 12, "all", "minor", 41, target="v2.8.8", action_required=True)
            return report(repository, migrating, pull_requests=[opened])
        case 4 | 17 | 25:
            patches = [installation(clusters[0], "v2.9.3", upgrade("v2.9.4", "patch", approved=True), group="staging")]
            opened = pull(repository, 50 + number, "staging", "patch", number / 4)
            rings = [
                installation(
                    each,
                    "v2.9.3",
                    upgrade("v2.9.4", "patch", approved=True, waits_for=("staging does not run v2.9.4 yet",)),
                    group="production",
                )
                for each in clusters[1:]
            ]
            waiting = pull(repository, 51 + number, "production", "patch", number / 4)
            return report(repository, [*patches, *rings], pull_requests=[opened, waiting])
        case 8:
            why = "a Kustomize patch would no longer apply: clusters/dr/flux-system/kustomization.yaml:14"
            broken = installation(clusters[-1], "v2.6.4", hold("overlay-breaks", "minor", why, since=moment(33)))
            return report(repository, [*current[:-1], broken])
        case 19:
            why = (
                "your registry does not have all images of v2.9.4: registry.octo.example/fluxcd/helm-controller:v1.5.4"
            )
            held = [
                installation(each, "v2.9.3", hold("images-missing", "patch", why, since=moment(6))) for each in clusters
            ]
            return report(repository, held)
        case 22:
            why = "the release is younger than cool-down: 3 weeks"
            cooling = hold("cooling-down", "minor", why, until=moment(-7))
            return report(repository, [installation(each, "v2.8.7", cooling) for each in clusters])
        case 28:
            why = "you closed pull request #77, which proposed v2.9.3"
            closed = hold("closed-by-human", "minor", why, since=moment(25))
            return report(repository, [installation(each, "v2.8.8", closed) for each in clusters])
        case _:
            return report(repository, current)


def write(folder: Path) -> Path:
    """As actions/download-artifact leaves them: a directory for each artifact."""
    for name, each in fleet():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(each if isinstance(each, bytes) else json.dumps(each).encode())
    return folder
