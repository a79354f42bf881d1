"""Flux into a running cluster, in the order of flux bootstrap."""
