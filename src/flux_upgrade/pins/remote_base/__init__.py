"""Kustomize remote bases, and GitRepositories, on Flux's own repository."""
