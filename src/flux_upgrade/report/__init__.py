"""Results → text, JSON and diffs. Pure: nothing is printed here."""

from flux_upgrade.report.inspection import inspection_json, inspection_text
from flux_upgrade.report.outcomes import diff, diff_hunks, failures, upgrade_text
from flux_upgrade.report.plans import plans_json, plans_text
from flux_upgrade.report.wording import located

__all__ = [
    "diff",
    "diff_hunks",
    "failures",
    "inspection_json",
    "inspection_text",
    "located",
    "plans_json",
    "plans_text",
    "upgrade_text",
]
