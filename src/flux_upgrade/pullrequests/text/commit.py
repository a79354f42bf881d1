"""Title, commit message, status and hidden state of a pull request, and why it is held or closed."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.impact.stored_versions.history import HistoryQuery, written
from flux_upgrade.model import markers
from flux_upgrade.model.forge import Status
from flux_upgrade.model.markdown import code, inert, plain, prose, shortened, visible
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.model.text import capitalized
from flux_upgrade.model.unknown import known_or
from flux_upgrade.planning.plan import files_after, files_before
from flux_upgrade.planning.proposal import Proposal, ProposalContext
from flux_upgrade.policy.decision import Hold, OnFailure
from flux_upgrade.pullrequests.text import migration
from flux_upgrade.pullrequests.text.cluster_changes import way_back_of
from flux_upgrade.pullrequests.text.verification import checksums, pins_phrase, summed
from flux_upgrade.pullrequests.text.view import View
from flux_upgrade.report.wording import proof_phrase

TITLE = 250  # GitHub takes 256 characters
_FEW = 2
_LEAST = 4
# The types of commitlint's conventional preset. Others would take "staging: fix x" for one.
_CONVENTIONAL = re.compile(
    r"(?P<type>build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)"
    r"(?:\((?P<scope>[^()]*)\))?!?: (?P<what>\S+)"
)
_UPDATES = {"bump", "update", "upgrade"}
_PREFIXES = ("chore(deps)", "build(deps)", "fix(deps)", "chore", "build")
_SUBJECT = 72  # Characters that Git's own tools show of a subject line
DESCRIPTION = 140  # What GitHub takes
_MOST_MOVED = 300
_ROOM = 8_000  # Characters of a body for what was read in histories
_HELD = "**Do not merge this now**"


def title(proposal: Proposal, context: ProposalContext) -> str:
    return shortened(headline(proposal, context, where=True), TITLE)


def conventional_prefix(headlines: Sequence[str]) -> str:
    """What this history puts before updates of dependencies; empty where it has no conventional commits.

    It has them where at least half of four or more headlines are ones, merges aside.
    """
    own = [line for line in headlines if not line.startswith("Merge ")]
    found = [match for match in map(_CONVENTIONAL.match, own) if match]
    if len(own) < _LEAST or 2 * len(found) < len(own):
        return ""
    used = Counter(_prefix(match) for match in found)
    return max(_PREFIXES, key=lambda prefix: used[prefix])


def _prefix(match: re.Match[str]) -> str:
    scope = match["scope"] or ""
    if scope.partition("-")[0] == "deps":
        return f"{match['type']}(deps)"
    return match["type"] if not scope and match["what"].lower() in _UPDATES else ""


def headline(proposal: Proposal, context: ProposalContext, *, where: bool) -> str:
    """``where``: with the name of the group or the folder."""
    view = View(proposal, context)
    place = view.name if where else ""
    text = migration.what(view, place) if view.is_migration else _what(view)
    if place and not view.is_migration:
        text += f" in {place}" + (f" ({view.share})" if view.share else "")
    return as_in_history(text, context)


def as_in_history(text: str, context: ProposalContext) -> str:
    if context.conventional:
        text = f"{context.conventional}: {text[0].lower()}{text[1:].replace('Flux', 'flux', 1)}"
    return inert(text)


def _what(view: View) -> str:
    targets = view.targets
    if not view.moves and any(upgrade.flags for _, upgrade in view.upgrades):
        return "Change Flux's install flags"
    if not view.moves or view.aligns:
        return f"Align Flux with {targets[-1]}" if len(targets) == 1 else "Align Flux with its releases"
    what = "Upgrade the Flux CLI" if view.is_tools else "Upgrade Flux"
    return f"{what} to {' and '.join(targets)}" if len(targets) <= _FEW else what


def commit_message(proposal: Proposal, context: ProposalContext) -> str:
    """Subject, proof, and trailers, which ``markers.sealed`` completes with the digest."""
    view = View(proposal, context)
    headlines = (headline(proposal, context, where=where) for where in (True, False))
    verification = textwrap.fill(_verification(view), _SUBJECT)
    trailers = (proposal.slug, proposal.bump_kind, proposal.target, plan_digest(proposal))
    return message(headlines, f"In {inert(view.name)}.", (verification,), trailers)


def message(
    headlines: Iterable[str], where: str, paragraphs: Iterable[str], trailers: tuple[str, str, str, str]
) -> str:
    """``headlines``: one with the place, and one without it for where the first is too long.

    ``where``: a sentence with the place, for the second. ``trailers``: group, subject, target, digest of
    the plan.
    """
    whole, short = headlines
    subject = whole if len(whole) <= _SUBJECT else shortened(short, _SUBJECT)
    named = zip(("Group", "Subject", "Target", "Plan"), trailers, strict=True)
    return "\n\n".join(
        [
            subject,
            *([textwrap.fill(where, _SUBJECT)] if subject != whole and where else ()),
            *paragraphs,
            "".join(f"Flux-Upgrade-{name}: {visible(value)}\n" for name, value in named),
        ]
    )


def plan_digest(proposal: Proposal) -> str:
    """Changes whenever a file that was read, or what is written in its place, does; and at no other time."""
    after = files_after(proposal.upgrades)
    before = files_before(proposal.upgrades)
    return changes_digest((path, before[path], after[path]) for path in after)


def changes_digest(changes: Iterable[tuple[str, bytes | None, bytes]]) -> str:
    """Of path, what was read (None: there is no such file), and what is written in its place."""
    lines = sorted((path, "" if before is None else _sha256(before), _sha256(after)) for path, before, after in changes)
    # Paths have no NUL, so that no two plans read the same.
    return "sha256:" + _sha256("".join(f"{part}\0" for line in lines for part in line).encode())


def status(proposal: Proposal) -> Status:
    """The verification, beside the checks. No rule should require it: other pull requests do not have it."""
    summary = _verification(View(proposal, ProposalContext(())))
    return Status(markers.PROOF, "success", shortened(summary, DESCRIPTION))


def _verification(view: View) -> str:
    """The verification, for the history and the status."""
    sentences = [migration.history_sentence(view)] if view.is_migration else []
    if view.manifests:
        sentences = [summed(proof_phrase(each.proof) for each in view.manifests), checksums(view)]
    if view.pins:
        sentences.append(pins_phrase(view))
    if view.moved and not view.is_migration:
        sentences.append(migration.history_sentence(view))
    return f"{'. '.join([*sentences[:1], *map(capitalized, sentences[1:])])}."


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def state_for(proposal: Proposal, context: ProposalContext) -> MarkerState:
    """What is written into a pull request beside its text."""
    moved = [markers.content_entry(plan.path, plan.pin.content) for plan, each in proposal.upgrades if each.waiting]
    return MarkerState(
        group=proposal.slug,
        subject=proposal.bump_kind,
        target=proposal.target,
        pending=proposal.is_draft,
        approval=proposal.approval,
        title=markers.digest_of(title(proposal, context)),
        paths=tuple(
            sorted(
                {
                    markers.path_entry(path, upgrade.target, proposal.target)
                    for plan, upgrade in proposal.upgrades
                    # The installations that it is about, whatever files it changes.
                    for path in upgrade.waiting or (plan.path,)
                }
            )
        ),
        migrate=",".join(proposal.migrates_at),
        stored=tuple(_stored(proposal)),
        config=context.config,
        way_back=way_back_of(View(proposal, context)) if proposal.group.ring.on_failure is OnFailure.REVERT else "",
        moved=tuple(moved[:_MOST_MOVED]),
        rings=proposal.rings,
    )


def _stored(proposal: Proposal) -> Iterator[str]:
    """What the next run need not look up in the history again, as far as there is room for it."""
    room = _ROOM
    for plan, upgrade in proposal.upgrades:
        impact, found = upgrade.impact, plan.pin
        if impact is None or not any(crd.removed for crd in known_or(impact.crds, ())):
            continue
        asked = HistoryQuery(plan.path, found.content, found.version, upgrade.target, impact.migrated)
        line = written(asked, impact.stored)
        room -= len(line)
        if line and room >= 0:
            yield line


def closing(body: str, state: MarkerState, why: str) -> str:
    """``body`` with ``why``, one sentence, above our text, and ``state``, which says that we closed it.

    What people wrote stays; where they have removed our block, it is put below.
    """
    said = f"**Closed:** {plain(why)}"
    before = markers.text_of(body)
    text = said if before is None else before if before.startswith(said) else f"{said}\n\n{before}"
    return markers.restored(body, markers.block(text, state))


def held(body: str, state: MarkerState, hold: Hold) -> str:
    """``body`` with what is in the way above our text, and ``state``, which says that it waits.

    If a person has removed our block, it is put below.
    """
    hint = f" {prose(capitalized(hold.hint))}." if hold.hint else ""
    said = f"{_HELD} ({code(hold.reason)}): {prose(hold.detail)}.{hint} flux-upgrade recreates it after that."
    # As a person's browser sends it.
    before = (markers.text_of(body) or "").replace("\r\n", "\n")
    first, _, rest = before.partition("\n\n")
    text = rest if first.startswith(_HELD) else "\n\n".join(filter(None, (first, rest)))
    return markers.restored(body, markers.block(f"{said}\n\n{text}", state))
