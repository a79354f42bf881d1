"""The Flux CLI: in workflows, version managers and container images."""
