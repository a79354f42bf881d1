"""What stands around an installation: who refers to its file, and who else writes it."""
