"""What the pages of a repository and of its runs show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from github_stand_in import Call, Repository
from github_stand_in.model import Pull

State = Literal["open", "draft", "merged", "closed"]


@dataclass(frozen=True)
class Done:
    """What is left of a job."""

    job: str
    """As the workflow calls it."""
    date: str
    event: str
    log: str
    """As the run's page shows it."""
    outputs: Mapping[str, str]
    summary: str
    calls: Sequence[Call]
    """To the API, in their order."""


def keep_pull_requests(repository: Repository, folder: Path) -> None:
    """Each as its page shows it, and what it changes; in ``pull-requests``, by repository and number."""
    kept = folder / "pull-requests"
    kept.mkdir(exist_ok=True)
    for number, pull in repository.pulls.items():
        name = f"{repository.name}-{number}"
        text = f"# {pull.title} #{number}\n\n**{state_of(pull)}**\n\n{pull.body}\n"
        (kept / f"{name}.md").write_text(text, encoding="utf-8")
        diff = repository.store.git("diff", f"{pull.head_sha}^", pull.head_sha)
        (kept / f"{name}.diff").write_bytes(diff)


def changed_lines(repository: Repository, pull: Pull) -> list[str]:
    """What it removes and adds, without what stands around it."""
    diff = repository.store.git("diff", "--unified=0", f"{pull.head_sha}^", pull.head_sha).decode()
    return [line for line in diff.splitlines() if line[:1] in "+-" and line[:2] != "--"]


def state_of(pull: Pull) -> State:
    """In one word."""
    if pull.merged_at:
        return "merged"
    if pull.state == "open":
        return "draft" if pull.is_draft else "open"
    return "closed"


def results(done: Done) -> str:
    """What a run did about pull requests: the end of its log."""
    return done.log.rpartition("\n\n")[2]


def calls_line(calls: Sequence[Call]) -> str:
    """How many, of what kind, to which repository, or to what is above them."""
    counted = Counter((call.repository or "the account", "write" if call.is_write else "read") for call in calls)
    kinds = (f"{count} {kind}{'s' * (count > 1)} to {name}" for (name, kind), count in counted.items())
    return f"calls: {', '.join(kinds)}"


def writes(calls: Sequence[Call]) -> int:
    """How many of them change something."""
    return sum(call.is_write for call in calls)
