"""The GitHub Action: its inputs and outputs, job summary, annotations and report file."""
