"""One module for each command: it builds the adapters, runs the flow, prints the report."""
