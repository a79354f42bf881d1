"""Title, body, commit and status are stable, fit into GitHub's limits, and survive hostile text."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from flux_upgrade.model import markers
from flux_upgrade.model.forge import Commit
from flux_upgrade.model.markdown import code, fenced, plain, shortened, table
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.planning.proposal import Proposal
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.pullrequests.text import body as pages
from flux_upgrade.pullrequests.text import commit
from flux_upgrade.pullrequests.text.view import labels
from planned import change_of
from replacing import replace
from written_proposals import Stated, proposal, proposal_context, state

EDIT = ("replicas: 1", "replicas: 2", "helm-controller")
MANY = "clusters/{n}/flux-system/gotk-components.yaml"
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")


@cache
def group() -> Proposal:
    """Of seven installations, two of them held."""
    return proposal(
        Stated(path=MANY, count=4),
        Stated(path="b/gotk-components.yaml", version="v2.8.7", edits=[EDIT], options={"log-level": "debug"}),
        Stated(path="c/gotk-components.yaml", edits=[EDIT], held={"reason": "edit-conflict", "detail": "no"}),
        Stated(path="d/gotk-components.yaml", held={"reason": "unreadable", "detail": "broken", "until": "2026-08-09"}),
        name="all",
    )


def body(of: Proposal, **facts: Any) -> str:
    return pages.body(of, proposal_context(**facts), state(of))


def test_the_order_in_which_things_were_found_changes_nothing() -> None:
    texts, digests, messages = set(), set(), set()
    for seed in range(5):
        shuffled = random.Random(seed)  # noqa: S311 an order, no secret
        context = proposal_context({"v2.9.0": "notes"})
        context = replace(context, releases=tuple(shuffled.sample(context.releases, len(context.releases))))
        other = replace(
            group(),
            upgrades=tuple(shuffled.sample(group().upgrades, len(group().upgrades))),
            held=tuple(shuffled.sample(group().held, len(group().held))),
        )
        texts.add(pages.body(other, context, state(other)))
        digests.add(commit.plan_digest(other))
        messages.add(commit.commit_message(other, context))
    assert len(texts) == len(digests) == len(messages) == 1


def test_who_is_held_is_named_with_the_reason() -> None:
    text = body(group())
    assert "5 of 7 clusters" in text
    assert "`c` stays at the current version: no (`edit-conflict`)." in text
    assert "`d` stays at the current version: broken, until 2026-08-09 (`unreadable`)." in text


@pytest.mark.parametrize("limit", [6_000, 20_000, 65_536])
def test_two_hundred_installations_with_edits_of_their_own_fit(limit: int) -> None:
    one = proposal(Stated(edits=[("memory: 1Gi", "memory: 2Gi")])).upgrades[0]
    many = replace(group(), upgrades=tuple(map(_moved, [one] * 200, range(200))), clusters=(200, 202))
    text = body(many, limit=limit)
    assert len(text) <= limit
    assert "200 of 202 clusters" in text
    assert re.search(r"… and \d+ more", text)
    assert text.count("<details>") == text.count("</details>")


def _moved(one: tuple[Plan, Upgrade], number: int) -> tuple[Plan, Upgrade]:
    """The same elsewhere, with edits that are nobody else's."""
    plan, upgrade = one
    kept = tuple(replace(edit, new=f"{edit.new}-{number}") for edit in change_of(upgrade).carried.kept)
    manifest = replace(change_of(upgrade), carried=replace(change_of(upgrade).carried, kept=kept))
    change = replace(upgrade.change, manifest=manifest)
    return replace(plan, path=f"clusters/{number}/gotk-components.yaml"), replace(upgrade, change=change)


def test_what_is_too_long_even_so_is_said_in_one_line() -> None:
    text = body(group(), remarks=("x" * 5_000,), limit=4_000)
    assert len(text) <= 4_000
    assert "4 actions required**\n\nThis pull request is too large to list them." in text
    assert markers.state_of(text) == state(group())


@pytest.mark.parametrize(
    ("proposed", "conventional", "title"),
    [
        (proposal, "", "Upgrade Flux to v2.9.4 in clusters/staging"),
        (proposal, "build(deps)", "build(deps): upgrade flux to v2.9.4 in clusters/staging"),
        (partial(proposal, Stated(version="v2.9.4", edits=[("# Flux Version: v2.9.4", "# Flux Version: v2.9.3")])), "", "Align Flux with v2.9.4 in clusters/staging"),
        (partial(proposal, Stated(version="v2.9.4", flags={"log-level": "debug"})), "chore", "chore: change flux's install flags in clusters/staging"),
        (
            partial(
                proposal,
                *(Stated(path=f"{a}/gotk-components.yaml", version=a, target=b) for a, b in (("v2.6.3", "v2.6.4"), ("v2.8.7", "v2.8.8"), ("v2.9.3", "v2.9.4"))),
                subject=BumpKind.PATCH,
                name="labs",
            ),
            "",
            "Upgrade Flux in labs",
        ),
        (partial(proposal, name="a @octocat\n#1"), "", "Upgrade Flux to v2.9.4 in a @\u200boctocat #\u200b1"),
    ],
)  # fmt: skip
def test_titles(proposed: Callable[[], Proposal], conventional: str, title: str) -> None:
    assert commit.title(proposed(), proposal_context(conventional=conventional)) == title


