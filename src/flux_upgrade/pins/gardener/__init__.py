"""Gardener's extension ``shoot-flux``."""
