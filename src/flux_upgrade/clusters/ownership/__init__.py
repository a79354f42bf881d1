"""Who owns an installation's file: what refers to it, and who else writes it."""
