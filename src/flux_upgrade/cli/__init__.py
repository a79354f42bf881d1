"""Flags and options of the command line. Pure."""
