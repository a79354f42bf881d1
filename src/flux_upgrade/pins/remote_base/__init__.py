"""Kustomize remote bases on Flux's repository."""
