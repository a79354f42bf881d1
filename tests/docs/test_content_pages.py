"""Pages about resources name what the program knows by that name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flux_upgrade.config.config import Migrate
from flux_upgrade.impact.migrate.result import Reason
from flux_upgrade.policy.decision import ChangeKind
from flux_upgrade.policy.hold_reasons import HoldReason

ROOT = Path(__file__).resolve().parents[2]
HOW_TO = ROOT / "docs" / "how-to"
PAGES = [ROOT / "README.md", *HOW_TO.glob("*.md")]
HELD = re.compile(r"held (?:by itself )?as \[?`([^`]+)`")


def first_cells(page: str, head: str) -> list[str]:
    """The names in code at the beginning of each row of a table."""
    table = (HOW_TO / page).read_text().partition(f"{head}\n| --- ")[2].partition("\n\n")[0]
    return [found[1] for line in table.splitlines() if (found := re.match(r"\| `([^`]+)`", line))]


def test_every_mode_of_migrate_is_explained() -> None:
    assert first_cells("migrations.md", "| `migrate` | What happens |") == list(Migrate)


def test_every_reason_to_leave_something_is_explained() -> None:
    remarks = first_cells("migrate-api-versions.md", "| It says | What it means | What to do |")
    assert {*remarks, Reason.TEXT} == {"flux-upgrade migrate", *Reason}


@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in PAGES])
def test_what_is_said_to_be_held_is_held_for_a_reason_of_that_name(page: Path) -> None:
    assert set(HELD.findall(page.read_text())) <= set(HoldReason)


def test_the_pages_name_every_reason_that_content_can_hold_for() -> None:
    text = "".join((HOW_TO / name).read_text() for name in ("what-breaks.md", "patches.md"))
    reasons = {
        HoldReason.BLOCKED_BY_API_REMOVAL,
        HoldReason.MIGRATION_PENDING,
        HoldReason.COMPONENT_IN_USE,
        HoldReason.OVERLAY_BREAKS,
        HoldReason.KUBERNETES_TOO_OLD,
    }
    assert reasons <= set(HELD.findall(text))


def test_what_is_shown_to_need_approval_is_what_can() -> None:
    shown = re.findall(r"^needs-approval: \[(.*?)\]", (HOW_TO / "configure-checks.md").read_text(), re.MULTILINE)
    assert shown
    assert {name.strip() for each in shown for name in each.split(",")} <= set(ChangeKind)
