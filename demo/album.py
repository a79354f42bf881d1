"""``index.html``: the pull requests and job summaries of the demo on one page, as GitHub shows them."""

from __future__ import annotations

import re
from pathlib import Path

import github_page
from github_markdown import rendered
from github_stand_in import Repository
from github_stand_in.model import Pull
from index_page import Act, Entry, in_repository, index_page, shown_diff
from pages import Done, State, state_of
from short_diff import in_short
from telling import Teller

_PULL_REQUEST = re.compile(r"https?://127\.0\.0\.1:\d+/acme/([\w-]+)/pull/(\d+)")
_LOOPBACK = re.compile(r"https?://127\.0\.0\.1\b")


class Album(Teller):
    """Tells ``teller`` everything, and keeps the pages that it is told of."""

    def __init__(self, teller: Teller) -> None:
        self._teller = teller
        self._acts: list[Act] = []
        self._title = ("", 0)
        self._entries: list[Entry] = []
        self._repositories: dict[str, Repository] = {}
        self._texts: dict[tuple[str, int], tuple[str, str]] = {}
        """Repository and number → title and body, when they were last shown."""
        self._states: dict[tuple[str, int], State] = {}
        self._anchors: dict[tuple[str, int], str] = {}

    def act(self, title: str, number: int = 0) -> None:
        self._title = (title, number)
        self._entries = []
        self._teller.act(title, number)

    def say(self, text: str = "") -> None:
        self._teller.say(text)

    def show(self, what: str, markdown: str) -> None:
        self._teller.show(what, markdown)

    def ran(self, repository: Repository, done: Done) -> None:
        """Its summary, and the pull requests that have another text since."""
        self._repositories[repository.name] = repository
        at = len(self._entries)
        for number, pull in repository.pulls.items():
            if self._texts.get((repository.name, number)) != (pull.title, pull.body):
                self._show_pull(repository, pull)
        summary = rendered(done.summary, address=self._address)
        content = github_page.job_summary(done.job, summary, f"{repository.full_name} · {done.date} · {done.event}")
        self._entries.insert(at, Entry(self._anchor("summary"), "Job summary", content))
        self._teller.ran(repository, done)

    def lost(self, diff: str) -> None:
        content = shown_diff("\n".join(in_short(diff)), diff)
        self._entries.append(Entry(self._anchor("lost"), "What the usual recipe loses", content))
        self._teller.lost(diff)

    def outcome(self, when: str, text: str) -> None:
        title, number = self._title
        self._acts.append(Act(number, title, when, text, [*self._entries, *self._changed()]))
        self._teller.outcome(when, text)

    def end(self, folder: Path) -> None:
        (folder / "index.html").write_text(index_page(self._acts), encoding="utf-8")
        self._teller.end(folder)

    def _anchor(self, name: str) -> str:
        return f"act-{self._title[1]}-{name}-{len(self._entries)}"

    def _show_pull(self, repository: Repository, pull: Pull) -> None:
        key, state = (repository.name, pull.number), state_of(pull)
        self._texts[key], self._states[key] = (pull.title, pull.body), state
        self._anchors[key] = self._anchor(f"{repository.name}-{pull.number}")
        body = rendered(pull.body, is_discussion=True, address=self._address)
        content = in_repository(
            repository.full_name, github_page.pull_request(pull.title, body, state, number=pull.number)
        )
        self._entries.append(Entry(self._anchors[key], f"#{pull.number} {pull.title}", content, state))

    def _changed(self) -> list[Entry]:
        """The pull requests whose text is the same, and whose state is not."""
        entries = []
        for name, repository in self._repositories.items():
            for number, pull in repository.pulls.items():
                key, state = (name, number), state_of(pull)
                if key in self._states and self._states[key] != state:
                    self._states[key] = state
                    label = f"#{number} {pull.title}"
                    content = github_page.pull_request_line(label, state, self._anchors[key], pull.merged_by)
                    anchor = f"act-{self._title[1]}-{name}-{number}-{state}"
                    entries.append(Entry(anchor, label, content, state))
        return entries

    def _address(self, address: str) -> str:
        """Where it leads to on the page. What only the stand-in has is no link."""
        if found := _PULL_REQUEST.match(address):
            anchor = self._anchors.get((found[1], int(found[2])))
            return f"#{anchor}" if anchor else ""
        return "" if _LOOPBACK.match(address) else address
