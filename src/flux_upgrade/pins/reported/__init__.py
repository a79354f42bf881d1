"""Kinds that are reported and never changed: commands, other installers, single controllers, Flux v1."""
