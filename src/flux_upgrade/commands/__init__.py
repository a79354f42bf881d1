"""One module for each command: it builds the edges, runs the flow, prints the report."""
