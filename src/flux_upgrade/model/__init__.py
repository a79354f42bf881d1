"""Values, errors and ports: versions, releases, text edits. It imports nothing of the other rooms."""
