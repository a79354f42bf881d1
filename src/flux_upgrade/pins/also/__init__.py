"""Versions at places that the config file names, with a pattern for each."""
