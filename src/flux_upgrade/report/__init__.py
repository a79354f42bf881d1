"""Results → text, JSON and diffs. Pure: nothing is printed here."""

from flux_upgrade.report.inspection import inspection_json, inspection_text
from flux_upgrade.report.outcomes import diff, diff_hunks, failure, upgrade_text
from flux_upgrade.report.wording import located

__all__ = ["diff", "diff_hunks", "failure", "inspection_json", "inspection_text", "located", "upgrade_text"]
