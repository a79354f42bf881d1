"""The flux-operator's own version."""
