"""HTTP: one client for all, and the checks of what it downloads."""
