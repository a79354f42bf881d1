"""The Flux CLI: in workflows, version managers, devbox and container images."""
