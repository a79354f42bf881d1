"""Many repositories on one page: reports of runs → rows, and these as Markdown, HTML and JSON."""