def test_a_title_is_no_longer_than_github_takes() -> None:
    title = commit.title(proposal(name="clusters/" * 60), proposal_context())
    assert len(title) == 250
    assert "…" in title


def test_the_commit_is_known_again() -> None:
    message = commit.commit_message(group(), proposal_context())
    trailers = markers.trailers(message)
    assert trailers == {
        "Flux-Upgrade-Group": "all",
        "Flux-Upgrade-Subject": "minor",
        "Flux-Upgrade-Target": "v2.9.4",
        "Flux-Upgrade-Plan": commit.plan_digest(group()),
    }
    assert markers.is_ours(Commit("1", "tree", ("0",), markers.sealed(message, "tree")))


def test_a_name_forges_no_trailer() -> None:
    of = proposal(name="x\n\nFlux-Upgrade-Digest: sha256:0\nSigned-off-by: you")
    message = commit.commit_message(of, proposal_context())
    assert markers.DIGEST not in markers.trailers(message)
    assert "\nSigned-off-by" not in message
    assert all(len(line) <= 100 for line in message.splitlines())


def test_the_plan_is_another_only_where_a_file_is() -> None:
    plan, upgrade = group().upgrades[0]
    same = replace(upgrade, bump=replace(upgrade.bump, why="another", approved=False))
    read = replace(plan, pin=replace(plan.pin, content=b"other"))
    other = replace(change_of(upgrade), carried=replace(change_of(upgrade).carried, content=b"other"))
    written = replace(upgrade, change=replace(upgrade.change, manifest=other))
    moved = replace(plan, path="elsewhere.yaml")

    def digest(plan: Plan, upgrade: Upgrade) -> str:
        return commit.plan_digest(replace(group(), upgrades=((plan, upgrade), *group().upgrades[1:])))

    assert digest(plan, same) == commit.plan_digest(group())
    others = {digest(plan, upgrade), digest(read, upgrade), digest(plan, written), digest(moved, upgrade)}
    assert len(others) == 4


def test_the_status_says_what_was_proved_in_what_github_takes() -> None:
    status = commit.status(proposal())
    assert (status.context, status.state) == (markers.PROOF, "success")
    assert status.description == (
        "Your file is identical to what Flux v2.8.8 generates with your flags. "
        "The manifests of v2.9.4 match their published checksum."
    )
    assert len(commit.status(group()).description) <= 140


def test_an_issue_says_how_to_approve_where_there_are_no_drafts() -> None:
    of = proposal(approved=False)
    title, text = pages.issue(of, proposal_context(approve_command="gh run -f approve="), state(of))
    assert title == commit.title(of, proposal_context())
    assert markers.state_of(text) == state(of)
    assert (
        "add the label `flux-upgrade/approved` to this issue, or run `gh run -f approve=clusters/staging=2.9`" in text
    )
    assert "Ready for review" not in text
    assert "- [ ]" not in text


@pytest.mark.parametrize(
    ("subject", "command"), [(BumpKind.MINOR, "approve=clusters/staging=2.9`"), (BumpKind.MAJOR, "approve=clusters/staging=2.9`"), (BumpKind.PATCH, "approve=clusters/staging=v2.9.4`")]
)  # fmt: skip
def test_what_is_approved_is_the_minor_or_the_patch(subject: BumpKind, command: str) -> None:
    of = proposal(approved=False, subject=subject)
    assert command in body(of, approve_command="gh run -f approve=")
    assert "gh run" not in body(of)


def test_closing_says_why_and_leaves_what_people_wrote() -> None:
    of = proposal()
    before = f"Mine <b>above</b>\r\n\r\n{body(of)}\nmine below\n"
    marked = replace(state(of), closed="superseded")
    after = commit.closing(before, marked, "v2.9.5 is proposed instead, by #12.")
    assert markers.state_of(after) == marked
    assert after.startswith("Mine <b>above</b>\r\n\r\n<!-- flux-upgrade ")
    assert after.endswith("mine below\n")
    assert "-->\n**Closed:** v2.9.5 is proposed instead, by #\u200b12.\n\n**Minor**" in after
    assert commit.closing(after, marked, "v2.9.5 is proposed instead, by #12.") == after


