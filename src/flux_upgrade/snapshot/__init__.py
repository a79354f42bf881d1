"""The files of a repository at one moment: each is read once, and what could not be read is known."""
