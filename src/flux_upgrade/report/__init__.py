"""Results → text, JSON and diffs. Pure: nothing is printed here."""
