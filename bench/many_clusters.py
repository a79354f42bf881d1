"""Runs of the Action in a repository with many clusters: calls, pauses and pull requests, by the log of the stand-in."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import written_release
from github_stand_in import Repository, StandIn

from flux_upgrade import main as cli
from flux_upgrade.adapters.local.programs import LocalFluxCli
from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.config.config import PATH as CONFIG
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.timing import Timing
from flux_upgrade.pins.regenerate import Regenerator

COUNT = 200
MOST_PAUSES = 480
MOST_READS = 16
NAME = "acme/fleet"
BEFORE = "v2.7.1"
FIRST = (BEFORE, "v2.7.2", "v2.8.7")
PATCHED = (*FIRST, "v2.7.3", "v2.8.8")
NEWER = (*PATCHED, "v2.9.4")
UNLIMITED = "limits: {open: 0, new: 0, drafts: 0, new-drafts: 0}\n"


class Run(NamedTuple):
    """What came of one run."""

    name: str
    reads: int
    writes: int
    pauses: float  # Seconds
    done: Counter[str]  # Action → pull requests; `limited`: those that wait
    is_open: int  # Pull requests that are open afterwards, drafts too


class Fleet:
    """A repository with clusters that are all alike."""

    def __init__(self, work: Path, hub: StandIn, config: str = "", count: int = COUNT) -> None:
        self._work, self._hub = work, hub
        self.release(FIRST)
        options = InstallOptions(BEFORE, components=("source-controller",))
        content = Regenerator(DirectoryReleases(str(self._source)), LocalFluxCli("", {})).regenerate(options).text
        files = {CONFIG: config.encode()} if config else {}
        for number in range(1, count + 1):
            folder = f"clusters/c{number:03}/flux-system"
            files[f"{folder}/gotk-components.yaml"] = content.encode()
            files[f"{folder}/kustomization.yaml"] = b"resources:\n- gotk-components.yaml\n"
        self.repository: Repository = hub.create_repository(NAME, files)
        self._token = hub.token("actions").value

    def release(self, tags: tuple[str, ...]) -> None:
        """From now on these are Flux's releases."""
        self._source = self._work / tags[-1]
        written_release.write_source(self._source, tags)

    def run(self, name: str) -> Run:
        """One run, in a fresh checkout; nothing waits for real."""
        clock, paused = self._hub.clock, list[float]()
        # A run of its own day: GitHub's limit of an hour has begun again.
        clock.advance(hours=24)

        def now() -> float:
            return clock.now.timestamp()

        def sleep(seconds: float) -> None:
            paused.append(seconds)
            clock.advance(seconds=seconds)

        checkout = self._work / f"checkout-{self.repository.head()}"
        if not checkout.exists():
            clone = ("git", "clone", "--quiet", f"file://{self.repository.git}", str(checkout))
            subprocess.run(clone, check=True, capture_output=True)
        self._hub.forget()
        out, err = io.BytesIO(), io.StringIO()
        with contextlib.chdir(checkout):
            code = cli.run(["action"], self._variables(checkout), out, err, Timing(now, sleep, lambda: 0.5))
        assert code == 0, out.getvalue().decode() + err.getvalue()
        report: Any = json.loads((self._work / "flux-upgrade-report.json").read_text())
        done = Counter(each["reason"] or each["action"] for each in report["pull-requests"])
        pulls = self.repository.pulls.values()
        reads, writes = len(self._hub.reads), len(self._hub.writes)
        return Run(name, reads, writes, sum(paused), done, sum(pull.state == "open" for pull in pulls))

    def merge(self, count: int) -> None:
        """Merge the first pull requests that are open and no drafts."""
        numbers = [each.number for each in self.repository.pulls.values() if each.state == "open" and not each.is_draft]
        for number in numbers[:count]:
            self.repository.people.merge(number, "squash")

    def _variables(self, checkout: Path) -> dict[str, str]:
        return {
            "GITHUB_WORKSPACE": str(checkout),
            "GITHUB_REPOSITORY": NAME,
            "GITHUB_SERVER_URL": self._hub.url,
            "GITHUB_API_URL": self._hub.api_url,
            "GITHUB_GRAPHQL_URL": self._hub.graphql_url,
            "GITHUB_EVENT_NAME": "schedule",
            "GITHUB_OUTPUT": str(self._work / "output"),
            "GITHUB_STEP_SUMMARY": str(self._work / "summary"),
            "RUNNER_TEMP": str(self._work),
            "PATH": os.defpath,
            "INPUT_TOKEN": self._token,
            "INPUT_RELEASE-SOURCE": str(self._source),
        }


def runs(work: Path, count: int = COUNT) -> Iterator[Run]:
    """The runs of a fleet's life."""
    with StandIn(work / "hub") as hub:
        fleet = Fleet(work, hub, count=count)
        yield fleet.run("first run")
        yield fleet.run("second run")
        yield fleet.run("idle run")
        fleet.release(PATCHED)
        yield fleet.run("new patches of both minors")
        fleet.release(NEWER)
        yield fleet.run("a new minor")
        yield fleet.run("idle run after it")
        fleet.merge(4)
        yield fleet.run("four were merged")


def without_limits(work: Path, count: int = COUNT) -> Run:
    """The first run without limits but for the time."""
    with StandIn(work / "hub") as hub:
        return Fleet(work, hub, UNLIMITED, count).run("first run without other limits than `minutes`")


def many_clusters(work: Path) -> str:
    """The section of the page."""
    found = [*runs(work / "limited"), without_limits(work / "unlimited")]
    rows = "".join(
        f"| {each.name} | {each.reads} | {each.writes} | {each.pauses:.0f} s | {each.done['opened']} "
        f"| {each.done['updated']} | {each.is_open} | {each.done['limited']} |\n"
        for each in found
    )
    assert all(each.pauses <= MOST_PAUSES for each in found), found
    return f"""## {COUNT} clusters

| | reads | writes | pauses | opened | updated | open | waiting |
|---|---|---|---|---|---|---|---|
{rows}
Runs of the Action on the stand-in for GitHub, with the default `limits`: ten pull requests and ten drafts may be open.
flux-upgrade pauses a second between two writes, as GitHub asks; a run pauses for {MOST_PAUSES} s at most. A run with
nothing to do may read {MOST_READS} times, and writes nothing.
"""
