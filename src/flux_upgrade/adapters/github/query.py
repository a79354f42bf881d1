"""What ``fetch`` asks of GitHub's GraphQL API, and what its answers mean. Pure.

Source of the names: https://docs.github.com/graphql/reference. Values travel as
variables; only aliases (``b0``, ``f17``) are put into the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flux_upgrade.adapters.github import branch_rules
from flux_upgrade.model.forge import Question
from flux_upgrade.model.markers import DASHBOARD, PENDING, PROOF
from flux_upgrade.model.values import NamedTuple

MAX_BRANCHES = 50  # of one query: more of them would come near GitHub's limits of cost and time
_PATHS = 2  # for each branch of it
MAX_PULLS = 10  # of one branch, newest first
MAX_EDITS = 100  # of one body, newest first
MAX_LOOKUPS = 1000  # of files in the last commits
_LEAST_COMMITS = 10
PAGED = ("issues", "refs")
"""Lists that go on in the query of each further chunk: the more clusters, the more of them there may be."""

_ISSUE_LISTS = ("issues", "dashboards")

Json = Mapping[str, Any]
Who = tuple[str, str]  # owner and name of a repository

_HEAD = """
fragment Head on Commit {
  oid message
  tree { oid }
  parents(first: 2) { nodes { oid } }
  signature { isValid wasSignedByGitHub }
  status @include(if: $statuses) { context(name: $context) { state } }
}"""
_WHO = "{ __typename login }"
_EDITS = f"""author {_WHO} viewerDidAuthor lastEditedAt
    userContentEdits(first: {MAX_EDITS}) {{ totalCount nodes {{ editedAt editor {_WHO} }} }}
    reopened: timelineItems(last: 1, itemTypes: [REOPENED_EVENT]) {{
      nodes {{ ... on ReopenedEvent {{ createdAt actor {_WHO} }} }}
    }}
    labeled: timelineItems(last: 50, itemTypes: [LABELED_EVENT]) {{
      nodes {{ ... on LabeledEvent {{ createdAt actor {_WHO} label {{ name }} }} }}
    }}"""
"""Who opened and edited a pull request or an issue, and who answered it: see ``who_may``."""
_CLOSED = "timelineItems(last: 1, itemTypes: [CLOSED_EVENT]) { nodes { ... on ClosedEvent { actor { __typename } } } }"
_PULLS = f"""
fragment Pulls on PullRequestConnection {{
  pageInfo {{ hasNextPage endCursor }}
  nodes {{
    id number url state isDraft isCrossRepository baseRefName title body mergeable createdAt closedAt
    mergeStateStatus @include(if: $rules)
    isInMergeQueue @include(if: $rules)
    labels(first: 50) {{ nodes {{ name }} }}
    autoMergeRequest {{ enabledBy {{ __typename login }} }}
    {_CLOSED}
    {_EDITS}
    readied: timelineItems(last: 1, itemTypes: [READY_FOR_REVIEW_EVENT]) {{
      nodes {{ ... on ReadyForReviewEvent {{ createdAt actor {_WHO} }} }}
    }}
    commits(last: 1) {{ nodes {{ commit {{ ...Head }} }} }}
    begun: commits(first: 1) {{ nodes {{ commit {{ ...Head }} }} }}
  }}
}}"""
_NEWEST = "{field: CREATED_AT, direction: DESC}"
_REPOSITORY = """
    id nameWithOwner url isArchived isEmpty viewerDefaultMergeMethod"""
_ISSUE = f"number url state closedAt title body labels(first: 50) {{ nodes {{ name }} }} {_CLOSED} {_EDITS}"
_ISSUES = f"""issues(first: 100, labels: ["{PENDING}"], orderBy: {_NEWEST}%s) @include(if: $issues) {{
      pageInfo {{ hasNextPage endCursor }}
      nodes {{ {_ISSUE} }}
    }}"""
# The oldest: whoever copies ours cannot push it off the page.
_DASHBOARDS = f"""dashboards: issues(
      first: 20, labels: ["{DASHBOARD}"], orderBy: {{field: CREATED_AT, direction: ASC}}
    ) @include(if: $issues) {{
      nodes {{ {_ISSUE} }}
    }}"""
_BASE = """{
      name ...Rules
      target { ... on Commit {
        oid tree { oid }
        recent: history(first: 100) { nodes { oid messageHeadline } }
        %s
      } }
    }"""
_LAST = """last: history(first: %d) {
          nodes {
            oid committedDate
            parents(first: 1) { nodes { oid } }
            status @include(if: $statuses) { contexts { context state creator { __typename login } } }
            %s
          }
        }"""
_OTHERS = "refs(refPrefix: $prefix, first: 100%s) { pageInfo { hasNextPage endCursor } nodes { prefix name } }"
_CLOSED_HEADS = f"closed: pullRequests(states: [CLOSED], first: 100, orderBy: {_NEWEST}) {{ nodes {{ %s }} }}" % (
    "headRefName isCrossRepository"
)
_PULLS_OF = f"pullRequests(headRefName: $%s, first: %s, orderBy: {_NEWEST}%s) {{ ...Pulls }}"

BRANCHES = """query($owner: String!, $name: String!) {
  repository(owner: $owner, name: $name) {
    refs(refPrefix: "refs/heads/", first: 100) { nodes { name } }
  }
}"""
"""Asked for the names that a missing base is near to."""


class Parts(NamedTuple):
    """What is asked for besides, as far as the token may see it, and the server knows it."""

    issues: bool = True
    statuses: bool = True
    rules: bool = True
    viewer: bool = True

    def without(self, errors: Iterable[Json]) -> Parts:
        """Those parts that no error is about."""
        places = {place for error in errors for place in _places(error)}
        return Parts(
            issues=self.issues and places.isdisjoint(_ISSUE_LISTS),
            statuses=self.statuses and "status" not in places,
            rules=self.rules and places.isdisjoint(branch_rules.FIELDS),
            viewer=self.viewer and "viewer" not in places,
        )


class Chunk(NamedTuple):
    """What one query asks of a question: the numbers of its branches, and of its paths."""

    branches: range
    paths: range

    @classmethod
    def of(cls, question: Question, begin: Chunk | None, most: int) -> Chunk:
        """The chunk after ``begin`` (None: the first), with at most ``most`` branches, and twice as many paths."""
        branch, path = (0, 0) if begin is None else (begin.branches.stop, begin.paths.stop)
        return cls(
            range(branch, min(branch + most, len(question.branches))),
            range(path, min(path + _PATHS * most, len(question.paths))),
        )

    @property
    def half(self) -> int:
        """The ``most`` of a chunk of half the size; 0 if this one cannot be divided."""
        return max(len(self.branches), -(-len(self.paths) // _PATHS)) // 2

    def is_last(self, question: Question) -> bool:
        return (self.branches.stop, self.paths.stop) == (len(question.branches), len(question.paths))


def is_about_parts(error: Json) -> bool:
    """Whether an error is about something that can be left out."""
    return not _places(error).isdisjoint({*_ISSUE_LISTS, "status", "viewer", *branch_rules.FIELDS})


def permission_for(answer: object) -> str:
    """What a token needs to see the first thing that an answer's errors are about."""
    errors = answer.get("errors") if isinstance(answer, dict) else None
    for error in errors if isinstance(errors, list) else ():
        if isinstance(error, dict) and any(re.fullmatch(r"q\d+|closed", place) for place in _places(error)):
            return "pull-requests: read"
    return "contents: read"


