"""The dashboard: one issue that shows what runs, what is open and what waits, with boxes to tick."""
