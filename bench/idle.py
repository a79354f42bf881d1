"""A run of the Action with nothing to do, against the import of its HTTP library: CPU time of whole processes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from github_stand_in import StandIn

from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.manifests.generators import GENERATORS
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.render import render

RUNS = 15
PEER = (sys.executable, "-c", "import requests")
OURS = (sys.executable, "-c", "import sys; from flux_upgrade.main import main; sys.exit(main())", "action")
FOLDER = "clusters/production/flux-system"


class Idle(NamedTuple):
    """Both processes, each by a function that runs it and gives its CPU in seconds."""

    action: Callable[[], float]
    peer: Callable[[], float]
    hub: StandIn


@contextmanager
def idle_action(work: Path, source: Path, tag: str, code: Path) -> Iterator[Idle]:
    """One installation at ``tag``, the newest release of the folder ``source``; ``code``: the package's."""
    with StandIn(work / "hub") as hub:
        _publish(hub, source, tag)
        manifests = DirectoryReleases(str(source)).manifests(tag)
        options = InstallOptions(tag, components=manifests.components)
        content = render(manifests, options, GENERATORS[-1]).encode()
        files = {
            f"{FOLDER}/gotk-components.yaml": content,
            f"{FOLDER}/kustomization.yaml": b"resources:\n- gotk-components.yaml\n",
        }
        repository = hub.create_repository("acme/fleet", files)
        checkout = work / "checkout"
        clone = ["git", "clone", "--quiet", "--depth=1", f"file://{repository.git}", str(checkout)]
        subprocess.run(clone, check=True)
        token = hub.token("actions", {"contents": "write", "pull-requests": "write"}).value
        environment = _environment(hub, checkout, work, token, code)

        def action() -> float:
            hub.forget()
            return cpu_seconds(OURS, environment, checkout)

        yield Idle(action, lambda: cpu_seconds(PEER, {"PATH": os.defpath}, work), hub)


def idle(work: Path, source: Path, tag: str, code: Path) -> str:
    """The section of the page; the arguments as for ``idle_action``."""
    with idle_action(work, source, tag, code) as both:
        taken = [(both.action(), both.peer()) for _ in range(RUNS)]
        reads, writes, downloads = len(both.hub.reads), len(both.hub.writes), len(both.hub.downloads)
    own, peer = (statistics.median(times) for times in zip(*taken, strict=True))
    return f"""## A run with nothing to do

| | CPU, median of {RUNS} |
|---|---|
| the Action, one installation at {tag} with all components, nothing cached | {own * 1000:.0f} ms |
| `python -c 'import requests'` | {peer * 1000:.0f} ms |

Ratio: **{own / peer:.2f}**. It made {reads} calls to the API, {writes} of them writes, and {downloads} downloads
of the release's assets, which count towards no rate limit.
"""


def _publish(hub: StandIn, source: Path, tag: str) -> None:
    flux = hub.create_repository("fluxcd/flux2", {"README.md": b"Flux\n"})
    assets = {path.name: path.read_bytes() for path in sorted((source / tag).iterdir()) if path.is_file()}
    listed = json.loads((source / "releases.json").read_text())
    for entry in listed:
        if entry["tag_name"].startswith("v2.") and "-" not in entry["tag_name"]:
            mine = assets if entry["tag_name"] == tag else {"manifests.tar.gz": b""}
            flux.publish_release(entry["tag_name"], entry.get("published_at") or "2026-01-01T00:00:00Z", mine)


def _environment(hub: StandIn, checkout: Path, work: Path, token: str, code: Path) -> Mapping[str, str]:
    return {
        "PATH": os.defpath,
        "PYTHONPATH": str(code),
        "GITHUB_WORKSPACE": str(checkout),
        "GITHUB_REPOSITORY": "acme/fleet",
        "GITHUB_SERVER_URL": hub.url,
        "GITHUB_API_URL": hub.api_url,
        "GITHUB_GRAPHQL_URL": hub.graphql_url,
        "GITHUB_EVENT_NAME": "schedule",
        "GITHUB_OUTPUT": str(work / "output"),
        "GITHUB_STEP_SUMMARY": str(work / "summary"),
        "RUNNER_TEMP": str(work),
        "INPUT_TOKEN": token,
        "INPUT_RELEASE-SOURCE": f"{hub.api_url}/repos/fluxcd/flux2",
    }


def cpu_seconds(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> float:
    """Seconds of user and system time of a process that has to end well."""
    process = subprocess.Popen(
        command, env=dict(environment), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    with process.stdout as stream:
        output = stream.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(output.decode())
    return usage.ru_utime + usage.ru_stime
