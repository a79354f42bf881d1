"""What flux-upgrade writes for itself into commits and pull requests, and reads again.

A commit carries trailers, the last with a digest: a commit is ours if it has one
parent and the digest fits. A pull request's body carries a block between two
comments, the first of which holds a ``MarkerState`` as JSON; all text outside the block
belongs to people.
"""

from __future__ import annotations

import hashlib
import json
import re
from enum import StrEnum
from typing import Any

from flux_upgrade.model.text import json_of
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from flux_upgrade.model.forge import Commit

DIGEST = "Flux-Upgrade-Digest"
APPROVAL = "Flux-Upgrade-Approval"
OPENING = "Flux-Upgrade-Opening"
"""The same, on a commit that a pull request was to be opened with: should the run end before it is."""
GROUP = "Flux-Upgrade-Group"
SUBJECT = "Flux-Upgrade-Subject"
TARGET = "Flux-Upgrade-Target"
REBASE = "rebase"
SKIP = "skip"
ACCEPT = "accept"  # The box by which people accept what breaks; its entry follows
AUTO_MERGE, AUTO_MERGE_OFF = "auto-merge", "auto-merge:off"
"""Of ``MarkerState.given``: we turned it on; we turned it off again."""
STATUS = "status"
REFUSED = "refused:"
"""Of ``MarkerState.given``: the server refused the name that follows, or the status, and gets it again with the next
commit."""
MIGRATED = "migrated"  # The box by which people say that `flux migrate` ran in the cluster
PROOF = "flux-upgrade/proof"  # The context of the commit status
APPROVED_LABEL = "flux-upgrade/approved"  # Approves an upgrade
REBASE_LABEL = "flux-upgrade/rebase"  # Has an edited branch recreated
PENDING = "flux-upgrade/pending"  # The label of the issues that stand in for drafts
DASHBOARD = "flux-upgrade/dashboard"  # The label of the issue that is the dashboard
_TRAILER = re.compile(r"^(Flux-Upgrade-[A-Za-z]+): (.+)$", re.MULTILINE)
# What is written has neither < nor >: a body of anybody's cannot make the search long.
_BEGIN = re.compile(r"<!-- flux-upgrade (\{[^<>\n]*\}) -->\r?\n")
_BOX = re.compile(r"^([ \t]*- )\[[xX]\]( <!-- flux-upgrade:([a-z0-9.-]+) -->)", re.MULTILINE)
_ACCEPTED = re.compile(rf"^[ \t]*- \[[xX]\] <!-- flux-upgrade:{ACCEPT}-([0-9a-f]+) -->", re.MULTILINE)
_TICKED = re.compile(r"^[ \t]*- \[[xX]\] <!-- flux-upgrade:([a-z0-9.-]+) -->", re.MULTILINE)
_END = "<!-- /flux-upgrade -->"
_COMMENT = re.compile(r"<!-- /?flux-upgrade[^<>\n]*-->")


class WayBack(StrEnum):
    """Whether the API server takes the older CRDs back once an upgrade was merged."""

    SAFE = "safe"
    REFUSED = "refused"  # The cluster stores objects in API versions that they do not have
    UNKNOWN = "unknown"


class MarkerState(NamedTuple):
    """What the next run has to know of a pull request (or issue) of ours."""

    group: str  # The slug
    subject: str
    target: Version  # The highest release that it proposes
    pending: bool = False  # We made it a draft because it needs approval
    approval: str = ""  # What was approved: `2.9` or `v2.9.4`
    title: str = ""  # Digest of the title that we gave it: another title is a person's
    paths: tuple[str, ...] = ()
    """``digest_of`` each file that it changes, and ``@v2.8.8`` where that one goes to another release."""
    closed: str = ""  # Why we closed it; empty for one that a person closed
    stopped: bool = False  # A comment says that we no longer keep it current
    way_back: str = ""
    """Whether the API server accepts the earlier CRDs again: ``WayBack``; empty if reverts are not configured."""
    failed: str = ""  # Oid of the commit on which Flux reported a failure after it was merged: a comment says so
    migrate: str = ""  # The releases at which `flux migrate` has run once the box is ticked, tags with commas between
    stored: tuple[str, ...] = ()  # What was read in the history, see `stored.memory`
    held: str = ""  # That it must not be merged now: `draft` where we made it one for that, else `said`
    config: str = ""  # The config file that it was made under; empty for the usual one
    moved: tuple[str, ...] = ()  # `content_entry` of each file whose resources are moved, as far as there is room
    given: tuple[str, ...] = ()
    """`label:flux`: what it was given, see ``Extras.names``. What a person takes away later is not given again."""
    answers: tuple[str, ...] = ()  # Answers whose authors the Git host was asked about, as ``AnswerRecord`` writes them
    rings: tuple[str, ...] = ()  # About the groups before, ``RingMemory.entry``