def test_closing_what_has_lost_its_block_says_why_below() -> None:
    marked = replace(state(proposal()), closed="done")
    assert (
        commit.closing("Mine\n", marked, "It is done.") == f"Mine\n\n{markers.block('**Closed:** It is done.', marked)}"
    )
    assert commit.closing("", marked, "It is done.") == markers.block("**Closed:** It is done.", marked)


CHORE, BUILD, OTHER = "chore(deps): update x", "build(deps-dev): bump y", "Add a cluster"


@pytest.mark.parametrize(
    ("headlines", "prefix"),
    [
        ([], ""),
        ([CHORE] * 3, ""),
        ([CHORE] * 4, "chore(deps)"),
        ([CHORE] * 2 + [OTHER] * 2, "chore(deps)"),
        ([CHORE] * 2 + [OTHER] * 3, ""),
        ([CHORE] * 2 + [OTHER] * 2 + ["Merge pull request #1 from a/b"] * 9, "chore(deps)"),
        ([BUILD] * 2 + [CHORE] + ["feat: add"] * 3, "build(deps)"),
        (["fix(deps): update z", "fix: a bug", "ci: faster", "docs(readme): x"], "fix(deps)"),
        (["feat: add", "fix(scope)!: b", "chore: c", "docs: d"], "chore(deps)"),
        (["chore: bump a", "chore: Update b", "feat: c", "chore: tidy"], "chore"),
        (["staging: fix x", "apps: add y", "infra: z", "prod: w"], ""),
        (["feat:no space", "fix : b", "chore(: c", "docs"], ""),
    ],
)
def test_the_prefix_is_the_one_that_the_history_has(headlines: list[str], prefix: str) -> None:
    assert commit.conventional_prefix(headlines) == prefix


NASTY = st.lists(
    st.sampled_from(["`", "``", "|", "<b>", "<!--", "-->", "@octocat", "#1", "*", "_", "~", "[x](y)", "\\", "\n", "&amp;", "&#64;o", "$", " ", "a", "- ", "1. ", "# ", "> ", "https://github.com/o/r/issues/1"])
    | st.text(max_size=2),
    max_size=12,
).map("".join)  # fmt: skip


def shown(markdown: str) -> str:
    """What a reader sees, in one line, without what is not seen."""
    inline = [token for token in MARKDOWN.parse(markdown) if token.type == "inline"]
    assert len(inline) == 1, markdown
    children = inline[0].children or []
    assert {token.type for token in children} <= {"text", "code_inline", "text_special"}, children
    return "".join(token.content for token in children).replace("\u200b", "")


def seen(text: str) -> str:
    line = " ".join(text.split())
    return "".join(char if char.isprintable() else "\ufffd" for char in line)


@given(NASTY)
def test_text_of_anybodys_is_seen_as_it_is(text: str) -> None:
    escaped = plain(f"{text}.", longest=10_000)
    assert shown(escaped) == seen(f"{text}.").replace("https://github.com", "https://redirect.github.com")
    assert not re.search(r"@\w|#\d|<!--", escaped)


@given(NASTY.filter(lambda text: text.strip()))
def test_code_of_anybodys_is_seen_as_it_is(text: str) -> None:
    escaped = code(text, longest=10_000)
    assert shown(f"a {escaped} b") == f"a {seen(text)} b"
    assert "<!--" not in escaped


@pytest.mark.parametrize("text", ["name: x\n", "a\n```\n@octocat\n```\nb\n", "````\n"])
def test_lines_of_code_stay_together_whatever_backticks_are_in_them(text: str) -> None:
    (token,) = MARKDOWN.parse(fenced(text, "yaml"))
    assert (token.type, token.info, token.content) == ("fence", "yaml", text)


@given(st.lists(NASTY, min_size=2, max_size=2))
def test_a_cell_stays_a_cell(texts: list[str]) -> None:
    tokens = MARKDOWN.parse(table(["a", "b"], [[code(texts[0]), plain(texts[1])]]))
    assert sum(token.type == "td_open" for token in tokens) == 2
    assert not any(child.type.startswith("html") for token in tokens for child in token.children or [])


def test_what_is_long_is_shortened_in_the_middle() -> None:
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghijk", 10) == "abcde…hijk"
    assert code("") == "(empty)"


def test_installations_have_short_names_while_these_are_unique() -> None:
    paths = [
        "clusters/a/flux-system/gotk-components.yaml",
        "clusters/b/gotk-components.yaml",
        "flux-system/gotk-components.yaml",
        "c/flux-system/gotk-components.yaml",
        "c/gotk-components.yaml",
        "deploy/flux.yaml",
    ]
    assert list(labels(paths).values()) == ["clusters/a", "clusters/b", *paths[2:]]
