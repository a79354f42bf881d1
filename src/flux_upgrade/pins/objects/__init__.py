"""Kubernetes objects that several kinds read: what they say of Flux's version, and where."""