def content_entry(path: str, content: bytes) -> str:
    """An entry of ``MarkerState.moved``: a file as it was before."""
    return digest_of(f"{path}\0{hashlib.sha256(content).hexdigest()}")


def break_entry(path: str, target: str, breaks: Iterable[str]) -> str:
    """What people accept: all that breaks in one installation with one release. Anything else is asked anew."""
    return digest_of("\0".join([path, target, *breaks]))


def ring_entry(slug: str, target: str, after: Iterable[str]) -> str:
    """What people accept: that an update group does not wait for the groups before it, with one release."""
    return digest_of("\0".join(["after", slug, target, *after]))


def path_entry(path: str, target: str, highest: str) -> str:
    """An entry of ``MarkerState.paths``."""
    return digest_of(path) + (f"@{target}" if target != highest else "")


ANY_PATH = "*"
"""Of ``MarkerState.paths``: which files it is about is not known any more, so it is about all of its group."""


def target_of(state: MarkerState, path: str) -> Version | None:
    """The release that ``path`` goes to; None where the state is not about it."""
    if not state.paths or ANY_PATH in state.paths:
        return state.target
    targets = dict(entry.partition("@")[::2] for entry in state.paths)
    digest = digest_of(path)
    return (Version(targets[digest]) or state.target) if digest in targets else None


