"""Kinds that are reported, and never changed."""
