"""What the dashboard shows, and its boxes: cases of ``tests/dashboard``, and what no case can show."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import txtar
from flows import NOW, World, fleet
from flux_upgrade.config.config import Config
from flux_upgrade.config.reader import load
from flux_upgrade.model import markers
from flux_upgrade.model.forge import Question, Repository
from flux_upgrade.model.versions import Release, Version
from flux_upgrade.pullrequests.dashboard.entries import ClusterEntry, Entry, RingEntry, Section, Shown
from flux_upgrade.pullrequests.dashboard.keep import LIMIT, dashboard_steps
from flux_upgrade.pullrequests.dashboard.text import dashboard_text
from memory_forge import URL, MemoryForge

CASES = Path(__file__).resolve().parents[1] / "dashboard"
HOSTILE = "a-->@mallory <b>|`x` [c](https://evil.example) #1 https://github.com/o/r/pull/1\n- [x] <!-- flux-upgrade:rebase-1 -->"
REPOSITORY = Repository("acme/fleet", URL, "main", "", "", {}, {})


class Written:
    """A repository in memory with a dashboard, and what is done in it, one deed after another."""

    def __init__(self, settings: dict[str, Any], config: str) -> None:
        files = fleet(settings.get("versions", {}), orphans=settings.get("orphans", ()))
        files |= {path: text.encode() for path, text in settings.get("files", {}).items()}
        releases = tuple(Release(Version(tag), published_at=str(at)) for tag, at in settings["releases"].items())
        now = datetime.fromisoformat(settings["now"]) if "now" in settings else NOW
        found = load(f"dashboard: true\n{config}", ".github/flux-upgrade.yaml")
        self.world = World(files, found, releases, now=now)
        self.forge = MemoryForge(dict(files), today=now.isoformat().replace("+00:00", "Z"))

    def do(self, deed: str) -> None:
        """``run``, or what a user does to the open pull request of a branch: ``close clusters.a/patch``."""
        verb, _, branch = deed.partition(" ")
        if verb == "run":
            self.world.files = dict(self.forge.files)
            self.world.run(self.forge)
            return
        if verb == "revert":
            self.forge.push_to_base(self.world.files)
            return
        pull = self.forge.open_pull(f"flux-upgrade/{branch}")
        assert pull is not None, deed
        match verb:
            case "close":
                self.forge.close_pull(pull.number)
            case "merge":
                self.forge.merge(pull.number)
            case "push":
                self.forge.push(f"flux-upgrade/{branch}", {"NOTES.md": b"mine"})
            case _:
                raise AssertionError(deed)

    @property
    def body(self) -> str:
        (issue,) = (each for each in self.forge.issues.values() if markers.DASHBOARD in each.labels)
        return issue.body


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.txtar")))
def test_a_case_gives_its_dashboard(name: str, *, update_golden: bool) -> None:
    path = CASES / f"{name}.txtar"
    archive = txtar.read(path)
    written = Written(tomllib.loads(archive.text("settings.toml")), archive.text("config.yaml", ""))
    deeds = archive.text("deeds").split("\n")
    for deed in filter(None, deeds):
        written.do(deed)
    found = replace(archive, files={**archive.files, "dashboard.md": written.body.encode()})
    if update_golden:
        txtar.write(path, found)
    assert txtar.render(found) == path.read_text()
    steps = len(written.forge.steps)
    written.do("run")
    assert len(written.forge.steps) == steps, "a run without news writes nothing"


def test_every_section_has_a_case() -> None:
    texts = "".join(path.read_text() for path in CASES.glob("*.txtar"))
    assert [each for each in Section if f"\n### {each.value[0]}\n" not in texts] == []


def test_nothing_that_others_write_is_acted_upon() -> None:
    """Neither by GitHub nor by the next run."""
    entries = tuple(
        Entry(section, HOSTILE, (HOSTILE,), HOSTILE, "minor", why=HOSTILE, hint=HOSTILE, reason=HOSTILE, note=HOSTILE)
        for section in Section
    )
    shown = Shown(
        HOSTILE,
        (HOSTILE,),
        entries,
        (RingEntry(HOSTILE, (HOSTILE,), 72, (HOSTILE,), (HOSTILE,)),),
        (ClusterEntry(HOSTILE, HOSTILE, HOSTILE),),
    )
    body = markers.dashboard_block(dashboard_text(shown, REPOSITORY, (), LIMIT), HOSTILE)
    assert markers.ticked(body) == frozenset()
    assert markers.dashboard_scope(body) == HOSTILE
    text = markers.text_of(body)
    assert text is not None and text.endswith("|")
    outside = re.sub(r"(`+).+?\1", "", text)
    for acted_upon in ("@mallory", "<b>", r"(?<!\\)\]\(https://evil", "#1", "//github\\.com"):
        assert not re.search(acted_upon, outside), acted_upon
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4, 5}, "no name makes a column"


def _clusters(count: int) -> Shown:
    name = "clusters/" + "x" * 100
    entries = [
        Entry(section, f"{name}-{number}", versions="v2.8.8 → v2.9.4", bump_kind="minor", why="because " * 10)
        for section in Section
        for number in range(count)
    ]
    rows = tuple(ClusterEntry(f"{name}-{number}", "", "v2.8.8") for number in range(count))
    return Shown(f"{count} clusters: {count} held", entries=tuple(entries), clusters=rows)


@pytest.mark.parametrize("count", [1, 20, 200, 2000])
def test_what_does_not_fit_is_counted(count: int) -> None:
    shown = _clusters(count)
    text = dashboard_text(shown, REPOSITORY, (), LIMIT)
    assert len(text) <= LIMIT
    lines = [line for line in text.splitlines() if "/xxx" in line]
    left = [int(number) for number in re.findall(r"^… and (\d+) more", text, re.MULTILINE)]
    assert len(lines) + sum(left) == len(shown.entries) + len(shown.clusters)
    assert bool(left) is (count >= 200)
    assert [each.value[0] for each in Section if f"### {each.value[0]}" not in text] == []


def test_what_users_write_around_it_leaves_less_room() -> None:
    versions = {f"clusters/c{number:03}": "v2.8.7" for number in range(60)}
    written = Written({"versions": versions, "releases": {"v2.8.7": "", "v2.8.8": ""}}, "")
    written.do("run")
    (issue,) = (each for each in written.forge.issues.values() if markers.DASHBOARD in each.labels)
    assert "… and" not in issue.body
    theirs = "x" * (LIMIT - 5000)
    written.forge.issues[issue.number] = issue._replace(body=f"{theirs}\n{issue.body}")
    written.do("run")
    assert written.body.startswith(theirs)
    assert len(written.body) <= LIMIT
    assert "… and" in written.body


def test_a_run_for_a_part_of_the_repository_leaves_it_alone() -> None:
    written = Written({"versions": {"clusters/a": "v2.8.7"}, "releases": {"v2.8.7": "", "v2.8.8": ""}}, "")
    inventory = written.world.gathered()._replace(all_paths=None)
    assert inventory.config.dashboard
    assert list(dashboard_steps(inventory._replace(config=Config()), REPOSITORY, ())) == []


class GitServer(MemoryForge):
    """Without pull requests and issues."""

    def fetch(self, question: Question) -> Repository:
        """See the port."""
        return super().fetch(question)._replace(lists_pulls=False)


def test_a_git_server_has_none_and_each_run_says_so() -> None:
    written = Written({"versions": {"clusters/a": "v2.8.7"}, "releases": {"v2.8.7": "", "v2.8.8": ""}}, "")
    written.forge = GitServer(dict(written.world.files))
    written.do("run")
    assert [each for each in written.world.warned if "dashboard" in each] == [
        "dashboard: it needs GitHub, because this Git server has no issues that flux-upgrade can write"
    ]
    assert not written.forge.issues