def digest_of(text: str) -> str:
    """A short digest: it tells texts apart, and guards nothing."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def sealed(message: str, tree: str) -> str:
    """A commit message with the trailer that says what we wrote: ``tree``, under this message."""
    return f"{_plain(message)}\n{DIGEST}: {_seal(message, tree)}\n"


def is_ours(commit: Commit) -> bool:
    """Whether nobody but us had a hand in a commit: one parent, and the digest fits."""
    found = trailers(commit.message).get(DIGEST, "")
    return len(commit.parents) == 1 and bool(found) and found == _seal(commit.message, commit.tree)


def trailers(message: str) -> dict[str, str]:
    return dict(_TRAILER.findall(_plain(message, keep_digest=True)))


def _seal(message: str, tree: str) -> str:
    return "sha256:" + hashlib.sha256(f"{tree}\n{_plain(message)}".encode()).hexdigest()


def _plain(message: str, *, keep_digest: bool = False) -> str:
    """Without the digest, and without the white space that forges add and take away."""
    lines = [line.rstrip() for line in message.strip().splitlines()]
    return "\n".join(line for line in lines if keep_digest or not line.startswith(f"{DIGEST}: "))


def block(text: str, state: MarkerState) -> str:
    return _framed(text, {key: value for key, value in state._asdict().items() if value})


def dashboard_block(text: str, scope: str, answers: tuple[str, ...] = ()) -> str:
    """As ``block``, for the dashboard. ``scope``: what it is about, should a repository have several."""
    return _framed(text, {"dashboard": scope, **({"answers": answers} if answers else {})})


def answers_of(body: str) -> tuple[str, ...]:
    """Return ``MarkerState.answers`` of a pull request, an issue or a dashboard."""
    return _texts((_content(body) or {}).get("answers"))


def with_answers(body: str, answers: tuple[str, ...]) -> str | None:
    """Return ``body`` with another ``MarkerState.answers``; None if it has no block, or that changes nothing."""
    begin, content = _BEGIN.search(body), _content(body)
    if begin is None or content is None or answers_of(body) == answers:
        return None
    return body[: begin.start()] + _begin({**content, "answers": answers}) + body[begin.end() :]


def dashboard_scope(body: str) -> str | None:
    """The scope of a dashboard; None for any other body."""
    content = _content(body)
    scope = content.get("dashboard") if content is not None else None
    return scope if isinstance(scope, str) else None


def _framed(text: str, state: Mapping[str, object]) -> str:
    return f"{_begin(state)}{text.strip()}\n{_END}\n"


def _begin(state: Mapping[str, object]) -> str:
    content = json.dumps(state)
    # A comment ends at the first `-->`, whatever stands in the JSON.
    safe = content.replace("<", "\\u003c").replace(">", "\\u003e").replace("--", "-\\u002d")
    return f"<!-- flux-upgrade {safe} -->\n"


_LISTS = ("paths", "stored", "moved", "given", "answers", "rings")


def state_of(body: str) -> MarkerState | None:
    """The state in a body; None where there is none that can be read."""
    content = _content(body)
    if content is None:
        return None
    known = {name: content[name] for name in MarkerState._fields if name in content}
    lists = [known.pop(name, []) for name in _LISTS]
    paths, *_ = lists
    kinds: dict[str, type] = {"pending": bool, "stopped": bool}
    if not {"group", "subject", "target"} <= set(known) or not isinstance(paths, list):
        return None
    if any(not isinstance(value, kinds.get(name, str)) for name, value in known.items()):
        return None
    known["target"] = Version(known["target"])
    known |= {name: _texts(value) for name, value in zip(_LISTS, lists, strict=True)}
    return MarkerState(**known)


def _content(body: str) -> dict[str, Any] | None:
    """What the first comment of our block holds."""
    begin = _BEGIN.search(body)
    found: dict[str, Any] | None = json_of(begin[1]) if begin is not None else None
    return found


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def replaced(body: str, ours: str) -> str | None:
    """``body`` with our block anew, all else untouched; None where it has no block any more.

    Forges answer with CRLF where a person edited in the browser.
    """
    found = _span(body)
    return None if found is None else body[: found[0]] + ours.rstrip("\n") + body[found[2] + len(_END) :]


def restored(body: str, ours: str) -> str:
    """``body`` with our block, below the text of a person if there is no whole block.

    What is left of an earlier one becomes text like any other.
    """
    new = replaced(body, ours)
    return "\n\n".join(filter(None, (_COMMENT.sub("", body).rstrip(), ours))) if new is None else new


def without_given(body: str, names: Collection[str]) -> str:
    """``body``, whose state claims that ``names`` were given, without this claim."""
    state, text = state_of(body), text_of(body)
    if state is None or text is None or not set(names) & set(state.given):
        return body
    kept = tuple(each for each in state.given if each not in names)
    return replaced(body, block(text, state._replace(given=kept))) or body


def with_refused(body: str, names: Collection[str]) -> str:
    """``body``, whose state records that the server refused ``names``; as it is where it has no state."""
    state, text = state_of(body), text_of(body)
    if state is None or text is None or not names:
        return body
    given = {*state.given} - {*names} | {REFUSED + name for name in names}
    return replaced(body, block(text, state._replace(given=tuple(sorted(given))))) or body


def is_same(body: str, other: str) -> bool:
    """Whether two bodies differ by line ends at most, which forges change."""
    return body.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()


def text_of(body: str) -> str | None:
    """The text of our block; None where ``body`` has none any more."""
    found = _span(body)
    return body[found[1] : found[2]].strip() if found is not None else None


def _span(body: str) -> tuple[int, int, int] | None:
    """Find the offsets of our block, of its text, and of the end of that; None where there is no whole block."""
    begin = _BEGIN.search(body)
    end = body.find(_END, begin.end()) if begin is not None else -1
    return (begin.start(), begin.end(), end) if begin is not None and end >= 0 else None


def checkbox(name: str, text: str, *, is_ticked: bool = False) -> str:
    return f"- [{'x' if is_ticked else ' '}] <!-- flux-upgrade:{name} --> {text}"


def unticked(body: str, *names: str) -> str:
    """``body`` with boxes open again: a tick is about the pull request as it was then."""
    return _BOX.sub(lambda found: f"{found[1]}[ ]{found[2]}" if found[3] in names else found[0], body)


def without_ticks(body: str, *kept: str) -> str:
    """Return ``body`` with all boxes open but those named ``kept``."""
    return _BOX.sub(lambda found: found[0] if found[3] in kept else f"{found[1]}[ ]{found[2]}", body)


def accepted(body: str) -> list[str]:
    """Of the boxes that say what breaks, the entries of those that are ticked."""
    return _ACCEPTED.findall(body)


def ticked(body: str) -> frozenset[str]:
    """The names of all boxes of our block that are ticked."""
    return frozenset(_TICKED.findall(text_of(body) or ""))


def is_ticked(body: str, name: str) -> bool:
    return re.search(rf"^[ \t]*- \[[xX]\] <!-- flux-upgrade:{re.escape(name)} -->", body, re.MULTILINE) is not None
