"""Manifests are moved to versions of Flux's APIs that a release serves."""
