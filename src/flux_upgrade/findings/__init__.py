"""Effects of an upgrade on a repository: a table of kinds, as values that every report words."""