def _places(error: Json) -> set[str]:
    path = error.get("path")
    return {place for place in path if isinstance(place, str)} if isinstance(path, list) else set()


class Query(NamedTuple):
    text: str
    variables: Mapping[str, object]


class _Builder:
    def __init__(self, who: Who, parts: Parts) -> None:
        self._types = {"owner": "String!", "name": "String!", "context": "String!"}
        self._values: dict[str, object] = {"owner": who[0], "name": who[1], "context": PROOF}
        self.flags = {"issues": parts.issues, "statuses": parts.statuses, "rules": parts.rules}
        self.viewer = " viewer { login }" if parts.viewer else ""

    def variable(self, name: str, value: object, kind: str = "String!") -> None:
        self._types[name], self._values[name] = kind, value

    def branches(self, question: Question, numbers: range) -> str:
        lines = []
        asked = question.branches[numbers.start : numbers.stop]
        for number, name in zip(numbers, asked, strict=True):
            self.variable(f"b{number}", name)
            self.variable(f"r{number}", f"refs/heads/{name}")
            lines.append(f"b{number}: ref(qualifiedName: $r{number}) {{ target {{ ...Head }} ...Rules }}")
            lines.append(f"q{number}: {_PULLS_OF % (f'b{number}', MAX_PULLS, '')}")
        for number, name in enumerate(branch_rules.parents_of(asked)):
            alias = f"w{numbers.start}_{number}"
            self.variable(alias, f"refs/heads/{name}")
            lines.append(f"{alias}: ref(qualifiedName: ${alias}) {{ prefix name }}")
        return "\n    ".join(lines)

    def files(self, question: Question, numbers: range) -> str:
        lines = []
        for number, path in zip(numbers, question.paths[numbers.start : numbers.stop], strict=True):
            self.variable(f"p{number}", path)
            lines.append(f"f{number}: file(path: $p{number}) {{ oid mode type }}")
            lines.append(f"h{number}: history(first: 5, path: $p{number}) {{ nodes {{ message committedDate }} }}")
        return "\n        ".join(lines)

    def last(self, question: Question) -> str:
        """The last commits, and what they hold of what is watched: fewer of them, the more that is."""
        if not question.watched:
            return ""
        for number, path in enumerate(question.watched):
            self.variable(f"l{number}", path)
        files = " ".join(f"f{number}: file(path: $l{number}) {{ oid }}" for number in range(len(question.watched)))
        return _LAST % (max(_LEAST_COMMITS, min(100, MAX_LOOKUPS // len(question.watched))), files)

    def list(self, name: str, question: Question, cursor: str = "") -> str:
        """A page of one of ``PAGED``."""
        if name == "refs":
            self.variable("prefix", f"refs/heads/{question.prefix.rpartition('/')[0]}/")
        if cursor:
            self.variable(f"after_{name}", cursor)
        return (_OTHERS if name == "refs" else _ISSUES) % (f", after: $after_{name}" if cursor else "")

    def query(self, body: str, fragments: str, beside: str = "") -> Query:
        for name, value in self.flags.items():
            if f"${name}" in body + fragments:
                self.variable(name, value, "Boolean!")
        used = {name: kind for name, kind in self._types.items() if f"${name}" in body + fragments}
        used |= {"owner": "String!", "name": "String!"}
        declared = ", ".join(f"${name}: {kind}" for name, kind in used.items())
        inside = f"repository(owner: $owner, name: $name) {{{body}\n  }}"
        text = f"query({declared}) {{\n {beside} {inside}\n}}{fragments}"
        return Query(text, {name: self._values[name] for name in used})


def first(who: Who, question: Question, chunk: Chunk, parts: Parts) -> Query:
    builder = _Builder(who, parts)
    field = "defaultBranchRef"
    if question.base:
        builder.variable("base", f"refs/heads/{question.base}")
        field = "ref(qualifiedName: $base)"
    files = f"{builder.files(question, chunk.paths)} {builder.last(question)}".rstrip()
    branches = builder.branches(question, chunk.branches)
    lists = PAGED if "/" in question.prefix else PAGED[:1]
    pages = "\n    ".join(builder.list(name, question) for name in lists)
    body = f"{_REPOSITORY}\n    {pages}\n    {_DASHBOARDS}\n    base: {field} {_BASE % files}\n    {branches}"
    if branches:
        body += f"\n    {branch_rules.RULESETS}"
    if question.prefix:
        body += f"\n    {_CLOSED_HEADS}"
    return builder.query(body, branch_rules.RULES + (_HEAD + _PULLS if branches else ""), builder.viewer)


def more(who: Who, question: Question, seen: Json, chunk: Chunk, parts: Parts) -> Query:
    """A chunk of what ``first`` left out; files at the commit that was ``seen`` so far."""
    builder = _Builder(who, parts)
    files, body = builder.files(question, chunk.paths), builder.branches(question, chunk.branches)
    fragments = _HEAD + _PULLS + branch_rules.RULES if body else ""
    body += "".join(f"\n    {builder.list(name, question, cursor)}" for name, cursor in _cursors(seen))
    if files:
        builder.variable("oid", seen["base"]["target"]["oid"], "GitObjectID!")
        body = f"object(oid: $oid) {{ ... on Commit {{\n        {files}\n      }} }}\n    {body}"
    return builder.query(f"\n    {body}", fragments)


def further_pulls(who: Who, cursors: Mapping[int, tuple[str, str]], parts: Parts) -> Query:
    """The next pull requests of some branches: number → branch and cursor.

    Anybody may open a pull request from a fork's branch of the same name: ours must not drown in them.
    """
    builder = _Builder(who, parts)
    lines = []
    for number, (branch, cursor) in cursors.items():
        builder.variable(f"b{number}", branch)
        builder.variable(f"c{number}", cursor)
        lines.append(f"q{number}: {_PULLS_OF % (f'b{number}', 100, f', after: $c{number}')}")
    return builder.query("\n    " + "\n    ".join(lines), _HEAD + _PULLS)


def joined(seen: Json, answer: Json) -> Json:
    """What was seen before, with the branches and the pages that ``answer`` adds. All else stays as it is.

    An answer has the names of ``first`` again, like ``viewer``, without having been asked for them.
    """
    pages = {name: {**answer[name], "nodes": [*seen[name]["nodes"], *answer[name]["nodes"]]} for name in _lists(answer)}
    return {**answer, **seen, **pages}


def _cursors(seen: Json) -> Iterator[tuple[str, str]]:
    """The lists that go on, and where."""
    pages = ((name, seen[name]["pageInfo"]) for name in _lists(seen))
    return ((name, page["endCursor"]) for name, page in pages if page["hasNextPage"])


def _lists(answer: Json) -> Iterator[str]:
    return (name for name in PAGED if answer.get(name))
